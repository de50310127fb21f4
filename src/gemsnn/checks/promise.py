"""Checking promises of parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def check(promise: Callable[..., None], part: Any, *details: Any) -> None:
    """Raise an AssertionError that names the part, the promise and the finding if the part breaks it."""
    try:
        promise(part, *details)
    except AssertionError as found:
        where = "".join(f" ({detail})" for detail in details)
        words = (promise.__doc__ or promise.__name__).partition("\n")[0].rstrip(".")
        raise AssertionError(f"{part!r} breaks a promise{where}: {words}.\n{found}") from found


def require(kept: bool, found: str) -> None:
    """An assertion that Python's ``-O`` does not remove."""
    if not kept:
        raise AssertionError(found)
