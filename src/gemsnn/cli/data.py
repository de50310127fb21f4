"""`gemsnn data`: real recordings in, simulated ones where there are none, and a look at what is inside."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from gemsnn.cli.output import progress, say, warnings_as_lines
from gemsnn.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gemsnn.events import PreparedData, Preprocessing, Split
    from gemsnn.events.datasets import Inventory

app = typer.Typer(help="Import, simulate and look at event-camera data.", no_args_is_help=True)


class _Split(StrEnum):
    AUTO = "auto"
    OFFICIAL = "official"
    STRATIFIED = "stratified"


class _Polarity(StrEnum):
    MERGED = "merged"
    SEPARATE = "separate"


class _Task(StrEnum):
    CLASSES = "classes"
    COMPLETION = "completion"


class _Half(StrEnum):
    LEFT = "left"
    RIGHT = "right"
    TOP = "top"
    BOTTOM = "bottom"


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
_Force = Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")]


def _dataset_names() -> list[str]:
    from gemsnn.events.datasets import DATASETS

    return list(DATASETS)


def _camera_names() -> list[str]:
    from gemsnn.events.simulated import CAMERAS

    return list(CAMERAS)


@app.command("import", cls=_DigitsCommand)
def import_(
    dataset: Annotated[
        str,
        typer.Argument(
            help="Which data set the folder holds: mnist-dvs, n-mnist, folder or tonic:NAME.",
            autocompletion=_dataset_names,
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder into which its archives were unpacked.")],
    out: _Out,
    digits: Annotated[
        list[int] | None, typer.Option("--digits", help=_DIGITS_HELP + "all ten if not given. MNIST-DVS and N-MNIST.")
    ] = None,
    scale: Annotated[int | None, typer.Option(help="MNIST-DVS scale: 4, 8 or 16; 4 if not given.")] = None,
    sensor: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="COLUMNS ROWS", help="Size of the sensor, where the files do not tell."),
    ] = None,
    downsample: Annotated[
        int | None, typer.Option(help="Side of the square of pixels that becomes one input; MNIST-DVS 1, 2 or 4.")
    ] = None,
    polarity: Annotated[
        _Polarity | None, typer.Option(help="Merge ON and OFF, or make them inputs of their own, as cameras do.")
    ] = None,
    bin_ms: Annotated[
        float | None, typer.Option(help="Width of a time bin in ms; 25, N-MNIST 5, if not given.")
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="Number of time bins; MNIST-DVS 80, N-MNIST 60, others as each recording has."),
    ] = None,
    split: Annotated[_Split, typer.Option(help="Training and test split; auto is official where possible.")] = (
        _Split.AUTO
    ),
    test_fraction: Annotated[float, typer.Option(help="Share of each class to test on, if stratified.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of the stratified split.")] = 0,
    allow_missing: Annotated[bool, typer.Option(help="Keep a class without recordings of it.")] = False,
    skip_damaged: Annotated[bool, typer.Option(help="Leave damaged recordings out instead of stopping.")] = False,
    force: _Force = False,
) -> None:
    """Turn a data set's real recordings into one prepared file.

    A folder is any with a folder for each class, or with such in train and test; its recordings may be AEDAT, N-MNIST,
    text, NumPy or HDF5 files. With tonic installed, tonic:NAME is any of its data sets (tonic:DVSGesture, tonic:SHD),
    which tonic downloads into DIR if they are not there.

    Looks the folder through first and lists what is missing. The file records every choice made.

    Example: gemsnn data import mnist-dvs path/to/mnist-dvs --out mnist-dvs.h5 --digits 0 1 2
    """
    from gemsnn.events import find_dataset, import_recordings

    _refuse_existing(out, force)
    given = {"classes": digits, "scale": scale, "sensor_size": sensor}
    with warnings_as_lines():
        inventory = find_dataset(dataset, folder, **{key: value for key, value in given.items() if value is not None})
    _print_inventory(inventory)
    choices = _changed(inventory.preprocessing, polarity, bin_ms, steps, downsample)
    with progress("importing", len(inventory.recordings)) as advance, warnings_as_lines():
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
        say(f"No official split has training and test recordings of each class: {share} were drawn, seed {seed}.")
    say(f"wrote {out}")


@app.command(cls=_DigitsCommand)
def simulate(
    out: _Out,
    digits: Annotated[list[int] | None, typer.Option("--digits", help=_DIGITS_HELP + "these if not given.")] = None,
    per_class: Annotated[
        tuple[int, int], typer.Option(metavar="TRAIN TEST", help="Recordings of each digit: training and test.")
    ] = (400, 100),
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same file.")] = 0,
    polarity: Annotated[
        _Polarity | None, typer.Option(help="Merge ON and OFF, or make them inputs of their own, as cameras do.")
    ] = None,
    bin_ms: Annotated[float | None, typer.Option(help="Width of a time bin in ms; 25 if not given.")] = None,
    steps: Annotated[int | None, typer.Option(help="Number of time bins; 80 if not given.")] = None,
    camera: Annotated[
        str,
        typer.Option(
            help="Whose camera and scene: mnist-dvs (a digit on a screen moves) or n-mnist (the camera moves).",
            autocompletion=_camera_names,
        ),
    ] = "mnist-dvs",
    vary: Annotated[
        bool,
        typer.Option(
            help="Draw camera, path, place, strokes, contrast and noise anew for every training recording; those to "
            "test on keep to the fitted camera."
        ),
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Threads; all cores if not given.")] = None,
    aedat: Annotated[
        Path | None, typer.Option(help="Also write each recording as .aedat, laid out as MNIST-DVS, to this folder.")
    ] = None,
    task: Annotated[
        _Task,
        typer.Option(help="What is desired: each recording's class, or its other half (see gemsnn data complete)."),
    ] = _Task.CLASSES,
    half: Annotated[
        _Half | None, typer.Option(help="Of completion: which half is to be completed; right if not given.")
    ] = None,
    force: _Force = False,
) -> None:
    """Simulate a DVS that watches moving MNIST digits, calibrated on real recordings of MNIST-DVS or N-MNIST.

    Training and test never share an image, and the file says that it is simulated.

    Example: gemsnn data simulate --out digits.h5 --digits 0 1 2 --per-class 400 100
    """
    from gemsnn.events import Variation
    from gemsnn.events.simulated import CAMERAS, simulate_prepared
    from gemsnn.model.checks import one_of

    _refuse_existing(out, force)
    wanted = digits or [0, 1, 2]
    usual = CAMERAS[one_of("--camera", camera, tuple(CAMERAS))].preprocessing
    choices = _changed(usual, polarity, bin_ms, steps)
    with (
        _as_task(out, task, half) as whole,
        progress("simulating", len(set(wanted)) * sum(per_class)) as advance,
    ):
        simulate_prepared(
            whole,
            digits=wanted,
            per_class=per_class,
            seed=seed,
            camera=camera,
            preprocessing=choices,
            vary=Variation() if vary else None,
            workers=workers,
            aedat_folder=aedat,
            advance=advance,
        )
    say(f"wrote {out}: SIMULATED recordings, no camera saw them")


@contextmanager
def _as_task(out: Path, task: _Task, half: _Half | None) -> Iterator[Path]:
    """Where to write whole recordings: the file itself, or one beside it that is made into a completion task."""
    from gemsnn.events import complete_prepared

    if task is _Task.CLASSES:
        if half is not None:
            raise ConfigError(f"--half {half.value} belongs to --task completion")
        yield out
        return
    whole = out.with_name(f".{out.name}.whole")
    try:
        yield whole
        complete_prepared(whole, out, half=(half or _Half.RIGHT).value)
    finally:
        whole.unlink(missing_ok=True)


@app.command()
def complete(
    file: Annotated[Path, typer.Argument(metavar="IN.h5", help="A prepared file with whole recordings.")],
    out: _Out,
    half: Annotated[
        _Half | None,
        typer.Option(help="The half of the picture, as `gemsnn data show` draws it, to complete; right if not given."),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(metavar="FIRST:END", help="Instead of a half: the inputs from FIRST to before END."),
    ] = None,
    force: _Force = False,
) -> None:
    """Make a completion task: a part of each recording stays input, the rest becomes the spikes to produce.

    `gemsnn train` then learns to complete recordings, and `gemsnn evaluate` tells how well, with pictures.

    Example: gemsnn data complete digits.h5 --half right --out halves.h5
    """
    from gemsnn.events import complete_prepared, open_prepared

    _refuse_existing(out, force)
    complete_prepared(file, out, half=None if half is None else half.value, inputs=_range(inputs))
    with open_prepared(out) as data:
        say(f"wrote {out}: {data.n_inputs} inputs are given, {data.n_visible} visible neurons are to be completed")


def _range(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, colon, end = text.partition(":")
    if not (colon and first.isdecimal() and end.isdecimal()):
        raise ConfigError(f"--inputs {text}: write it as FIRST:END, for example --inputs 0:100")
    return int(first), int(end)


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
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A prepared file, or a raw recording.")],
    out: Annotated[Path, typer.Option("--out", help="The picture (.png, .svg, .pdf) or animation (.gif) to write.")],
    index: Annotated[int, typer.Option(help="Which example of the split.")] = 0,
    test: Annotated[bool, typer.Option("--test", help="From the test split instead of the training split.")] = False,
) -> None:
    """Draw an example: a picture with both polarities, an animation, or a raster where the inputs are on no grid.

    Example: gemsnn data show digits.h5 --index 3 --out digit.gif
    """
    from gemsnn.events import open_prepared
    from gemsnn.events.completion import whole_pictures
    from gemsnn.events.container import is_prepared
    from gemsnn.events.pictures import save_picture, save_raster
    from gemsnn.events.recordings import READERS

    if file.suffix.lower() in READERS and not is_prepared(file):
        _show_recording(file, out)
    else:
        with open_prepared(file) as data:
            part = data.test if test else data.train
            if not 0 <= index < len(part):
                raise ConfigError(f"--index {index}: the {part.name} split of {file} has {len(part)} recordings")
            kind = "simulated" if data.attributes.get("simulated") else "real" if data.preprocessing else "arrays"
            title = f"{part.name} {index}: {data.label_of(part, index)} ({kind}), {part.names[index]}"
            planes, target = part.planes(index), part.target(index)
            whole = None if target is None else whole_pictures(data, part[index], target)
            if whole is not None:
                save_picture(whole, None, out, title=title, legend="blue given, orange desired")
            elif planes is None:
                save_raster(part[index], out, title=title)
            else:
                save_picture(planes, data.preprocessing, out, title=title)
    say(f"wrote {out}")


def _show_recording(file: Path, out: Path) -> None:
    from gemsnn.events import Preprocessing, mnist_dvs_preprocessing, nmnist_preprocessing, read_recording
    from gemsnn.events.aedat import read_aedat_header
    from gemsnn.events.pictures import save_picture

    suffix = file.suffix.lower()
    with warnings_as_lines():
        events = read_recording(file)
    kind = "recorded"
    if suffix in (".aedat", ".dat"):
        choices = mnist_dvs_preprocessing(4)
        kind = "simulated" if read_aedat_header(file).simulated else kind
    elif suffix == ".bin":
        choices = nmnist_preprocessing()
    else:
        size = int(events["x"].max()) + 1, int(events["y"].max()) + 1
        say(f"the file does not tell the size of the sensor; drawn up to the largest x and y: {size[0]} x {size[1]}")
        choices = Preprocessing.from_dict({"sensor_size": size, "bin_us": 25_000})
    save_picture(choices.planes(events, str(file)), choices, out, title=f"{file.name} ({kind}), {len(events)} events")


def _refuse_existing(out: Path, force: bool) -> None:
    if out.exists() and not force:
        raise ConfigError(f"--out {out}: this file is there already; give --force to replace it, or another name")


def _changed(
    usual: "Preprocessing",
    polarity: _Polarity | None,
    bin_ms: float | None,
    steps: int | None,
    downsample: int | None = None,
) -> "Preprocessing":
    from gemsnn.events import Preprocessing

    changes: dict[str, Any] = {"polarity": polarity and polarity.value, "n_steps": steps, "downsample": downsample}
    if bin_ms is not None:
        if not math.isfinite(bin_ms):
            raise ConfigError(f"--bin-ms {bin_ms}: a time bin has a finite width")
        changes["bin_us"] = round(1000 * bin_ms)
    given = {key: value for key, value in changes.items() if value is not None}
    return Preprocessing.from_dict({**usual.to_dict(), **given})


def _print_inventory(inventory: "Inventory") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(f"{inventory.dataset} in {inventory.folder}"), title_justify="left")
    table.add_column("class", justify="right")
    table.add_column("recordings", justify="right")
    table.add_column("missing")
    for label in inventory.classes:
        missing = inventory.missing.get(label, "nothing" if inventory.count(label) else "all recordings")
        table.add_row(escape(str(label)), str(inventory.count(label)), escape(missing))
    Console(emoji=False).print(table)


def _print_info(data: "PreparedData") -> None:
    import numpy as np
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(emoji=False)
    attributes = data.attributes
    kind = "SIMULATED, no camera saw this" if attributes.get("simulated") else "real recordings"
    if data.preprocessing is None:
        kind = "arrays"
    table = Table(title=escape(f"{data.path}: {attributes.get('source', '?')} ({kind})"), title_justify="left")
    for column in ("split", "class", "recordings", "steps", "density", "events (median)", "duration (median)"):
        table.add_column(column, justify="left" if column == "split" else "right")
    for part in data.splits:
        for name, members in _members(data, part):
            if not len(members):
                table.add_row(part.name, escape(name), "0", *["-"] * 4)
                continue
            density = float(np.mean([part.density(int(i)) for i in members]))
            events, duration, lengths = part.n_events, part.duration_us, part.lengths[members]
            table.add_row(
                part.name,
                escape(name),
                str(len(members)),
                f"{lengths.min()}" if lengths.min() == lengths.max() else f"{lengths.min()} to {lengths.max()}",
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


def _members(data: "PreparedData", part: "Split") -> "Iterator[tuple[str, NDArray[np.intp]]]":
    """Each class, and which examples of the split are of it; where targets are spike patterns, all are of one."""
    import numpy as np

    if part.labels is None:
        yield "(spike patterns)", np.arange(len(part))
    else:
        for index, name in enumerate(data.classes):
            held = part.labels == index if part.labels.ndim == 1 else part.labels[:, index]
            yield str(name), np.flatnonzero(held)
