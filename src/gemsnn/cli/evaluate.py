"""`gemsnn evaluate`: how good a trained model is on a prepared file."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from gemsnn.cli.output import print_table
from gemsnn.cli.train import DECODER_HELP, Decoder
from gemsnn.errors import DataError


class ModelName(StrEnum):
    BEST = "best"
    FINAL = "final"
    BEST_ON_TEST = "best_on_test"


class SplitName(StrEnum):
    TEST = "test"
    TRAIN = "train"


Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, or a model file (.safetensors).")]
Which = Annotated[
    ModelName | None,
    typer.Option("--model", help="Which model of the run; by default the best by validation, or else the final one."),
]
Compartments = Annotated[
    int | None, typer.Option(help="Compartments at inference; by default those the run was set up with.")
]
DecoderOption = Annotated[Decoder | None, typer.Option(help=f"{DECODER_HELP} By default as the run was set up.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads; the result does not depend on it.")]


def load(run: Path, which: ModelName | None, decoder: Decoder | None, compartments: int | None) -> tuple[Any, Any]:
    """The model of a run directory or file, and how to read it out."""
    from gemsnn.training import RunDirectory, load_model
    from gemsnn.training.config import checked_decoder

    model = load_model(run) if run.is_file() else RunDirectory(run).load_model(None if which is None else which.value)
    chosen = model.decoder.model_dump()
    if decoder is not None:
        chosen["kind"] = decoder.value
    if compartments is not None:
        chosen["compartments"] = compartments
    return model, checked_decoder(chosen)


def evaluate(
    run: Run,
    data: Annotated[Path, typer.Option("--data", help="Prepared file to evaluate on.")],
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    split: Annotated[SplitName, typer.Option(help="Which examples of the file.")] = SplitName.TEST,
    samples: Annotated[int, typer.Option(min=1, help="Realisations behind the log-likelihood.")] = 20,
    bins: Annotated[int, typer.Option(min=1, help="Bins of the calibration error.")] = 10,
    threads: Threads = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Log-likelihood, accuracy, calibration, spikes and communication of a trained model.

    Example: gemsnn evaluate runs/first --data digits.h5 --compartments 2 --decoder likelihood
    """
    import numpy as np

    from gemsnn.events import open_prepared
    from gemsnn.training.evaluation import evaluate as measure
    from gemsnn.training.randomness import Purpose, derived_seed

    trained, how = load(run, model, decoder, compartments)
    with open_prepared(data) as prepared:
        _check_fit(trained, prepared)
        part = prepared.test if split is SplitName.TEST else prepared.train
        if not len(part):
            raise DataError(f"{data}: the {split.value} split is empty, so there is nothing to evaluate on")
        figures = measure(
            trained.network,
            trained.parameters,
            part,
            np.arange(len(part)),
            [how],
            likelihood_samples=samples,
            n_bins=bins,
            seed=derived_seed(trained.seed, Purpose.TEST if split is SplitName.TEST else Purpose.TRAIN),
            threads=threads,
        )
        result = {
            "model": str(run),
            "position": trained.about.get("position"),
            "data": str(data),
            "fingerprint": prepared.fingerprint,
            "split": split.value,
            "likelihood_samples": samples,
            **figures,
            "communication": trained.about.get("communication"),
        }
    if as_json:
        typer.echo(json.dumps(result, allow_nan=False))
    else:
        _print(result)


def _check_fit(model: Any, data: Any) -> None:
    """Refuse data that the model was not made for, and say what differs."""
    different = [
        f"{what} {ours!r} in the model, {theirs!r} in the data"
        for what, ours, theirs in (
            ("inputs", model.network.n_inputs, data.n_inputs),
            ("classes", list(model.classes), list(data.classes)),
        )
        if ours != theirs
    ]
    if model.preprocessing is not None and data.preprocessing is not None:
        before, now = model.preprocessing.to_dict(), data.preprocessing.to_dict()
        different += [
            f"{key} {before[key]!r} in the model, {now[key]!r} in the data" for key in before if before[key] != now[key]
        ]
    if different:
        raise DataError(
            f"{data.path}: does not fit the model: {'; '.join(different)}. Prepare the data as for training"
        )


def _print(result: dict[str, Any]) -> None:
    how_read = f"{result['decoder']} decoder, {result['compartments']} compartments"
    table = Table(show_header=False)
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in (
        (f"{result['split']} examples", str(result["examples"])),
        (f"log-likelihood ({result['likelihood_samples']} realisations)", f"{result['log_likelihood']:.3f}"),
        ("accuracy", f"{100 * result['accuracy']:.2f} %"),
        (f"expected calibration error ({result['n_bins']} bins)", f"{result['ece']:.4f}"),
        ("negative log-likelihood of the class", f"{result['nll']:.4f}"),
        ("Brier score", f"{result['brier']:.4f}"),
        ("hidden spikes a step", f"{result['hidden_spikes_per_step']:.2f}"),
    ):
        table.add_row(name, value)
    if loads := result["communication"]:  # a model of version 0.1 does not say
        K = loads["compartments"]
        table.add_row(f"reals to the central processor, a learning step of {K}", str(loads["to_processor"]))
        table.add_row(f"reals to the neurons, a learning step of {K}", str(loads["to_neurons"]))
        table.add_row(f"reals sent back to hidden neurons, a learning step of {K}", str(loads["sent_back"]))
    print_table(table, f"{result['model']} on {result['data']}: {how_read}")
    bins = Table()
    for column in ("confidence", "examples", "mean confidence", "accuracy"):
        bins.add_column(column, justify="right")
    reliability, n = result["reliability"], result["n_bins"]
    rows = zip(reliability["counts"], reliability["confidence"], reliability["accuracy"], strict=True)
    for i, (count, confidence, accuracy) in enumerate(rows):
        if count:
            bins.add_row(f"{i / n:.2f} to {(i + 1) / n:.2f}", str(count), f"{confidence:.3f}", f"{accuracy:.3f}")
    print_table(bins, "Reliability")
