"""Reading a recording of any known kind: the file's name says which. A new kind is one file and one line here."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from gemsnn.errors import DataError
from gemsnn.events import aedat, nmnist
from gemsnn.events.faery_files import read_faery
from gemsnn.events.hdf5 import read_hdf5
from gemsnn.events.numpy_files import read_numpy
from gemsnn.events.records import Events
from gemsnn.events.text import read_text


class Reader(NamedTuple):
    """How files with some ending are read."""

    read: Callable[[Path], Events]
    sensor_size: tuple[int, int] | None = None
    """Columns and rows, if all such files come from one sensor."""


READERS: dict[str, Reader] = {
    ".aedat": Reader(aedat.read_aedat, aedat.SENSOR_SIZE),
    ".dat": Reader(aedat.read_aedat, aedat.SENSOR_SIZE),
    ".bin": Reader(nmnist.read_nmnist, nmnist.SENSOR_SIZE),
    ".csv": Reader(read_text),
    ".txt": Reader(read_text),
    ".npy": Reader(read_numpy),
    ".npz": Reader(read_numpy),
    ".h5": Reader(read_hdf5),
    ".hdf5": Reader(read_hdf5),
    ".raw": Reader(read_faery),
    ".aedat4": Reader(read_faery),
}


def reader_of(path: str | PathLike[str]) -> Reader:
    """The reader that a file's ending asks for."""
    file = Path(path)
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        known = ", ".join(READERS)
        raise DataError(f"{file}: the ending {file.suffix or '(none)'} is not known; recordings end in {known}")
    return reader


def read_recording(path: str | PathLike[str]) -> Events:
    """Read a recording with the reader that its ending asks for.

    `.aedat` or `.dat` is AEDAT 1.0 and 2.0, `.bin` N-MNIST, `.csv` or `.txt` text, `.npy` or `.npz` NumPy, `.h5` or
    `.hdf5` HDF5; with the extra `faery`, `.raw` is EVT 2.0 and 3.0, `.aedat4` AEDAT 4.0.

    Returns
    -------
    (n,) structured array
        Fields x, y, t in microseconds, p (1 for ON).
    """
    return reader_of(path).read(Path(path))
