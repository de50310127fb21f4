"""Any recordings in folders that are named after their classes."""

from collections.abc import Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from gemsnn.errors import DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.datasets.inventory import Inventory, Recording, check_folder, contents
from gemsnn.events.prepared import SPLITS, SplitName
from gemsnn.events.recordings import READERS, read_recording, reader_of

BIN_US = 25_000


def find_folder(
    folder: str | PathLike[str],
    classes: Sequence[str] | None = None,
    sensor_size: tuple[int, int] | None = None,
) -> Inventory:
    """Look for `CLASS/RECORDING`, or `train/CLASS/RECORDING` and `test/CLASS/RECORDING`, in any format that is read.

    Parameters
    ----------
    folder
        Where the folders of the classes are. Files and folders whose names begin with a dot are passed over.
    classes
        Which classes, by the names of their folders; all if not given.
    sensor_size
        Columns and rows of the sensor; needed where the format does not tell.
    """
    root = check_folder(folder)
    recordings = [
        Recording(str(path.relative_to(root)), label, split, partial(read_recording, path), path)
        for split, label, path in _found(root)
        if classes is None or label in classes
    ]
    if not recordings:
        raise DataError(
            f"{root}: no recordings in folders named after classes; they should lie at CLASS/NAME with an ending among "
            f"{', '.join(READERS)}. {contents(root)}"
        )
    labels = tuple(sorted({str(recording.label) for recording in recordings} | set(classes or ())))
    if sensor_size is None:
        sensor_size = _sensor_size(recordings)
    choices = Preprocessing.from_dict({"sensor_size": sensor_size, "bin_us": BIN_US, "polarity": "separate"})
    return Inventory("folder", root, labels, tuple(recordings), choices, {}, {})


def _found(root: Path) -> Iterator[tuple[SplitName | None, str, Path]]:
    """Split, class and file of each recording, in order of their names."""
    tops = _entries(root)
    names = {top.name.lower(): top for top in tops if top.is_dir()}
    if set(names) == set(SPLITS):
        places: list[tuple[SplitName | None, Path]] = [
            (split, place) for split in SPLITS for place in _entries(names[split]) if place.is_dir()
        ]
    else:
        places = [(None, place) for place in tops if place.is_dir()]
    for split, place in places:
        try:
            place.name.encode()
        except UnicodeError:
            raise DataError(f"{place}: the folder's name is no proper text (UTF-8); rename it") from None
        for path in _entries(place):
            if path.is_file() and path.suffix.lower() in READERS:
                yield split, place.name, path


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed: {error.strerror or error}") from None


def _sensor_size(recordings: Sequence[Recording]) -> tuple[int, int]:
    """What all formats among the recordings say; where one says nothing, the user must."""
    sizes = {reader_of(recording.path or "").sensor_size for recording in recordings}
    known = sizes.pop()
    if sizes or known is None:
        events = recordings[0].read()
        least = f"{int(events['x'].max()) + 1} {int(events['y'].max()) + 1}"
        raise DataError(
            f"{recordings[0].path}: such files do not tell the size of the sensor; give it with --sensor COLUMNS ROWS "
            f"(this recording needs at least {least})"
        )
    return known
