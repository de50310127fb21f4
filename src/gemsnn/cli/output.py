"""Printing, the same in every command."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemsnn.common.words import printable
from gemsnn.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table


class _Lasting:
    """An output whose reader may leave: what is written then is thrown away, and the work goes on."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._gone = stream, False

    def write(self, text: str) -> int:
        self._attempt(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._attempt(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _attempt(self, do: Callable[[], Any]) -> None:
        if self._gone:
            return
        try:
            do()
        except OSError as error:
            self._gone = True
            throw_away(self._stream)
            with suppress(OSError):
                print(f"gemsnn: going on without output ({error.strerror or error})", file=sys.stderr, flush=True)


def outlast_output() -> None:
    """From now on, a reader that leaves (`| head`) or a full disk behind the output does not end the work."""
    if sys.stdout is not None and not isinstance(sys.stdout, _Lasting):
        sys.stdout = _Lasting(sys.stdout)


def throw_away(stream: Any) -> None:
    """Let what is still to be written go nowhere; else the interpreter complains once more at its end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


Force = Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")]
ForcePage = Annotated[bool, typer.Option("--force", help="Replace the file even if it is not a page of gemsnn's.")]


def refuse_existing(option: str, out: Path | None, force: bool, *, but_pages: bool = False) -> None:
    """Refuse to replace a file before any work is done; with ``but_pages``, a page of ours may be replaced."""
    from gemsnn.common.page import is_page

    if out is None or force or not out.exists() or (but_pages and is_page(out)):
        return
    what = " and is not a page of gemsnn's" if but_pages else ""
    raise ConfigError(f"{option} {out}: this file is there already{what}; give --force to replace it, or another name")


def say(line: str, *, error: bool = False) -> None:
    """A line of text, as it is; not wrapped when the output is not a terminal."""
    from rich.console import Console

    line = "\n".join(map(printable, line.split("\n")))  # names of files and classes come from outside
    Console(stderr=error, emoji=False).print(line, soft_wrap=True, highlight=False, markup=False)


def print_table(table: "Table", title: str | None = None) -> None:
    """A table as wide as its content where there is no terminal; its title is not wrapped to that width.

    What stands in it is text, never markup: class names and file names come from outside.
    """
    from rich.console import Console

    if title is not None:
        say(title)
    console = Console(markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(width=10_000, markup=False, emoji=False)
    console.print(table)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each warning once, as one line on stderr, without the source line that Python adds."""
    from rich.console import Console
    from rich.markup import escape

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        console = Console(stderr=True, emoji=False)
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
        with Progress(*columns, console=Console(stderr=True, emoji=False)) as bar:
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
