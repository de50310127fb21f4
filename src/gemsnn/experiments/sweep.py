"""The runs of a reproduction: which there are, which are done, and doing the rest, here or on a cluster.

Every (K, seed) is an ordinary run directory; nothing else remembers what was done. Whoever is killed loses at most what
was learned since a run's last checkpoint, and starting again goes on from there.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from gemsnn._version import __version__
from gemsnn.common.files import write_whole
from gemsnn.errors import ConfigError, GemsnnError
from gemsnn.events import open_prepared
from gemsnn.experiments.protocol import Protocol
from gemsnn.training import Evaluated, Learned, RunDirectory, Trainer, TrainingConfig, train
from gemsnn.training.config import differences

ROUNDS = 3  # how often runs whose process was killed are begun anew
PROGRESS_SECONDS = 1.0


def run_directory(folder: Path, n_compartments: int, seed: int) -> RunDirectory:
    """Where the run (K, seed) of a reproduction lives."""
    return RunDirectory(folder / "runs" / f"K{n_compartments:02d}-seed{seed}")


@dataclass(frozen=True)
class Run:
    """One (K, seed): what to train, on what, where."""

    n_compartments: int
    seed: int
    config: TrainingConfig
    data: Path
    fingerprint: str
    """Of the data."""
    folder: Path
    """The reproduction directory."""

    @property
    def name(self) -> str:
        return self.directory.path.name

    @property
    def directory(self) -> RunDirectory:
        return run_directory(self.folder, self.n_compartments, self.seed)

    @property
    def cost(self) -> float:
        """What an example costs, up to a factor; measured at the paper's size."""
        return 6.0 + 3.0 * self.n_compartments

    def done(self) -> bool:
        """Whether the run is finished; one that was made with other settings or data is a ``ConfigError``."""
        run = self.directory
        if not run.finished:
            return False
        summary = run.read_summary()
        changes = differences(summary["config"], self.config.identity())
        if summary["data"] != self.fingerprint:
            changes.append(f"the data had fingerprint {summary['data'][:12]}... and now has {self.fingerprint[:12]}...")
        if changes:
            raise ConfigError(
                f"{run.path}: was made with other settings or data: {'; '.join(changes)}. "
                "Give what it was made with, or choose another --out"
            )
        return True


def planned(protocol: Protocol, folder: Path, data_of: Mapping[int, Path]) -> list[Run]:
    """All runs of a protocol, the longest first; ``data_of`` is the prepared file of each seed."""
    runs = []
    for seed in protocol.seeds:
        path = data_of[seed]
        with open_prepared(path) as data:
            for K in protocol.compartments:
                config = protocol.training(K, seed, data.train.labels, data.n_steps)
                runs.append(Run(K, seed, config, path.absolute(), data.fingerprint, folder.absolute()))
    return sorted(runs, key=lambda run: (-run.n_compartments, run.seed))


class Ended(NamedTuple):
    """How a run ended."""

    name: str
    status: Literal["done", "failed", "interrupted"]
    error: str = ""


# ---- inside a worker process -----------------------------------------------------------------------------------------


def work(run: Run, version: str = __version__, parent: int | None = None) -> Ended:
    """Do one run, or what is left of it. Never raises: what went wrong is in the result."""
    if parent is not None and parent != os.getpid() and threading.current_thread() is threading.main_thread():
        # Ctrl-C reaches all processes of a terminal; only the parent acts on it, by the stop file.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop = _Stop(run.folder)
    if stop():
        return Ended(run.name, "interrupted")
    try:
        if version != __version__:
            raise ConfigError(f"this worker has gemsnn {__version__}, the reproduction was started by {version}")
        if not run.folder.is_dir():
            raise ConfigError(f"{run.folder}: not visible from this worker; --out must be on a shared file system")
        if run.done():  # a cluster may ask twice: what a worker said is lost with it, what it wrote is not
            return Ended(run.name, "done")
        with open_prepared(run.data) as data:
            outcome = train(
                run.config, data, run.directory.path, resume=True, observers=[_Reporter(run)], stop=stop
            )  # fmt: skip
    except GemsnnError as error:
        return Ended(run.name, "failed", str(error))
    except Exception:
        return Ended(run.name, "failed", traceback.format_exc())
    return Ended(run.name, "interrupted" if outcome.status == "interrupted" else "done")


class _Stop:
    """Asks whether the sweep was told to stop: a file says so, so that it reaches workers on other machines."""

    def __init__(self, folder: Path) -> None:
        self._file = stop_file(folder)
        self._asked, self._answer = 0.0, False

    def __call__(self) -> bool:
        if not self._answer and time.monotonic() - self._asked > 0.2:
            self._asked, self._answer = time.monotonic(), self._file.exists()
        return self._answer


class _Reporter:
    """Leaves a note of how far a run is, for the display."""

    def __init__(self, run: Run) -> None:
        self._file = progress_file(run)
        self._written = 0.0

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        if time.monotonic() - self._written > PROGRESS_SECONDS:
            self._write(trainer, event.log_likelihood)

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        self._write(trainer, None)

    def _write(self, trainer: Trainer, log_likelihood: float | None) -> None:
        last = trainer.state.progress.last
        accuracy = None if last is None or last["validation"] is None else last["validation"]["accuracy"]
        note = {"position": trainer.position, "total": trainer.total, "validation_accuracy": accuracy}
        try:
            self._file.parent.mkdir(exist_ok=True)
            write_whole(self._file, json.dumps(note).encode())
        except OSError:
            pass  # only for the display
        self._written = time.monotonic()


def stop_file(folder: Path) -> Path:
    """Its presence tells all workers to save and stop."""
    return folder / "stop"


def progress_file(run: Run) -> Path:
    return run.folder / "progress" / f"{run.name}.json"


# ---- outside ---------------------------------------------------------------------------------------------------------

Executor = Callable[[Sequence[Run]], Iterator[Ended]]


def locally(workers: int) -> Executor:
    """Spread runs over processes of this machine."""

    def execute(runs: Sequence[Run]) -> Iterator[Ended]:
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
    """Spread runs over the workers of a Dask scheduler; they must see the reproduction directory."""

    def execute(runs: Sequence[Run]) -> Iterator[Ended]:
        try:
            dask: Any = importlib.import_module("distributed")
        except ImportError:
            raise ConfigError("--scheduler needs Dask: pip install 'gemsnn[cluster]'") from None
        try:
            client = dask.Client(scheduler, timeout=10, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ConfigError(f"--scheduler {scheduler}: no Dask scheduler answers there ({error})") from None
        with client:
            n_workers = len(client.scheduler_info()["workers"])
            say(f"{scheduler}: {n_workers} workers" + ("" if n_workers else "; waiting for some to join"))
            # The longest runs first, and each under a name of this call's own: Dask must not remember an earlier one.
            stamp = time.time_ns()
            futures = {
                client.submit(work, run, __version__, key=f"{run.name}-{stamp}", priority=-place): run
                for place, run in enumerate(runs)
            }
            for future in dask.as_completed(futures, loop=client.loop):
                problem = future.exception()
                if problem is None:
                    yield future.result()
                elif isinstance(problem, dask.KilledWorker):
                    yield Ended(futures[future].name, "failed", f"its workers died again and again: {problem}")
                else:
                    yield Ended(futures[future].name, "failed", f"{type(problem).__name__}: {problem}")

    return execute


def sweep(runs: Sequence[Run], execute: Executor, watch: Any) -> list[Ended]:
    """Do all runs that are not done; returns how each ended. ``watch`` is a display (see :mod:`.display`)."""
    left = [run for run in runs if not run.done()]
    ended = [Ended(run.name, "done") for run in runs if run not in left]
    with watch:
        for result in execute(left) if left else ():
            ended.append(result)
            watch.ended(result)
    return ended
