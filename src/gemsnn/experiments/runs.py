"""What a sweep consists of: training runs, and measurements that leave a file.

Both know what sets them apart (their labels), whether they are done, and how to go on from where they were. Nothing
else remembers what was done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gemsnn.common.files import read_regular, write_whole
from gemsnn.common.sealed import BrokenSealError, seal, unseal
from gemsnn.errors import ConfigError, DataError
from gemsnn.events import open_prepared
from gemsnn.training import Evaluated, Learned, RunDirectory, Trainer, TrainingConfig, train
from gemsnn.training.config import differences
from gemsnn.training.lock import HeldError
from gemsnn.training.pace import Pace

WAIT_SECONDS = 0.5  # between looks at a run that another process holds


class Note(NamedTuple):
    """How far something is, for the display."""

    share: float
    """Done, of 1."""
    left: float | None = None
    """Seconds until it is done, where that can be told."""
    whole: float | None = None
    """Seconds that all of it takes from its beginning."""
    doing: str = ""
    """In a word or two, where it is not just at work."""


class Found(NamedTuple):
    """The figure to show of something that is done."""

    what: str
    value: str


Stop = Callable[[], bool]
Tell = Callable[[Note], None]


class Work(Protocol):
    """Something that a sweep does; sent to the process that does it."""

    @property
    def name(self) -> str:
        """Of its files; no two in a sweep have the same."""

    @property
    def labels(self) -> Mapping[str, Any]:
        """What sets it apart from the others, for tables: their last label gives the columns."""

    @property
    def folder(self) -> Path:
        """Of the sweep."""

    @property
    def cost(self) -> float:
        """How long it takes compared with the others; decides the order, and how much counts as done."""

    def done(self) -> bool:
        """Whether it is done; what was made with other settings or data is a ``ConfigError``."""

    def do(self, stop: Stop, tell: Tell) -> bool:
        """Do it, or what is left of it, until ``stop`` says so; returns whether it is done."""

    def found(self) -> Found | None:
        """Of what is done: the figure to show."""


@dataclass(frozen=True)
class Run:
    """A training run: what to train, on what, where.

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
        run.read_metrics()  # a file that was changed is told before hours of other work
        changes = differences(summary["config"], self.settings.identity())
        with open_prepared(self.data) as data:
            now = data.fingerprint
        if summary["data"] != now:
            changes.append(f"the data had fingerprint {summary['data'][:12]}... and now has {now[:12]}...")
        if changes:
            raise ConfigError(_other(run.path, changes))
        return True

    def do(self, stop: Stop, tell: Tell) -> bool:
        settings = self.settings
        if settings.threads is None:
            settings = settings.changed(threads=1)  # other runs have the other processors
        with open_prepared(self.data) as data:
            while True:
                try:
                    outcome = train(
                        settings,
                        data,
                        self.directory.path,
                        resume=True,
                        observers=lambda _, trainer: [_Teller(trainer, tell)],
                        stop=stop,
                    )
                    return outcome.status != "interrupted"
                except HeldError:
                    # A process of an earlier sweep that is about to end, or a worker that was cut off from its
                    # scheduler. It will finish the run, or let go of it: then it is ours.
                    tell(Note(0.0, doing="held by another process"))
                    time.sleep(WAIT_SECONDS)
                    if self.done():
                        return True
                    if stop():
                        return False

    def found(self) -> Found | None:
        last = self.directory.read_summary()["final"]
        for split in ("validation", "test"):
            figures = last[split]
            if figures is not None and "accuracy" in figures:
                return Found(f"{split} accuracy", f"{100 * figures['accuracy']:.1f} %")
            if figures is not None:
                return Found(f"{split} log-likelihood", f"{figures['log_likelihood']:.1f}")
        return None


class _Teller:
    """Tells how far a run is."""

    def __init__(self, trainer: Trainer, tell: Tell) -> None:
        self._pace, self._tell = Pace(trainer), tell
        tell(Note(trainer.position / trainer.total, doing="starting"))

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        self._pace.learned(event)
        self._note(trainer)

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        self._pace.evaluated(event)
        self._note(trainer)

    def _note(self, trainer: Trainer) -> None:
        pace = self._pace
        times = (pace.seconds_left, pace.seconds_in_all) if pace.evaluated_once else (None, None)
        self._tell(Note(trainer.position / trainer.total, *times))


@dataclass(frozen=True)
class Measurement:
    """A function's answer for some arguments, kept in a file. What is not finished is begun anew."""

    name: str
    measure: Callable[..., dict[str, Any]]
    """Given the sweep's folder and the arguments, gives JSON values; its module must be there wherever it is called."""
    arguments: Mapping[str, Any]
    """JSON values: all that decides the answer."""
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
            raise ConfigError(_other(self.file, changes))
        return True

    def do(self, stop: Stop, tell: Tell) -> bool:
        tell(Note(0.0))
        answer = self.measure(self.folder, **self.arguments)
        self.file.parent.mkdir(exist_ok=True)
        write_whole(self.file, seal({"arguments": dict(self.arguments), "answer": answer}))
        return True

    def found(self) -> Found | None:
        accuracy = _read(self.file)["answer"].get("accuracy")
        return Found("accuracy", f"{100 * accuracy:.1f} %") if isinstance(accuracy, float) else None


def answers(folder: Path) -> list[dict[str, Any]]:
    """What was measured in a sweep's folder, in the order of the names."""
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
        raise DataError(f"{file}: cannot be believed: {error}. Remove it, and it is measured again") from None


def _other(path: Path, changes: list[str]) -> str:
    return (
        f"{path}: was made with other settings or data: {'; '.join(changes)}. "
        "Give what it was made with, or choose another --out"
    )
