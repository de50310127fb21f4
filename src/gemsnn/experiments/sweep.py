"""Doing what is not done, here or on a cluster.

Whoever is killed loses at most what was learned since a run's last checkpoint, and starting again goes on from there.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gemsnn._version import __version__
from gemsnn.common.words import counted, printable
from gemsnn.errors import ConfigError, GemsnnError
from gemsnn.experiments.runs import Stop, Work

ROUNDS = 3  # how often runs whose process was killed are begun anew
LOOK_SECONDS = 0.2  # between looks whether the parent is there, or the sweep was told to stop


class Ended(NamedTuple):
    """How a run ended."""

    name: str
    status: Literal["done", "failed", "interrupted"]
    error: str = ""
    found: str = ""
    """The figure to show of a run that is done."""


def stop_file(folder: Path) -> Path:
    """Its presence tells all workers to save and stop."""
    return folder / "stop"


def log_file(folder: Path) -> Path:
    """What the worker processes print: compilation, warnings."""
    return folder / "workers.log"


# ---- inside a worker process -----------------------------------------------------------------------------------------


def work(run: Work, version: str = __version__, parent: int | None = None) -> Ended:
    """Do one run, or what is left of it. Never raises: what went wrong is in the result.

    ``parent`` is the process that asks for it, if that may be another one on this machine.
    """
    try:
        if version != __version__:
            raise ConfigError(f"this worker has gemsnn {__version__}, the sweep was started by {version}")
        if not run.folder.is_dir():
            raise ConfigError(f"{run.folder}: not visible from this worker; --out must be on a shared file system")
        if parent not in (None, os.getpid()):
            _serve(parent, run.folder)
        stop = _Stop(run.folder)
        if stop():
            return Ended(run.name, "interrupted")
        # A cluster may ask twice: what a worker said is lost with it, what it wrote is not.
        if not run.done() and not run.do(stop):
            return Ended(run.name, "interrupted")
        return Ended(run.name, "done", found=run.found())
    except GemsnnError as error:
        return Ended(run.name, "failed", str(error))
    except Exception:
        return Ended(run.name, "failed", traceback.format_exc())


def _serve(parent: int | None, folder: Path) -> None:
    """Make this process a quiet one that ends with its parent."""
    if threading.current_thread() is threading.main_thread():
        # Ctrl-C reaches all processes of a terminal; only the parent acts on it, by the stop file.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        log = os.open(log_file(folder), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        reason = "is a link, which is not followed" if log_file(folder).is_symlink() else error.strerror
        raise ConfigError(f"{log_file(folder)}: what workers print cannot be written there: {reason}") from error
    for stream in (1, 2):  # the terminal is the parent's
        os.dup2(log, stream)
    os.close(log)
    for text in (sys.stdout, sys.stderr):
        if isinstance(text, io.TextIOWrapper):  # whole lines, whatever PYTHONUNBUFFERED says: others write there too
            text.reconfigure(line_buffering=True, write_through=False)
    if not any(thread.name == _WATCHER for thread in threading.enumerate()):
        threading.Thread(target=_end_with, args=(parent,), name=_WATCHER, daemon=True).start()


_WATCHER = "gemsnn: ends with its parent"


def _end_with(parent: int | None) -> None:
    """Without this, a killed sweep would leave processes behind that hold their runs' locks."""
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)  # as good a moment as any: runs can be killed at any instant


class _Stop:
    """Asks whether the sweep was told to stop: a file says so, so that it reaches workers on other machines."""

    def __init__(self, folder: Path) -> None:
        self._file = stop_file(folder)
        self._asked, self._answer = 0.0, False

    def __call__(self) -> bool:
        if not self._answer and time.monotonic() - self._asked > LOOK_SECONDS:
            self._asked, self._answer = time.monotonic(), self._file.exists()
        return self._answer


# ---- outside ---------------------------------------------------------------------------------------------------------

Executor = Callable[[Sequence[Work]], Iterator[Ended]]


def locally(workers: int) -> Executor:
    """Spread runs over processes of this machine."""

    def execute(runs: Sequence[Work]) -> Iterator[Ended]:
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        left = {run.name: run for run in runs}
        for _ in range(ROUNDS):
            if not left:
                return
            spread = Parallel(n_jobs=min(workers, len(left)), return_as="generator_unordered", batch_size=1)
            try:
                for ended in spread(delayed(work)(run, parent=os.getpid()) for run in list(left.values())):
                    del left[ended.name]
                    yield ended
            except BrokenProcessPool:
                continue  # a process was killed from outside, and joblib gave up the others: go on with what is left
        for name in left:
            yield Ended(name, "failed", "its process was killed again and again; was there too little memory?")

    return execute


def on_cluster(scheduler: str, say: Callable[[str], None] = lambda line: None) -> Executor:
    """Spread runs over the workers of a Dask scheduler; they must see the sweep's directory."""

    def execute(runs: Sequence[Work]) -> Iterator[Ended]:
        try:
            dask: Any = importlib.import_module("distributed")
        except ImportError:
            raise ConfigError("--scheduler needs Dask: pip install 'gemsnn[cluster]'") from None
        except Exception as error:  # it reads its settings, such as the file that DASK_CONFIG names
            raise ConfigError(f"--scheduler {scheduler}: Dask cannot start: {' '.join(str(error).split())}") from None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is told below, in one line
        _check_address(scheduler, dask)
        try:
            client = dask.Client(scheduler, timeout=10, set_as_default=False)
        except Exception as error:  # of many kinds: a wrong address, nobody there, no certificate, no encryption
            raise ConfigError(f"--scheduler {scheduler}: no Dask scheduler answers there ({error})") from None
        with client:
            n_workers = len(client.scheduler_info()["workers"])
            say(f"{scheduler}: {counted(n_workers, 'worker')}" + ("" if n_workers else "; waiting for some to join"))
            # The longest runs first, and each under a name of this call's own: Dask must not remember an earlier one.
            stamp = time.time_ns()
            futures = {
                client.submit(work, run, __version__, key=f"{run.name}-{stamp}", priority=-place): run
                for place, run in enumerate(runs)
            }
            for future in dask.as_completed(futures, loop=client.loop):
                if future.cancelled():  # nobody here cancels: the scheduler that knew of it is gone
                    raise ConfigError(
                        f"--scheduler {scheduler}: the scheduler is gone. What was learned is saved; start it again "
                        "and give the same command"
                    )
                problem = future.exception()
                if problem is None:
                    yield future.result()
                elif isinstance(problem, dask.KilledWorker):
                    yield Ended(futures[future].name, "failed", f"its workers died again and again: {problem}")
                else:
                    yield Ended(futures[future].name, "failed", f"{type(problem).__name__}: {problem}")

    return execute


def _check_address(scheduler: str, dask: Any) -> None:
    """Dask would notice as well, but its client then hangs for a while when it ends, and prints a traceback."""
    if not re.fullmatch(r"(tcp|tls)://[^:]+:[1-9]\d{0,4}", scheduler):
        raise ConfigError(f"--scheduler {scheduler}: give an address such as tcp://HOST:8786 or tls://HOST:8786")
    try:
        found = dask.Security().get_connection_args("client")
    except Exception as error:  # no such file, or no certificate in it
        raise ConfigError(f"--scheduler {scheduler}: Dask's certificates cannot be read: {error}") from None
    if scheduler.startswith("tls://") and found.get("ssl_context") is None:
        raise ConfigError(
            f"--scheduler {scheduler}: TLS needs a certificate; name it in Dask's settings (distributed.comm.tls), for "
            "example in a file that DASK_CONFIG names"
        )
    if scheduler.startswith("tcp://") and found.get("require_encryption"):
        raise ConfigError(f"--scheduler {scheduler}: Dask's settings require encryption; give a tls:// address")


def sweep(runs: Sequence[Work], execute: Executor, console: Console, stop: Stop = lambda: False) -> list[Ended]:
    """Do all runs that are not done, the most costly first; returns how each ended.

    Each that ends is a line on the console, below which a terminal shows how much of the work is done. When ``stop``
    says so, the workers save and end.
    """
    left = [run for run in sorted(runs, key=lambda run: -run.cost) if not run.done()]
    costs = {run.name: run.cost for run in left}
    ended = [Ended(run.name, "done", found=run.found()) for run in runs if run.name not in costs]
    columns = (TextColumn("{task.percentage:.0f} %"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    hidden = not console.is_terminal

    def say(line: str) -> None:
        console.print(printable(line), soft_wrap=True, highlight=False, markup=False)

    with (
        Progress(*columns, console=console, transient=True, disable=hidden, speed_estimate_period=3600) as bar,
        _passing_on(stop, runs[0].folder, say),
    ):
        task = bar.add_task("", total=sum(costs.values()))
        for end in execute(left) if left else ():
            ended.append(end)
            bar.advance(task, costs[end.name])
            if end.status != "interrupted":
                count = sum(one.status == "done" for one in ended)
                detail = f": {end.error.strip().splitlines()[-1]}" if end.error else f", {end.found}" * bool(end.found)
                say(f"{end.name} {end.status}{detail} ({count} of {len(runs)} done)")
    return ended


@contextmanager
def _passing_on(stop: Stop, folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Make a file of a wish to stop, so that it reaches the workers wherever they are."""
    file, over = stop_file(folder), threading.Event()

    def remove() -> None:
        """Ours is empty; one that holds something is somebody else's."""
        if file.is_symlink() or (file.exists() and (file.is_dir() or file.stat().st_size)):
            raise ConfigError(f"{file}: a file of this name tells a sweep to stop, but this is not ours; move it away")
        file.unlink(missing_ok=True)

    def watch() -> None:
        while not over.wait(LOOK_SECONDS):
            if stop():
                file.touch()
                say("stopping: every run saves its state first (again to stop at once)")
                return

    remove()
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        remove()
