"""The work of a sweep: training runs, and measurements that write a file.

Both know their labels, whether they are done, and how to resume. There is no other record of what was done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gemsnn.common.files import read_regular, write_whole
from gemsnn.common.sealed import BrokenSealError, seal, unseal
from gemsnn.errors import ConfigError, DataError
from gemsnn.events import open_prepared
from gemsnn.training import RunDirectory, TrainingConfig, train
from gemsnn.training.config import differences
from gemsnn.training.lock import HeldError

WAIT_SECONDS = 0.5  # between attempts at a run that another process holds


Stop = Callable[[], bool]
"""Returns whether to save and stop."""


class Work(Protocol):
    """A task of a sweep, which is sent to a worker process."""

    @property
    def name(self) -> str:
        """Unique name, used for its files."""

    @property
    def folder(self) -> Path:
        """Folder of the sweep."""

    @property
    def cost(self) -> float:
        """Relative duration, for the order of the tasks and the progress bar."""

    def done(self) -> bool:
        """Whether it is done; raises a ``ConfigError`` if that was with other settings or data."""

    def do(self, stop: Stop) -> bool:
        """Start or resume it, until ``stop()`` is true; returns whether it is done."""

    def found(self) -> str:
        """A result to print when it is done."""


@dataclass(frozen=True)
class Run:
    """A training run.

    Examples
    --------
    >>> config = TrainingConfig.make(n_hidden=20)
    >>> run = Run("small-0", config, Path("digits.h5"), {"hidden": 20, "seed": 0}, Path("study"))
    >>> run.directory.path.as_posix()
    'study/runs/small-0'
    """

    name: str
    settings: TrainingConfig
    data: Path
    """A prepared file."""
    labels: Mapping[str, Any]
    """What distinguishes it from the other runs."""
    folder: Path
    cost: float = 1.0

    @property
    def directory(self) -> RunDirectory:
        return RunDirectory(self.folder / "runs" / self.name)

    def done(self) -> bool:
        run = self.directory
        if not run.finished:
            return False
        summary = run.read_summary()
        run.read_metrics()  # reports a modified file before hours of other work
        changes = differences(summary["config"], self.settings.identity())
        with open_prepared(self.data) as data:
            now = data.fingerprint
        if summary["data"] != now:
            changes.append(f"the data had fingerprint {summary['data'][:12]}... and now has {now[:12]}...")
        if changes:
            raise ConfigError(_mismatch(run.path, changes))
        return True

    def do(self, stop: Stop) -> bool:
        settings, waits = self.settings, False
        if settings.threads is None:
            settings = settings.changed(threads=1)  # the other processors do other runs
        with open_prepared(self.data) as data:
            while True:
                try:
                    outcome = train(settings, data, self.directory.path, resume=True, stop=stop)
                    return outcome.status != "interrupted"
                except HeldError:
                    # A process of an earlier sweep that is about to end, or a worker that lost its scheduler. It will
                    # finish the run or release it.
                    if not waits:
                        print(f"{self.name}: waits, held by another process")
                    waits = True
                    time.sleep(WAIT_SECONDS)
                    if self.done():
                        return True
                    if stop():
                        return False

    def found(self) -> str:
        last = self.directory.read_summary()["final"]
        for split in ("validation", "test"):
            figures = last[split]
            if figures is not None and "accuracy" in figures:
                return f"{split} accuracy {100 * figures['accuracy']:.1f} %"
            if figures is not None:
                return f"{split} log-likelihood {figures['log_likelihood']:.1f}"
        return ""


@dataclass(frozen=True)
class Measurement:
    """The result of a function for some arguments, kept in a file. An interrupted measurement starts again."""

    name: str
    measure: Callable[..., dict[str, Any]]
    """Takes the sweep's folder and the arguments, returns JSON values; workers must be able to import its module."""
    arguments: Mapping[str, Any]
    """JSON values that determine the result."""
    labels: Mapping[str, Any]
    folder: Path
    cost: float = 1.0

    @property
    def file(self) -> Path:
        return self.folder / "measured" / f"{self.name}.json"

    def done(self) -> bool:
        if not self.file.exists():
            return False
        changes = differences(_read(self.file)["arguments"], self.arguments)
        if changes:
            raise ConfigError(_mismatch(self.file, changes))
        return True

    def do(self, stop: Stop) -> bool:
        answer = self.measure(self.folder, **self.arguments)
        self.file.parent.mkdir(exist_ok=True)
        write_whole(self.file, seal({"arguments": dict(self.arguments), "answer": answer}))
        return True

    def found(self) -> str:
        accuracy = _read(self.file)["answer"].get("accuracy")
        return f"accuracy {100 * accuracy:.1f} %" if isinstance(accuracy, float) else ""


def answers(folder: Path) -> list[dict[str, Any]]:
    """The results of all measurements in a sweep's folder, in order of their names."""
    return [_read(file)["answer"] for file in sorted((folder / "measured").glob("*.json"))]


def _read(file: Path) -> dict[str, Any]:
    try:
        content = unseal(read_regular(file))
        if not all(isinstance(content.get(name), dict) for name in ("arguments", "answer")):
            raise BrokenSealError("it is no measurement")
        return content
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from None
    except BrokenSealError as error:
        raise DataError(f"{file}: cannot be believed: {error}. Remove it to measure it again") from None


def _mismatch(path: Path, changes: list[str]) -> str:
    return f"{path}: was made with other settings or data: {'; '.join(changes)}. Use those, or choose another --out"
