"""Any recordings in folders that are named after their classes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from gemsnn.errors import DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.datasets.inventory import Inventory, Recording, Unread, check_folder, contents, entries, odd
from gemsnn.events.prepared import SplitName
from gemsnn.events.recordings import READERS, read_recording, sensor_size_of

_VALIDATION = ("val", "valid", "validation")


def find_folder(
    folder: str | PathLike[str],
    classes: Sequence[str] | None = None,
    sensor_size: tuple[int, int] | None = None,
) -> Inventory:
    """Look for `CLASS/RECORDING`, or `SPLIT/CLASS/RECORDING`, in any format that is read.

    Splits are the folders `train` and `test`; or `train`, `val` and `test`, where `val` is added to the training split,
    of which training holds out a share of its own; or `train` and `val`, where `val` is what to test on.

    Parameters
    ----------
    folder
        Where the folders of the classes are. Files and folders whose names begin with a dot are passed over; whatever
        else is not read is listed in the inventory, with the reason.
    classes
        Which classes, by the names of their folders; all if not given.
    sensor_size
        Columns and rows of the sensor; needed where the recordings do not tell.
    """
    root = check_folder(folder)
    recordings: list[Recording] = []
    unread: list[Unread] = []
    for split, place in class_folders(root, unread):
        if classes is not None and place.name not in classes:
            continue
        found = _files(place, unread)
        recordings += [
            Recording(str(path.relative_to(root)), place.name, split, partial(read_recording, path), path)
            for path in found
        ]
        if not found:
            unread.append(Unread(place, "a folder without a recording, so it is not a class"))
    if not recordings:
        raise DataError(
            f"{root}: no recordings in folders named after classes; they should lie at CLASS/NAME with an ending among "
            f"{', '.join(READERS)}. {contents(root)}"
        )
    labels = tuple(sorted({str(recording.label) for recording in recordings} | set(classes or ())))
    if sensor_size is None:
        sensor_size = _sensor_size(recordings)
    choices = Preprocessing.from_dict({"sensor_size": sensor_size, "polarity": "separate"})
    return Inventory("folder", root, labels, tuple(recordings), choices, {}, {}, tuple(unread))


def class_folders(root: Path, unread: list[Unread]) -> list[tuple[SplitName | None, Path]]:
    """Split and folder of each class; what is none of them is added to `unread`."""
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
        unread += [Unread(path, odd(path) or _OUTSIDE) for path in top if path not in folders and path.is_file()]
        unread += [Unread(path, "a folder beside the splits") for path in top if path not in folders and path.is_dir()]
    found: list[tuple[SplitName | None, Path]] = []
    for split, group in splits.items():
        for path in (path for folder in group for path in entries(folder)):
            if not path.is_dir():
                unread.append(Unread(path, odd(path) or _OUTSIDE))
                continue
            try:
                path.name.encode()
            except UnicodeError:
                raise DataError(f"{path}: the folder's name is no proper text (UTF-8); rename it") from None
            found.append((split, path))
    return found


_OUTSIDE = "in no class's folder"


def _files(place: Path, unread: list[Unread]) -> list[Path]:
    """The recordings in a class's folder."""
    found = []
    for path in entries(place):
        reason = odd(path)
        if reason is None and path.suffix.lower() not in READERS:
            reason = "no reader for this ending"
        if reason is None:
            found.append(path)
        else:
            unread.append(Unread(path, reason))
    return found


def _sensor_size(recordings: Sequence[Recording]) -> tuple[int, int]:
    """What all recordings say; where one says nothing, or they differ, the user must."""
    first: tuple[int, int] | None = None
    for recording in recordings:
        assert recording.path is not None
        size = sensor_size_of(recording.path)
        if size is None:
            events = recording.read()
            least = f"{int(events['x'].max()) + 1} {int(events['y'].max()) + 1}"
            raise DataError(
                f"{recording.path}: does not tell the size of the sensor; give it with --sensor COLUMNS ROWS "
                f"(this recording needs at least {least})"
            )
        first = first or size
        if size != first:
            raise DataError(
                f"{recording.path}: from a sensor of {size[0]} x {size[1]}, but {recordings[0].path} from one of "
                f"{first[0]} x {first[1]}; give a size for all with --sensor COLUMNS ROWS"
            )
    assert first is not None
    return first
