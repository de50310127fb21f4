"""Events from named columns, as text files, NumPy files and HDF5 files have them; what had to be guessed is said."""

import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import DataError
from gemsnn.events.records import EVENT_DTYPE, Events, as_events

_NAMES = {
    "t": ("t", "ts", "time", "times", "timestamp", "timestamps"),
    "x": ("x", "xs", "col", "column"),
    "y": ("y", "ys", "row"),
    "p": ("p", "ps", "pol", "polarity", "polarities"),
}
_UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}  # microseconds
_UNIT = re.compile(r"[ _\[(]+(ns|us|µs|ms|s)[\])]?$")


class GuessWarning(UserWarning):
    """Columns of a recording are taken to mean something that the file does not say outright."""


def events_from_columns(names: Iterable[str], column: Callable[[str], NDArray[Any]], name: str) -> Events:
    """Find time, x, y and polarity among named columns, in any order and capitals.

    `t, x, y, p` with whole numbers is what it says: times in microseconds. Anything else is a guess, said by a
    `GuessWarning`: other names, a unit of time in the name (`time_ms`), fractional times (taken as seconds), -1 and 1.
    A column that is missing or there twice is a `DataError`.
    """
    names = list(names)
    found: dict[str, str] = {}
    scale, unit = 1.0, "microseconds"
    for key, known in _NAMES.items():
        matches = [each for each in names if _UNIT.sub("", each.strip().lower()) in known]
        if len(matches) != 1:
            what = f"{len(matches)} columns" if matches else "no column"
            there = ", ".join(names) or "no names"
            raise DataError(f"{name}: {what} for {key} among {there}; name the columns t (microseconds), x, y, p")
        found[key] = matches[0]
    t = np.asarray(column(found["t"]))
    if told := _UNIT.search(found["t"].strip().lower()):
        unit = told[1].replace("µ", "u")
        scale = _UNITS[unit]
    elif t.dtype.kind == "f" and (t != np.floor(t)).any():
        scale, unit = 1e6, "seconds"
    guessed = found != {key: key for key in found} or unit != "microseconds"
    if scale != 1.0:
        t = np.round(t * scale)
    columns = {"t": t, **{key: np.asarray(column(found[key])) for key in ("x", "y", "p")}}
    if len({values.shape for values in columns.values()}) > 1 or t.ndim != 1:
        shapes = ", ".join(f"{key} {values.shape}" for key, values in columns.items())
        raise DataError(f"{name}: the columns differ in length ({shapes})")
    if any(values.dtype.kind not in "biuf" for values in columns.values()):
        raise DataError(f"{name}: the columns t, x, y, p must hold numbers")
    raw = np.empty(len(t), dtype=[(key, values.dtype) for key, values in columns.items()])
    for key, values in columns.items():
        raw[key] = values
    events = as_events(raw, name)
    if not len(events):
        raise DataError(f"{name}: no events; the recording is empty")
    if guessed:
        told_of = ", ".join(f"{key} from {found[key]!r}" for key in ("t", "x", "y", "p"))
        # Without the file's name, so that a folder of files of one kind says it once.
        warnings.warn(f"columns of events: {told_of}; times are in {unit}", GuessWarning, stacklevel=4)
    if (np.diff(events["t"]) < 0).any():
        events = events[np.argsort(events["t"], kind="stable")]
    return np.ascontiguousarray(events, dtype=EVENT_DTYPE)
