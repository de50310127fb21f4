"""AEDAT 2.0 recordings of a DVS128 (and 1.0, which often has no header): reading and writing.

A header of text lines that begin with `#` is followed by big-endian records: a 32-bit address and a 32-bit time in
microseconds (version 2.0), or a 16-bit address and a 32-bit time (version 1.0). In the address, bit 0 is the polarity
(1 means OFF), bits 1-7 are the sensor's x, which runs backwards, and bits 8-14 are y.

Damaged files:

| damage | result |
|---|---|
| empty, header only, a directory, no permission, version 3.x or 4 | `DataError` |
| an address outside the 128 x 128 sensor (binary noise, lost bytes) | `DataError` with byte offset |
| cut inside a record | the events before the cut, and a `DamageWarning` with byte offset |
| a time that jumps back | the events before the jump, and a `DamageWarning` with byte offset |
| a clock that overflows after 2^32 microseconds | no damage: all events, with increasing times |

After an address outside the sensor, no event of the file can be trusted; before a cut or a jump in time, all can.
"""

import re
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gemsnn.common.files import write_whole
from gemsnn.errors import DataError
from gemsnn.events.files import read_bytes, undamaged_events, whole_records
from gemsnn.events.records import Events, as_events

SENSOR_SIZE = (128, 128)
"""Columns and rows of the DVS128."""

_RECORD_2 = np.dtype([("address", ">u4"), ("time", ">u4")])
_RECORD_1 = np.dtype([("address", ">u2"), ("time", ">u4")])
# A header line is text: in a version 1.0 file without header, the first event's y may happen to be 35, which is "#".
_HEADER_LINE = re.compile(rb"#[^\x00-\x08\x0a\x0b\x0c\x0e-\x1f\x7f]*\n")
_VERSION = re.compile(rb"#!AER-DAT(\d+(?:\.\d+)*)")
_END_OF_HEADER = b"#End Of ASCII Header"
_LONGEST_HEADER = 1 << 16

SIMULATED_LINE = "simulated by gemsnn: no camera saw this"
"""The header line of every file of simulated events."""


class Header(NamedTuple):
    """The text header of a recording."""

    version: int
    """1 or 2."""
    lines: tuple[str, ...]
    """Header lines without the leading `#` and the line end."""
    size: int
    """Bytes before the first event."""

    @property
    def simulated(self) -> bool:
        """Whether the header marks the events as simulated."""
        return SIMULATED_LINE in self.lines


def read_aedat(path: str | PathLike[str]) -> Events:
    """Read an AEDAT 2.0 or 1.0 recording of a DVS128.

    Returns
    -------
    (n,) structured array
        Fields x (127 - the sensor's own x), y, t in microseconds as recorded, p (1 for ON); times never decrease.
    """
    return parse_aedat(read_bytes(path), str(path))


def read_aedat_header(path: str | PathLike[str]) -> Header:
    """Read only the header of a recording."""
    return parse_header(read_bytes(path, _LONGEST_HEADER), str(path))


def parse_header(data: bytes, name: str) -> Header:
    """Version, lines and size of the header; a `DataError` for other versions than 1.0 and 2.0."""
    if not data:
        raise DataError(f"{name}: the file is empty (byte 0)")
    version = 1
    if data.startswith(b"#!AER-DAT"):
        found = _VERSION.match(data)
        number = found[1].decode() if found else "?"
        major = number.split(".")[0]
        if major in ("3", "4"):
            advice = (
                "jAER or dv-gui can export AEDAT 2.0; or read it with a library for that format and pass the "
                "array with fields x, y, t, p to gemsnn.events.bin_events"
            )
            raise DataError(f"{name}: this is an AEDAT {number} file (byte 0), which is not supported; {advice}")
        if major not in ("1", "2"):
            raise DataError(f"{name}: unknown AEDAT version {number} (byte 9); versions 1.0 and 2.0 are read")
        version = int(major)
    size, lines = 0, []
    while line := _HEADER_LINE.match(data, size):
        size = line.end()
        lines.append(line[0].decode("utf-8", "replace").strip("# \r\n"))
        if line[0].startswith(_END_OF_HEADER):
            break
    return Header(version, tuple(lines), size)


def parse_aedat(data: bytes, name: str) -> Events:
    """Decode the bytes of a recording, called `name` in messages. See `read_aedat`."""
    header = parse_header(data, name)
    record = _RECORD_2 if header.version == 2 else _RECORD_1
    count = whole_records(data, header.size, record.itemsize, name)
    records = np.frombuffer(data, dtype=record, count=count, offset=header.size)
    if records["address"].max() > 0x7FFF:
        i = int(np.argmax(records["address"] > 0x7FFF))
        raise DataError(
            f"{name}: address {records['address'][i]:#x} at byte {header.size + i * record.itemsize} (event {i}) lies "
            "outside the 128 x 128 sensor; the file is damaged, or not a DVS128 recording in AEDAT 1.0 or 2.0"
        )
    address = records["address"].astype(np.int16)
    return undamaged_events(
        127 - ((address >> 1) & 0x7F),
        address >> 8,
        records["time"].astype(np.int64),
        1 - (address & 1),
        bits=32,
        data=data,
        start=header.size,
        size=record.itemsize,
        name=name,
    )


def write_aedat(path: str | PathLike[str], events: Events, *, comments: tuple[str, ...] = ()) -> None:
    """Write events as an AEDAT 2.0 file of a DVS128, which `read_aedat` and jAER can read.

    Parameters
    ----------
    path
        An existing file is replaced atomically.
    events
        x and y in 0..127; t in 0..2^32 - 1, never decreasing.
    comments
        Lines to add to the header; must include `SIMULATED_LINE` for simulated events.
    """
    file = Path(path)
    write_whole(file, encode_aedat(events, str(file), comments))


def encode_aedat(events: Events, name: str = "events", comments: tuple[str, ...] = ()) -> bytes:
    """The bytes that `write_aedat` writes."""
    events = as_events(events, name)
    x, y, t = events["x"].astype(np.int64), events["y"].astype(np.int64), events["t"]
    outside = (x < 0) | (x > 127) | (y < 0) | (y > 127)
    if outside.any():
        i = int(np.argmax(outside))
        raise DataError(f"{name}: event {i} at x = {x[i]}, y = {y[i]} lies outside the 128 x 128 sensor")
    if len(t) and (t[0] < 0 or t[-1] >= 1 << 32 or (np.diff(t) < 0).any()):
        raise DataError(f"{name}: times must lie in 0..2^32 - 1 microseconds and never go back; sort the events by t")
    if any(not line.isprintable() for line in comments):
        raise DataError(f"{name}: header comments must be single printable lines")
    lines = (
        "#!AER-DAT2.0",
        "# This is a raw AE data file - do not edit",
        "# Data format is int32 address, int32 timestamp (8 bytes total), repeated for each event",
        "# Timestamps tick is 1 us",
        *(f"# {line}" for line in comments),
    )
    records = np.empty(len(events), dtype=_RECORD_2)
    records["address"] = (y << 8) | ((127 - x) << 1) | (1 - events["p"])
    records["time"] = t
    return "".join(f"{line}\r\n" for line in lines).encode() + records.tobytes()
