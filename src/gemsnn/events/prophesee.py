"""Prophesee's `.dat` recordings, such as those of N-CARS and other ATIS data sets: reading.

A header of text lines that begin with `%` is followed by a byte for the type of the events, a byte for their size (8),
and the events, little-endian: a 32-bit time in microseconds, and a 32-bit word

| version | x | y | polarity (1 is ON) |
|---|---|---|---|
| 2 | bits 0-13 | bits 14-27 | bits 28-31 |
| 0, 1 | bits 0-8 | bits 9-16 | bit 17 |

The header line `% Version` gives the version; without it, any word beyond 18 bits means version 2, and a
`gemsnn.events.GuessWarning` reports the guess. `% Width` and `% Height`, if present, give the size of the sensor.

Damaged files are treated as in `gemsnn.events.aedat`. A file that does not begin with `%` is read as AEDAT, which uses
the same ending.
"""

import re
import warnings
from os import PathLike

import numpy as np

from gemsnn.errors import DataError
from gemsnn.events.aedat import SENSOR_SIZE, parse_aedat
from gemsnn.events.columns import GuessWarning
from gemsnn.events.files import read_bytes, undamaged_events, whole_records
from gemsnn.events.records import Events

_RECORD = np.dtype([("time", "<u4"), ("word", "<u4")])
_HEADER_LINE = re.compile(rb"%[^\n]*\n")
_TYPES = (0, 12)  # change detection: Event2d, EventCD
_LONGEST_HEADER = 1 << 16


def read_dat(path: str | PathLike[str]) -> Events:
    """Read a Prophesee `.dat` recording, or an AEDAT 1.0 or 2.0 recording with that ending."""
    data = read_bytes(path)
    return parse_dat(data, str(path)) if data.startswith(b"%") else parse_aedat(data, str(path))


def dat_sensor_size(path: str | PathLike[str]) -> tuple[int, int] | None:
    """Columns and rows in the header of a `.dat` recording, or those of a DVS128 if it is AEDAT."""
    data = read_bytes(path, _LONGEST_HEADER)
    return _header(data)[1] if data.startswith(b"%") else SENSOR_SIZE


def parse_dat(data: bytes, name: str) -> Events:
    """Decode the bytes of a Prophesee recording, called `name` in messages. See `read_dat`."""
    fields, size, begin = _header(data)
    kind = data[begin : begin + 2]
    if len(kind) < 2 or kind[0] not in _TYPES or kind[1] != _RECORD.itemsize:
        raise DataError(
            f"{name}: events of type and size {list(kind)} at byte {begin}; change events have type 0 or 12 and size "
            f"{_RECORD.itemsize}"
        )
    start = begin + 2
    count = whole_records(data, start, _RECORD.itemsize, name)
    records = np.frombuffer(data, dtype=_RECORD, count=count, offset=start)
    word = records["word"]
    version = fields.get("version")
    if version is None:
        version = "2" if word.max() >= 1 << 18 else "1"
        warnings.warn(f".dat files without a version: read as version {version}", GuessWarning, stacklevel=3)
    if version not in ("0", "1", "2"):
        raise DataError(f"{name}: version {version} of the format is not supported; versions 0, 1 and 2 are")
    bits_x, bits_y = (14, 14) if version == "2" else (9, 8)
    x, y = word & ((1 << bits_x) - 1), (word >> bits_x) & ((1 << bits_y) - 1)
    p = (word >> (bits_x + bits_y)) & (15 if version == "2" else 1)
    wrong = p > 1
    if size is not None:
        wrong |= (x >= size[0]) | (y >= size[1])
    if wrong.any():
        i = int(np.argmax(wrong))
        sensor = "" if size is None else f" on a {size[0]} x {size[1]} sensor"
        raise DataError(
            f"{name}: event at x = {x[i]}, y = {y[i]} of polarity {p[i]}{sensor} at byte "
            f"{start + i * _RECORD.itemsize} (event {i}); the file is damaged"
        )
    stamps = records["time"].astype(np.int64)
    return undamaged_events(x, y, stamps, p, bits=32, data=data, start=start, size=_RECORD.itemsize, name=name)


def _header(data: bytes) -> tuple[dict[str, str], tuple[int, int] | None, int]:
    """Keywords and values, the size of the sensor, and the size of the header in bytes."""
    fields: dict[str, str] = {}
    begin = 0
    while line := _HEADER_LINE.match(data, begin):
        begin = line.end()
        keyword, _, value = line[0][1:].decode("ascii", "replace").strip().partition(" ")
        fields[keyword.lower()] = value.strip()
        if keyword.lower() == "end":
            break
    try:
        size = int(fields["width"]), int(fields["height"])
    except (KeyError, ValueError):
        return fields, None, begin
    return fields, size if min(size) > 0 and max(size) <= 1 << 14 else None, begin
