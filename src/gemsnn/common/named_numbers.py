"""Settings as named tuples of numbers, which functions compiled by Numba can read."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import fields
from functools import cache
from typing import Any

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError

KINDS = {"float": float, "int": int, "bool": bool}


def named_numbers(part: Any, leave_out: tuple[str, ...] = ()) -> Any:
    """The fields of a dataclass as a named tuple, each converted to its annotated type: float, int or bool."""
    part_type: Any = type(part)
    cls, kinds = _numbers_of(part_type, leave_out)
    values = []
    for name, kind in kinds.items():
        value = getattr(part, name)
        try:
            values.append(kind(value))
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(f"{name} must be of type {kind.__name__}, got {shown(value)}") from None
    return cls(*values)


@cache
def _numbers_of(part: type, leave_out: tuple[str, ...]) -> tuple[Any, dict[str, type]]:
    kinds = {}
    for field in fields(part):
        if field.name in leave_out:
            continue
        declared = getattr(field.type, "__name__", field.type)
        if declared not in KINDS:
            raise ConfigError(
                f"{part.__name__}.{field.name} is declared as {declared}, and only {', '.join(KINDS)} can be compiled: "
                "give the class a method settings() that returns a named tuple of numbers"
            )
        kinds[field.name] = KINDS[declared]
    return namedtuple(part.__name__, list(kinds)), kinds
