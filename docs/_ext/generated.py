"""Writes parts of pages while they are read: every command with its options, every public name with its summary.

Also adds to the reference the defaults that autodoc does not show.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

import gemsnn
from gemsnn.cli.app import app as command_line
from gemsnn.cli.commands import describe

DIRECTIVE = re.compile(r"^\.\. (currentmodule|auto\w+|py:\w+):: ([\w.]+)", re.MULTILINE)
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
    """Every class and function at the top of the package and of its modules, in alphabetical order."""
    found: dict[str, Any] = {}
    for room in ("", *(name for name in gemsnn.__all__ if inspect.ismodule(getattr(gemsnn, name)))):
        module = importlib.import_module(f"gemsnn.{room}".rstrip("."))
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and thing not in found.values():
                found[f"{module.__name__}.{name}"] = thing
    lines, places = ["| name | what |", "|---|---|"], _documented()
    for full in sorted(found, key=lambda full: (full.rpartition(".")[2].lower(), full)):
        name = full.rpartition(".")[2]
        place = full if full in places.values() else places.get(name)
        if place is not None:
            about = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", (inspect.getdoc(found[full]) or "").split("\n\n")[0])
            lines.append(f"| {{py:obj}}`{name} <{place}>` | {_cell(about.replace('``', '`'))} |")
    return "\n".join(lines)


def _documented() -> dict[str, str]:
    """The full names in the pages of the reference, by their last parts."""
    found = {name: f"gemsnn.errors.{name}" for name in dir(gemsnn.errors) if name.endswith("Error")}
    for page in sorted((Path(__file__).parents[1] / "api").glob("*.rst")):
        module = ""
        for directive, name in re.findall(
            r"^\.\. (currentmodule|auto\w+|py:\w+):: ([\w.]+)", page.read_text(), re.MULTILINE
        ):
            if directive == "currentmodule":
                module = name
            else:
                found[name.rpartition(".")[2]] = name if name.startswith("gemsnn.") else f"{module}.{name}"
    return found


def add_default(app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Each field of settings says its default."""
    if kind == "attribute":
        module, owner, field = name.rsplit(".", 2)
        fields = getattr(getattr(sys.modules.get(module), owner, None), "model_fields", {})
        if field in fields:
            lines += ["", f"Default: ``{fields[field].default!r}``", ""]


def name_defaults(app: Sphinx, kind: str, name: str, thing: Any, options: Any, signature: str, returned: str) -> Any:
    """Constants that are default settings are shown as what they are."""
    if signature is None:
        return None
    return signature.replace("=NETWORK", "=NetworkSettings()").replace("=SCHEDULE", "=ScheduleSettings()"), returned


def generate(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the text in the place of its mark."""
    source[0] = MARK.sub(lambda match: {"commands": commands, "names": names}[match[1]](), source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", generate)
    app.connect("autodoc-process-docstring", add_default)
    app.connect("autodoc-process-signature", name_defaults)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
