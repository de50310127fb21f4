"""Events in text files (`.csv`, `.txt`): a line that names the columns, then one line per event."""

import io
import re
import warnings
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import DataError
from gemsnn.events.columns import events_from_columns, events_without_names
from gemsnn.events.files import read_bytes
from gemsnn.events.records import Events

_SENSOR = re.compile(r"#?\s*([1-9]\d{0,4})(?:\s*[,;]\s*|\s+)([1-9]\d{0,4})")
_LONGEST_FIRST_LINE = 1000


def read_text(path: str | PathLike[str]) -> Events:
    """Read events from a text file whose first line names the columns, such as `t,x,y,p`.

    Columns are separated by commas, semicolons, tabs or spaces; a `#` before the names, and further columns, are
    ignored. A preceding line of two whole numbers, such as `128 128`, is the size of the sensor. Names other than t, x,
    y, p, and four columns without names, are guessed and reported by a `gemsnn.events.GuessWarning`.
    """
    name = str(path)
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: not a text file (byte {error.start})") from None
    if not text.strip():
        raise DataError(f"{name}: the file is empty")
    if sensor_of_line(text.partition("\n")[0]):
        text = text.partition("\n")[2]
    first, _, rest = text.partition("\n")
    text, rest = _ascii(text), _ascii(rest)
    names, delimiter = split_line(first)
    first = first.strip().lstrip("#").strip()
    if first and all(is_number(part) for part in names):
        return events_without_names(_table(text, delimiter, name), name)
    if not first:
        raise DataError(
            f"{name}: the first line must name the columns, and is {first[:60]!r}; add a first line such as t,x,y,p "
            "(t in microseconds)"
        )

    def column(wanted: str) -> NDArray[np.generic]:
        index = names.index(wanted)
        problem: Exception = ValueError("no events")
        if rest.strip():
            for kind in (np.int64, np.float64):  # integers first: floats would round large ones
                try:
                    with warnings.catch_warnings():  # NumPy 1 truncates 0.5 to 0 with only a warning
                        warnings.simplefilter("error", DeprecationWarning)
                        return np.loadtxt(io.StringIO(rest), dtype=kind, delimiter=delimiter, usecols=index, ndmin=1)
                except (ValueError, OverflowError, DeprecationWarning) as error:
                    problem = error
        raise DataError(f"{name}: column {wanted!r} holds no numbers: {problem}") from None

    return events_from_columns(names, column, name)


def text_sensor_size(path: str | PathLike[str]) -> tuple[int, int] | None:
    """Columns and rows, if the first line of a text file gives them."""
    first = read_bytes(path, _LONGEST_FIRST_LINE).partition(b"\n")[0]
    return sensor_of_line(first.decode("utf-8-sig", "replace"))


def sensor_of_line(line: str) -> tuple[int, int] | None:
    """Columns and rows, if a line consists of two whole numbers.

    >>> sensor_of_line("# 128 96"), sensor_of_line("1000 3 4 1")
    ((128, 96), None)
    """
    found = _SENSOR.fullmatch(line.strip())
    return (int(found[1]), int(found[2])) if found else None


def _table(text: str, delimiter: str | None, name: str) -> NDArray[np.generic]:
    """All columns of a text without column names."""
    try:
        return np.loadtxt(io.StringIO(text), delimiter=delimiter, ndmin=2)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{name}: not a table of numbers: {error}") from None


def _ascii(text: str) -> str:
    """The text without non-ASCII characters, some of which crash np.loadtxt (it indexes a table out of bounds)."""
    return text.encode("ascii", "replace").decode()


def split_line(line: str) -> tuple[list[str], str | None]:
    """The parts of a line, and their separator (None for white space)."""
    line = line.strip().lstrip("#").strip()
    delimiter = next((sign for sign in ",;\t" if sign in line), None)
    return [part.strip().strip('"') for part in line.split(delimiter)], delimiter


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
