"""`gemsnn predict`: classify recordings with a trained model."""

import json
from collections.abc import Iterator
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Annotated, Any

import typer

from gemsnn.cli.evaluate import Compartments, DecoderOption, Run, SetSize, Which, load, promises
from gemsnn.cli.output import Json, print_table, say
from gemsnn.common.words import counted
from gemsnn.errors import GemsnnError

BATCH = 64  # recordings in memory


def predict(
    run: Run,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Recordings, folders or prepared files.")],
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    set_size: SetSize = 1,
    as_json: Json = False,
) -> None:
    """Class, confidence and runner-up for recordings, preprocessed as the run's training data were.

    For a model with several labels per example: the labels that hold, and the probability of each. For a model with a
    guarantee (`gemsnn calibrate`) also the set of classes at which it would have stopped, and after which step.

    A recording unlike anything the model was trained on is marked: less than 2 % of held-out recordings were as
    unusual. A guarantee does not cover it.

    Files that cannot be read are reported, and the others are classified; the exit code is then 1.

    Example: gemsnn predict runs/first recordings/*.aedat --json
    """
    from gemsnn.cli.inputs import check_classes, check_recordings_fit
    from gemsnn.events.container import is_prepared

    trained, readout = load(run, model, decoder, compartments)
    check_classes(trained, run)
    if not all(map(is_prepared, files)):
        check_recordings_fit(trained, run)
    size = set_size if promises(trained, readout) else None
    head = ["file", "class", "confidence", "runner-up"]
    if trained.knows(readout).get("usual") is not None:
        head.append("note")
    if trained.about.get("several_labels"):
        head = ["file", "labels", "probabilities"]
    if size:
        head += ["set", "stopped after"]
    rows, total, failed = [], 0, 0
    for answer in _answers(trained, readout, size, files):
        total += 1
        if "error" in answer:
            failed += 1
            say(f"error: {answer['error']}", error=True)
        if as_json:
            typer.echo(json.dumps(answer))
        else:
            cells = _cells(answer)
            rows.append([cells.get(name, "-" if "error" in answer else "") for name in head])
    if not as_json:
        left = {"file", "labels", "probabilities", "runner-up", "note", "set"}
        title = f"{run}: {readout.name} decoder, {counted(readout.compartments, 'compartment')}"
        print_table(head, rows, title, left=left)
    if failed:
        say(f"{failed} of {total} files could not be read", error=True)
        raise typer.Exit(1)


def _answers(model: Any, readout: Any, size: int | None, paths: list[Path]) -> Iterator[dict[str, Any]]:
    """One answer or error per recording; ``size`` is None if there are no sets."""
    recordings = _recordings(model, paths)
    while batch := list(islice(recordings, BATCH)):
        answers = iter(_classify(model, readout, size, [one["inputs"] for one in batch if "inputs" in one]))
        for one in batch:
            if one.pop("inputs", None) is None:
                yield one
            else:
                yield {"file": one["file"], **next(answers), **one}


def _recordings(model: Any, paths: list[Path]) -> Iterator[dict[str, Any]]:
    """``file`` and ``inputs`` of each recording, with ``name`` or ``warnings``; ``error`` if it cannot be read."""
    from gemsnn.cli.inputs import prepared_examples, read_inputs
    from gemsnn.events.container import is_prepared
    from gemsnn.events.recordings import recordings_in

    for path in paths:
        try:
            if is_prepared(path):
                for position, name, inputs in prepared_examples(model, path):
                    yield {"file": position, "inputs": inputs, "name": name}
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


def _classify(model: Any, readout: Any, size: int | None, inputs: list[Any]) -> Iterator[dict[str, Any]]:
    """One answer per recording; no answer depends on the other recordings."""
    if not inputs:
        return
    names = [str(label) for label in model.classes]
    read_by = {"decoder": readout.name, "compartments": readout.compartments}
    if model.about.get("several_labels"):
        several = model.predict_labels(inputs, readout.kind, readout.compartments)
        for holds, p in zip(several.labels, several.probabilities.tolist(), strict=True):
            labels = [label for label, one in zip(model.classes, holds, strict=True) if one]
            yield {"labels": labels, "probabilities": dict(zip(names, p, strict=True)), **read_by}
    elif size is None:
        found = model.predict(inputs, readout.kind, readout.compartments)
        figures = (found.label, found.confidence, found.probabilities, found.votes, found.usual)
        for answer in zip(*(values.tolist() for values in figures), strict=True):
            yield _answer(names, *answer) | read_by
    else:
        for one in model.predict_anytime(inputs, readout.kind, readout.compartments):
            last, p = one.classes[-1], one.probabilities[-1]
            stopped = model.calibration.guarantee.stop(one, size)
            members = [label for label, inside in zip(model.classes, stopped.members, strict=True) if inside]
            yield {
                **_answer(
                    names, model.classes[last], float(p[last]), p.tolist(), one.votes.tolist(), float(one.usual[-1])
                ),
                **read_by,
                "set": members,
                "alpha": model.calibration.guarantee.alpha,
                "stopped_after": int(stopped.steps),
                "steps": len(one.classes),
            }


def _answer(
    names: list[str], label: Any, confidence: float, p: list[float], votes: list[int], usual: float
) -> dict[str, Any]:
    from gemsnn.inference import UNUSUAL

    per_class = {"probabilities": dict(zip(names, p, strict=True)), "votes": dict(zip(names, votes, strict=True))}
    answer = {"class": label, "confidence": confidence, **per_class}
    if isnan(usual):  # unknown for this model, or for recordings of this length
        return answer | {"usual": None}
    return answer | {"usual": usual, "unusual": usual < UNUSUAL}


def _cells(answer: dict[str, Any]) -> dict[str, str]:
    """The cells of an answer's row, by the names of their columns."""
    from gemsnn.inference import UNLIKE

    if "error" in answer:
        return {"file": f"{answer['file']} (could not be read)"}
    cells = {"file": f"{answer['file']}: {answer['name']}" if answer.get("name") else str(answer["file"])}
    probabilities = answer["probabilities"]
    if "labels" in answer:
        cells["labels"] = ", ".join(map(str, answer["labels"])) or "none"
        cells["probabilities"] = ", ".join(f"{label}: {p:.3f}" for label, p in probabilities.items())
        return cells
    chosen = str(answer["class"])
    second = max((label for label in probabilities if label != chosen), key=lambda label: probabilities[label])
    cells |= {"class": chosen, "confidence": f"{answer['confidence']:.3f}"}
    cells |= {"runner-up": f"{second}: {probabilities[second]:.3f}", "note": UNLIKE if answer.get("unusual") else ""}
    if "set" in answer:
        members = ", ".join(map(str, answer["set"])) or "none fits"
        cells["set"] = f"{{{members}{'; no guarantee' if answer.get('unusual') else ''}}}"
        cells["stopped after"] = f"{answer['stopped_after']} of {answer['steps']} steps"
    return cells
