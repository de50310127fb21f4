"""`gemsnn predict`: what a trained model makes of recordings."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from gemsnn.cli.evaluate import Compartments, DecoderOption, Run, SetSize, Which, load, promises
from gemsnn.cli.output import print_table, say
from gemsnn.common.words import counted
from gemsnn.errors import DataError, GemsnnError


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
    if trained.about.get("several_labels"):
        columns = [("file", "left"), ("labels", "left"), ("probabilities", "left")]
    for column, side in [*columns, *([("set", "left"), ("stopped after", "right")] if size else [])]:
        table.add_column(column, justify=side, overflow="fold")  # type: ignore[arg-type]
    total = failed = 0
    for file in files:
        for answer in _answers(trained, how, size, file):
            total += 1
            if "error" in answer:
                failed += 1
                say(f"error: {answer['error']}", error=True)
            if as_json:
                typer.echo(json.dumps(answer))
            else:
                table.add_row(*_row(answer, size))
    if not as_json:
        print_table(table, f"{run}: {how.kind} decoder, {counted(how.compartments, 'compartment')}")
    if failed:
        say(f"{failed} of {total} files could not be read", error=True)
        raise typer.Exit(1)


def _answers(model: Any, how: Any, size: int | None, path: Path) -> Iterator[dict[str, Any]]:
    """One answer per recording, or what is wrong with it."""
    from gemsnn.cli.inputs import prepared_examples, read_inputs, recordings_in
    from gemsnn.events.container import is_prepared

    try:
        if is_prepared(path):
            for place, name, inputs in prepared_examples(model, path):
                yield {**_answer(model, how, size, place, inputs, []), "name": name}
            return
        files = recordings_in(path)
    except GemsnnError as error:
        yield {"file": str(path), "error": str(error)}
        return
    for file in files:
        try:
            yield _answer(model, how, size, str(file), *read_inputs(model, file))
        except GemsnnError as error:
            yield {"file": str(file), "error": str(error)}


def _answer(model: Any, how: Any, size: int | None, name: str, inputs: Any, warnings: list[str]) -> dict[str, Any]:
    """Of one recording; it does not depend on which others are asked about. ``size`` is None if there are no sets."""
    if model.about.get("several_labels"):
        return _labels(model, how, name, inputs, warnings)
    found = model.predict(inputs[None], how)
    labels = [str(label) for label in model.classes]
    answer = {
        "file": name,
        "class": model.classes[int(found.classes[0])],
        "confidence": float(found.confidence[0]),
        "probabilities": dict(zip(labels, found.probabilities[0].tolist(), strict=True)),
        "votes": dict(zip(labels, found.votes[0].tolist(), strict=True)),
        "decoder": how.kind,
        "compartments": how.compartments,
    }
    if size is not None:
        stopped = model.predict_set(inputs[None], size)
        members = [label for label, inside in zip(model.classes, stopped.members[0], strict=True) if inside]
        answer |= {"set": members, "alpha": model.calibration.guarantee.alpha}
        answer |= {"stopped_after": int(stopped.steps[0]), "steps": len(inputs)}
    return {**answer, "warnings": warnings} if warnings else answer


def _labels(model: Any, how: Any, name: str, inputs: Any, warnings: list[str]) -> dict[str, Any]:
    """Each label is a question of its own."""
    found = model.predict_labels(inputs[None], how)
    answer = {
        "file": name,
        "labels": [label for label, holds in zip(model.classes, found.labels[0], strict=True) if holds],
        "probabilities": dict(zip(map(str, model.classes), found.probabilities[0].tolist(), strict=True)),
        "decoder": how.kind,
        "compartments": how.compartments,
    }
    return {**answer, "warnings": warnings} if warnings else answer


def _row(answer: dict[str, Any], size: int | None) -> tuple[str, ...]:
    if "labels" in answer:
        chances = ", ".join(f"{label}: {p:.3f}" for label, p in answer["probabilities"].items())
        return _called(answer), ", ".join(map(str, answer["labels"])) or "none", chances
    sets = () if size is None else ("", "")
    if "error" in answer:
        return answer["file"], "-", "-", "could not be read", *sets
    chosen = str(answer["class"])
    others = {label: p for label, p in answer["probabilities"].items() if label != chosen}
    second = max(others, key=lambda label: others[label])
    if size is not None:
        members = ", ".join(map(str, answer["set"])) or "none fits"
        sets = f"{{{members}}}", f"{answer['stopped_after']} of {answer['steps']} steps"
    return _called(answer), chosen, f"{answer['confidence']:.3f}", f"{second}: {others[second]:.3f}", *sets


def _called(answer: dict[str, Any]) -> str:
    """The file; of an example in a prepared file, also what it is called there."""
    return f"{answer['file']}: {answer['name']}" if answer.get("name") else str(answer["file"])
