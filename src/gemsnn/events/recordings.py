"""Reading a recording of any supported format, chosen by its ending. A new format is one file and one line here."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from gemsnn.common import kinds
from gemsnn.errors import ConfigError, DataError
from gemsnn.events import aedat, nmnist
from gemsnn.events.faery_files import read_faery
from gemsnn.events.hdf5 import read_hdf5
from gemsnn.events.numpy_files import read_numpy
from gemsnn.events.prophesee import dat_sensor_size, read_dat
from gemsnn.events.records import Events
from gemsnn.events.text import read_text, text_sensor_size


class Reader(NamedTuple):
    """How files with a certain ending are read."""

    read: Callable[[Path], Events]
    sensor_size: tuple[int, int] | Callable[[Path], tuple[int, int] | None] | None = None
    """Columns and rows, if all such files have the same; or a function that reads them from a file, if it has them."""


READERS: dict[str, Reader] = {
    ".aedat": Reader(aedat.read_aedat, aedat.SENSOR_SIZE),
    ".dat": Reader(read_dat, dat_sensor_size),
    ".bin": Reader(nmnist.read_nmnist, nmnist.SENSOR_SIZE),
    ".csv": Reader(read_text, text_sensor_size),
    ".txt": Reader(read_text, text_sensor_size),
    ".npy": Reader(read_numpy),
    ".npz": Reader(read_numpy),
    ".h5": Reader(read_hdf5),
    ".hdf5": Reader(read_hdf5),
    ".raw": Reader(read_faery),
    ".aedat4": Reader(read_faery),
}


def register(ending: str, read: Callable[[Path], Events], sensor_size: tuple[int, int] | None = None) -> None:
    """Register a function that reads files with an ending, such as ``.events``.

    Parameters
    ----------
    read
        Takes a path and returns events; :func:`gemsnn.events.as_events` converts any array with fields x, y, t, p.
    sensor_size
        Columns and rows, if all such files have the same.
    """
    if not (isinstance(ending, str) and ending.startswith(".") and ending == ending.lower()):
        raise ConfigError(f"an ending must be in lower case and begin with a dot, such as '.events', got {ending!r}")
    kinds.register("reader", READERS, ending, Reader(read, sensor_size), lambda reader: reader.read)


def reader_of(path: str | PathLike[str]) -> Reader:
    """The reader for a file's ending."""
    file = Path(path)
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        known = ", ".join(READERS)
        raise DataError(f"{file}: the ending {file.suffix or '(none)'} is not known; recordings end in {known}")
    return reader


def read_recording(path: str | PathLike[str]) -> Events:
    """Read a recording with the reader for its ending.

    `.aedat` is AEDAT 1.0 or 2.0, `.dat` the same or Prophesee's DAT, `.bin` N-MNIST, `.csv` and `.txt` text, `.npy` and
    `.npz` NumPy, `.h5` and `.hdf5` HDF5; with the extra `faery`, `.raw` is EVT 2.0 or 3.0, `.aedat4` AEDAT 4.0.

    Returns
    -------
    (n,) structured array
        Fields x, y, t in microseconds, p (1 for ON), in order of time; the same for the reader of each format.
    """
    return reader_of(path).read(Path(path))


def recordings_in(path: Path) -> list[Path]:
    """The recording itself, or all recordings in a folder and its subfolders."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in READERS)
    if not found:
        raise DataError(f"{path}: there are no recordings in this folder; they end in {', '.join(READERS)}")
    return found


def sensor_size_of(path: str | PathLike[str]) -> tuple[int, int] | None:
    """Columns and rows of the sensor, if the recording has them."""
    found = reader_of(path).sensor_size
    return found(Path(path)) if callable(found) else found
