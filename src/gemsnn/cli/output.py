"""Printing, the same in every command."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def say(line: str, *, error: bool = False) -> None:
    """A line of text, as it is; not wrapped when the output is not a terminal."""
    from rich.console import Console

    Console(stderr=error).print(line, soft_wrap=True, highlight=False, markup=False)


def print_table(table: "Table", title: str | None = None) -> None:
    """A table as wide as its content where there is no terminal; its title is not wrapped to that width.

    What stands in it is text, never markup: class names and file names come from outside.
    """
    from rich.console import Console

    if title is not None:
        say(title)
    console = Console(markup=False)
    if not console.is_terminal:
        console = Console(width=10_000, markup=False)
    console.print(table)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each warning once, as one line on stderr, without the source line that Python adds."""
    from rich.console import Console
    from rich.markup import escape

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        console = Console(stderr=True)
        said: set[str] = set()

        def show_line(message: Warning | str, *_: Any, **__: Any) -> None:
            if str(message) in said:
                return
            said.add(str(message))
            console.print(f"[yellow]warning:[/] {escape(str(message))}", soft_wrap=True, highlight=False)

        warnings.showwarning = show_line
        yield
