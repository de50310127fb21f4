"""`gemsnn data`: real recordings in, simulated ones where there are none, and a look at what is inside."""

import math
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemsnn.cli.commands import Command
from gemsnn.cli.output import Force, progress, refuse_existing, say, warnings_as_lines
from gemsnn.common.words import counted
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


class _Flip(StrEnum):
    X = "x"
    Y = "y"


class _Turn(StrEnum):
    QUARTER = "90"
    HALF = "180"
    THREE_QUARTERS = "270"


class _Polarity(StrEnum):
    MERGED = "merged"
    SEPARATE = "separate"


_DIGITS_HELP = "Digits to use as classes, separated by commas."
_Out = Annotated[Path, typer.Option("--out", help="The prepared file to write.", dir_okay=False)]


@app.command("import", cls=Command)
def import_(
    dataset: Annotated[
        str,
        typer.Argument(
            help="Which data set the folder holds: mnist-dvs, n-mnist, folder or tonic:NAME.",
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder into which its archives were unpacked.")],
    out: _Out,
    digits: Annotated[
        str | None,
        typer.Option(
            "--digits", metavar="0,1,...", help=_DIGITS_HELP, show_default="all ten; of MNIST-DVS and N-MNIST only"
        ),
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
    crop: Annotated[
        tuple[int, int, int, int] | None,
        typer.Option(metavar="X Y WIDTH HEIGHT", help="Keep only this part of the sensor."),
    ] = None,
    flip: Annotated[
        _Flip | None, typer.Option(help="Mirror recordings: x reverses columns, y rows; before they are rotated.")
    ] = None,
    rotate: Annotated[_Turn | None, typer.Option(help="Turn recordings clockwise by so many degrees.")] = None,
    bin_ms: Annotated[
        float | None,
        typer.Option(
            help="Width of a time bin in ms; if not given, MNIST-DVS 25, N-MNIST 5, for others a round width with "
            "which the median recording has 40 to 80 steps."
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="Number of time bins; MNIST-DVS 80, N-MNIST 60, others as each recording has."),
    ] = None,
    split: Annotated[_Split, typer.Option(help="Training and test split; auto is official where possible.")] = (
        _Split.AUTO
    ),
    test_fraction: Annotated[float, typer.Option(help="Share of each class to test on, if stratified.")] = 0.1,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="What in a recording's path names its group (a person, a day), or a table NAME,GROUP (.csv). Groups "
            "are held out as a whole.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the stratified split.")] = 0,
    allow_missing: Annotated[bool, typer.Option(help="Keep a class without recordings of it.")] = False,
    skip_damaged: Annotated[bool, typer.Option(help="Leave damaged recordings out instead of stopping.")] = False,
    force: Force = False,
) -> None:
    """Turn a data set's real recordings into one prepared file.

    A folder is any with a folder for each class, or with such in train, val and test; its recordings may be AEDAT,
    Prophesee, N-MNIST, text, NumPy or HDF5 files. With tonic installed, tonic:NAME is any of its data sets
    (tonic:DVSGesture, tonic:SHD), which tonic downloads into DIR if they are not there.

    Looks the folder through first, and lists what is missing and what is not read. The file records every choice made.

    Example: gemsnn data import mnist-dvs path/to/mnist-dvs --out mnist-dvs.h5 --digits 0,1,2
    """
    from gemsnn.events import find_dataset, import_recordings
    from gemsnn.events.importing import grouped

    refuse_existing("--out", out, force)
    given = {
        "classes": None if digits is None else _integers("--digits", digits),
        "scale": scale,
        "sensor_size": sensor,
    }
    with warnings_as_lines():
        inventory = find_dataset(dataset, folder, **{key: value for key, value in given.items() if value is not None})
    _print_inventory(inventory)
    if group is not None:
        inventory = grouped(inventory, group)
        say(f"{len({recording.group for recording in inventory.recordings})} groups")
    choices = _changed(inventory.preprocessing, polarity, bin_ms, steps, downsample)
    if crop is not None:
        x, y, width, height = crop
        choices = _with(choices, x_range=(x, x + width - 1), y_range=(y, y + height - 1))
    choices = _with(choices, flip=flip and flip.value, rotate=rotate and int(rotate.value))
    _suggest_downsampling(choices, len(inventory.classes))
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
    if "bin_width" in recorded:
        say(f"{recorded['bin_width']}; --bin-ms gives another width")
    for line in recorded["skipped"]:
        say(f"left out: {line}")
    if split is _Split.AUTO and recorded["split"]["kind"] == "stratified":
        share = f"{100 * test_fraction:g} %"
        if "groups" in recorded["split"]:
            share = f"about {share} ({counted(recorded['split']['groups'], 'whole group')})"
        say(f"No official split has training and test recordings of each class: {share} were drawn, seed {seed}.")
    say(f"wrote {out}")


@app.command(cls=Command)
def simulate(
    out: _Out,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Watch the pictures in this folder instead of MNIST's: PNG or JPEG files in a folder for each class, "
            "or in such in train and test; a folder of frames in place of a picture is a scene.",
        ),
    ] = None,
    digits: Annotated[
        str | None, typer.Option("--digits", metavar="0,1,...", help=_DIGITS_HELP, show_default="0,1,2")
    ] = None,
    per_class: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="TRAIN TEST", help="Recordings of each digit: training and test.", show_default="400 100"),
    ] = None,
    test_fraction: Annotated[
        float | None,
        typer.Option(help="Share of each class's pictures to test on; of --images only.", show_default="0.2"),
    ] = None,
    takes: Annotated[
        int | None,
        typer.Option(help="Recordings of each picture to learn from; of --images only.", show_default="1"),
    ] = None,
    shades: Annotated[
        bool,
        typer.Option(
            help="Show the brightness of pictures as it is, for photographs; otherwise as black and white strokes."
        ),
    ] = False,
    fps: Annotated[
        float | None, typer.Option(help="Frames per second of scenes; of --images only.", show_default="25")
    ] = None,
    skip_damaged: Annotated[
        bool, typer.Option(help="Leave pictures out that cannot be read instead of stopping; of --images only.")
    ] = False,
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
    force: Force = False,
) -> None:
    """Simulate a DVS that watches moving MNIST digits, calibrated on real recordings of MNIST-DVS or N-MNIST.

    With --images it watches pictures of your own. Training and test never share an image, and the file says that it is
    simulated.

    Example: gemsnn data simulate --out digits.h5 --digits 0,1,2 --per-class 400 100
    """
    from gemsnn.events import Variation
    from gemsnn.events.calibration import CAMERAS
    from gemsnn.events.simulated import simulate_prepared
    from gemsnn.model.checks import one_of

    refuse_existing("--out", out, force)
    usual = CAMERAS[one_of("--camera", camera, tuple(CAMERAS))].preprocessing
    choices = _changed(usual, polarity, bin_ms, steps)
    of_digits = {"--digits": digits, "--per-class": per_class, "--aedat": aedat}
    of_pictures = {
        "--test-fraction": test_fraction, "--takes": takes, "--fps": fps, "--shades": shades or None,
        "--skip-damaged": skip_damaged or None,
    }  # fmt: skip
    if given := [name for name, value in (of_pictures if images is None else of_digits).items() if value is not None]:
        raise ConfigError(f"{given[0]} {'needs' if images is None else 'does not go with'} --images")
    if images is not None:
        _simulate_pictures(
            out, images, choices, steps, seed, camera, vary, workers,
            0.2 if test_fraction is None else test_fraction, 1 if takes is None else takes, shades,
            25.0 if fps is None else fps, skip_damaged,
        )  # fmt: skip
        return
    wanted = _integers("--digits", "0,1,2" if digits is None else digits)
    per_class = (400, 100) if per_class is None else per_class
    with progress("simulating", len(set(wanted)) * sum(per_class)) as advance:
        simulate_prepared(
            out,
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


def _simulate_pictures(
    out: Path,
    images: Path,
    choices: "Preprocessing",
    steps: int | None,
    seed: int,
    camera: str,
    vary: bool,
    workers: int | None,
    test_fraction: float,
    takes: int,
    shades: bool,
    fps: float,
    skip_damaged: bool,
) -> None:
    from gemsnn.events import Variation, simulate_pictures
    from gemsnn.events.picture_sets import find_pictures

    found = find_pictures(images, test_fraction, seed, takes)
    for line in found.unread:
        say(line)
    if found.scenes and not steps:
        choices = choices.model_copy(update={"n_steps": None})  # a scene is as long as its frames
    with progress("simulating", len(found.pictures)) as advance:
        skipped = simulate_pictures(
            images,
            out,
            found=found,
            seed=seed,
            takes=takes,
            camera=camera,
            preprocessing=choices,
            vary=Variation() if vary else None,
            shades=shades,
            frames_per_second=fps,
            skip_damaged=skip_damaged,
            workers=workers,
            advance=advance,
        )
    for line in skipped:
        say(f"left out: {line}")
    if not found.official:
        say(f"{100 * test_fraction:g} % of each class's pictures were drawn to test on, seed {seed}.")
    say(f"wrote {out}: SIMULATED recordings of {', '.join(found.classes)}; no camera saw them")


@app.command(cls=Command)
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


@app.command(cls=Command)
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A prepared file, or a raw recording.")],
    out: Annotated[Path, typer.Option("--out", help="The picture to write (.png, .svg or .pdf).")],
    index: Annotated[int, typer.Option(help="Which example of the split.")] = 0,
    test: Annotated[bool, typer.Option("--test", help="From the test split instead of the training split.")] = False,
    force: Force = False,
) -> None:
    """Draw an example: a picture with both polarities, or a raster if the inputs lie on no grid.

    `gemsnn watch` plays recordings.

    Example: gemsnn data show digits.h5 --index 3 --out digit.png
    """
    from gemsnn.events import open_prepared
    from gemsnn.events.completion import whole_pictures
    from gemsnn.events.container import is_prepared
    from gemsnn.events.pictures import save_picture, save_raster
    from gemsnn.events.recordings import READERS

    refuse_existing("--out", out, force)
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
    from gemsnn.events.bin_width import chosen
    from gemsnn.events.pictures import save_picture
    from gemsnn.events.recordings import sensor_size_of

    suffix = file.suffix.lower()
    with warnings_as_lines():
        events = read_recording(file)
        size = sensor_size_of(file)
    kind = "recorded"
    if suffix == ".aedat":
        choices = mnist_dvs_preprocessing(4)
        kind = "simulated" if read_aedat_header(file).simulated else kind
    elif suffix == ".bin":
        choices = nmnist_preprocessing()
    else:
        if size is None:
            size = int(events["x"].max()) + 1, int(events["y"].max()) + 1
            say(
                f"the file does not tell the size of the sensor; drawn up to the largest x and y: {size[0]} x {size[1]}"
            )
        choices, _ = chosen(Preprocessing.from_dict({"sensor_size": size}), [lambda: events])
    save_picture(choices.planes(events, str(file)), choices, out, title=f"{file.name} ({kind}), {len(events)} events")


def _integers(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{option} {text}: give integers separated by commas, for example {option} 0,1,2") from None


def _changed(
    usual: "Preprocessing",
    polarity: _Polarity | None,
    bin_ms: float | None,
    steps: int | None,
    downsample: int | None = None,
) -> "Preprocessing":
    if bin_ms is not None and not math.isfinite(bin_ms):
        raise ConfigError(f"--bin-ms {bin_ms}: a time bin has a finite width")
    bin_us = None if bin_ms is None else round(1000 * bin_ms)
    kind = polarity and polarity.value
    return _with(usual, polarity=kind, n_steps=steps, downsample=downsample, bin_us=bin_us)


def _with(usual: "Preprocessing", **changes: Any) -> "Preprocessing":
    """Other choices where they are given."""
    from gemsnn.events import Preprocessing

    given = {key: value for key, value in changes.items() if value is not None}
    return Preprocessing.from_dict({**usual.to_dict(), **given})


def _suggest_downsampling(choices: "Preprocessing", n_classes: int) -> None:
    """Say so if a network of the default size could not be trained on so many inputs in the memory there is."""
    from gemsnn.common import memory
    from gemsnn.training import TrainingConfig
    from gemsnn.training.config import BYTES_PER_WEIGHT

    usual, free = TrainingConfig(), memory.available()
    n_neurons = usual.n_hidden + n_classes

    def needed(n_inputs: int) -> int:
        n_weights = n_neurons * (n_inputs + n_neurons) * usual.synaptic_filter.n_basis
        return BYTES_PER_WEIGHT[usual.dtype] * n_weights

    if free is None or needed(choices.n_inputs) <= free:
        return
    factor = 2
    while needed(choices.n_inputs // factor**2) > free / 2 and factor**2 < choices.n_inputs:
        factor *= 2
    say(
        f"warning: {choices.n_inputs:,} inputs: a network of the default size needs about "
        f"{memory.in_words(needed(choices.n_inputs))} of memory, and {memory.in_words(free)} are free; "
        f"--downsample {choices.downsample * factor} leaves {choices.n_inputs // factor**2:,} inputs",
        error=True,
    )


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
    for line in inventory.unread_lines():
        say(line)


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
