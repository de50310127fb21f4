"""Events as bytes, 13 for each, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from gemsnn.errors import DataError
from gemsnn.events.records import Events
from gemsnn.events.wire import RECORD_DTYPE, events_of

MOST_AT_ONCE = 1 << 16


def from_bytes(stream: BinaryIO, name: str = "standard input") -> Iterator[Events]:
    """Events from a binary stream as they arrive, 13 bytes each (`RECORD_DTYPE`); its end is the recording's end."""
    rest = b""
    while content := read_some(stream):
        content = rest + content
        whole = len(content) // RECORD_DTYPE.itemsize * RECORD_DTYPE.itemsize
        rest = content[whole:]
        if whole:
            yield events_of(content[:whole], name)
    if rest:
        raise DataError(f"{name}: ends inside an event: {len(rest)} of {RECORD_DTYPE.itemsize} bytes are there")


def read_some(stream: BinaryIO) -> bytes:
    """What has arrived, waiting only if that is nothing; empty at the end."""
    read: bytes = getattr(stream, "read1", stream.read)(MOST_AT_ONCE)
    return read
