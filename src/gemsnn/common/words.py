"""Formatting of numbers and names, the same in terminals, figures and pages."""

from __future__ import annotations

from typing import Protocol


class Interval(Protocol):
    """A mean over ``n`` values and the ends of its confidence interval; None for a single value."""

    @property
    def mean(self) -> float: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def n(self) -> int: ...


def duration(seconds: float | None) -> str:
    """Hours, minutes and seconds; a question mark for None.

    Examples
    --------
    >>> duration(3661)
    '1:01:01'
    """
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def counted(number: int, what: str) -> str:
    """``1 seed``, ``2 seeds``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def plus_minus(value: Interval, factor: float = 1, digits: int = 1) -> str:
    """A mean and half the width of its interval, multiplied by ``factor``: ``97.3 ± 0.4``, or ``97.3`` without one."""
    half = "" if value.high is None else f" ± {factor * (value.high - value.mean):.{digits}f}"
    return f"{factor * value.mean:.{digits}f}{half}"


def with_interval(value: Interval, digits: int = 3) -> str:
    """A signed mean and the ends of its interval: ``+1.2 [0.8, 1.6]``."""
    if value.low is None or value.high is None:
        return f"{value.mean:+.{digits}g} (no interval from {counted(value.n, 'seed')})"
    return f"{value.mean:+.{digits}g} [{value.low:.{digits}g}, {value.high:.{digits}g}]"


def printable(name: object) -> str:
    """An untrusted name, safe for terminals and pages: every control character becomes a ``�``."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(name))


def shown(value: object) -> str:
    """The repr of an untrusted value for a message, truncated if it is long.

    Examples
    --------
    >>> shown([1, "x"])
    "[1, 'x']"
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer with thousands of digits, or deeply nested tables
        return f"({type(value).__name__} too large to print)"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 120  # characters
