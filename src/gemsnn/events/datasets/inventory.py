"""The contents of a data set on disk: recordings, missing parts, and files that are not imported."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
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
    """Such as its path inside the data set."""
    label: Label
    official_split: SplitName | None
    """The split defined by the data set, if there is one."""
    read: Callable[[], Events]
    path: Path | None = None
    """Its file, if it has a separate one."""
    group: str | None = None
    """Such as the person recorded, if known; see `gemsnn.events.importing.grouped`."""


class Unread(NamedTuple):
    """Something in a data set's folder that is not imported."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Inventory:
    """The recordings of a data set, and what is missing or not imported."""

    dataset: str
    folder: Path
    classes: tuple[Label, ...]
    recordings: tuple[Recording, ...]
    """In the order in which they are imported."""
    preprocessing: Preprocessing
    """The default preprocessing of this data set."""
    missing: dict[Label, str]
    """What is missing, for each incomplete class."""
    details: dict[str, object]
    """Further attributes for the prepared file, such as the scale."""
    unread: tuple[Unread, ...] = ()
    """Files and folders that are not imported."""

    @property
    def missing_classes(self) -> tuple[Label, ...]:
        """Classes without a single recording."""
        found = {recording.label for recording in self.recordings}
        return tuple(label for label in self.classes if label not in found)

    def count(self, label: Label, split: SplitName | None = None) -> int:
        """Number of recordings of a class, in one official split or in total."""
        return sum(1 for r in self.recordings if r.label == label and (split is None or r.official_split == split))

    def unread_lines(self) -> list[str]:
        """What is not imported, one line per ending and reason."""
        return unread_lines(self.folder, self.unread)

    def has_official_split(self) -> bool:
        """Whether every class found has both training and test recordings in the data set's own split."""
        parts: dict[Label, set[SplitName | None]] = {}
        for recording in self.recordings:
            parts.setdefault(recording.label, set()).add(recording.official_split)
        return all({"train", "test"} <= found for found in parts.values())


def unread_lines(folder: Path, unread: Iterable[Unread]) -> list[str]:
    """What is not read, one line per ending and reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path, reason in unread:
        groups.setdefault((reason, path.suffix.lower()), []).append(str(path.relative_to(folder)))
    return [
        f"not read: {len(names):,} {ending or '(no ending)'}: {reason} "
        f"({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
        for (reason, ending), names in groups.items()
    ]


ALL_DIGITS = tuple(range(10))


def check_folder(folder: str | PathLike[str]) -> Path:
    """The folder as a path; a `DataError` if it is not a folder."""
    root = Path(folder)
    if not root.is_dir():
        raise DataError(f"{root}: {'not a directory' if root.exists() else 'there is no such directory'}")
    return root


def check_digits(digits: Sequence[int]) -> tuple[int, ...]:
    """Digits, sorted, without duplicates; anything but 0..9 is an error."""
    wanted = tuple(sorted(set(digits)))
    if not wanted or wanted[0] < 0 or wanted[-1] > 9:
        raise ConfigError(f"digits must be some of 0..9, not {list(digits)}")
    return wanted


def entries(folder: Path) -> list[Path]:
    """The contents of a folder, sorted by name, without names that begin with a dot."""
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed: {error.strerror or error}") from None


def digit_inventory(
    dataset: str,
    folder: str | PathLike[str],
    classes: Sequence[int],
    preprocessing: Preprocessing,
    *,
    folders: Callable[[int], Sequence[str]],
    file_name: Callable[[int], str],
    example: Callable[[int], str],
    split: Callable[[str, int], SplitName],
    read: Callable[[Path], Events],
    last_number: int = 0,
    details: dict[str, object] | None = None,
) -> Inventory:
    """Find the numbered recordings of a data set of digits.

    Parameters
    ----------
    folders
        The folders of a digit, relative to `folder`.
    file_name
        A regular expression for the file names of a digit, with the number in parentheses.
    example
        The path of a recording of a digit, for messages.
    split
        The official split of a recording, from its folder and number.
    last_number
        The number of recordings of each digit, if known; used to list those that are missing.
    """
    root, wanted = check_folder(folder), check_digits(classes)
    recordings, missing, unread = list[Recording](), dict[Label, str](), list[Unread]()
    for digit in wanted:
        gaps = []
        for subfolder in folders(digit):
            found = _numbered(root / subfolder, file_name(digit), unread)
            recordings += [
                Recording(f"{subfolder}/{path.name}", digit, split(subfolder, number), partial(read, path), path)
                for number, path in found
            ]
            absent = set(range(1, last_number + 1)) - {number for number, _ in found}
            if not found:
                gaps.append(f"no {subfolder}/*{Path(example(digit)).suffix}")
            elif absent:
                gaps.append(f"recordings {ranges(absent)}")
        if gaps:
            missing[digit] = "; ".join(gaps)
    if not recordings:
        raise DataError(
            f"{root}: no {dataset.upper()} recordings of digits {ranges(wanted)}; they should be at "
            f"{example(wanted[0])} and so on. {contents(root)}"
        )
    return Inventory(dataset, root, wanted, tuple(recordings), preprocessing, missing, details or {}, tuple(unread))


def _numbered(folder: Path, file_name: str, unread: list[Unread]) -> list[tuple[int, Path]]:
    """Number and path of the files whose names match, in order of the number; others are added to `unread`."""
    found: list[tuple[int, Path]] = []
    for path in entries(folder) if folder.is_dir() else []:
        if match := re.fullmatch(file_name, path.name):
            found.append((int(match[1]), path))
        else:
            unread.append(Unread(path, unreadable(path) or "not a file name of this data set"))
    return sorted(found)


def unreadable(path: Path) -> str | None:
    """Why something cannot be read as a file; None if it can."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return "a dangling link" if path.is_symlink() and not path.exists() else f"{error.strerror or error}"
    if stat.S_ISDIR(mode):
        return "a folder where files are expected"
    return None if stat.S_ISREG(mode) else "a pipe or a device, not a file"


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as text, with consecutive numbers as a range.

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
    """The contents of a folder, as a sentence."""
    try:
        names = sorted(entry.name for entry in root.iterdir())
    except OSError:
        return "The folder cannot be listed"
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"The folder contains: {shown}" if names else "The folder is empty"
