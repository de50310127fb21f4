"""Objects from settings: a table such as ``{kind = "exponential", duration = 80}`` becomes an object of that kind."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any, TypeVar

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError

Part = TypeVar("Part")


def register(
    what: str,
    kinds: MutableMapping[str, Any],
    name: str,
    part: Any,
    definition: Callable[[Any], Any] = lambda part: part,
) -> None:
    """Add a part to the registry of its kind, under a unique name.

    ``definition`` returns the class or function behind a part. Redefining the same one, as when a notebook cell is run
    again, replaces the old entry.
    """
    if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable():
        raise ConfigError(f"the name of a {what} must be a string without surrounding spaces, got {shown(name)}")
    if name in kinds and _origin(definition(kinds[name])) != _origin(definition(part)):
        raise ConfigError(f"there is already a {what} called {name!r}: choose another name")
    kinds[name] = part


def _origin(definition: Any) -> tuple[str, str]:
    return definition.__module__, definition.__qualname__


def from_table(what: str, table: Any, kinds: Mapping[str, type[Part]], default: str | None = None) -> Part:
    """The object that a table (or just the name of a kind) describes.

    ``what`` is the setting's name in messages; ``default`` is the kind of a table without one.
    """
    if isinstance(table, str):
        table = {"kind": table}
    if not isinstance(table, Mapping):
        raise ConfigError(f"{what} = {shown(table)}: must be a table with a kind, one of {', '.join(map(repr, kinds))}")
    values = dict(table)
    kind = values.pop("kind", default)
    if not isinstance(kind, str) or kind not in kinds:
        raise ConfigError(f"{what}.kind = {shown(kind)}: must be one of {', '.join(map(repr, kinds))}")
    parameters = inspect.signature(kinds[kind]).parameters
    for name in values:
        if name not in parameters:
            raise ConfigError(f"{what}.{name}: {unknown(name, parameters)}")
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in values:
            raise ConfigError(f"{what}.{name} is missing: {what}.kind = {shown(kind)} needs it")
    try:
        return kinds[kind](**{name: None if value == "none" else value for name, value in values.items()})
    except ConfigError as error:
        raise ConfigError(f"{what}.{error}") from None


def unknown(name: str, known: Iterable[str]) -> str:
    """The message for a setting that does not exist."""
    names = list(known)
    close = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]}?" if close else f"the settings are {', '.join(names) or 'none'}"
    return f"there is no such setting; {hint}"


def merged(base: Any, change: Any) -> Any:
    """A table with some of its values changed; a change of kind discards the old values."""
    if isinstance(change, Mapping) and isinstance(base, str):
        base = {"kind": base}
    if isinstance(change, str) and isinstance(base, Mapping):
        change = {"kind": change}
    if not isinstance(base, Mapping) or not isinstance(change, Mapping):
        return change
    if change.get("kind", base.get("kind")) != base.get("kind"):
        return dict(change)
    return {**base, **change}
