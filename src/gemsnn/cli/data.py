"""`gemsnn data`: import real recordings, simulate others, and look into prepared files."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gemsnn.cli.commands import Command
from gemsnn.cli.output import Force, print_table, progress, refuse_existing, say, warnings_as_lines
from gemsnn.common.words import counted
from gemsnn.errors import ConfigError

if TYPE_CHECKING:
    from gemsnn.events import PreparedData, Preprocessing
    from gemsnn.events.datasets import Inventory

app = typer.Typer(help="Import, simulate and look at event-camera data.", no_args_is_help=True)

_Out = Annotated[Path, typer.Option("--out", help="Prepared file to write.", dir_okay=False)]
_Polarity = Annotated[
    Literal["merged", "separate"] | None,
    typer.Option("--polarity", help="Merge ON and OFF events, or give each inputs of its own, as cameras do."),
]


@app.command("import", cls=Command)
def import_(
    dataset: Annotated[str, typer.Argument(help="What the folder holds: mnist-dvs, n-mnist, folder or tonic:NAME.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with the unpacked recordings.")],
    out: _Out,
    digits: Annotated[
        str | None,
        typer.Option(metavar="0,1,...", help="Digits to use as classes, of MNIST-DVS and N-MNIST. Default: all."),
    ] = None,
    scale: Annotated[int | None, typer.Option(help="Scale of MNIST-DVS: 4, 8 or 16. Default: 4.")] = None,
    sensor: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="COLUMNS ROWS", help="Size of the sensor, if the files do not state it."),
    ] = None,
    downsample: Annotated[
        int | None, typer.Option(help="Side of the square of pixels that becomes one input; 1, 2 or 4 for MNIST-DVS.")
    ] = None,
    polarity: _Polarity = None,
    crop: Annotated[
        tuple[int, int, int, int] | None,
        typer.Option(metavar="X Y WIDTH HEIGHT", help="Keep only this part of the sensor."),
    ] = None,
    flip: Annotated[
        Literal["x", "y"] | None, typer.Option(help="Mirror before rotation: x reverses columns, y rows.")
    ] = None,
    rotate: Annotated[Literal["90", "180", "270"] | None, typer.Option(help="Rotate clockwise, in degrees.")] = None,
    bin_ms: Annotated[
        float | None,
        typer.Option(
            help="Width of a time bin in ms. Default: 25 for MNIST-DVS, 5 for N-MNIST; otherwise a round width that "
            "gives the median recording 40 to 80 steps."
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Number of time bins. Default: 80 for MNIST-DVS, 60 for N-MNIST; otherwise each recording's."
        ),
    ] = None,
    split: Annotated[
        Literal["auto", "official", "stratified"],
        typer.Option(help="Training and test split; auto is the official one if there is one."),
    ] = "auto",
    test_fraction: Annotated[float, typer.Option(help="Fraction of each class in a stratified test split.")] = 0.1,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="The part of a recording's path that names its group (a person, a day), or a table NAME,GROUP (.csv). "
            "A group is never divided between training and test.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the stratified split.")] = 0,
    allow_missing: Annotated[bool, typer.Option("--allow-missing", help="Accept classes without recordings.")] = False,
    skip_damaged: Annotated[bool, typer.Option("--skip-damaged", help="Skip damaged recordings.")] = False,
    force: Force = False,
) -> None:
    """Convert a data set of real recordings to one prepared file.

    `folder` is any folder with one subfolder per class, or with such subfolders in train, val and test. Recordings may
    be AEDAT, Prophesee, N-MNIST, text, NumPy or HDF5 files. With tonic installed, tonic:NAME is any of its data sets
    (tonic:DVSGesture, tonic:SHD), which tonic downloads into DIR if necessary.

    Missing recordings and files that are not read are listed first. The prepared file records every choice.

    Example: gemsnn data import mnist-dvs path/to/mnist-dvs --out mnist-dvs.h5 --digits 0,1,2
    """
    from gemsnn.events import find_dataset, import_recordings
    from gemsnn.events.importing import grouped

    refuse_existing("--out", out, force)
    given = {"classes": digits and _integers("--digits", digits), "scale": scale, "sensor_size": sensor}
    with warnings_as_lines():
        inventory = find_dataset(dataset, folder, **{key: value for key, value in given.items() if value is not None})
    _print_inventory(inventory)
    if group is not None:
        inventory = grouped(inventory, group)
        say(counted(len({recording.group for recording in inventory.recordings}), "group"))
    part: dict[str, Any] = {}
    if crop is not None:
        x, y, width, height = crop
        part = {"x_range": (x, x + width - 1), "y_range": (y, y + height - 1)}
    choices = _changed(inventory.preprocessing, bin_ms, polarity=polarity, n_steps=steps, downsample=downsample, **part)
    choices = _changed(choices, flip=flip, rotate=rotate and int(rotate))
    _suggest_downsampling(choices, len(inventory.classes))
    with progress("importing", len(inventory.recordings)) as advance, warnings_as_lines():
        recorded = import_recordings(
            inventory,
            out,
            preprocessing=choices,
            split=split,
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
    if split == "auto" and recorded["split"]["kind"] == "stratified":
        fraction = f"{100 * test_fraction:g} %"
        if "groups" in recorded["split"]:
            fraction = f"about {fraction} ({counted(recorded['split']['groups'], 'whole group')})"
        say(f"No official split has training and test recordings of each class: {fraction} were drawn, seed {seed}.")
    say(f"wrote {out}")


@app.command(cls=Command)
def simulate(
    context: typer.Context,
    out: _Out,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Record the pictures in this folder instead of MNIST digits: PNG or JPEG files in one subfolder per "
            "class, or in such subfolders in train and test. A folder of frames in place of a picture is a scene.",
        ),
    ] = None,
    digits: Annotated[str, typer.Option(metavar="0,1,...", help="Digits to use as classes.")] = "0,1,2",
    per_class: Annotated[
        tuple[int, int], typer.Option(metavar="TRAIN TEST", help="Training and test recordings of each digit.")
    ] = (400, 100),
    test_fraction: Annotated[float, typer.Option(help="With --images: test fraction of each class's pictures.")] = 0.2,
    takes: Annotated[int, typer.Option(help="With --images: training recordings per picture.")] = 1,
    shades: Annotated[
        bool,
        typer.Option("--shades", help="With --images: keep shades of grey, for photographs; not black and white only."),
    ] = False,
    fps: Annotated[float, typer.Option(help="With --images: frames per second of scenes.")] = 25.0,
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="With --images: skip unreadable pictures.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same file.")] = 0,
    polarity: _Polarity = None,
    bin_ms: Annotated[float | None, typer.Option(help="Width of a time bin in ms. Default: the camera's.")] = None,
    steps: Annotated[int | None, typer.Option(help="Number of time bins. Default: the camera's.")] = None,
    camera: Annotated[
        str,
        typer.Option(help="mnist-dvs: 25 ms bins, a digit moves on a screen; n-mnist: 5 ms bins, the camera moves."),
    ] = "mnist-dvs",
    vary: Annotated[
        bool,
        typer.Option(
            "--vary",
            help="Draw camera, path, position, strokes, contrast and noise for each training recording; test "
            "recordings are always those of the calibrated camera.",
        ),
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Threads. Default: all cores.")] = None,
    aedat: Annotated[Path | None, typer.Option(help="Also write .aedat files like those of MNIST-DVS here.")] = None,
    force: Force = False,
) -> None:
    """Simulate a DVS that records moving MNIST digits, calibrated on real recordings of MNIST-DVS or N-MNIST.

    With --images it records your own pictures. Training and test recordings never share a picture. The file states that
    its recordings are simulated.

    Example: gemsnn data simulate --out digits.h5 --digits 0,1,2 --per-class 400 100
    """
    from gemsnn.events import Variation, simulate_pictures
    from gemsnn.events.calibration import CAMERAS
    from gemsnn.events.picture_sets import find_pictures
    from gemsnn.events.simulated import simulate_prepared
    from gemsnn.model.checks import one_of

    refuse_existing("--out", out, force)
    of_digits, of_images = ("digits", "per_class", "aedat"), ("test_fraction", "takes", "fps", "shades", "skip_damaged")
    for name in of_images if images is None else of_digits:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            problem = "needs" if images is None else "does not go with"
            raise ConfigError(f"--{name.replace('_', '-')} {problem} --images")
    usual = CAMERAS[one_of("--camera", camera, tuple(CAMERAS))].preprocessing
    choices = _changed(usual, bin_ms, polarity=polarity, n_steps=steps)
    common: dict[str, Any] = {
        "seed": seed,
        "camera": camera,
        "vary": Variation() if vary else None,
        "workers": workers,
    }
    if images is None:
        classes = _integers("--digits", digits)
        with progress("simulating", len(set(classes)) * sum(per_class)) as advance:
            simulate_prepared(
                out,
                digits=classes,
                per_class=per_class,
                preprocessing=choices,
                aedat_folder=aedat,
                advance=advance,
                **common,
            )
        say(f"wrote {out}: SIMULATED recordings, no camera saw them")
        return
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
            takes=takes,
            preprocessing=choices,
            shades=shades,
            frames_per_second=fps,
            skip_damaged=skip_damaged,
            advance=advance,
            **common,
        )
    for line in skipped:
        say(f"left out: {line}")
    if not found.official:
        say(f"{100 * test_fraction:g} % of each class's pictures were drawn to test on, seed {seed}.")
    say(f"wrote {out}: SIMULATED recordings of {', '.join(found.classes)}; no camera saw them")


@app.command(cls=Command)
def info(
    file: Annotated[Path, typer.Argument(metavar="F.h5", help="A prepared file.")],
    verify: Annotated[bool, typer.Option("--verify", help="Compare the content with the fingerprint.")] = False,
) -> None:
    """Describe a prepared file: recordings, density and duration of each class, and how it was made.

    Example: gemsnn data info digits.h5
    """
    from gemsnn.events import open_prepared

    with open_prepared(file) as data:
        if verify:
            data.verify()
        _print_info(data)
        if verify:
            say("verified: the content matches the fingerprint")


@app.command(cls=Command)
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A prepared file, or a raw recording.")],
    out: Annotated[Path, typer.Option("--out", help="Picture to write (.png, .svg or .pdf).")],
    index: Annotated[int, typer.Option(help="Index of the example in its split.")] = 0,
    test: Annotated[bool, typer.Option("--test", help="From the test split instead of the training split.")] = False,
    force: Force = False,
) -> None:
    """Draw an example: a picture with both polarities, or a raster if the inputs are not on a grid.

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
            say(f"the file does not state the sensor's size; drawn up to the largest x and y: {size[0]} x {size[1]}")
        choices, _ = chosen(Preprocessing.from_dict({"sensor_size": size}), [lambda: events])
    save_picture(choices.planes(events, str(file)), choices, out, title=f"{file.name} ({kind}), {len(events)} events")


def _integers(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{option} {text}: give integers separated by commas, for example {option} 0,1,2") from None


def _changed(usual: "Preprocessing", bin_ms: float | None = None, **changes: Any) -> "Preprocessing":
    """Replace the choices that are given, those that are not None."""
    from gemsnn.events import Preprocessing

    if bin_ms is not None:
        if not math.isfinite(bin_ms):
            raise ConfigError(f"--bin-ms {bin_ms}: a time bin has a finite width")
        changes["bin_us"] = round(1000 * bin_ms)
    given = {key: value for key, value in changes.items() if value is not None}
    return Preprocessing.from_dict({**usual.to_dict(), **given})


def _suggest_downsampling(choices: "Preprocessing", n_classes: int) -> None:
    """Warn if there is too little memory to train a network of the default size on so many inputs."""
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
    rows = []
    for label in inventory.classes:
        count = inventory.count(label)
        missing = inventory.missing.get(label, "nothing" if count else "all recordings")
        rows.append((str(label), str(count), missing))
    head = ("class", "recordings", "missing")
    print_table(head, rows, f"{inventory.dataset} in {inventory.folder}", left=("missing",))
    for line in inventory.unread_lines():
        say(line)


def _print_info(data: "PreparedData") -> None:
    import numpy as np

    attributes = data.attributes
    kind = "SIMULATED, no camera saw this" if attributes.get("simulated") else "real recordings"
    if data.preprocessing is None:
        kind = "arrays"
    rows = []
    for part in data.splits:
        labels = part.labels
        for index, name in enumerate(["(spike patterns)"] if labels is None else data.classes):
            of_class = np.ones(len(part), dtype=bool)
            if labels is not None:
                of_class = labels == index if labels.ndim == 1 else labels[:, index].astype(bool)
            members = np.flatnonzero(of_class)
            if not len(members):
                rows.append((part.name, str(name), "0", *["-"] * 4))
                continue
            density = float(np.mean([part.density(int(i)) for i in members]))
            events, duration, lengths = part.n_events, part.duration_us, part.lengths[members]
            steps = f"{lengths.min()}" if lengths.min() == lengths.max() else f"{lengths.min()} to {lengths.max()}"
            median_events = "-" if events is None else f"{np.median(events[members]):.0f}"
            median_ms = "-" if duration is None else f"{np.median(duration[members]) / 1000:.0f} ms"
            rows.append(
                (part.name, str(name), str(len(members)), steps, f"{100 * density:.2f} %", median_events, median_ms)
            )
    head = ("split", "class", "recordings", "steps", "density", "events (median)", "duration (median)")
    print_table(head, rows, f"{data.path}: {attributes.get('source', '?')} ({kind})", left=("split",))
    facts = {"inputs x steps": f"{data.n_inputs} x {data.n_steps}", **attributes, "fingerprint": data.fingerprint}
    for name, value in facts.items():
        if name not in ("n_inputs", "n_steps") and value not in ({}, [], None):
            say(f"{name}: {value}")
