"""Events from named columns, as text files, NumPy files and HDF5 files have them; what had to be guessed is said."""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
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


def events_without_names(table: NDArray[Any], name: str) -> Events:
    """Events from (n, 4) numbers whose columns nobody named; see `columns_by_content`. What was guessed is said."""
    found = columns_by_content(table, name)
    places = {f"column {place + 1}": place for place in range(4)}
    named = {key: f"column {place + 1}" for key, place in found.items()}
    return _events(named, lambda key: _whole(table[:, places[key]]), name)


def columns_by_content(table: NDArray[Any], name: str) -> dict[str, int]:
    """Where t, x, y and p stand in (n, 4) numbers, if only one way to read them makes sense; else a `DataError`.

    The polarity is the one column of only two values among -1, 0 and 1; the time is the one that never falls and holds
    more different values than the others; x comes before y.
    """
    problem = DataError(
        f"{name}: {table.shape[1] if table.ndim == 2 else table.shape} columns without names, and it cannot be told "
        "which is which; name them t (microseconds), x, y, p"
    )
    if table.ndim != 2 or table.shape[1] != 4 or len(table) < 2 or table.dtype.kind not in "iuf":
        raise problem
    values = [np.unique(column) for column in table.T]
    signs = [i for i in range(4) if set(values[i].tolist()) in ({0, 1}, {-1, 1})]
    rising = [i for i in range(4) if (np.diff(table[:, i].astype(np.float64)) >= 0).all()]
    most = max(len(each) for each in values)
    times = [i for i in rising if len(values[i]) == most and i not in signs]
    if len(signs) != 1 or len(times) != 1 or sum(len(each) == most for each in values) != 1:
        raise problem
    x, y = (i for i in range(4) if i not in (*signs, *times))
    return {"t": times[0], "x": x, "y": y, "p": signs[0]}


def _whole(column: NDArray[Any]) -> NDArray[Any]:
    """As whole numbers, if they are: an array of numbers has one type for all its columns."""
    if column.dtype.kind == "f" and np.isfinite(column).all() and (column == np.floor(column)).all():
        return column.astype(np.int64)
    return column


def events_from_columns(names: Iterable[str], column: Callable[[str], NDArray[Any]], name: str) -> Events:
    """Find time, x, y and polarity among named columns, in any order and capitals.

    `t, x, y, p` with whole numbers is what it says: times in microseconds. Anything else is a guess, said by a
    `GuessWarning`: other names, a unit of time in the name (`time_ms`), fractional times (taken as seconds), -1 and 1.
    A column that is missing or there twice is a `DataError`.
    """
    return _events(columns_by_name(names, name), column, name)


def columns_by_name(names: Iterable[str], name: str) -> dict[str, str]:
    """What the columns for t, x, y and p are called, if all are there once; else a `DataError`."""
    names = list(names)
    found: dict[str, str] = {}
    for key, known in _NAMES.items():
        matches = [each for each in names if _UNIT.sub("", each.strip().lower()) in known]
        if len(matches) != 1:
            what = f"{len(matches)} columns" if matches else "no column"
            there = ", ".join(names) or "no names"
            raise DataError(f"{name}: {what} for {key} among {there}; name the columns t (microseconds), x, y, p")
        found[key] = matches[0]
    return found


def unit_of_time(column: str, times: NDArray[Any]) -> tuple[float, str]:
    """What to multiply times by to have microseconds, and in what unit they are: by the column's name or content."""
    if told := _UNIT.search(column.strip().lower()):
        unit = told[1].replace("µ", "u")
        return _UNITS[unit], unit
    if times.dtype.kind == "f" and (times != np.floor(times)).any():
        return 1e6, "seconds"
    return 1.0, "microseconds"


def say_what_was_guessed(found: Mapping[str, str], unit: str, stacklevel: int) -> None:
    """A `GuessWarning`, unless columns and unit are what they are called."""
    if dict(found) == {key: key for key in found} and unit == "microseconds":
        return
    told_of = ", ".join(f"{key} from {found[key]!r}" for key in ("t", "x", "y", "p"))
    # Without the file's name, so that a folder of files of one kind says it once.
    warnings.warn(f"columns of events: {told_of}; times are in {unit}", GuessWarning, stacklevel=stacklevel + 1)


def _events(found: dict[str, str], column: Callable[[str], NDArray[Any]], name: str) -> Events:
    """Events from the columns that were found for t, x, y and p."""
    t = np.asarray(column(found["t"]))
    scale, unit = unit_of_time(found["t"], t)
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
    say_what_was_guessed(found, unit, stacklevel=4)
    if (events["t"][1:] < events["t"][:-1]).any():  # a difference may be too large for a number
        events = events[np.argsort(events["t"], kind="stable")]
    return np.ascontiguousarray(events, dtype=EVENT_DTYPE)
