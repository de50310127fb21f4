"""A promise that a part keeps or breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def check(promise: Callable[..., None], part: Any, *details: Any) -> None:
    """An AssertionError that names the part, the promise and what was found, if the part does not keep it."""
    try:
        promise(part, *details)
    except AssertionError as found:
        where = "".join(f" ({detail})" for detail in details)
        words = (promise.__doc__ or promise.__name__).partition("\n")[0].rstrip(".")
        raise AssertionError(f"{part!r} breaks a promise{where}: {words}.\n{found}") from found


def require(kept: bool, found: str) -> None:
    """An assertion that Python's ``-O`` does not leave out."""
    if not kept:
        raise AssertionError(found)
