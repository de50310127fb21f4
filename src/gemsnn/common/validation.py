"""Error messages about settings: pydantic's errors in plain words."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from gemsnn.common.kinds import unknown
from gemsnn.common.words import shown
from gemsnn.errors import ConfigError

_MOST = 5  # problems per message


def complaint(error: ValidationError, model: type[BaseModel]) -> str:
    """One message about all errors: the field, its value, and what is allowed."""
    texts: list[str] = []
    problems, listed = error.errors(), False
    for item in problems[:_MOST]:
        where = ".".join(str(part) for part in item["loc"])
        if isinstance(item.get("ctx", {}).get("error"), ConfigError):
            texts.append(str(item["ctx"]["error"]))  # it names the field itself
        elif item["type"] == "extra_forbidden":
            message = unknown(str(item["loc"][-1]), _owner(model, item["loc"]).model_fields)
            texts.append(f"{where}: {message.partition(';')[0] if listed else message}")
            listed = True
        elif not where:
            texts.append(str(item["msg"]).removeprefix("Value error, "))
        else:
            field = _owner(model, item["loc"]).model_fields.get(str(item["loc"][-1]))
            allowed = str(item["msg"]) if field is None else f"must be {allowed_values(field)}"
            texts.append(f"{where} = {shown(item['input'])}: {allowed}")
    if len(problems) > _MOST:
        texts.append(f"and {len(problems) - _MOST} more")
    return "; ".join(texts)


def _owner(model: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel]:
    """The settings class of the field at ``loc``: field names, indices and union tags."""
    for part in loc[:-1]:
        field = model.model_fields.get(str(part))
        inner = [] if field is None else _models(field.annotation)
        if len(inner) == 1:
            model = inner[0]
        elif inner:
            tags = {settings.model_fields["kind"].default: settings for settings in inner}
            model = tags.get(loc[loc.index(part) + 1], inner[0])
    return model


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def allowed_values(field: FieldInfo) -> str:
    """The allowed values of a field, in words: ``a whole number, >= 1``."""
    words, bounds = _words(field.annotation)
    bounds += _bounds(field.metadata)
    return ", ".join([words, " and ".join(bounds)] if bounds else [words])


def _words(annotation: Any) -> tuple[str, list[str]]:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        words, bounds = _words(parts[0])
        extra = [meta for part in parts[1:] for meta in (part.metadata if isinstance(part, FieldInfo) else [part])]
        return words, bounds + _bounds(extra)
    if origin is Literal:
        return "one of " + ", ".join(repr(part) for part in parts), []
    if origin is tuple:
        words, bounds = _words(parts[0])
        return f"a list of values, each {words}", bounds
    models = _models(annotation)
    if models:
        kinds = [m.model_fields["kind"].default if "kind" in m.model_fields else m.__name__ for m in models]
        return "settings of " + " or ".join(kinds), []
    if origin is Union or (parts and type(None) in parts):
        words, bounds = _words(next(part for part in parts if part is not type(None)))
        return f"{words} (or left out)", bounds
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(annotation, str(annotation)), []


def _bounds(metadata: list[Any]) -> list[str]:
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    return [f"{sign} {getattr(meta, name)}" for meta in metadata for name, sign in signs.items() if hasattr(meta, name)]
