"""N-MNIST recordings (`.bin`), the 40-bit format of the ATIS data sets: reading and writing.

Five bytes an event: x, y, then one bit of polarity (1 is ON) and 23 bits of time in microseconds. Larger data sets in
this format mark the overflow of their clock by a record with y = 240, which adds 2^13 microseconds to all that follow.

What happens with a file that is not whole follows `gemsnn.events.aedat`: no events, a directory or no permission are
a `DataError`; so is an event outside the sensor, with its byte offset; a cut record or a time that jumps back ends the
recording there, with a `DamageWarning`; a clock that wraps after 2^23 microseconds runs on.
"""

from os import PathLike

import numpy as np

from gemsnn.errors import DataError
from gemsnn.events.files import read_bytes, unwrap, warn_of_damage, whole_records
from gemsnn.events.records import EVENT_DTYPE, Events, as_events

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
        Columns and rows; events outside are a `DataError`. The default is N-MNIST's 34 x 34.

    Returns
    -------
    (n,) structured array
        Fields x, y, t in microseconds, p (1 for ON); times never go back.
    """
    return parse_nmnist(read_bytes(path), str(path), sensor_size)


def parse_nmnist(data: bytes, name: str, sensor_size: tuple[int, int] = SENSOR_SIZE) -> Events:
    """Decode the bytes of a recording; `name` is what messages call it. See `read_nmnist`."""
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
    kept = np.arange(count)
    if overflow.any():
        stamps += _OVERFLOW_STEP * np.cumsum(overflow)
        kept = np.flatnonzero(~overflow)
        if not len(kept):
            raise DataError(f"{name}: only clock overflow marks and no event (byte 0); the recording is empty")
    times, usable = unwrap(stamps[kept], bits=23)
    back = int(kept[usable]) if usable < len(kept) else None
    kept = kept[:usable]
    events = np.empty(usable, dtype=EVENT_DTYPE)
    events["x"], events["y"] = x[kept], y[kept]
    events["t"] = times
    events["p"] = high[kept] >> 7
    warn_of_damage(data, 0, 5, back, name)
    return events


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
