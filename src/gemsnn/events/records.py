"""Events: the structured array that every reader returns, and their form in bytes between programs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import DataError

EVENT_DTYPE = np.dtype([("x", np.int16), ("y", np.int16), ("t", np.int64), ("p", np.int8)])
"""One event: column `x`, row `y`, time `t` in microseconds, polarity `p` (1 for ON, 0 for OFF). Names are tonic's."""

Events = NDArray[np.void]

RECORD_DTYPE = np.dtype([("t", "<u8"), ("x", "<u2"), ("y", "<u2"), ("p", "u1")])
"""An event in 13 bytes: time in microseconds, column, row, polarity (1 for ON); little-endian, without gaps.

This is what ``faery`` sends over UDP as ``t64_x16_y16_on8``.
"""

FAR_US = 1 << 61
"""Times must be smaller than this, so that the sum of two of them fits into 64 bits."""
LONGEST_GAP_US = 60_000_000
"""In a stream without a last step, a larger jump in time means damage, or another recording."""


class DamageWarning(UserWarning):
    """A recording is damaged; the events before the damage were read, the rest was left out."""


def as_events(array: Any, name: str = "events", *, check_polarity: bool = True) -> Events:
    """Check an array of events, such as an item of a tonic data set, and return it with `EVENT_DTYPE`.

    Parameters
    ----------
    array
        (n,) structured array with at least the fields x, y, t (microseconds) and p (0 and 1, or -1 and 1), in any
        order and of any integer, boolean or float type with whole values.
    name
        Name of the array in error messages, for example a file name.
    check_polarity
        Whether to check the polarities of an array that already has `EVENT_DTYPE`.

    Examples
    --------
    >>> raw = np.array([(10, 3, 4, True)], dtype=[("t", "u4"), ("x", "u1"), ("y", "u1"), ("p", "?")])
    >>> as_events(raw)["x"].tolist(), as_events(raw)["p"].tolist()
    ([3], [1])
    """
    if not isinstance(array, np.ndarray) or array.dtype.names is None or array.ndim != 1:
        kind = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise DataError(f"{name}: a one-dimensional structured array with fields x, y, t, p is needed, got {kind}")
    if array.dtype == EVENT_DTYPE:
        if check_polarity:
            _check_polarity(array["p"], name)
        return array
    known = array.dtype.fields or {}  # with titles: in faery's arrays "p" is one
    missing = [field for field in ("x", "y", "t", "p") if field not in known]
    if missing:
        raise DataError(
            f"{name}: field {', '.join(missing)} is missing (there are {', '.join(array.dtype.names)}); "
            "rename the fields to x, y, t (microseconds), p"
        )
    events = np.empty(len(array), dtype=EVENT_DTYPE)
    for field in ("x", "y", "t", "p"):
        values = array[field]
        if values.ndim != 1 or values.dtype.kind not in "biuf":
            raise DataError(f"{name}: field {field} must hold one number per event, not {values.dtype}")
        limits = np.iinfo(EVENT_DTYPE[field])
        # The comparison is written so that NaN fails it. 2**63 is the float next to the largest int64, and too large.
        too_large = float(limits.max) if values.dtype.kind == "f" and field == "t" else limits.max + 1
        bad = ~((values >= limits.min) & (values < too_large))
        if values.dtype.kind == "f":
            bad |= values != np.floor(values)
        if bad.any():
            i = int(np.argmax(bad))
            raise DataError(f"{name}: event {i} has {field} = {values[i]}, which is not a whole number in range")
        events[field] = values
    events["p"][events["p"] == -1] = 0
    _check_polarity(events["p"], name)
    return events


def make_events(x: Any, y: Any, t: Any, p: Any) -> Events:
    """Combine four columns of equal length into an array of events."""
    events = np.empty(len(t), dtype=EVENT_DTYPE)
    events["x"], events["y"], events["t"], events["p"] = x, y, t, p
    return events


def to_bytes(events: Events) -> bytes:
    """Events as `RECORD_DTYPE` records."""
    clean = as_events(events)
    records = np.empty(len(clean), dtype=RECORD_DTYPE)
    for field in ("t", "x", "y", "p"):
        records[field] = clean[field]
    return records.tobytes()


def events_of(content: bytes, name: str = "events") -> Events:
    """The events in a whole number of `RECORD_DTYPE` records; values out of range are a `DataError`."""
    return as_events(np.frombuffer(content, dtype=RECORD_DTYPE), name)


def _check_polarity(p: NDArray[np.int8], name: str) -> None:
    bad = (p != 0) & (p != 1)
    if bad.any():
        i = int(np.argmax(bad))
        raise DataError(f"{name}: event {i} has polarity p = {p[i]}; it must be 0 (OFF) or 1 (ON)")
