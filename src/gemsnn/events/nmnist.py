"""N-MNIST recordings (`.bin`), the 40-bit format of the ATIS data sets: reading and writing.

Five bytes per event: x, y, then one bit of polarity (1 is ON) and 23 bits of time in microseconds. Larger data sets in
this format mark a clock overflow by a record with y = 240, which adds 2^13 microseconds to all times after it.

Damaged files are treated as in `gemsnn.events.aedat`; the clock overflows after 2^23 microseconds.
"""

from os import PathLike

import numpy as np

from gemsnn.errors import DataError
from gemsnn.events.files import read_bytes, undamaged_events, whole_records
from gemsnn.events.records import Events, as_events

SENSOR_SIZE = (34, 34)
"""Columns and rows of an N-MNIST recording."""

_OVERFLOW_Y = 240
_OVERFLOW_STEP = 1 << 13


def read_nmnist(path: str | PathLike[str], sensor_size: tuple[int, int] = SENSOR_SIZE) -> Events:
    """Read an N-MNIST `.bin` recording.

    Parameters
    ----------
    path
        The `.bin` file.
    sensor_size
        Columns and rows; events outside are a `DataError`.
    """
    return parse_nmnist(read_bytes(path), str(path), sensor_size)


def parse_nmnist(data: bytes, name: str, sensor_size: tuple[int, int] = SENSOR_SIZE) -> Events:
    """Decode the bytes of a recording, called `name` in messages. See `read_nmnist`."""
    if not data:
        raise DataError(f"{name}: the file is empty (byte 0)")
    count = whole_records(data, 0, 5, name)
    raw = np.frombuffer(data, dtype=np.uint8, count=5 * count).reshape(count, 5)
    x, y = raw[:, 0], raw[:, 1]
    overflow = y == _OVERFLOW_Y
    outside = ((x >= sensor_size[0]) | (y >= sensor_size[1])) & ~overflow
    if outside.any():
        i = int(np.argmax(outside))
        raise DataError(
            f"{name}: event at x = {x[i]}, y = {y[i]} at byte {5 * i} (event {i}) lies outside the "
            f"{sensor_size[0]} x {sensor_size[1]} sensor; the file is damaged, or not an N-MNIST recording"
        )
    high = raw[:, 2].astype(np.int64)
    stamps = ((high & 0x7F) << 16) | (raw[:, 3].astype(np.int64) << 8) | raw[:, 4]
    stamps += _OVERFLOW_STEP * np.cumsum(overflow)
    kept = np.flatnonzero(~overflow)
    if not len(kept):
        raise DataError(f"{name}: only clock overflow marks and no event (byte 0); the recording is empty")
    return undamaged_events(
        x[kept], y[kept], stamps[kept], high[kept] >> 7, bits=23, data=data, start=0, size=5, name=name, record=kept
    )


def encode_nmnist(events: Events, name: str = "events") -> bytes:
    """The bytes of an N-MNIST recording with these events (x and y in 0..239, t below 2^23 and never going back)."""
    events = as_events(events, name)
    x, y, t = events["x"], events["y"], events["t"]
    if len(t) and (min(x.min(), y.min()) < 0 or max(x.max(), y.max()) >= _OVERFLOW_Y):
        raise DataError(f"{name}: x and y must lie in 0..{_OVERFLOW_Y - 1}")
    if len(t) and (t[0] < 0 or t[-1] >= 1 << 23 or (np.diff(t) < 0).any()):
        raise DataError(f"{name}: times must lie in 0..2^23 - 1 microseconds and never go back; sort the events by t")
    raw = np.empty((len(events), 5), dtype=np.uint8)
    raw[:, 0], raw[:, 1] = x, y
    raw[:, 2] = (events["p"].astype(np.int64) << 7) | (t >> 16)
    raw[:, 3], raw[:, 4] = (t >> 8) & 0xFF, t & 0xFF
    return raw.tobytes()
