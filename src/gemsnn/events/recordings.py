"""Reading a recording of any known kind: the file's name says which."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from gemsnn.errors import DataError
from gemsnn.events.aedat import read_aedat
from gemsnn.events.nmnist import read_nmnist
from gemsnn.events.records import Events

_READERS: dict[str, Callable[[Path], Events]] = {".aedat": read_aedat, ".dat": read_aedat, ".bin": read_nmnist}


def read_recording(path: str | PathLike[str]) -> Events:
    """Read a recording with the reader that its ending asks for: `.aedat` or `.dat` is AEDAT, `.bin` is N-MNIST.

    Returns
    -------
    (n,) structured array
        Fields x, y, t in microseconds, p (1 for ON).
    """
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        known = ", ".join(_READERS)
        raise DataError(f"{file}: the ending {file.suffix or '(none)'} is not known; recordings end in {known}")
    return reader(file)
