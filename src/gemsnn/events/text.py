"""Events as text (`.csv`, `.txt`): one line names the columns, then one line per event."""

import io
import warnings
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import DataError
from gemsnn.events.columns import events_from_columns, events_without_names
from gemsnn.events.files import read_bytes
from gemsnn.events.records import Events


def read_text(path: str | PathLike[str]) -> Events:
    """Read events from a text file whose first line names the columns, such as `t,x,y,p`.

    Columns are separated by commas, semicolons, tabs or spaces; a `#` before the first line's names, and further
    columns, do not matter. See `gemsnn.events.GuessWarning` for names other than t, x, y, p, and for four columns
    without names.

    Returns
    -------
    (n,) structured array
        Fields x, y, t in microseconds, p (1 for ON), in order of time.
    """
    name = str(path)
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: not a text file (byte {error.start})") from None
    first, _, rest = text.partition("\n")
    text, rest = _ascii(text), _ascii(rest)
    first = first.strip().lstrip("#").strip()
    delimiter = next((sign for sign in ",;\t" if sign in first), None)
    names = [part.strip().strip('"') for part in first.split(delimiter)]
    if first and all(_is_number(part) for part in names):
        return events_without_names(_table(text, delimiter, name), name)
    if not first:
        raise DataError(
            f"{name}: the first line must name the columns, and is {first[:60]!r}; put a line like t,x,y,p on top "
            "(t in microseconds)"
        )

    def column(wanted: str) -> NDArray[np.generic]:
        place = names.index(wanted)
        problem: Exception = ValueError("no events")
        if rest.strip():
            for kind in (np.int64, np.float64):  # whole numbers first: they may be longer than a float is exact
                try:
                    with warnings.catch_warnings():  # NumPy 1 would cut 0.5 to 0, with no more than a warning
                        warnings.simplefilter("error", DeprecationWarning)
                        return np.loadtxt(io.StringIO(rest), dtype=kind, delimiter=delimiter, usecols=place, ndmin=1)
                except (ValueError, OverflowError, DeprecationWarning) as error:
                    problem = error
        raise DataError(f"{name}: column {wanted!r} holds no numbers: {problem}") from None

    return events_from_columns(names, column, name)


def _table(text: str, delimiter: str | None, name: str) -> NDArray[np.generic]:
    """All columns of a text without names."""
    try:
        return np.loadtxt(io.StringIO(text), delimiter=delimiter, ndmin=2)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{name}: not a table of numbers: {error}") from None


def _ascii(text: str) -> str:
    """The text for NumPy, which looks characters up beyond the end of a table: a far one can end the process."""
    return text.encode("ascii", "replace").decode()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
