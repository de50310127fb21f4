"""Recordings in one folder per class."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from gemsnn.errors import DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.datasets.inventory import (
    Inventory,
    Recording,
    Unread,
    check_folder,
    contents,
    entries,
    unreadable,
)
from gemsnn.events.prepared import SplitName
from gemsnn.events.recordings import READERS, read_recording, sensor_size_of

_VALIDATION = ("val", "valid", "validation")


def find_folder(
    folder: str | PathLike[str],
    classes: Sequence[str] | None = None,
    sensor_size: tuple[int, int] | None = None,
) -> Inventory:
    """Find the recordings `CLASS/RECORDING` or `SPLIT/CLASS/RECORDING`, in any supported format.

    Splits are the folders `train` and `test`; or `train`, `val` and `test`, where `val` is added to the training split,
    since training holds out its own validation part; or `train` and `val`, where `val` is the test split.

    Parameters
    ----------
    folder
        The folder with one folder per class. Names that begin with a dot are ignored; everything else that is not read
        is listed in the inventory, with the reason.
    classes
        Names of the folders to read; all if not given.
    sensor_size
        Columns and rows of the sensor; needed if the recordings do not contain them.
    """
    root = check_folder(folder)
    recordings: list[Recording] = []
    unread: list[Unread] = []
    for split, class_folder in class_folders(root, unread):
        if classes is not None and class_folder.name not in classes:
            continue
        found = _files(class_folder, unread)
        recordings += [
            Recording(str(path.relative_to(root)), class_folder.name, split, partial(read_recording, path), path)
            for path in found
        ]
        if not found:
            unread.append(Unread(class_folder, "a folder without recordings, so not a class"))
    if not recordings:
        raise DataError(
            f"{root}: no recordings in folders named after classes; they should be at CLASS/NAME with an ending among "
            f"{', '.join(READERS)}. {contents(root)}"
        )
    labels = tuple(sorted({str(recording.label) for recording in recordings} | set(classes or ())))
    if sensor_size is None:
        sensor_size = _sensor_size(recordings)
    choices = Preprocessing.from_dict({"sensor_size": sensor_size, "polarity": "separate"})
    return Inventory("folder", root, labels, tuple(recordings), choices, {}, {}, tuple(unread))


def class_folders(root: Path, unread: list[Unread]) -> list[tuple[SplitName | None, Path]]:
    """Split and folder of each class; everything else is added to `unread`."""
    top = entries(root)
    splits: dict[SplitName | None, list[Path]] = {None: [root]}
    names = {path.name.lower(): path for path in top if path.is_dir()}
    validation = [names[name] for name in _VALIDATION if name in names]
    if "train" in names and "test" in names:
        splits = {"train": [names["train"], *validation], "test": [names["test"]]}
    elif "train" in names and validation:
        splits = {"train": [names["train"]], "test": validation}
    folders = [folder for group in splits.values() for folder in group]
    if folders != [root]:
        unread += [
            Unread(path, "a folder beside the splits" if path.is_dir() else unreadable(path) or _OUTSIDE)
            for path in top
            if path not in folders
        ]
    found: list[tuple[SplitName | None, Path]] = []
    for split, group in splits.items():
        for path in (path for folder in group for path in entries(folder)):
            if not path.is_dir():
                unread.append(Unread(path, unreadable(path) or _OUTSIDE))
                continue
            try:
                path.name.encode()
            except UnicodeError:
                raise DataError(f"{path}: the folder's name is not valid UTF-8; rename it") from None
            found.append((split, path))
    return found


_OUTSIDE = "not in the folder of a class"


def _files(folder: Path, unread: list[Unread]) -> list[Path]:
    """The recordings in a class's folder; everything else is added to `unread`."""
    found = []
    for path in entries(folder):
        reason = unreadable(path) or (None if path.suffix.lower() in READERS else "no reader for this ending")
        if reason is None:
            found.append(path)
        else:
            unread.append(Unread(path, reason))
    return found


def _sensor_size(recordings: Sequence[Recording]) -> tuple[int, int]:
    """The size in the recordings; a `DataError` asks for it where it is missing or differs."""
    first: tuple[int, int] | None = None
    for recording in recordings:
        assert recording.path is not None
        size = sensor_size_of(recording.path)
        if size is None:
            events = recording.read()
            least = f"{int(events['x'].max()) + 1} {int(events['y'].max()) + 1}"
            raise DataError(
                f"{recording.path}: does not contain the size of the sensor; give it with --sensor COLUMNS ROWS "
                f"(at least {least} for this recording)"
            )
        first = first or size
        if size != first:
            raise DataError(
                f"{recording.path}: from a sensor of {size[0]} x {size[1]}, but {recordings[0].path} from one of "
                f"{first[0]} x {first[1]}; give a size for all with --sensor COLUMNS ROWS"
            )
    assert first is not None
    return first
