"""What was found of a data set on disk, and what is missing."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

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
    group: str | None = None
    """What it belongs together with, if that is known; see `gemsnn.events.groups.grouped`."""


class Unread(NamedTuple):
    """Something in a data set's folder that is not imported."""

    path: Path
    reason: str


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
    unread: tuple[Unread, ...] = ()
    """What lies in the folder and is not imported."""

    @property
    def missing_classes(self) -> tuple[Label, ...]:
        """Classes without a single recording."""
        there = {recording.label for recording in self.recordings}
        return tuple(label for label in self.classes if label not in there)

    def count(self, label: Label, split: SplitName | None = None) -> int:
        """Recordings of a class, in one official split or in all."""
        return sum(1 for r in self.recordings if r.label == label and (split is None or r.official_split == split))

    def unread_lines(self) -> list[str]:
        """What is not imported, files of one ending and reason together."""
        return unread_lines(self.folder, self.unread)

    def has_official_split(self) -> bool:
        """Whether the data set's own split gives each class that is there both training and test recordings."""
        parts: dict[Label, set[SplitName | None]] = {}
        for recording in self.recordings:
            parts.setdefault(recording.label, set()).add(recording.official_split)
        return all({"train", "test"} <= found for found in parts.values())


def unread_lines(folder: Path, unread: Iterable[Unread]) -> list[str]:
    """What is not read, files of one ending and reason together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path, reason in unread:
        groups.setdefault((reason, path.suffix.lower()), []).append(str(path.relative_to(folder)))
    return [
        f"{len(names):,} {ending or '(no ending)'} {'is' if len(names) == 1 else 'are'} not read: {reason} "
        f"({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
        for (reason, ending), names in groups.items()
    ]


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


def entries(folder: Path) -> list[Path]:
    """What lies in a folder, by name; names that begin with a dot are passed over."""
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed: {error.strerror or error}") from None


def numbered(place: Path, pattern: re.Pattern[str]) -> tuple[list[tuple[int, Path]], list[Unread]]:
    """Files whose names match the pattern, by the number in them; and what else is there."""
    there = entries(place) if place.is_dir() else []
    found = sorted((int(match[1]), path) for path in there if (match := pattern.fullmatch(path.name)))
    taken = {path for _, path in found}
    other = "not named as the data set's recordings are"
    return found, [Unread(path, odd(path) or other) for path in there if path not in taken]


def odd(path: Path) -> str | None:
    """Why something cannot be read as a file, if it cannot."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return "a link to nothing" if path.is_symlink() and not path.exists() else f"{error.strerror or error}"
    if stat.S_ISDIR(mode):
        return "a folder where recordings should be"
    return None if stat.S_ISREG(mode) else "a pipe or a device, not a file"


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
