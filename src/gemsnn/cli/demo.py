"""`gemsnn demo`: the other commands, one after another, from simulated recordings to pages with answers."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from gemsnn.cli import data
from gemsnn.cli.evaluate import evaluate
from gemsnn.cli.output import outlast_output, say, warnings_as_lines
from gemsnn.cli.reproduce import reproduce
from gemsnn.cli.train import train
from gemsnn.cli.watch import gallery

DIGITS = (0, 1, 2)
SIMULATION = ("--per-class", "200", "100", "--polarity", "separate")
SETTINGS = ("--set", "test_limit=0")  # the defaults; the test recordings are not looked at before the end
PAPER = ("--quick", "--seeds", "7", "--set", "compartments=[1,20]")  # as many seeds as fit into one minute
LEAST_CERTAIN = 21
FOLDERS = frozenset({"data", "recordings", "run", "paper"})
MARK, EVALUATION = "index.html", "evaluation.html"
LINKS = (("How good it is", EVALUATION), ("Does the paper hold?", "paper/report.html"))


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for all of it; made if not there.", file_okay=False)] = (
        Path("demo")
    ),
    paper: Annotated[bool, typer.Option(help="Also check the paper's claims, by small networks.")] = True,
) -> None:
    """Show what gemsnn does, in two minutes: a classifier learns digits, and says how sure it is of its answers.

    Recordings are simulated, nothing is downloaded. Ctrl-C saves; the same command goes on.

    Example: gemsnn demo --out demo
    """
    outlast_output()
    from gemsnn.events.simulated import write_recordings
    from gemsnn.experiments import own_folder
    from gemsnn.training.lock import LOCK

    with own_folder(out, FOLDERS, frozenset({LOCK, MARK, EVALUATION}), MARK), warnings_as_lines():
        prepared, run, recordings = out / "data" / "digits.h5", out / "run", out / "recordings"
        say("1. An event camera (simulated) watches moving digits: each pixel reports when its light changes.")
        if not prepared.exists():
            prepared.parent.mkdir(parents=True, exist_ok=True)
            _do("data", "simulate", "--out", prepared, "--digits", ",".join(map(str, DIGITS)), *SIMULATION)
        if not recordings.exists():
            write_recordings(recordings, DIGITS, (0, 1))
        say("2. A spiking network learns them, with the default settings.")
        _do("train", "--data", prepared, "--out", run, "--resume", *SETTINGS)
        say("3. It is asked about recordings that it has never seen.")
        _do("evaluate", run, "--data", prepared, "--page", out / EVALUATION)
        _write_page(out, prepared, run, recordings, LINKS[: 1 + paper])
        if paper:
            say(
                "4. Does the paper behind it hold? Small networks learn by its rule. (The page above is there already.)"
            )
            _do("reproduce", "--out", out / "paper", *PAPER)
    say(f"\nThe page: {out / MARK}\n\nNow yours:")
    for what, command in _what_next(out, prepared):
        say(f"  # {what}\n  {command}")


def _do(*words: str | Path) -> None:
    """One command, shown and then carried out as it would be by itself."""
    commands = typer.Typer()
    commands.add_typer(data.app, name="data")
    for command in (train, evaluate, reproduce):
        commands.command()(command)
    line = [str(word) for word in words]
    say(f"$ gemsnn {shlex.join(line)}")
    code = typer.main.get_command(commands)(line, standalone_mode=False)
    if code:
        say("The same gemsnn demo goes on, too.")
        raise typer.Exit(code)


def _write_page(out: Path, prepared: Path, run: Path, recordings: Path, links: tuple[tuple[str, str], ...]) -> None:
    """Recordings as the camera wrote them, then those of the test split that the model is least certain of."""
    from gemsnn.events import open_prepared
    from gemsnn.training import RunDirectory
    from gemsnn.watching import Picture, examples, least_certain
    from gemsnn.watching import recordings as raw

    model = RunDirectory(run).load_model()
    with open_prepared(prepared) as opened:
        picture = Picture.of(model)
        unsure, _ = least_certain(model, examples(opened, opened.test), picture)
        items = [*raw(model, sorted(recordings.rglob("*.aedat"))), *unsure[:LEAST_CERTAIN]]
        gallery(
            model,
            items,
            picture,
            out / MARK,
            title="It says what it sees, and how sure it is",
            about="Simulated recordings of moving digits that the network did not learn from",
            order=f"one of each digit, then those of {len(unsure)} that it is least certain of",
            links=links,
        )


def _what_next(out: Path, prepared: Path) -> list[tuple[str, str]]:
    """What to do, and the command for it."""
    program = _program()
    run = out / "run"
    todo = [
        ("Ask the classifier about raw recordings", f"{program} predict {run} {out / 'recordings'}"),
        ("Watch it answer while they play, as a page", f"{program} watch {run} {out / 'recordings'} --out watch.html"),
        ("All figures of it", f"{program} evaluate {run} --data {prepared}"),
        (
            "Learn from recordings of your own, in folders named after their classes",
            f"{program} data import folder MY_RECORDINGS --sensor 128 128 --out mine.h5\n"
            f"  {program} train --data mine.h5 --out runs/mine",
        ),
        ("Everything else", f"{program} --help"),
    ]
    activate = Path(program).with_name("activate")
    if program != "gemsnn" and activate.exists():
        todo.insert(0, ("Say gemsnn instead of its whole path", f"source {activate}"))
    return todo


def _program() -> str:
    """How this program is called from where the user is."""
    here, found = Path(sys.argv[0]).absolute(), shutil.which("gemsnn")
    if here.name != "gemsnn" or (found and Path(found).absolute() == here):
        return "gemsnn"
    return str(here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here)
