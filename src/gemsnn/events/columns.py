"""Events from the columns of text, NumPy and HDF5 files; whatever is guessed about them is reported as a warning."""

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
    """The meaning of a recording's columns was guessed, since the file does not state it."""


def events_without_names(table: NDArray[Any], name: str) -> Events:
    """Events from (n, 4) numbers without column names, identified by `columns_by_content`."""
    index = {f"column {i + 1}": i for i in range(4)}
    named = {key: f"column {i + 1}" for key, i in columns_by_content(table, name).items()}
    return _events(named, lambda column: _whole(table[:, index[column]]), name)


def columns_by_content(table: NDArray[Any], name: str) -> dict[str, int]:
    """Column indices of t, x, y and p in (n, 4) numbers; a `DataError` unless exactly one assignment is possible.

    The polarity is the only column whose two values are 0 and 1, or -1 and 1; the time never decreases and has more
    distinct values than any other column; x comes before y.
    """
    problem = DataError(
        f"{name}: {table.shape[1] if table.ndim == 2 else table.shape} columns without names, which are ambiguous; "
        "name them t (microseconds), x, y, p"
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
    """As integers where all values are whole: one fractional column makes the whole array float."""
    if column.dtype.kind == "f" and np.isfinite(column).all() and (column == np.floor(column)).all():
        return column.astype(np.int64)
    return column


def events_from_columns(names: Iterable[str], column: Callable[[str], NDArray[Any]], name: str) -> Events:
    """Events from named columns, in any order and case.

    Columns `t, x, y, p` of whole numbers, with times in microseconds, need no guess. A `GuessWarning` reports anything
    else: other names, a unit of time in the name (`time_ms`), fractional times (taken as seconds). A missing or
    duplicate column is a `DataError`.
    """
    return _events(columns_by_name(names, name), column, name)


def columns_by_name(names: Iterable[str], name: str) -> dict[str, str]:
    """Names of the columns for t, x, y and p; a `DataError` unless each occurs exactly once."""
    names = list(names)
    found: dict[str, str] = {}
    for key, known in _NAMES.items():
        matches = [each for each in names if _UNIT.sub("", each.strip().lower()) in known]
        if len(matches) != 1:
            what = f"{len(matches)} columns" if matches else "no column"
            listed = ", ".join(names) or "no names"
            raise DataError(f"{name}: {what} for {key} among {listed}; name the columns t (microseconds), x, y, p")
        found[key] = matches[0]
    return found


def unit_of_time(column: str, times: NDArray[Any]) -> tuple[float, str]:
    """Microseconds per unit of a column of times, and the unit's name, from the column's name or its values."""
    if suffix := _UNIT.search(column.strip().lower()):
        unit = suffix[1].replace("µ", "u")
        return _UNITS[unit], unit
    if times.dtype.kind == "f" and (times != np.floor(times)).any():
        return 1e6, "seconds"
    return 1.0, "microseconds"


def warn_of_guess(found: Mapping[str, str], unit: str, stacklevel: int) -> None:
    """Report how columns were understood, unless they are called t, x, y, p and times are in microseconds."""
    if dict(found) == {key: key for key in found} and unit == "microseconds":
        return
    columns = ", ".join(f"{key} from {found[key]!r}" for key in ("t", "x", "y", "p"))
    # Without the file's name, so that a folder of similar files warns only once.
    warnings.warn(f"columns of events: {columns}; times are in {unit}", GuessWarning, stacklevel=stacklevel + 1)


def _events(found: dict[str, str], column: Callable[[str], NDArray[Any]], name: str) -> Events:
    """Events from the columns found for t, x, y and p."""
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
    warn_of_guess(found, unit, stacklevel=4)
    if (events["t"][1:] < events["t"][:-1]).any():  # np.diff could overflow
        events = events[np.argsort(events["t"], kind="stable")]
    return np.ascontiguousarray(events, dtype=EVENT_DTYPE)
