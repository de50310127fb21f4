"""`gemsnn demo`: the other commands, one after another, from simulated recordings to pages with answers."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from gemsnn.cli import data
from gemsnn.cli.evaluate import evaluate
from gemsnn.cli.output import outlast_output, say, warnings_as_lines
from gemsnn.cli.predict import predict
from gemsnn.cli.reproduce import reproduce
from gemsnn.cli.stream import stream
from gemsnn.cli.train import train
from gemsnn.cli.watch import gallery
from gemsnn.errors import DataError

DIGITS = (0, 1, 2)
SIMULATION = ("--per-class", "200", "100", "--polarity", "separate")
SETTINGS = ("--epochs", "8", "--set", "test_limit=0")  # test recordings are not used before the end
PAPER = ("--quick", "--seeds", "7", "--set", "compartments=[1,20]")  # about a minute on two cores
STREAM = ("--brief", "--speed", "1")
LEAST_CERTAIN = 20
UNKNOWN = Path("unknown") / "not_a_digit.aedat"
FOLDERS = frozenset({"data", "recordings", "run", "paper"})
MARK, EVALUATION = "index.html", "evaluation.html"
LINKS = (("How good are the answers?", EVALUATION), ("Do the paper's claims hold?", "paper/report.html"))


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for all files, created if missing.", file_okay=False)] = (
        Path("demo")
    ),
    paper: Annotated[bool, typer.Option(help="Also test the paper's claims on small networks.")] = True,
) -> None:
    """Show what gemsnn does, in about two minutes: train a classifier on digits, and ask it for answers.

    Recordings are simulated; nothing is downloaded. Ctrl-C saves; the same command resumes.

    Example: gemsnn demo --out demo
    """
    outlast_output()
    from gemsnn.experiments import own_folder
    from gemsnn.training.lock import LOCK

    with own_folder(out, FOLDERS, frozenset({LOCK, MARK, EVALUATION}), MARK), warnings_as_lines():
        prepared, run, recordings = out / "data" / "digits.h5", out / "run", out / "recordings"
        say(
            "This demo trains a network to tell digits apart, and shows how sure it is of each answer.\n\n"
            "1. A simulated event camera records moving digits: a pixel sends an event when it gets brighter or darker."
        )
        if not prepared.exists():
            prepared.parent.mkdir(parents=True, exist_ok=True)
            _do("data", "simulate", "--out", prepared, "--digits", ",".join(map(str, DIGITS)), *SIMULATION)
        if not (recordings / UNKNOWN).exists():
            _write_recordings(recordings)
        say("\n2. A spiking neural network learns from these recordings, with the default settings in fewer epochs.")
        _do("train", "--data", prepared, "--out", run, "--resume", *SETTINGS)
        say("\n3. How good is it on recordings that it has never seen?")
        _do("evaluate", run, "--data", prepared, "--page", out / EVALUATION)
        say("\n4. Single recordings: one of each digit, and one of a grid, which is not a digit.")
        _do("predict", run, recordings)
        say("\n5. A live stream: events of the grid arrive as from a camera, for two seconds; a line per new answer.")
        _do("stream", run, recordings / UNKNOWN, *STREAM)
        _write_page(out, prepared, run, recordings, LINKS[: 1 + paper])
        if paper:
            say("\n6. The paper behind it: do its claims hold? Small networks learn by its rule.")
            _do("reproduce", "--out", out / "paper", *PAPER)
    say(f"\nOpen this page in a browser: {out / MARK}\n\nWhat you can do next:")
    for purpose, command in _next_commands(out):
        say(f"  # {purpose}\n  {command}")


def _write_recordings(folder: Path) -> None:
    """One recording of each digit, and one of a grid, as the camera's own files."""
    import numpy as np

    from gemsnn.events.aedat import SIMULATED_LINE, write_aedat
    from gemsnn.events.calibration import MNIST_DVS_SCALE_4
    from gemsnn.events.simulated import write_recordings
    from gemsnn.events.simulator import simulate_recording

    y, x = np.abs(np.indices((28, 28)) - 13.5)
    grid = ((x % 6 < 2) | (y % 6 < 2)) & (np.maximum(x, y) < 11)
    events = simulate_recording(255.0 * grid, np.random.SeedSequence(0), MNIST_DVS_SCALE_4)
    write_recordings(folder, DIGITS, (0, 2))
    for file in folder.rglob("*_0901.aedat"):  # the first zero is an unusual one
        file.unlink()
    (folder / UNKNOWN).parent.mkdir(exist_ok=True)
    write_aedat(folder / UNKNOWN, events, comments=(SIMULATED_LINE, "a grid"))


def _do(*words: str | Path) -> None:
    """Print a command, and run it."""
    commands = typer.Typer()
    commands.add_typer(data.app, name="data")
    for command in (train, evaluate, predict, stream, reproduce):
        commands.command()(command)
    line = [str(word) for word in words]
    say(f"$ gemsnn {shlex.join(line)}")
    code = typer.main.get_command(commands)(line, standalone_mode=False) or 0
    if code > 128:  # stopped by a signal
        say("The same gemsnn demo command resumes, too.")
        raise typer.Exit(code)
    if code:
        raise DataError(f"gemsnn {words[0]} failed: remove the file that it names, or the demo's folder, and try again")


def _write_page(out: Path, prepared: Path, run: Path, recordings: Path, links: tuple[tuple[str, str], ...]) -> None:
    """The camera's own files first, then the recordings of the test split that the model is least certain of."""
    from gemsnn.events import open_prepared
    from gemsnn.training import RunDirectory
    from gemsnn.watching import Picture, examples, least_certain
    from gemsnn.watching import recordings as raw

    model = RunDirectory(run).load_model()
    with open_prepared(prepared) as opened:
        picture = Picture.of(model)
        least, _ = least_certain(model, examples(opened, opened.test), picture)
        digits = ", ".join(map(str, DIGITS))
        gallery(
            model,
            [*raw(model, sorted(recordings.rglob("*.aedat"))), *least[:LEAST_CERTAIN]],
            picture,
            out / MARK,
            title="Which digit is this, and how sure is the network?",
            lead="An event camera takes no pictures: a pixel sends an event when it gets brighter or darker. A spiking "
            f"neural network learned the digits {digits} from {len(opened.train)} simulated recordings, none of "
            "them on this page. While a recording plays, you see its events, and how probable each digit is so far. "
            "Choose another recording below. One of them is not a digit: watch what the network makes of it.",
            order=f"one of each digit, one that is not a digit, then the least certain of {len(least)}",
            links=links,
        )


def _next_commands(out: Path) -> list[tuple[str, str]]:
    """What each command is for, and the command."""
    run, recordings = out / "run", out / "recordings"
    commands = [
        ("Classify raw recordings", f"gemsnn predict {run} {recordings}"),
        ("Write a page that plays them", f"gemsnn watch {run} {recordings} --out watch.html"),
        ("Watch a live stream in a browser", f"gemsnn watch {run} {recordings / UNKNOWN} --live"),
        (
            "Train on your own recordings, in folders named after their classes",
            "gemsnn data import folder MY_RECORDINGS --sensor 128 128 --out mine.h5\n"
            "  gemsnn train --data mine.h5 --out runs/mine",
        ),
        ("See all commands", "gemsnn --help"),
    ]
    activate = Path(sys.executable).with_name("activate")
    if shutil.which("gemsnn") is None and activate.exists():
        commands.insert(0, ("Activate the environment that contains gemsnn", f"source {os.path.relpath(activate)}"))
    return commands
