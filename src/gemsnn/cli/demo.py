"""`gemsnn demo`: digits in, a classifier trained before one's eyes, a page with its answers and how sure it is."""

import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemsnn.cli.output import outlast_output, print_table, progress, say, warnings_as_lines

if TYPE_CHECKING:
    from rich.console import Console

    from gemsnn.experiments.demo import Answers
    from gemsnn.experiments.reproduce import Finished


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
    from rich.console import Console

    from gemsnn.experiments import demo as show
    from gemsnn.experiments import own_folder
    from gemsnn.experiments.demo_page import write_page

    console = Console(emoji=False)
    with own_folder(out, show.FOLDERS, show.FILES, show.MARK), warnings_as_lines():
        say("1. An event camera (simulated) watches moving digits: each pixel reports when its light changes.")
        with progress("simulating", len(show.DIGITS) * sum(show.PER_CLASS)) as advance:
            data = show.make_data(out, advance=advance)
        say("2. A spiking network learns them, with the default settings.")
        _train(out, data, console)
        say("3. It is asked about recordings that it has never seen.")
        answers = show.ask(out, data)
        _print_answers(answers)
        say(show.in_one_sentence(answers))
        todo = _what_next(out, data)
        page = write_page(out, answers, None, todo)
        say(f"The page: {page}")
        if paper:
            say(
                "4. Does the paper behind it hold? Small networks learn by its rule. (Ctrl-C stops: the page is there.)"
            )
            _print_verdicts(_check_paper(out, answers, todo, console))
            say(f"The page, now with the paper: {page}")
    say("\nNow yours:")
    for what, command in todo:
        say(f"  # {what}\n  {command}")


def _train(out: Path, data: Path, console: "Console") -> None:
    from gemsnn.experiments.demo import train_classifier
    from gemsnn.training.display import display
    from gemsnn.training.signals import StopSignals

    with StopSignals() as stop, ExitStack() as watching:
        outcome = train_classifier(
            out,
            data,
            observers=lambda run, trainer: [watching.enter_context(display(console, trainer))],
            stop=stop,
        )
    if outcome.status == "interrupted":
        say("Stopped; all is saved. Go on with the same command.")
        raise typer.Exit(stop.exit_code)


def _print_answers(answers: "Answers") -> None:
    """Two test recordings as small pictures, and the one that it is least sure of; the answer below each."""
    import numpy as np

    from gemsnn.events.pictures import half_blocks

    shown = [int(np.flatnonzero(answers.labels == c)[0]) for c in (0, len(answers.classes) - 1)]
    shown.append(int(answers.confidence.argmin()))
    pictures, captions = [], []
    for i in shown:
        film = answers.films[i]
        start = len(film) // 4
        pictures.append(half_blocks(np.asarray(film[start : start + len(film) // 20].any(axis=(0, 1)))))
        said, truth = answers.classes[answers.predicted[i]], answers.classes[answers.labels[i]]
        mark = "" if said == truth else f", but it is {truth}"
        captions.append(f"{said}: {100 * answers.confidence[i]:.0f} % sure{mark}")
    width = len(pictures[0][0]) + 3
    for lines in zip(*pictures, strict=True):
        say("  " + "".join(line.ljust(width) for line in lines).rstrip())
    say("  " + "".join(caption.ljust(width) for caption in captions).rstrip())


def _check_paper(out: Path, answers: "Answers", todo: list[tuple[str, str]], console: "Console") -> "Finished":
    from gemsnn.experiments import carry_out, conclude, failures, plan
    from gemsnn.experiments.demo import PAPER
    from gemsnn.experiments.demo_page import write_page

    with progress("simulating", sum(PAPER.per_class) * len(PAPER.digits)) as advance:
        made = plan(PAPER, out / "paper", commands=["gemsnn demo"], advance=advance)
    ended = carry_out(made.runs, console)
    for line in failures(ended):
        say(line, error=True)
    finished = conclude(made, ended)
    write_page(out, answers, finished, todo)
    return finished


def _print_verdicts(finished: "Finished") -> None:
    from rich.table import Table

    table = Table()
    for column in ("the paper says", "here"):
        table.add_column(column)
    for claim in finished.claims:
        table.add_row(claim.plain or claim.claim, claim.verdict)
    print_table(table)


def _what_next(out: Path, data: Path) -> list[tuple[str, str]]:
    """What to do, and the command for it."""
    program = _program()
    run = out / "run"
    todo = [
        ("Ask the classifier about raw recordings", f"{program} predict {run} {out / 'recordings'}"),
        ("Watch it answer while they play, as a page", f"{program} watch {run} {out / 'recordings'} --out watch.html"),
        ("All figures of it", f"{program} evaluate {run} --data {data}"),
        (
            "Learn from recordings of your own, in folders named after their classes",
            f"{program} data import folder MY_RECORDINGS --sensor 128 128 --out mine.h5\n"
            f"{program} train --data mine.h5 --out runs/mine",
        ),
        ("Everything else", f"{program} --help"),
    ]
    activate = Path(program).with_name("activate")
    if program != "gemsnn" and activate.exists():
        todo.insert(0, ("Say gemsnn instead of its whole path", f"source {activate}"))
    return [(what, command.replace("\n", "\n  ")) for what, command in todo]


def _program() -> str:
    """How this program is called from where the user is."""
    here, found = Path(sys.argv[0]).absolute(), shutil.which("gemsnn")
    if here.name != "gemsnn" or (found and Path(found).absolute() == here):
        return "gemsnn"
    return str(here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here)
