"""Events in NumPy files: a structured array in `.npy` or `.npz`, or an array for each of t, x, y, p in `.npz`."""

import io
import tokenize
import warnings
import zipfile
import zlib
from os import PathLike
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from gemsnn.errors import DataError
from gemsnn.events.columns import events_from_columns, events_without_names
from gemsnn.events.files import read_bytes, require_memory
from gemsnn.events.records import Events

COPIES = 3
"""Peak memory of reading, in sizes of the raw arrays: the arrays, their columns combined, and the events."""

_DAMAGE = (
    ValueError, OSError, EOFError, KeyError, SyntaxError, TypeError, RuntimeError, MemoryError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_numpy(path: str | PathLike[str]) -> Events:
    """Read events from a `.npy` or `.npz` file.

    A structured array with fields t, x, y, p; or, in `.npz`, an array for each. Other names, and the columns of an
    (n, 4) array without names, are guessed and reported by a `gemsnn.events.GuessWarning`. Pickled objects are refused,
    so that no code in the file is run.
    """
    name, data = str(path), read_bytes(path)
    try:
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                arrays = {}
                entries = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
                require_memory(COPIES * sum(entry.file_size for entry in entries), name)
                for entry in entries:
                    with archive.open(entry) as stream:
                        arrays[entry.filename.removesuffix(".npy")] = _read_array(stream, entry.file_size)
        else:
            arrays = {"array": _read_array(io.BytesIO(data), len(data))}
    except _DAMAGE as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name}: not a NumPy file of events, or a damaged one: {error}") from None
    only = next(iter(arrays.values())) if len(arrays) == 1 else None
    if only is not None and only.dtype.names is not None:
        return events_from_columns(only.dtype.names, only.__getitem__, name)
    if len(arrays) == 1:
        return events_without_names(np.asarray(only), name)
    return events_from_columns(arrays, arrays.__getitem__, name)


def _read_array(stream: IO[bytes], size: int) -> NDArray[Any]:
    """One array; its declared shape is compared with the available bytes before memory is allocated."""
    version = npy.read_magic(stream)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read_header is None:
        raise ValueError(f"version {version} of the format is not supported")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about headers written by Python 2
        shape, fortran, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError("it contains pickled objects, which are not read")
    count = 1
    for side in shape:
        count *= side
    if count < 0 or count * dtype.itemsize > size:
        raise ValueError("it is cut off")
    raw = stream.read(count * dtype.itemsize)
    array: NDArray[Any] = np.frombuffer(raw, dtype=dtype, count=count).reshape(shape, order="F" if fortran else "C")
    return array
