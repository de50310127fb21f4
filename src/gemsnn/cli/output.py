"""Printing, the same in every command."""

import sys
import warnings
from collections.abc import Callable, Iterator
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


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on a terminal; elsewhere a plain line every tenth of the way."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(what, total=total)
            yield lambda: bar.advance(task)
        return
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if done == total or 10 * done // total != 10 * (done - 1) // total:
            print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)

    yield advance
