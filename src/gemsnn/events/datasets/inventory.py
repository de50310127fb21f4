"""What was found of a data set on disk, and what is missing."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.prepared import Label, SplitName
from gemsnn.events.records import Events


@dataclass(frozen=True)
class Recording:
    """A recording of a data set."""

    name: str
    """What it is called, such as its path inside the data set."""
    label: Label
    official_split: SplitName | None
    """The split that the data set itself puts it in, if it does."""
    read: Callable[[], Events]
    path: Path | None = None
    """Its file, if it has one of its own."""


@dataclass(frozen=True)
class Inventory:
    """What was found of a data set, and what was not."""

    dataset: str
    folder: Path
    classes: tuple[Label, ...]
    recordings: tuple[Recording, ...]
    """In the order in which they are imported."""
    preprocessing: Preprocessing
    """The choices that suit this data set."""
    missing: dict[Label, str]
    """For each class of which something is missing, what."""
    details: dict[str, object]
    """What else the prepared file should record, such as the scale."""

    @property
    def missing_classes(self) -> tuple[Label, ...]:
        """Classes without a single recording."""
        there = {recording.label for recording in self.recordings}
        return tuple(label for label in self.classes if label not in there)

    def count(self, label: Label, split: SplitName | None = None) -> int:
        """Recordings of a class, in one official split or in all."""
        return sum(1 for r in self.recordings if r.label == label and (split is None or r.official_split == split))

    def has_official_split(self) -> bool:
        """Whether the data set's own split gives each class that is there both training and test recordings."""
        parts: dict[Label, set[SplitName | None]] = {}
        for recording in self.recordings:
            parts.setdefault(recording.label, set()).add(recording.official_split)
        return all({"train", "test"} <= found for found in parts.values())


ALL_DIGITS = tuple(range(10))


def check_folder(folder: str | PathLike[str]) -> Path:
    """The folder, if it is one."""
    root = Path(folder)
    if not root.is_dir():
        raise DataError(f"{root}: {'not a directory' if root.exists() else 'there is no such directory'}")
    return root


def check_digits(digits: Sequence[int]) -> tuple[int, ...]:
    """Digits sorted, each once; anything but 0..9 is an error."""
    wanted = tuple(sorted(set(digits)))
    if not wanted or wanted[0] < 0 or wanted[-1] > 9:
        raise ConfigError(f"digits must be some of 0..9, not {list(digits)}")
    return wanted


def numbered(place: Path, pattern: re.Pattern[str]) -> list[tuple[int, Path]]:
    """Files whose names match the pattern, by the number in them."""
    try:
        entries = list(place.iterdir()) if place.is_dir() else []
    except OSError as error:
        raise DataError(f"{place}: cannot be listed: {error.strerror or error}") from None
    return sorted((int(match[1]), path) for path in entries if (match := pattern.fullmatch(path.name)))


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as text, runs drawn together: 1-3, 7.

    >>> ranges([1, 2, 3, 7])
    '1-3, 7'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def contents(root: Path) -> str:
    """What a folder holds, as a sentence."""
    try:
        names = sorted(entry.name for entry in root.iterdir())
    except OSError:
        return "The folder cannot be listed"
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"The folder holds: {shown}" if names else "The folder is empty"
