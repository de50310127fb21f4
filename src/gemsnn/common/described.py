"""Objects that say in a line what they are, and in a small table in a notebook; arrays are told by their shape."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from gemsnn.common.page import escape
from gemsnn.common.words import printable

LONGEST = 72  # letters of one value
MOST = 6  # values of a list
LONGEST_LINE = 300  # letters of all values; a notebook has room for more
Described = TypeVar("Described", bound=type)


def described(cls: Described) -> Described:
    """Give a class a short ``repr`` and one for notebooks.

    Both tell what the class's method ``_told`` returns, values by name; without one, its fields, of settings only those
    that are not as by default.
    """
    cls.__repr__ = _line  # type: ignore[assignment,method-assign]
    cls._repr_html_ = _table  # type: ignore[attr-defined]
    return cls


def told(thing: Any) -> dict[str, Any]:
    """What there is to tell, by name."""
    if hasattr(thing, "_told"):
        return dict(thing._told())
    if hasattr(thing, "_fields"):
        return {name: getattr(thing, name) for name in thing._fields}
    if dataclasses.is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing) if field.repr}
    fields = getattr(type(thing), "model_fields", {})
    values = {name: getattr(thing, name) for name in fields}
    return {name: value for name, value in values.items() if value != fields[name].default}


def brief(value: Any) -> str:
    """A value in a few letters."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        if value.ndim == 0:
            return brief(value.item())
        return brief(value.tolist()) if value.ndim == 1 and value.size <= MOST else f"<{value.dtype} {value.shape}>"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Path):
        return repr(str(value))
    if inspect.isroutine(value):
        return value.__name__
    if isinstance(value, Mapping):
        return _cut("{" + ", ".join(f"{printable(key)}: {brief(item)}" for key, item in [*value.items()][:MOST]) + "}")
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        left, right = "[]" if isinstance(value, list) else "()"
        rest = ["..."] if len(value) > MOST else []
        comma = "," if left == "(" and len(value) == 1 else ""
        return _cut(left + ", ".join([*map(brief, value[:MOST]), *rest]) + comma + right)
    return _cut(printable(repr(value)))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]}...{text[-1]}"


def _line(self: Any) -> str:
    parts: list[str] = []
    for name, value in told(self).items():
        part = f"{name}={brief(value)}"
        if sum(map(len, parts)) + len(part) > LONGEST_LINE:
            parts.append("...")
            break
        parts.append(part)
    return f"{type(self).__name__}({', '.join(parts)})"


def _table(self: Any) -> str:
    cell = 'style="text-align: left"'
    rows = "".join(
        f"<tr><th {cell}>{escape(name)}</th><td {cell}>{escape(brief(value))}</td></tr>"
        for name, value in told(self).items()
    )
    return f"<table><caption {cell}><b>{escape(type(self).__name__)}</b></caption><tbody>{rows}</tbody></table>"
