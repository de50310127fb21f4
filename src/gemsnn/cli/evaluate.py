"""`gemsnn evaluate`: how good a trained model is on a prepared file or a folder of recordings."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gemsnn.cli.output import ForcePage, print_table, refuse_existing, say
from gemsnn.cli.train import DECODER_HELP
from gemsnn.common.words import counted


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
DecoderOption = Annotated[str | None, typer.Option(help=f"{DECODER_HELP} By default as the run was set up.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads; the result does not depend on it.")]


SetSize = Annotated[
    int, typer.Option(min=1, help="Of a calibrated model: stop as soon as the set has no more than so many classes.")
]


def model_file(run: Path, which: ModelName | None) -> Path:
    """The file of a model, given it or its run directory."""
    from gemsnn.training import RunDirectory

    return run if run.is_file() else RunDirectory(run).find_model(None if which is None else which.value)


def load(run: Path, which: ModelName | None, decoder: str | None, compartments: int | None) -> tuple[Any, Any]:
    """The model of a run directory or file, and how to read it out."""
    from gemsnn.training import load_model

    model = load_model(model_file(run, which))
    return model, model.readout(decoder, compartments)


def evaluate(
    run: Run,
    data: Annotated[
        Path,
        typer.Option("--data", help="Prepared file to evaluate on, or a folder with a folder of recordings per class."),
    ],
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    split: Annotated[SplitName, typer.Option(help="Which examples of a prepared file.")] = SplitName.TEST,
    samples: Annotated[int, typer.Option(min=1, max=1024, help="Realisations behind the log-likelihood.")] = 20,
    bins: Annotated[int, typer.Option(min=1, max=1000, help="Bins of the calibration error.")] = 10,
    set_size: SetSize = 1,
    threads: Threads = 1,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Also write a page to this file: confusion, each class, reliability, the least certain recordings.",
            metavar="FILE.html",
            dir_okay=False,
        ),
    ] = None,
    force: ForcePage = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Log-likelihood, accuracy, calibration, spikes and communication of a trained model.

    Calibration also of answers before the end, and how many recordings are unlike anything that it was trained on.

    Of a model that `gemsnn calibrate` gave a guarantee also: coverage and size of its sets of classes, on the examples
    that were not calibrated on, and what stopping early saves.

    Example: gemsnn evaluate runs/first --data digits.h5 --page evaluation.html
    """
    from gemsnn.cli.inputs import evaluated_examples
    from gemsnn.training.appraisal import appraise

    refuse_existing("--page", page, force, but_pages=True)
    trained, how = load(run, model, decoder, compartments)
    about = {"model": str(run), "position": trained.about.get("position"), "data": str(data)}
    with evaluated_examples(trained, run, data, split.value) as (examples, prepared):
        if prepared is not None:
            about |= {"fingerprint": prepared.fingerprint, "split": split.value}
            if prepared.train.groups is not None:
                groups = set(examples.groups.tolist())
                about["groups"] = {"groups": len(groups), "in_train": len(groups & set(prepared.train.groups.tolist()))}
        size = set_size if promises(trained, how) else None
        figures, answers = appraise(
            trained, how, examples, likelihood_samples=samples, n_bins=bins, set_size=size, threads=threads
        )
        result = {**about, "likelihood_samples": samples, **figures}
        if "communication" in trained.about:  # what the rule sends at each step of learning
            result["communication"] = trained.about["communication"]
        _write_page(page, trained, examples, result, answers, prepared)
    if as_json:
        typer.echo(json.dumps(result, allow_nan=False))
    else:
        _print(result)


def _write_page(out: Path | None, model: Any, examples: Any, result: dict[str, Any], answers: Any, data: Any) -> None:
    if out is None:
        return
    from gemsnn.common.files import write_whole
    from gemsnn.training.evaluation_page import Row, evaluation_page

    rows = [Row(*row) for row in [*_rows(result), *(_set_rows(result["sets"]) if "sets" in result else [])]]
    text = evaluation_page(model, examples, result, answers, rows, result, data=data)
    write_whole(out, text.encode())
    say(f"wrote {out}", error=True)  # the output itself may be JSON


def stopping_rule(model: Any, how: Any, size: int) -> Any:
    """Of a stream: stop at a small set, if the model answers with sets; else None."""
    from gemsnn.inference import SmallSet

    return SmallSet(model.calibration.guarantee, size) if promises(model, how) else None


def promises(model: Any, how: Any) -> bool:
    """Whether the model answers with sets; it is said if it does not because of the decoder."""
    if model.calibration is None:
        return False
    meant = model.calibration.decoder
    if meant != how:
        say(
            f"no sets: the model was calibrated for the {meant.name} decoder with {meant.compartments} compartments",
            error=True,
        )
    return bool(meant == how)


FIGURES = (
    ("log_likelihood", "log-likelihood ({likelihood_samples} realisations)", "{:.3f}"),
    ("accuracy", "accuracy", "{:.2%}"),
    ("exact_match", "examples of which every label is right", "{:.2%}"),
    ("ece", "expected calibration error ({n_bins} bins)", "{:.4f}"),
    ("nll", "negative log-likelihood of the class", "{:.4f}"),
    ("brier", "Brier score", "{:.4f}"),
    ("van_rossum", "van Rossum distance from the targets ({tau:g} steps)", "{:.4f}"),
    ("hidden_spikes_per_step", "hidden spikes a step", "{:.2f}"),
)


def _rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures, by name."""
    from gemsnn.inference import UNLIKE

    rows = [(f"{result.get('split', 'all')} examples", str(result["examples"]))]
    rows += [
        (name.format(**result), form.format(result[key]).replace("%", " %"))
        for key, name, form in FIGURES
        if key in result
    ]
    if "groups" in result:
        groups, known = result["groups"]["groups"], result["groups"]["in_train"]
        rows.append(("groups, of which in the train split", f"{groups}, {known}"))
    unusual = result.get("any_time", {}).get("unusual")
    if unusual is not None:
        rows.append((f"recordings {UNLIKE}", f"{100 * unusual:.1f} %"))
    sent = result.get("communication", {}).items()
    rows += [(f"communication: {name.replace('_', ' ')}", str(count)) for name, count in sent]
    return rows + _cost_rows(result["cost"])


def _cost_rows(cost: dict[str, Any]) -> list[tuple[str, str]]:
    """In NeuroBench's names, per recording; and per answer, if the model stops early."""
    rows = [
        ("Footprint, bytes", f"{cost['Footprint']:,}"),
        ("ParameterCount", f"{cost['ParameterCount']:,}"),
        ("ConnectionSparsity", f"{cost['ConnectionSparsity']:.4f}"),
    ]
    for what, part in (("recording", cost), ("answer", cost.get("per_answer"))):
        if part is not None:
            operations = part["SynapticOperations"]
            rows += [
                (f"ActivationSparsity per {what}", f"{part['ActivationSparsity']:.4f}"),
                (f"Effective_ACs per {what}", f"{operations['Effective_ACs']:,.0f} of {operations['Dense']:,.0f}"),
                (f"MembraneUpdates per {what}", f"{part['MembraneUpdates']:,.0f}"),
            ]
    return rows


def _print(result: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(show_header=False)
    table.add_column("figure")
    table.add_column("value", justify="right")
    for row in _rows(result):
        table.add_row(*row)
    read_out = f"{result['decoder']} decoder, " if "decoder" in result else ""
    print_table(
        table, f"{result['model']} on {result['data']}: {read_out}{counted(result['compartments'], 'compartment')}"
    )
    if "sets" in result:
        _print_sets(result["sets"])
    if "reliability" not in result:
        return
    bins = Table()
    for column in ("confidence", "examples", "mean confidence", "accuracy"):
        bins.add_column(column, justify="right")
    reliability, n = result["reliability"], result["n_bins"]
    rows = zip(reliability["counts"], reliability["confidence"], reliability["accuracy"], strict=True)
    for i, (count, confidence, accuracy) in enumerate(rows):
        if count:
            bins.add_row(f"{i / n:.2f} to {(i + 1) / n:.2f}", str(count), f"{confidence:.3f}", f"{accuracy:.3f}")
    print_table(bins, "Reliability")
    if "any_time" in result:
        _print_any_time(result["any_time"])


def _print_any_time(figures: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table()
    columns = ("after", "accuracy", "mean confidence", "calibration error", "negative log-likelihood", "hidden spikes")
    for column in columns:
        table.add_column(column, justify="right")
    for one in figures["after"]:
        table.add_row(
            f"{100 * one['share']:.0f} %",
            f"{100 * one['accuracy']:.1f} %",
            f"{one['confidence']:.3f}",
            f"{one['ece']:.4f}",
            f"{one['nll']:.4f}",
            f"{one['hidden_spikes']:.0f}",
        )
    print_table(table, "Answers before the end, after a share of each recording")


def _print_sets(sets: dict[str, Any]) -> None:
    from rich.table import Table

    promise = 100 * (1 - sets["alpha"])
    title = f"Sets with a guarantee: coverage of at least {promise:g} %, from {sets['recordings']} recordings"
    if not sets["examples"]:
        say(f"{title}. All examples were calibrated on, so that there is none to judge it by")
        return
    table = Table(show_header=False)
    table.add_column("figure")
    table.add_column("value", justify="right")
    for row in _set_rows(sets):
        table.add_row(*row)
    print_table(table, title)


def _set_rows(sets: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures of the sets, by name; none if there are no examples to judge them by."""
    if not sets["examples"]:
        return []
    without = f" (without {sets['calibrated_on']} calibrated on)" if sets["calibrated_on"] else ""
    low, high = (100 * end for end in sets["interval"])
    classes = "one class" if sets["size"] == 1 else f"{sets['size']} classes"
    return [
        (f"examples{without}", str(sets["examples"])),
        ("sets that hold the true class (95 % interval)", f"{100 * sets['coverage']:.1f} % ({low:.1f} to {high:.1f})"),
        ("classes in a set", f"{sets['mean_size']:.2f}"),
        *((f"  sets of {size}", str(count)) for size, count in enumerate(sets["sizes"]) if count),
        (f"stopped before the end, at {classes} or fewer", f"{100 * sets['stopped_early']:.1f} %"),
        ("time steps seen, of all", f"{sets['steps']:.1f} of {sets['steps_to_the_end']:.1f}"),
        ("hidden spikes spent, of all", f"{sets['hidden_spikes']:.0f} of {sets['hidden_spikes_to_the_end']:.0f}"),
    ]
