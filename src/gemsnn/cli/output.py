"""What all commands print with."""

import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from gemsnn.common.words import printable
from gemsnn.errors import ConfigError


class _Lasting:
    """A stream that discards what is written to it once a write has failed, so that a command can continue."""

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
                print(f"gemsnn: continuing without output ({error.strerror or error})", file=sys.stderr, flush=True)


def outlast_output() -> None:
    """Do not end the command when standard output is closed (`| head`) or its disk is full."""
    if sys.stdout is not None and not isinstance(sys.stdout, _Lasting):
        sys.stdout = _Lasting(sys.stdout)


def throw_away(stream: Any) -> None:
    """Discard buffered output, or the interpreter reports the failure again when it exits."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


Json = Annotated[bool, typer.Option("--json", help="Print JSON, one line per answer or run.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
ForcePage = Annotated[bool, typer.Option("--force", help="Replace an existing file that is not a gemsnn page.")]


def refuse_existing(option: str, out: Path | None, force: bool, *, but_pages: bool = False) -> None:
    """Refuse to replace a file, before any work is done; with ``but_pages``, gemsnn's own pages may be replaced."""
    from gemsnn.common.page import is_page

    if out is None or force or not out.exists() or (but_pages and is_page(out)):
        return
    what = " and is not a gemsnn page" if but_pages else ""
    raise ConfigError(f"{option} {out}: this file exists already{what}; use --force to replace it, or another name")


def say(line: str, *, error: bool = False) -> None:
    """Print a line of text without markup."""
    from rich.console import Console

    line = "\n".join(map(printable, line.split("\n")))  # names of files and classes come from outside
    Console(stderr=error, emoji=False).print(line, soft_wrap=True, highlight=False, markup=False)


def print_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    title: str | None = None,
    *,
    left: Collection[str] = (),
    show_header: bool = True,
) -> None:
    """Print a table of plain text, as wide as its content where the output is not a terminal.

    Columns are aligned to the right, except those named in ``left``.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=show_header)
    for name in head:
        table.add_column(name, justify="left" if name in left else "right", overflow="fold")
    for row in rows:
        if not row:
            table.add_section()
            continue
        table.add_row(*map(printable, row))
    if title is not None:
        say(title)
    console = Console(markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(width=10_000, markup=False, emoji=False)
    console.print(table)


def print_figures(rows: Iterable[Sequence[str]], title: str) -> None:
    """Print names and values."""
    print_table(("figure", "value"), rows, title, left=("figure",), show_header=False)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each warning once, as one line on standard error, without the source line that Python adds."""
    from rich.console import Console
    from rich.markup import escape

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        console = Console(stderr=True, emoji=False)
        printed: set[str] = set()

        def show_line(message: Warning | str, *_: Any, **__: Any) -> None:
            if str(message) in printed:
                return
            printed.add(str(message))
            console.print(f"[yellow]warning:[/] {escape(str(message))}", soft_wrap=True, highlight=False)

        warnings.showwarning = show_line
        yield


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on a terminal; elsewhere one line per tenth of the total."""
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
