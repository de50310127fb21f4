"""Completing `--set FIELD=VALUE`: names, and values where there are only a few, without loading what settings need.

The fields are read off the file that defines them; importing it would take longer than one waits for a TAB.
"""

import ast
import inspect
from pathlib import Path
from typing import Any

from typer.core import TyperCommand


def complete_setting(incomplete: str) -> list[str]:
    """What a beginning of `FIELD=VALUE` can become."""
    name, equals, begun = incomplete.partition("=")
    if not equals:
        return [f"{field}=" for field in fields() if field.startswith(incomplete)]
    return [f"{name}={value}" for value in values(name) if value.startswith(begun)]


class SettingsCommand(TyperCommand):
    """Completes values also where a shell takes the `=` for a word of its own, as Bash does."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        assigned = ctx.params.get("settings") or [""]
        named = assigned[-1] and "=" not in assigned[-1]
        if not named or not (ctx.args[-1:] == ["="] or (not ctx.args and incomplete in ("", "="))):
            return list(super().shell_complete(ctx, incomplete))
        incomplete = incomplete.removeprefix("=")
        items = super().shell_complete(ctx, "--set")  # of the class that this version of typer uses
        return [type(items[0])(value) for value in values(assigned[-1]) if value.startswith(incomplete)]


def fields() -> list[str]:
    """Every setting; of those that are tables, each of their fields."""
    found: list[str] = []
    for name in _annotations():
        found += [f"{name}.{part}" for part in _parts(name)] or [name]
    return found


def values(field: str) -> list[str]:
    """What a setting can be, if that is finite."""
    table, dot, part = field.partition(".")
    kinds = _kinds(table)
    if kinds and (not dot or part == "kind"):
        return list(kinds)
    annotation = _annotations().get(table)
    if dot or annotation is None:
        return []
    if annotation == "Decoder":
        from gemsnn.inference.decoders import DECODERS

        return list(DECODERS)
    if "Readout" in annotation:
        from gemsnn.model.network import READOUTS

        return list(READOUTS)
    if annotation == "bool":
        return ["true", "false"]
    literal = _literals().get(annotation, annotation)
    texts = [node.value for node in ast.walk(ast.parse(literal)) if isinstance(node, ast.Constant)]
    return [text for text in texts if isinstance(text, str)] if literal.startswith("Literal[") else []


def _parts(name: str) -> list[str]:
    """The fields of a table with a kind: those of all kinds."""
    if not _kinds(name):
        return []
    names = [p for part in _kinds(name).values() for p in inspect.signature(part).parameters]
    return list(dict.fromkeys(["kind", *names]))


def _kinds(name: str) -> dict[str, Any]:
    from gemsnn.model.filters import FILTERS
    from gemsnn.model.topologies import TOPOLOGIES
    from gemsnn.rules import RULES

    if name.endswith("_filter"):
        return dict(FILTERS)
    if name == "topology":
        return dict(TOPOLOGIES)
    return dict(RULES) if name == "rule" else {}


def _source() -> ast.Module:
    return ast.parse((Path(__file__).parents[1] / "training" / "config.py").read_text())


def _annotations() -> dict[str, str]:
    """The type of each field, as it is written."""
    (settings,) = (node for node in _source().body if isinstance(node, ast.ClassDef) and node.name == "TrainingConfig")
    return {
        node.target.id: ast.unparse(node.annotation)
        for node in settings.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _literals() -> dict[str, str]:
    """Types that the file gives a name."""
    return {
        target.id: ast.unparse(node.value)
        for node in _source().body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
