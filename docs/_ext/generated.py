"""Writes parts of pages while they are read: every command with its options, and every public name with its summary."""

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer
from sphinx.application import Sphinx

import gemsnn
from gemsnn.cli.app import app as command_line
from gemsnn.cli.commands import describe

MARK = re.compile(r"<!-- generated: (\w+) -->")


def commands() -> str:
    """A section for each command, from what ``--help`` prints."""
    return "\n\n".join(_section(words, command) for words, command in _all(typer.main.get_command(command_line)))


def _all(group: Any, words: str = "gemsnn") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _all(command, f"{words} {name}")
        else:
            yield f"{words} {name}", command


def _section(words: str, command: Any) -> str:
    describe(command)
    context = typer.Context(command, info_name=words)
    text, _, example = command.help.partition("Example: ")
    parameters = [one for one in command.get_params(context) if not one.hidden and "--help" not in one.opts]
    arguments = {one.name: one.metavar or one.name.upper() for one in parameters if not one.opts[0].startswith("-")}
    usage = " ".join([words, *arguments.values()])
    lines = [f"### {words}", "", "```text", f"{usage} [OPTIONS]", "```", "", text.strip(), ""]
    if example:
        lines += ["```text", " ".join(example.split()), "```", ""]
    lines += ["| argument or option | meaning |", "|---|---|"]
    for one in parameters:
        name, about = one.get_help_record(context) if one.name not in arguments else (arguments[one.name], one.help)
        lines.append(f"| `{_cell(name)}` | {_cell(about)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def names() -> str:
    """Every name at the top of the package and of its modules, in alphabetical order."""
    found: dict[str, Any] = {}
    for room in ("", *(name for name in gemsnn.__all__ if inspect.ismodule(getattr(gemsnn, name)))):
        module = importlib.import_module(f"gemsnn.{room}".rstrip("."))
        for name in module.__all__:
            thing = getattr(module, name)
            if not (inspect.ismodule(thing) or name.startswith("_") or thing in _hashable(found)):
                found[f"{module.__name__}.{name}"] = thing
    lines = ["| name | what |", "|---|---|"]
    for name in sorted(found, key=lambda name: (name.rpartition(".")[2].lower(), name)):
        about = (inspect.getdoc(found[name]) or "").split("\n\n")[0] if callable(found[name]) else ""
        about = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", about).replace("``", "`")
        lines.append(f"| {{py:obj}}`{name.rpartition('.')[2]} <{name}>` | {_cell(about)} |")
    return "\n".join(lines)


def _hashable(found: dict[str, Any]) -> list[Any]:
    return [thing for thing in found.values() if callable(thing)]


def generate(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the text in the place of its mark."""
    source[0] = MARK.sub(lambda match: {"commands": commands, "names": names}[match[1]](), source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
