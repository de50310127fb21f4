"""The bytes of a prepared file: HDF5 for other programs, with an additional header from which gemsnn reads it.

libhdf5 hangs or crashes on a flipped bit in the structure of a file, and follows links out of it. It is therefore only
used for writing: a header records the offset of each array, and reading goes directly to these offsets. Everything that
is read must match its SHA-256:

    user block (512 bytes)  text: format, then offset and SHA-256 of the header
    /spikes                 one large array, (step, index) of each spike; read in pieces, whose SHA-256 are in a table
    /header                 JSON: `content` (metadata), and offset, type, shape and SHA-256 of each table
    /train/*, /test/*       the tables, arrays with one row per example; read completely

The spikes are written first, as they arrive; the HDF5 structure is added at the end.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gemsnn._version import __version__
from gemsnn.common.files import open_regular
from gemsnn.errors import DataError
from gemsnn.model.spike_list import SPIKE_DTYPE

if TYPE_CHECKING:
    import h5py  # only needed for writing, and slow to import

FORMAT = b"gemsnn prepared data, format 2\n"
USER_BLOCK = 512

_NEWER = re.compile(rb"gemsnn prepared data, format (\d+)\n")
_HDF5 = b"\x89HDF\r\n\x1a\n"

Size = Annotated[int, Field(ge=0, lt=1 << 60)]


class _Exact(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Place(_Exact):
    """Offset, size and checksum of the header."""

    at: Size
    size: Size
    sha256: str


class _Table(_Exact):
    at: Size
    dtype: Annotated[str, Field(pattern=r"^(<i8|\|u1|\|S[1-9]\d{0,8})$")]
    shape: list[Size]
    sha256: str


class _Spikes(_Exact):
    at: Size
    count: Size


class _Header(_Exact):
    content: dict[str, Any]
    spikes: _Spikes
    tables: dict[str, _Table]
    version: str


# ---- writing ---------------------------------------------------------------------------------------------------------


class Writer:
    """Appends spikes to a stream; `finish` turns the stream into a prepared file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        with _structure(1, _Image()) as (_, spikes):
            self._at = spikes.get_offset()  # independent of their number
        self.count = 0
        stream.seek(self._at)

    def append(self, spikes: NDArray[np.void]) -> None:
        """Append spikes."""
        self._stream.write(spikes.tobytes())
        self.count += len(spikes)

    def finish(self, content: Mapping[str, Any], tables: Mapping[str, NDArray[Any]]) -> None:
        """Write tables, header and structure."""
        image = _Image()
        with _structure(self.count, image) as (file, room):
            assert not self.count or room.get_offset() == self._at
            recorded = {}
            for name, table in tables.items():
                at = _add_array(file, name, table)
                sha256 = hashlib.sha256(table.tobytes()).hexdigest()
                recorded[name] = _Table(at=at, dtype=table.dtype.str, shape=list(table.shape), sha256=sha256)
            spikes = _Spikes(at=self._at, count=self.count)
            fields = _Header(content=dict(content), spikes=spikes, tables=recorded, version=__version__)
            header = json.dumps(fields.model_dump(), allow_nan=False).encode()
            at = _add_array(file, "header", np.array(header))
        place = _Place(at=at, size=len(header), sha256=hashlib.sha256(header).hexdigest())
        image.write_to(self._stream)
        self._stream.seek(0)
        self._stream.write((FORMAT + place.model_dump_json().encode()).ljust(USER_BLOCK))


class _Image(io.RawIOBase):
    """A file in memory, as a list of writes, since libhdf5 crashes when the disk is full."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, bytes]] = []
        self._position = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = offset
        return offset

    def write(self, content: Any) -> int:
        self._pieces.append((self._position, bytes(content)))
        return len(content)

    def truncate(self, size: int | None = None) -> int:
        return size or 0

    def write_to(self, stream: BinaryIO) -> None:
        for position, content in self._pieces:
            stream.seek(position)
            stream.write(content)


@contextmanager
def _structure(count: int, image: _Image) -> Iterator[tuple[h5py.File, Any]]:
    """An HDF5 file in an image, with space reserved for `count` spikes."""
    import h5py

    with h5py.File(image, "w", userblock_size=USER_BLOCK) as file:
        yield file, _dataset(file, "spikes", (count,), SPIKE_DTYPE)


def _dataset(file: h5py.File, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A contiguous data set, whose offset is known immediately."""
    import h5py

    choices = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    choices.set_layout(h5py.h5d.CONTIGUOUS)
    choices.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    choices.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    choices.set_obj_track_times(False)  # no time stamps: equal content gives equal bytes
    space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
    group, _, last = name.rpartition("/")
    parent = file.require_group(group) if group else file
    return h5py.h5d.create(parent.id, last.encode(), h5py.h5t.py_create(dtype), space, choices)


def _add_array(file: h5py.File, name: str, array: NDArray[Any]) -> int:
    """Write an array, and return its offset."""
    made = _dataset(file, name, array.shape, array.dtype)
    if not array.size:
        return 0
    import h5py

    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(array))
    return int(made.get_offset())


# ---- reading ---------------------------------------------------------------------------------------------------------


def is_prepared(path: Path) -> bool:
    """Whether a file starts like a prepared file, of any format version."""
    try:
        with open_regular(path) as stream:
            return _NEWER.match(stream.read(USER_BLOCK)) is not None
    except OSError:
        return False


class Reader:
    """An open prepared file: its content, its tables, and its spikes on request. Any damage is a `DataError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._stream = open_regular(path)
        except OSError as error:
            raise DataError(f"{path}: cannot be opened: {error.strerror or error}") from None
        try:
            self._size = os.fstat(self._stream.fileno()).st_size
            self._header = self._read_header()
            self.content = self._header.content
            self.version = self._header.version
            self.n_spikes = self._header.spikes.count
            if self._header.spikes.at + self.n_spikes * SPIKE_DTYPE.itemsize > self._size:
                raise DataError(f"{path}: damaged: the file is truncated; make it again")
            self.tables = {name: self._read_table(name) for name in self._header.tables}
        except BaseException:
            self._stream.close()
            raise

    @property
    def fingerprint(self) -> str:
        """A SHA-256 of the whole content, except the order in which examples were written."""
        tables = {
            name: [table.dtype, table.shape, table.sha256]
            for name, table in self._header.tables.items()
            if not name.endswith("/begin")
        }
        text = json.dumps({"content": self.content, "tables": tables}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def spikes(self, begin: int, count: int) -> bytes:
        """The bytes of a range of spikes, not yet verified; fewer if the file was truncated."""
        size = SPIKE_DTYPE.itemsize
        return self._read(self._header.spikes.at + begin * size, count * size)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _read(self, at: int, size: int) -> bytes:
        if self._stream.closed:
            raise DataError(f"{self.path}: the file was closed")
        pieces = []
        try:
            while size and (piece := os.pread(self._stream.fileno(), min(size, 1 << 30), at)):
                pieces.append(piece)
                at, size = at + len(piece), size - len(piece)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror or error}") from None
        return b"".join(pieces)

    def _checked(self, at: int, size: int, sha256: str, what: str) -> bytes:
        """A range of bytes, verified by its checksum."""
        if at + size <= self._size:
            found = self._read(at, size)
            if hashlib.sha256(found).hexdigest() == sha256:
                return found
        raise DataError(f"{self.path}: damaged: {what} does not match its checksum; make the file again")

    def _read_header(self) -> _Header:
        block = self._read(0, USER_BLOCK)
        if not block.startswith(FORMAT):
            raise DataError(f"{self.path}: {_not_this_format(block)}")
        try:
            place = _Place.model_validate_json(block[len(FORMAT) :])
            text = self._checked(place.at, place.size, place.sha256, "the header")
            return _Header.model_validate(json.loads(text))
        except (ValidationError, ValueError, RecursionError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.path}: damaged: its header cannot be read; make the file again") from None

    def _read_table(self, name: str) -> NDArray[Any]:
        table = self._header.tables[name]
        dtype = np.dtype(table.dtype)
        raw = self._checked(table.at, math.prod(table.shape) * dtype.itemsize, table.sha256, f"the table {name}")
        return np.frombuffer(raw, dtype=dtype).reshape(table.shape)


def _not_this_format(block: bytes) -> str:
    if found := _NEWER.match(block):
        return f"prepared data of format {int(found[1])}, which this gemsnn cannot read; install a newer one"
    if block.startswith(_HDF5):
        return (
            "an HDF5 file, but not a prepared one, or prepared by gemsnn 0.1; make it again with gemsnn data or "
            "gemsnn.events.write_prepared"
        )
    return "not a prepared file, or a damaged one; make it with gemsnn data"
