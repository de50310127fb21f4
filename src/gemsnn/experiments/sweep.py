"""Do the unfinished tasks of a sweep, in processes on this machine or on a cluster.

A killed process loses at most the work since a run's last checkpoint; the next start resumes from there.
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

ROUNDS = 3  # attempts for runs whose process was killed
LOOK_SECONDS = 0.2  # between checks for the parent process and the stop file


class Ended(NamedTuple):
    """The end of a task."""

    name: str
    status: Literal["done", "failed", "interrupted"]
    error: str = ""
    found: str = ""
    """A result to print, if it is done."""


def stop_file(folder: Path) -> Path:
    """All workers save and stop when this file exists."""
    return folder / "stop"


def log_file(folder: Path) -> Path:
    """Output of the worker processes."""
    return folder / "workers.log"


# ---- inside a worker process -----------------------------------------------------------------------------------------


def work(run: Work, version: str = __version__, parent: int | None = None) -> Ended:
    """Start or resume one task. Never raises; errors are in the result.

    ``parent`` is the process of the sweep, if it is on this machine.
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
        # A cluster may repeat a task whose worker died after it had finished.
        if not run.done() and not run.do(stop):
            return Ended(run.name, "interrupted")
        return Ended(run.name, "done", found=run.found())
    except GemsnnError as error:
        return Ended(run.name, "failed", str(error))
    except Exception:
        return Ended(run.name, "failed", traceback.format_exc())


def _serve(parent: int | None, folder: Path) -> None:
    """Redirect the output of this process to the log, and end it with its parent."""
    if threading.current_thread() is threading.main_thread():
        # Ctrl-C reaches all processes of a terminal; only the parent acts on it, through the stop file.
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
        if isinstance(text, io.TextIOWrapper):  # other processes write to the log, too
            text.reconfigure(line_buffering=True, write_through=False)
    if not any(thread.name == _WATCHER for thread in threading.enumerate()):
        threading.Thread(target=_end_with, args=(parent,), name=_WATCHER, daemon=True).start()


_WATCHER = "gemsnn parent watcher"


def _end_with(parent: int | None) -> None:
    """Exit when the parent is gone; orphans of a killed sweep would hold their runs' locks."""
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)  # safe at any moment, as runs can be killed at any instant


class _Stop:
    """Whether the stop file exists, checked at most every ``LOOK_SECONDS``; a file reaches other machines, too."""

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
    """Distribute tasks over processes on this machine."""

    def execute(runs: Sequence[Work]) -> Iterator[Ended]:
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        remaining = {run.name: run for run in runs}
        for _ in range(ROUNDS):
            if not remaining:
                return
            parallel = Parallel(n_jobs=min(workers, len(remaining)), return_as="generator_unordered", batch_size=1)
            try:
                for ended in parallel(delayed(work)(run, parent=os.getpid()) for run in list(remaining.values())):
                    del remaining[ended.name]
                    yield ended
            except BrokenProcessPool:
                continue  # a process was killed, and joblib gave up the others: continue with the rest
        for name in remaining:
            yield Ended(name, "failed", "its process was killed repeatedly; is there too little memory?")

    return execute


def on_cluster(scheduler: str, say: Callable[[str], None] = lambda line: None) -> Executor:
    """Distribute tasks over the workers of a Dask scheduler, which must share the sweep's folder."""

    def execute(runs: Sequence[Work]) -> Iterator[Ended]:
        try:
            dask: Any = importlib.import_module("distributed")
        except ImportError:
            raise ConfigError("--scheduler needs Dask: pip install 'gemsnn[cluster]'") from None
        except Exception as error:  # it reads its settings, such as the file that DASK_CONFIG names
            raise ConfigError(f"--scheduler {scheduler}: Dask cannot start: {' '.join(str(error).split())}") from None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are reported below, in one line
        _check_address(scheduler, dask)
        try:
            client = dask.Client(scheduler, timeout=10, set_as_default=False)
        except Exception as error:  # wrong address, no scheduler, no certificate, no encryption, ...
            raise ConfigError(f"--scheduler {scheduler}: no Dask scheduler answers there ({error})") from None
        with client:
            n_workers = len(client.scheduler_info()["workers"])
            say(f"{scheduler}: {counted(n_workers, 'worker')}" + ("" if n_workers else "; waiting for some to join"))
            # The longest first. Keys are unique, or Dask would return the result of an earlier call.
            stamp = time.time_ns()
            futures = {
                client.submit(work, run, __version__, key=f"{run.name}-{stamp}", priority=-place): run
                for place, run in enumerate(runs)
            }
            for future in dask.as_completed(futures, loop=client.loop):
                if future.cancelled():  # by the end of its scheduler; nothing else cancels
                    raise ConfigError(
                        f"--scheduler {scheduler}: the scheduler is gone. What was learned is saved; start a scheduler "
                        "and repeat the command"
                    )
                problem = future.exception()
                if problem is None:
                    yield future.result()
                elif isinstance(problem, dask.KilledWorker):
                    yield Ended(futures[future].name, "failed", f"its workers died repeatedly: {problem}")
                else:
                    yield Ended(futures[future].name, "failed", f"{type(problem).__name__}: {problem}")

    return execute


def _check_address(scheduler: str, dask: Any) -> None:
    """Check the address first: Dask's client would hang for a while and print a traceback."""
    address = re.fullmatch(r"(tcp|tls)://[^:]+:([1-9]\d{0,4})", scheduler)
    if not address or int(address[2]) > 65535:
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
    """Do all tasks that are not done, the longest first; returns how each ended.

    The console shows a line per finished task, and on a terminal a progress bar. When ``stop()`` is true, the workers
    save and stop.
    """
    remaining = [run for run in sorted(runs, key=lambda run: -run.cost) if not run.done()]
    costs = {run.name: run.cost for run in remaining}
    ended = [Ended(run.name, "done", found=run.found()) for run in runs if run.name not in costs]
    columns = (TextColumn("{task.percentage:.0f} %"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    hidden = not console.is_terminal

    def say(line: str) -> None:
        console.print(printable(line), soft_wrap=True, highlight=False, markup=False)

    with (
        Progress(*columns, console=console, transient=True, disable=hidden, speed_estimate_period=3600) as bar,
        _stop_file(stop, runs[0].folder, say),
    ):
        task = bar.add_task("", total=sum(costs.values()))
        for end in execute(remaining) if remaining else ():
            ended.append(end)
            bar.advance(task, costs[end.name])
            if end.status != "interrupted":
                count = sum(one.status == "done" for one in ended)
                detail = f": {end.error.strip().splitlines()[-1]}" if end.error else f", {end.found}" * bool(end.found)
                say(f"{end.name} {end.status}{detail} ({count} of {len(runs)} done)")
    return ended


@contextmanager
def _stop_file(stop: Stop, folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Create the stop file for all workers when ``stop()`` is true."""
    file, over = stop_file(folder), threading.Event()

    def remove() -> None:
        """Remove the stop file, unless it has content and so is not ours."""
        if file.is_symlink() or (file.exists() and (file.is_dir() or file.stat().st_size)):
            raise ConfigError(f"{file}: a file of this name stops a sweep, but this one is not ours; move it away")
        file.unlink(missing_ok=True)

    def watch() -> None:
        while not over.wait(LOOK_SECONDS):
            if stop():
                file.touch()
                say("stopping: every run saves its state first (repeat to stop at once)")
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
