"""`gemsnn predict`: what a trained model makes of raw recordings."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from gemsnn.cli.evaluate import Compartments, DecoderOption, Run, Which, load
from gemsnn.cli.output import print_table, say
from gemsnn.errors import DataError, GemsnnError


def predict(
    run: Run,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Raw recordings: .aedat or .bin.")],
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON line a file instead of a table.")] = False,
) -> None:
    """Class, confidence and votes for raw recordings, preprocessed as the run's training data were.

    A file that cannot be read is reported and the others go on; the exit code is then 1.

    Example: gemsnn predict runs/first recordings/*.aedat --json
    """
    trained, how = load(run, model, decoder, compartments)
    if trained.preprocessing is None:
        raise DataError(
            f"{run}: trained on arrays, not on recordings, so it cannot tell how to turn events into inputs"
        )
    table = Table()
    for column, side in (("file", "left"), ("class", "right"), ("confidence", "right"), ("votes", "left")):
        table.add_column(column, justify=side, overflow="fold")  # type: ignore[arg-type]
    failed = 0
    for file in files:
        try:
            answer = _predict(trained, how, file)
        except GemsnnError as error:
            failed += 1
            say(f"error: {error}", error=True)
            answer = {"file": str(file), "error": str(error)}
        if as_json:
            typer.echo(json.dumps(answer))
        elif "error" in answer:
            table.add_row(str(file), "-", "-", "could not be read")
        else:
            votes = ", ".join(f"{label}: {count}" for label, count in answer["votes"].items())
            table.add_row(str(file), str(answer["class"]), f"{answer['confidence']:.3f}", votes)
    if not as_json:
        print_table(table, f"{run}: {how.kind} decoder, {how.compartments} compartments")
    if failed:
        say(f"{failed} of {len(files)} files could not be read", error=True)
        raise typer.Exit(1)


def _predict(model: Any, how: Any, file: Path) -> dict[str, Any]:
    """The answer for one recording; it does not depend on which others are asked about."""
    from gemsnn.events import nmnist_preprocessing, read_recording

    size = model.preprocessing.sensor_size
    if file.suffix.lower() == ".bin" and size != nmnist_preprocessing().sensor_size:
        raise DataError(f"{file}: an N-MNIST recording, but the model was trained for a {size[0]} x {size[1]} sensor")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        inputs = model.bin(read_recording(file), str(file))
    for warning in caught:
        say(f"warning: {warning.message}", error=True)
    found = model.predict(inputs[None], how)
    labels = [str(label) for label in model.classes]
    answer = {
        "file": str(file),
        "class": model.classes[int(found.classes[0])],
        "confidence": float(found.confidence[0]),
        "probabilities": dict(zip(labels, found.probabilities[0].tolist(), strict=True)),
        "votes": dict(zip(labels, found.votes[0].tolist(), strict=True)),
        "decoder": how.kind,
        "compartments": how.compartments,
    }
    return {**answer, "warnings": [str(warning.message) for warning in caught]} if caught else answer
