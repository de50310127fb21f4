"""`gemsnn predict`: what a trained model makes of recordings."""

import json
from collections.abc import Iterator
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Annotated, Any

import typer

from gemsnn.cli.evaluate import Compartments, DecoderOption, Run, SetSize, Which, load, promises
from gemsnn.cli.output import print_table, say
from gemsnn.common.words import counted
from gemsnn.errors import DataError, GemsnnError

TOGETHER = 64  # recordings in memory


def predict(
    run: Run,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Recordings, folders of recordings, or prepared files.")
    ],
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    set_size: SetSize = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line per recording, not a table.")] = False,
) -> None:
    """Class, confidence and runner-up for recordings, preprocessed as the run's training data were.

    Of a model that learned several labels at once: those that hold, and the probability of each.

    A model that `gemsnn calibrate` gave a guarantee adds the set of classes at which it would have stopped, and when.

    A recording that is unlike anything the model was trained on is marked: of held-out recordings, fewer than 2 % were
    as unusual. A guarantee does not cover it.

    A file that cannot be read is reported and the others go on; the exit code is then 1.

    Example: gemsnn predict runs/first recordings/*.aedat --json
    """
    from rich.table import Table

    from gemsnn.cli.inputs import check_recordings_fit
    from gemsnn.events.container import is_prepared

    trained, how = load(run, model, decoder, compartments)
    if not trained.classes:
        raise DataError(f"{run}: learned spike patterns, not classes; see what it makes of data by gemsnn evaluate")
    if not all(map(is_prepared, files)):
        check_recordings_fit(trained, run)
    table = Table()
    size = set_size if promises(trained, how) else None
    columns = [("file", "left"), ("class", "right"), ("confidence", "right"), ("runner-up", "left")]
    if trained.knows(how).get("usual") is not None:
        columns += [("note", "left")]
    if trained.about.get("several_labels"):
        columns = [("file", "left"), ("labels", "left"), ("probabilities", "left")]
    for column, side in [*columns, *([("set", "left"), ("stopped after", "right")] if size else [])]:
        table.add_column(column, justify=side, overflow="fold")  # type: ignore[arg-type]
    total = failed = 0
    for answer in _answers(trained, how, size, files):
        total += 1
        if "error" in answer:
            failed += 1
            say(f"error: {answer['error']}", error=True)
        if as_json:
            typer.echo(json.dumps(answer))
        else:
            table.add_row(*_row(answer, size, noted=("note", "left") in columns))
    if not as_json:
        print_table(table, f"{run}: {how.name} decoder, {counted(how.compartments, 'compartment')}")
    if failed:
        say(f"{failed} of {total} files could not be read", error=True)
        raise typer.Exit(1)


def _answers(model: Any, how: Any, size: int | None, paths: list[Path]) -> Iterator[dict[str, Any]]:
    """One answer per recording, or what is wrong with it; ``size`` is None if there are no sets."""
    asked = _recordings(model, paths)
    while together := list(islice(asked, TOGETHER)):
        answers = iter(_ask(model, how, size, [one["inputs"] for one in together if "inputs" in one]))
        for one in together:
            if one.pop("inputs", None) is None:
                yield one
            else:
                yield {"file": one["file"], **next(answers), **one}


def _recordings(model: Any, paths: list[Path]) -> Iterator[dict[str, Any]]:
    """``file`` and ``inputs`` of each recording, and what else there is to say of it; ``error`` if it is unreadable."""
    from gemsnn.cli.inputs import prepared_examples, read_inputs
    from gemsnn.events.container import is_prepared
    from gemsnn.events.recordings import recordings_in

    for path in paths:
        try:
            if is_prepared(path):
                for place, name, inputs in prepared_examples(model, path):
                    yield {"file": place, "inputs": inputs, "name": name}
                continue
            files = recordings_in(path)
        except GemsnnError as error:
            yield {"file": str(path), "error": str(error)}
            continue
        for file in files:
            try:
                inputs, warnings = read_inputs(model, file)
            except GemsnnError as error:
                yield {"file": str(file), "error": str(error)}
                continue
            yield {"file": str(file), "inputs": inputs, **({"warnings": warnings} if warnings else {})}


def _ask(model: Any, how: Any, size: int | None, inputs: list[Any]) -> Iterator[dict[str, Any]]:
    """One answer per recording, all from one run; none of them depends on the others."""
    if not inputs:
        return
    names = [str(label) for label in model.classes]
    read_by = {"decoder": how.name, "compartments": how.compartments}
    if model.about.get("several_labels"):  # each label is a question of its own
        several = model.predict_labels(inputs, how.kind, how.compartments)
        for holds, p in zip(several.labels, several.probabilities.tolist(), strict=True):
            labels = [label for label, one in zip(model.classes, holds, strict=True) if one]
            yield {"labels": labels, "probabilities": dict(zip(names, p, strict=True)), **read_by}
    elif size is None:
        found = model.predict(inputs, how.kind, how.compartments)
        figures = (found.label, found.confidence, found.probabilities, found.votes, found.usual)
        for answer in zip(*(values.tolist() for values in figures), strict=True):
            yield _answer(names, *answer) | read_by
    else:
        for one in model.predict_anytime(inputs, how.kind, how.compartments):
            last, p, votes = one.classes[-1], one.probabilities[-1], one.votes.tolist()
            stopped = model.calibration.guarantee.stop(one, size)
            usual = float(one.usual[-1])
            said = _answer(names, model.classes[last], float(p[last]), p.tolist(), votes, usual) | read_by
            members = [label for label, inside in zip(model.classes, stopped.members, strict=True) if inside]
            said |= {"set": members, "alpha": model.calibration.guarantee.alpha}
            yield said | {"stopped_after": int(stopped.steps), "steps": len(one.classes)}


def _answer(
    names: list[str], label: Any, confidence: float, p: list[float], votes: list[int], usual: float
) -> dict[str, Any]:
    from gemsnn.inference import UNUSUAL

    of_classes = {"probabilities": dict(zip(names, p, strict=True)), "votes": dict(zip(names, votes, strict=True))}
    answer = {"class": label, "confidence": confidence, **of_classes}
    if isnan(usual):  # the model, or the recording's length, does not allow to tell
        return answer | {"usual": None}
    return answer | {"usual": usual, "unusual": usual < UNUSUAL}


def _row(answer: dict[str, Any], size: int | None, *, noted: bool) -> tuple[str, ...]:
    from gemsnn.inference import UNLIKE

    if "labels" in answer:
        chances = ", ".join(f"{label}: {p:.3f}" for label, p in answer["probabilities"].items())
        return _called(answer), ", ".join(map(str, answer["labels"])) or "none", chances
    sets = () if size is None else ("", "")
    note = ((UNLIKE if answer.get("unusual") else ""),) if noted else ()
    if "error" in answer:
        return answer["file"], "-", "-", "could not be read", *note, *sets
    chosen = str(answer["class"])
    others = {label: p for label, p in answer["probabilities"].items() if label != chosen}
    second = max(others, key=lambda label: others[label])
    if size is not None:
        members = ", ".join(map(str, answer["set"])) or "none fits"
        if answer.get("unusual"):
            members += "; no guarantee"
        sets = f"{{{members}}}", f"{answer['stopped_after']} of {answer['steps']} steps"
    return _called(answer), chosen, f"{answer['confidence']:.3f}", f"{second}: {others[second]:.3f}", *note, *sets


def _called(answer: dict[str, Any]) -> str:
    """The file; of an example in a prepared file, also what it is called there."""
    return f"{answer['file']}: {answer['name']}" if answer.get("name") else str(answer["file"])
