"""Events as lines of text: ``t,x,y,p``, one line for each, as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from gemsnn.errors import DataError
from gemsnn.events.records import Events, as_events
from gemsnn.events.sources.bytes import read_some

LONGEST_LINE = 1000  # bytes
_FIELDS = ("t", "x", "y", "p")


def from_text(stream: BinaryIO, name: str = "standard input") -> Iterator[Events | None]:
    """Events from lines of text as they arrive: time in microseconds, column, row, polarity.

    Whole numbers, separated by commas, semicolons, tabs or spaces. A first line may name the columns t, x, y, p, in
    any order. What follows a ``#`` is left out. An empty line ends a recording, and so does the end of the stream.

    Examples
    --------
    >>> import io
    >>> source = from_text(io.BytesIO(b"0,3,4,1\\n500,3,5,0\\n\\n0,1,1,1\\n"))
    >>> [None if events is None else events["t"].tolist() for events in source]
    [[0, 500], None, [0]]
    """
    reader, rest = _LineReader(name), b""
    while content := read_some(stream):
        *lines, rest = (rest + content).split(b"\n")
        yield from reader.read(lines)
        if len(rest) > LONGEST_LINE:  # a stream without ends of lines would fill the memory
            raise reader.too_long(rest)
    if rest.strip():
        yield from reader.read([rest])


class _LineReader:
    def __init__(self, name: str) -> None:
        self.name, self._line = name, 0
        self._order: tuple[int, ...] | None = None  # where t, x, y, p stand in a line; None before the first line

    def read(self, lines: list[bytes]) -> Iterator[Events | None]:
        """The events in these lines, and None for each empty one."""
        waiting: list[tuple[int, bytes]] = []
        for line in lines:
            self._line += 1
            if len(line) > LONGEST_LINE:
                raise self.too_long(line)
            kept = line.partition(b"#")[0].replace(b",", b" ").replace(b";", b" ").strip()
            if not line.strip():
                yield from self._events(waiting)
                yield None
                waiting = []
            elif kept and not self._is_header(kept):
                waiting.append((self._line, kept))
        yield from self._events(waiting)

    def too_long(self, line: bytes) -> DataError:
        said = line[:60].decode(errors="replace")
        return DataError(f"{self.name}: {said!r}... near line {self._line} is too long for an event: t, x, y, p")

    def _is_header(self, line: bytes) -> bool:
        if self._order is not None:
            return False
        names = line.decode(errors="replace").lower().split()
        self._order = (0, 1, 2, 3)
        if sorted(names) == sorted(_FIELDS):
            self._order = tuple(names.index(field) for field in _FIELDS)
            return True
        return False

    def _events(self, lines: list[tuple[int, bytes]]) -> Iterator[Events]:
        if not lines:
            return
        assert self._order is not None
        try:
            columns = np.array([line.split() for _, line in lines]).astype(np.int64)
            if columns.shape[1:] != (4,):
                raise ValueError
        except (ValueError, OverflowError):
            raise self._complaint(lines) from None
        raw = np.empty(len(columns), dtype=[(field, np.int64) for field in _FIELDS])
        for field, place in zip(_FIELDS, self._order, strict=True):
            raw[field] = columns[:, place]
        yield as_events(raw, f"{self.name}, after line {lines[0][0] - 1}")

    def _complaint(self, lines: list[tuple[int, bytes]]) -> DataError:
        number, line = next((one for one in lines if not _is_event(one[1])), lines[0])
        said = line.decode(errors="replace")[:60]
        return DataError(
            f"{self.name}: {said!r} in line {number} is no event; a line has four whole numbers: "
            "t (microseconds), x, y, p"
        )


def _is_event(line: bytes) -> bool:
    try:
        return np.array(line.split()).astype(np.int64).shape == (4,)
    except (ValueError, OverflowError):
        return False
