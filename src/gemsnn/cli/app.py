"""The `gemsnn` command: all command groups, and errors as one message with exit code 2."""

import errno
import io
import runpy
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import typer

from gemsnn._version import __version__
from gemsnn.cli import data
from gemsnn.cli.calibrate import calibrate
from gemsnn.cli.commands import Command, Group
from gemsnn.cli.demo import demo
from gemsnn.cli.evaluate import evaluate
from gemsnn.cli.export import export
from gemsnn.cli.output import throw_away
from gemsnn.cli.predict import predict
from gemsnn.cli.reproduce import reproduce
from gemsnn.cli.runs import runs
from gemsnn.cli.stream import stream
from gemsnn.cli.train import train
from gemsnn.cli.watch import watch
from gemsnn.errors import ConfigError, GemsnnError

app = typer.Typer(
    name="gemsnn",
    cls=Group,
    help="Probabilistic spiking neural networks with multi-compartment neurons, trained online.\n\n"
    "See it at work: gemsnn demo. Or step by step: gemsnn data simulate --out digits.h5; then gemsnn train --data "
    "digits.h5 --out runs/first; then gemsnn evaluate runs/first --data digits.h5. Reproduce the paper: gemsnn "
    "reproduce --out paper.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(data.app, name="data", cls=Group)
for command in (demo, train, calibrate, evaluate, predict, runs, stream, watch, export, reproduce):
    app.command(cls=Command)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gemsnn {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
    parts: list[str] = typer.Option(  # noqa: B008
        [],
        "--import",
        metavar="MODULE",
        help="Import a Python file or module first, which can register your own rules, decoders, filters, readers and "
        "data sets.",
    ),
) -> None:
    for name in parts:
        _import_parts(name)


def _import_parts(name: str) -> None:
    """Import a module by its name, or run a file that ends in .py."""
    try:
        if name.endswith(".py"):
            runpy.run_path(name, run_name=Path(name).stem)
        else:
            import_module(name)
    except ImportError as error:
        raise ConfigError(f"--import {name}: {error}; give a file that ends in .py, or a module's name") from error
    except OSError as error:
        raise ConfigError(f"--import {name}: cannot be read: {error.strerror or error}") from None


def main() -> None:
    """Run the command line; an error that the user can fix is one message and exit code 2, never a traceback."""
    before = sys.stdout
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="backslashreplace")  # file names need not be valid text
    try:
        sys.exit(_run())
    finally:
        sys.stdout = before


def _run() -> int | str | None:
    """The exit code."""
    try:
        code = app(standalone_mode=True)
    except SystemExit as ended:
        code = ended.code
    except GemsnnError as error:
        return _fail(str(error))
    except MemoryError as error:
        return _fail(f"there is not enough memory{f': {error}' if str(error) else ''}; use smaller sizes")
    except OSError as error:  # of the terminal, the disk or a file; a traceback would not help
        return _fail(": ".join(filter(None, [error.filename and str(error.filename), error.strerror or str(error)])))
    try:
        if sys.stdout is not None:  # None: it was closed (`>&-`)
            sys.stdout.flush()
    except OSError as error:
        throw_away(sys.stdout)
        return 1 if error.errno == errno.EPIPE else _fail(f"the output cannot be written: {error.strerror or error}")
    return code  # type: ignore[no-any-return]


def _fail(message: str) -> int:
    from rich.console import Console
    from rich.markup import escape

    with suppress(OSError):
        Console(stderr=True, emoji=False).print(
            f"[bold red]error:[/] {escape(message)}", soft_wrap=True, highlight=False
        )
    with suppress(OSError, AttributeError):
        sys.stdout.flush()
    return 2
