"""How the data sets lie on disk as their archives unpack: which recordings are there, and which are missing."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.prepared import SplitName

ALL_DIGITS = tuple(range(10))


@dataclass(frozen=True)
class Recording:
    """A recording on disk."""

    path: Path
    digit: int
    number: int
    official_split: SplitName | None
    """The split that the data set itself puts it in, if it does."""


@dataclass(frozen=True)
class Inventory:
    """What was found of a data set, and what was not."""

    dataset: Literal["mnist-dvs", "n-mnist"]
    folder: Path
    digits: tuple[int, ...]
    recordings: tuple[Recording, ...]
    """Sorted by digit, split and number."""
    missing: dict[int, str]
    """For each digit of which something is missing, what."""
    preprocessing: Preprocessing
    """The choices that suit this data set."""
    details: dict[str, object]
    """What else the prepared file should record, such as the scale."""

    @property
    def missing_digits(self) -> tuple[int, ...]:
        """Digits without a single recording."""
        there = {recording.digit for recording in self.recordings}
        return tuple(digit for digit in self.digits if digit not in there)

    def count(self, digit: int, split: SplitName | None = None) -> int:
        """Recordings of a digit, in one official split or in all."""
        return sum(1 for r in self.recordings if r.digit == digit and (split is None or r.official_split == split))

    def has_official_split(self) -> bool:
        """Whether the data set's own split gives each digit that is there both training and test recordings."""
        there = {recording.digit for recording in self.recordings}
        return all(self.count(digit, "train") and self.count(digit, "test") for digit in there)


# The crop of scale 4 and, for the larger scales, the same field of view around the same centre, reduced to 26 x 26.
_MNIST_DVS_CROP = {4: (48, 73, 1), 8: (35, 86, 2), 16: (9, 112, 4)}
_LAST_TRAINING_NUMBER, _LAST_NUMBER = 900, 1000


def mnist_dvs_preprocessing(scale: int = 4) -> Preprocessing:
    """The choices for MNIST-DVS: 26 x 26 cells around the digit, polarities merged, 80 bins of 25 ms (2 s)."""
    if scale not in _MNIST_DVS_CROP:
        raise ConfigError(f"scale {scale}: MNIST-DVS has the scales {', '.join(map(str, _MNIST_DVS_CROP))}")
    first, last, downsample = _MNIST_DVS_CROP[scale]
    return Preprocessing(
        sensor_size=(128, 128),
        x_range=(first, last),
        y_range=(first, last),
        downsample=downsample,
        bin_us=25_000,
        n_steps=80,
        orientation="mnist-dvs",
    )


def nmnist_preprocessing() -> Preprocessing:
    """The choices for N-MNIST: all 34 x 34 pixels, polarities merged, its three 100 ms saccades in 60 bins of 5 ms.

    In 5 ms an edge moves less than a pixel, and about 5 % of the cells hold a spike; of a recording's 291 to 314 ms
    the first 300 are kept, counted from the recording's own time zero, the start of the first saccade.
    """
    return Preprocessing(sensor_size=(34, 34), bin_us=5_000, n_steps=60, start_us=0)


def find_mnist_dvs(folder: str | PathLike[str], digits: Sequence[int] = ALL_DIGITS, scale: int = 4) -> Inventory:
    """Look for `grabbed_dataD/scaleS/mnist_D_scaleSS_NNNN.aedat`; recordings 1-900 train, 901-1000 test."""
    root, wanted = _check(folder, digits)
    preprocessing = mnist_dvs_preprocessing(scale)
    recordings, missing = [], {}
    for digit in wanted:
        place = Path(f"grabbed_data{digit}") / f"scale{scale}"
        pattern = re.compile(rf"mnist_{digit}_scale{scale:02d}_(\d+)\.aedat")
        found = _numbered(root / place, pattern)
        for number, path in found:
            split: SplitName = "train" if number <= _LAST_TRAINING_NUMBER else "test"
            recordings.append(Recording(path, digit, number, split))
        there = {number for number, _ in found}
        absent = [number for number in range(1, _LAST_NUMBER + 1) if number not in there]
        if absent:
            missing[digit] = f"recordings {_ranges(absent)}" if there else f"all recordings: no {place}/*.aedat"
    if not recordings:
        raise DataError(
            f"{root}: no MNIST-DVS recordings of scale {scale} and digits {_ranges(wanted)}; they should lie at "
            f"grabbed_data{wanted[0]}/scale{scale}/mnist_{wanted[0]}_scale{scale:02d}_0001.aedat and so on. "
            f"{_contents(root)}"
        )
    return Inventory("mnist-dvs", root, wanted, tuple(recordings), missing, preprocessing, {"scale": scale})


def find_nmnist(folder: str | PathLike[str], digits: Sequence[int] = ALL_DIGITS) -> Inventory:
    """Look for `Train/D/*.bin` and `Test/D/*.bin`."""
    root, wanted = _check(folder, digits)
    recordings, missing = [], {}
    pattern = re.compile(r"(\d+)\.bin")
    for digit in wanted:
        gaps = []
        for split, name in (("train", "Train"), ("test", "Test")):
            found = _numbered(root / name / str(digit), pattern)
            for number, path in found:
                recordings.append(Recording(path, digit, number, "train" if split == "train" else "test"))
            if not found:
                gaps.append(f"no {name}/{digit}/*.bin")
        if gaps:
            missing[digit] = "; ".join(gaps)
    if not recordings:
        raise DataError(
            f"{root}: no N-MNIST recordings of digits {_ranges(wanted)}; they should lie at Train/{wanted[0]}/*.bin "
            f"and so on. {_contents(root)}"
        )
    return Inventory("n-mnist", root, wanted, tuple(recordings), missing, nmnist_preprocessing(), {})


def _check(folder: str | PathLike[str], digits: Sequence[int]) -> tuple[Path, tuple[int, ...]]:
    root = Path(folder)
    if not root.is_dir():
        raise DataError(f"{root}: {'not a directory' if root.exists() else 'there is no such directory'}")
    return root, check_digits(digits)


def check_digits(digits: Sequence[int]) -> tuple[int, ...]:
    """Digits sorted, each once; anything but 0..9 is an error."""
    wanted = tuple(sorted(set(digits)))
    if not wanted or wanted[0] < 0 or wanted[-1] > 9:
        raise ConfigError(f"digits must be some of 0..9, not {list(digits)}")
    return wanted


def _numbered(place: Path, pattern: re.Pattern[str]) -> list[tuple[int, Path]]:
    try:
        entries = list(place.iterdir()) if place.is_dir() else []
    except OSError as error:
        raise DataError(f"{place}: cannot be listed: {error.strerror or error}") from None
    return sorted((int(match[1]), path) for path in entries if (match := pattern.fullmatch(path.name)))


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers as text, runs drawn together: 1-3, 7.

    >>> _ranges([1, 2, 3, 7])
    '1-3, 7'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _contents(root: Path) -> str:
    try:
        names = sorted(entry.name for entry in root.iterdir())
    except OSError:
        return "The folder cannot be listed"
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"The folder holds: {shown}" if names else "The folder is empty"
