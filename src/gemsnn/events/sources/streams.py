"""Events from a byte stream as they arrive: records of 13 bytes, or lines of text ``t,x,y,p``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

import numpy as np

from gemsnn.errors import DataError
from gemsnn.events.columns import columns_by_content, columns_by_name, unit_of_time, warn_of_guess
from gemsnn.events.records import RECORD_DTYPE, Events, as_events, events_of
from gemsnn.events.text import is_number, sensor_of_line, split_line

MOST_AT_ONCE = 1 << 16  # bytes
LONGEST_LINE = 1000  # bytes
_FIELDS = ("t", "x", "y", "p")


def from_bytes(stream: BinaryIO, name: str = "standard input") -> Iterator[Events]:
    """Events from a binary stream as they arrive, 13 bytes each (`RECORD_DTYPE`); its end is the recording's end."""
    rest = b""
    while content := _read_available(stream):
        content = rest + content
        whole = len(content) // RECORD_DTYPE.itemsize * RECORD_DTYPE.itemsize
        rest = content[whole:]
        if whole:
            yield events_of(content[:whole], name)
    if rest:
        raise DataError(f"{name}: ends inside an event: {len(rest)} of {RECORD_DTYPE.itemsize} bytes are there")


def _read_available(stream: BinaryIO) -> bytes:
    """The bytes that have arrived, waiting only if there are none; empty at the end of the stream."""
    read: bytes = getattr(stream, "read1", stream.read)(MOST_AT_ONCE)
    return read


def from_text(stream: BinaryIO, name: str = "standard input") -> Iterator[Events | None]:
    """Events from lines of text as they arrive: time in microseconds, column, row, polarity.

    Values are separated by commas, semicolons, tabs or spaces. The first line may name the columns, in any order; names
    other than t, x, y, p are recognised as in :func:`gemsnn.events.read_text`. Columns without names are t, x, y, p,
    unless the first lines rule that out: then the columns are identified by their content. A
    :class:`gemsnn.events.GuessWarning` reports every guess. A first line of two whole numbers is the size of the
    sensor. Text after a ``#`` is ignored. An empty line ends a recording, and so does the end of the stream.

    Examples
    --------
    >>> import io
    >>> source = from_text(io.BytesIO(b"0,3,4,1\\n500,3,5,0\\n\\n0,1,1,1\\n"))
    >>> [None if events is None else events["t"].tolist() for events in source]
    [[0, 500], None, [0]]
    """
    reader, rest = _LineReader(name), b""
    while content := _read_available(stream):
        *lines, rest = (rest + content).split(b"\n")
        yield from reader.read(lines)
        if len(rest) > LONGEST_LINE:  # a stream without line ends would fill the memory
            raise reader.too_long(rest)
    if rest.strip():
        yield from reader.read([rest])


class _LineReader:
    def __init__(self, name: str) -> None:
        self.name, self._line = name, 0
        self._width = 4
        self._head = b""  # the line that named the columns
        self._columns: dict[str, int] | None = None  # columns of t, x, y, p, once known
        self._scale = 1.0  # microseconds per unit of the lines' times

    def read(self, lines: list[bytes]) -> Iterator[Events | None]:
        """The events in these lines, and None for each empty one."""
        waiting: list[tuple[int, bytes]] = []
        for line in lines:
            self._line += 1
            if len(line) > LONGEST_LINE:
                raise self.too_long(line)
            text = line.partition(b"#")[0]
            kept = text.replace(b",", b" ").replace(b";", b" ").strip()
            if not line.strip() or (self._head and line.strip() == self._head):  # another file follows
                yield from self._events(waiting)
                yield None
                waiting = []
            elif kept and (waiting or not self._is_head(text)):
                waiting.append((self._line, kept))
        yield from self._events(waiting)

    def too_long(self, line: bytes) -> DataError:
        start = line[:60].decode(errors="replace")
        return DataError(f"{self.name}: {start!r}... near line {self._line} is too long for an event: t, x, y, p")

    def _is_head(self, line: bytes) -> bool:
        """Whether a line before the first event names the columns, which are then set, or gives the sensor's size."""
        if self._columns is not None:
            return False
        text = line.decode(errors="replace")
        names, _ = split_line(text)
        if any(is_number(part) for part in names):
            return sensor_of_line(text) is not None
        found = columns_by_name(names, self.name)
        self._scale, unit = unit_of_time(found["t"], np.zeros(0))
        self._columns, self._width = {key: names.index(found[key]) for key in _FIELDS}, len(names)
        self._head = line.strip()
        warn_of_guess(found, unit, stacklevel=4)
        return True

    def _guess(self, lines: list[tuple[int, bytes]]) -> None:
        """Identify columns without names: t, x, y, p, unless the first lines only allow another order."""
        self._columns = {key: place for place, key in enumerate(_FIELDS)}
        try:
            table = np.array([line.split() for _, line in lines]).astype(np.float64)
        except (ValueError, OverflowError):
            return  # reported when these lines become events
        if table.shape[1:] != (4,) or (
            (table == np.floor(table)).all()
            and (np.diff(table[:, 0]) >= 0).all()
            and np.isin(table[:, 3], (-1, 0, 1)).all()
        ):
            return
        with suppress(DataError):
            found = columns_by_content(table, self.name)
            self._scale, unit = unit_of_time("", table[:, found["t"]])
            self._columns = found
            warn_of_guess({key: f"column {place + 1}" for key, place in found.items()}, unit, stacklevel=4)

    def _events(self, lines: list[tuple[int, bytes]]) -> Iterator[Events]:
        if not lines:
            return
        if self._columns is None:
            self._guess(lines)
        assert self._columns is not None
        try:
            table = np.array([line.split() for _, line in lines])
            if table.shape[1:] != (self._width,):
                raise ValueError
            raw = np.empty(len(table), dtype=[(field, np.int64) for field in _FIELDS])
            for field, place in self._columns.items():
                if field == "t" and self._scale != 1.0:
                    raw[field] = np.round(table[:, place].astype(np.float64) * self._scale)
                else:
                    raw[field] = table[:, place].astype(np.int64)
        except (ValueError, OverflowError):
            raise self._not_an_event(lines) from None
        yield as_events(raw, f"{self.name}, after line {lines[0][0] - 1}")

    def _not_an_event(self, lines: list[tuple[int, bytes]]) -> DataError:
        number, line = next((one for one in lines if not _is_event(one[1])), lines[0])
        start = line.decode(errors="replace")[:60]
        return DataError(
            f"{self.name}: {start!r} in line {number} is not an event; a line has four whole numbers: "
            "t (microseconds), x, y, p"
        )


def _is_event(line: bytes) -> bool:
    try:
        return np.array(line.split()).astype(np.int64).shape == (4,)
    except (ValueError, OverflowError):
        return False
