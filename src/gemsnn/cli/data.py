"""`gemsnn data`: real recordings in, simulated ones where there are none, and a look at what is inside."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperCommand

from gemsnn.cli.output import say, warnings_as_lines
from gemsnn.errors import ConfigError, DataError

if TYPE_CHECKING:
    from gemsnn.events import PreparedData, Preprocessing
    from gemsnn.events.layouts import Inventory

app = typer.Typer(help="Import, simulate and look at event-camera data.", no_args_is_help=True)


class _Dataset(StrEnum):
    MNIST_DVS = "mnist-dvs"
    N_MNIST = "n-mnist"


class _Split(StrEnum):
    AUTO = "auto"
    OFFICIAL = "official"
    STRATIFIED = "stratified"


class _Polarity(StrEnum):
    MERGED = "merged"
    SEPARATE = "separate"


class _DigitsCommand(TyperCommand):
    """Lets `--digits` take several values, as in `--digits 0 1 2`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        taking = False
        for arg in args:
            if arg == "--digits":
                taking = True
            elif taking and all(part.isdigit() for part in arg.split(",")):
                spread += [item for part in arg.split(",") for item in ("--digits", part)]
            else:
                if taking and (not spread or spread[-2:-1] != ["--digits"]):
                    spread.append("--digits")  # without a value: let the parser say so
                taking = False
                spread.append(arg)
        if taking and spread[-2:-1] != ["--digits"]:
            spread.append("--digits")
        return super().parse_args(ctx, spread)


_DIGITS_HELP = "Digits to use as classes, e.g. --digits 0 1 2; "
_Out = Annotated[Path, typer.Option("--out", help="The prepared file to write.", dir_okay=False)]


@app.command("import", cls=_DigitsCommand)
def import_(
    dataset: Annotated[_Dataset, typer.Argument(help="Which data set the folder holds.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder into which its archives were unpacked.")],
    out: _Out,
    digits: Annotated[list[int] | None, typer.Option("--digits", help=_DIGITS_HELP + "all ten if not given.")] = None,
    scale: Annotated[int, typer.Option(help="MNIST-DVS scale: 4, 8 or 16.")] = 4,
    polarity: Annotated[_Polarity, typer.Option(help="Merge ON and OFF, or make them inputs of their own.")] = (
        _Polarity.MERGED
    ),
    bin_ms: Annotated[
        float | None, typer.Option(help="Width of a time bin in ms; MNIST-DVS 25, N-MNIST 5 if not given.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Number of time bins; MNIST-DVS 80, N-MNIST 60 if not given.")
    ] = None,
    split: Annotated[_Split, typer.Option(help="Training and test split; auto is official where possible.")] = (
        _Split.AUTO
    ),
    test_fraction: Annotated[float, typer.Option(help="Share of each digit to test on, if stratified.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of the stratified split.")] = 0,
    allow_missing: Annotated[bool, typer.Option(help="Keep a digit as a class without recordings of it.")] = False,
    skip_damaged: Annotated[bool, typer.Option(help="Leave damaged recordings out instead of stopping.")] = False,
) -> None:
    """Turn a data set's real recordings into one prepared file.

    Looks the folder through first and lists what is missing. The file records every choice made.

    Example: gemsnn data import mnist-dvs path/to/mnist-dvs --out mnist-dvs.h5 --digits 0 1 2
    """
    from gemsnn.events import find_mnist_dvs, find_nmnist, import_recordings
    from gemsnn.events.layouts import ALL_DIGITS

    wanted = digits or ALL_DIGITS
    inventory = find_mnist_dvs(folder, wanted, scale) if dataset is _Dataset.MNIST_DVS else find_nmnist(folder, wanted)
    _print_inventory(inventory)
    choices = _changed(inventory.preprocessing, polarity, bin_ms, steps)
    with _progress("importing", len(inventory.recordings)) as advance, warnings_as_lines():
        recorded = import_recordings(
            inventory,
            out,
            preprocessing=choices,
            split=split.value,
            test_fraction=test_fraction,
            seed=seed,
            allow_missing=allow_missing,
            skip_damaged=skip_damaged,
            advance=advance,
        )
    for line in recorded["skipped"]:
        say(f"left out: {line}")
    if split is _Split.AUTO and recorded["split"]["kind"] == "stratified":
        share = f"{100 * test_fraction:g} %"
        say(f"The official split leaves a digit without training or test recordings: {share} were drawn, seed {seed}.")
    say(f"wrote {out}")


@app.command(cls=_DigitsCommand)
def simulate(
    out: _Out,
    digits: Annotated[list[int] | None, typer.Option("--digits", help=_DIGITS_HELP + "these if not given.")] = None,
    per_class: Annotated[
        tuple[int, int], typer.Option(metavar="TRAIN TEST", help="Recordings of each digit: training and test.")
    ] = (400, 100),
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same file.")] = 0,
    polarity: Annotated[_Polarity, typer.Option(help="Merge ON and OFF, or make them inputs of their own.")] = (
        _Polarity.MERGED
    ),
    bin_ms: Annotated[float | None, typer.Option(help="Width of a time bin in ms; 25 if not given.")] = None,
    steps: Annotated[int | None, typer.Option(help="Number of time bins; 80 if not given.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads; all cores if not given.")] = None,
    aedat: Annotated[
        Path | None, typer.Option(help="Also write each recording as .aedat, laid out as MNIST-DVS, to this folder.")
    ] = None,
) -> None:
    """Simulate a DVS that watches moving MNIST digits, calibrated on real MNIST-DVS recordings.

    Training and test never share an image, and the file says that it is simulated.

    Example: gemsnn data simulate --out digits.h5 --digits 0 1 2 --per-class 400 100
    """
    from gemsnn.events import mnist_dvs_preprocessing
    from gemsnn.events.simulated import simulate_prepared

    wanted = digits or [0, 1, 2]
    choices = _changed(mnist_dvs_preprocessing(4), polarity, bin_ms, steps)
    with _progress("simulating", len(set(wanted)) * sum(per_class)) as advance:
        simulate_prepared(
            out,
            digits=wanted,
            per_class=per_class,
            seed=seed,
            preprocessing=choices,
            workers=workers,
            aedat_folder=aedat,
            advance=advance,
        )
    say(f"wrote {out}: SIMULATED recordings, no camera saw them")


@app.command()
def info(
    file: Annotated[Path, typer.Argument(metavar="F.h5", help="A prepared file.")],
    verify: Annotated[bool, typer.Option(help="Read everything and compare it with the fingerprint.")] = False,
) -> None:
    """Say what a prepared file holds: recordings, density and duration of each class, and how it was made.

    Example: gemsnn data info digits.h5
    """
    from gemsnn.events import open_prepared

    with open_prepared(file) as data:
        if verify:
            data.verify()
        _print_info(data)
        if verify:
            say("verified: the content fits the fingerprint")


@app.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A prepared file, or a raw .aedat or .bin recording.")],
    out: Annotated[Path, typer.Option("--out", help="The picture (.png, .svg, .pdf) or animation (.gif) to write.")],
    index: Annotated[int, typer.Option(help="Which recording of the split.")] = 0,
    test: Annotated[bool, typer.Option("--test", help="From the test split instead of the training split.")] = False,
) -> None:
    """Draw a recording: a picture with both polarities, or an animation.

    Example: gemsnn data show digits.h5 --index 3 --out digit.gif
    """
    from gemsnn.events import mnist_dvs_preprocessing, nmnist_preprocessing, open_prepared, read_recording
    from gemsnn.events.aedat import read_aedat_header
    from gemsnn.events.pictures import save_picture

    if file.suffix.lower() in (".aedat", ".dat", ".bin"):
        with warnings_as_lines():
            events = read_recording(file)
        choices = nmnist_preprocessing() if file.suffix.lower() == ".bin" else mnist_dvs_preprocessing(4)
        kind = "simulated" if file.suffix.lower() != ".bin" and read_aedat_header(file).simulated else "recorded"
        title = f"{file.name} ({kind}), {len(events)} events"
        save_picture(choices.planes(events, str(file)), choices, out, title=title)
    else:
        with open_prepared(file) as data:
            part = data.test if test else data.train
            if not 0 <= index < len(part):
                raise ConfigError(f"--index {index}: the {part.name} split of {file} has {len(part)} recordings")
            if data.preprocessing is None:
                raise DataError(f"{file}: made from arrays, not from recordings, so there is no picture to draw")
            planes = part.planes(index, data.preprocessing.grid)
            if planes is None:
                raise DataError(f"{file}: holds no polarities to draw; make the file again")
            kind = "simulated" if data.attributes["simulated"] else "real"
            title = f"{part.name} {index}: digit {data.classes[part.labels[index]]} ({kind}), {part.names[index]}"
            save_picture(planes, data.preprocessing, out, title=title)
    say(f"wrote {out}")


def _changed(usual: "Preprocessing", polarity: _Polarity, bin_ms: float | None, steps: int | None) -> "Preprocessing":
    from gemsnn.events import Preprocessing

    changes: dict[str, Any] = {"polarity": polarity.value}
    if bin_ms is not None:
        changes["bin_us"] = round(1000 * bin_ms)
    if steps is not None:
        changes["n_steps"] = steps
    return Preprocessing.from_dict({**usual.to_dict(), **changes})


def _print_inventory(inventory: "Inventory") -> None:
    table = Table(title=f"{inventory.dataset} in {inventory.folder}", title_justify="left")
    table.add_column("digit", justify="right")
    table.add_column("recordings", justify="right")
    table.add_column("missing")
    for digit in inventory.digits:
        table.add_row(str(digit), str(inventory.count(digit)), inventory.missing.get(digit, "nothing"))
    Console().print(table)


def _print_info(data: "PreparedData") -> None:
    import numpy as np

    console = Console()
    attributes = data.attributes
    kind = "SIMULATED, no camera saw this" if attributes.get("simulated") else "real recordings"
    if data.preprocessing is None:
        kind = "arrays"
    table = Table(title=f"{data.path}: {attributes.get('source', '?')} ({kind})", title_justify="left")
    for column in ("split", "class", "recordings", "density", "events (median)", "duration (median)"):
        table.add_column(column, justify="left" if column == "split" else "right")
    for part in data.splits:
        for index, digit in enumerate(data.classes):
            members = np.flatnonzero(part.labels == index)
            if not len(members):
                table.add_row(part.name, str(digit), "0", "-", "-", "-")
                continue
            density = float(np.mean([part[int(i)].mean() for i in members]))
            events, duration = part.n_events, part.duration_us
            table.add_row(
                part.name,
                str(digit),
                str(len(members)),
                f"{100 * density:.2f} %",
                "-" if events is None else f"{np.median(events[members]):.0f}",
                "-" if duration is None else f"{np.median(duration[members]) / 1000:.0f} ms",
            )
    console.print(table)
    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_row("inputs x steps", f"{data.n_inputs} x {data.n_steps}")
    for key, value in attributes.items():
        if key not in ("n_inputs", "n_steps") and value not in ({}, [], None):
            facts.add_row(key, escape(str(value)))
    facts.add_row("fingerprint", data.fingerprint)
    console.print(facts)


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on a terminal; elsewhere a plain line every tenth of the way."""
    if sys.stderr.isatty():
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
