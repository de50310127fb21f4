"""The layout of help texts, and options for settings."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

Function = TypeVar("Function", bound=Callable[..., Any])


class Setting(NamedTuple):
    """An option for a field of the settings, such as ``--hidden 5`` for ``--set n_hidden=5``."""

    option: str
    field: str
    kind: Any
    about: str = ""
    """The help text. Default: the field's description and default."""


def with_settings(home: str, panels: Mapping[str, Sequence[Setting]]) -> Callable[[Function], Function]:
    """Replace the ``**keywords`` of a command by options; an option that is not given is None.

    ``home`` is the class of the settings, ``"module:Class"``, imported only to print help.
    """

    def decorated(command: Function) -> Function:
        signature = inspect.signature(command, eval_str=True)
        parameters = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        for panel, settings in panels.items():
            for option, field, kind, about in settings:
                info = typer.Option(option, help=about or f"{home}:{field}", rich_help_panel=panel)
                parameters.append(
                    inspect.Parameter(
                        field.replace(".", "__"),
                        inspect.Parameter.KEYWORD_ONLY,
                        default=None,
                        annotation=Annotated[kind | None, info],
                    )
                )
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return decorated


def _described(address: str) -> str:
    """The description of a field of settings, and its default."""
    module, name, field = address.split(":")
    about = getattr(import_module(module), name).model_fields[field]
    return about.description if about.default is None else f"{about.description} Default: {about.default}."


class _Readable:
    """Help without line breaks inside paragraphs, and switches without a type."""

    def __init__(self, *args: Any, help: str | None = None, **rest: Any) -> None:
        paragraphs = inspect.cleandoc(help or "").split("\n\n")
        rest["help"] = "\n\n".join(" ".join(one.split()) for one in paragraphs)
        super().__init__(*args, **rest)

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in parameters:
            if getattr(one, "is_flag", False):
                one.metavar = ""
        return parameters

    def format_help(self, ctx: Any, formatter: Any) -> None:
        describe(self)
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        switches = {name for one in self.get_params(ctx) if getattr(one, "is_flag", False) for name in one.opts}
        for word, after in pairwise(args):
            if word in switches and after.lower() in ("true", "false"):
                ctx.fail(f"{word} takes no value: give it for true, leave it out for false")
        return super().parse_args(ctx, args)  # type: ignore[misc, no-any-return]


def describe(command: Any) -> None:
    """Fill in the help of options for settings, which needs an import."""
    for one in command.params:
        if (one.help or "").startswith("gemsnn.") and one.help.count(":") == 2:
            one.help = _described(one.help)


class Command(_Readable, TyperCommand):
    """A command."""


class Group(_Readable, TyperGroup):
    """Commands under one name."""
