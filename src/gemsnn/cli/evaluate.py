"""`gemsnn evaluate`: how good a trained model is on a prepared file or a folder of recordings."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gemsnn.cli.output import ForcePage, Json, print_figures, print_table, refuse_existing, say
from gemsnn.cli.train import DECODER_HELP
from gemsnn.common.words import counted

ModelName = Literal["best", "final", "best_on_test"]

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, or a model file (.safetensors).")]
Which = Annotated[
    ModelName | None,
    typer.Option(
        "--model", help="Model of the run. Default: the best by validation; the final one if none was held out."
    ),
]
Compartments = Annotated[int | None, typer.Option(help="Compartments at inference. Default: as in the run's settings.")]
DecoderOption = Annotated[str | None, typer.Option(help=f"{DECODER_HELP} Default: as in the run's settings.")]
SplitOption = Annotated[Literal["test", "train"], typer.Option("--split", help="Split of a prepared file.")]
Data = Annotated[Path, typer.Option("--data", help="Prepared file, or a folder with one subfolder per class.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads; the results do not depend on it.")]
SetSize = Annotated[
    int, typer.Option(min=1, help="For a calibrated model: stop when the set has at most this many classes.")
]


def model_file(run: Path, which: ModelName | None) -> Path:
    """The file of a model, given the file or its run directory."""
    from gemsnn.training import RunDirectory

    return run if run.is_file() else RunDirectory(run).find_model(which)


def load(run: Path, which: ModelName | None, decoder: str | None, compartments: int | None) -> tuple[Any, Any]:
    """The model of a run directory or file, and the decoder to read it out with."""
    from gemsnn.training import load_model

    model = load_model(model_file(run, which))
    return model, model.readout(decoder, compartments)


def evaluate(
    run: Run,
    data: Data,
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    split: SplitOption = "test",
    samples: Annotated[int, typer.Option(min=1, max=1024, help="Realisations for the log-likelihood.")] = 20,
    bins: Annotated[int, typer.Option(min=1, max=1000, help="Bins of the calibration error.")] = 10,
    set_size: SetSize = 1,
    threads: Threads = 1,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Also write a page: confusion, figures per class, reliability, the least certain recordings.",
            metavar="FILE.html",
            dir_okay=False,
        ),
    ] = None,
    force: ForcePage = False,
    as_json: Json = False,
) -> None:
    """Log-likelihood, accuracy, calibration, spikes and cost of a trained model.

    Accuracy and calibration are also given for answers before the end of a recording, with the fraction of recordings
    unlike anything the model was trained on. For a model with a guarantee (`gemsnn calibrate`), also coverage and size
    of its sets of classes, on examples that were not used for calibration, and what stopping early saves.

    For a model of spike patterns, --page draws the patterns it produces beside the desired ones.

    Example: gemsnn evaluate runs/first --data digits.h5 --page evaluation.html
    """
    from gemsnn.cli.inputs import evaluated_examples
    from gemsnn.training.appraisal import appraise

    refuse_existing("--page", page, force, but_pages=True)
    trained, readout = load(run, model, decoder, compartments)
    about = {"model": str(run), "position": trained.about.get("position"), "data": str(data)}
    with evaluated_examples(trained, run, data, split) as (examples, prepared):
        if prepared is not None:
            about |= {"fingerprint": prepared.fingerprint, "split": split}
            if prepared.train.groups is not None:
                groups = set(examples.groups.tolist())
                about["groups"] = {"groups": len(groups), "in_train": len(groups & set(prepared.train.groups.tolist()))}
        size = set_size if promises(trained, readout) else None
        figures, answers = appraise(
            trained, readout, examples, likelihood_samples=samples, n_bins=bins, set_size=size, threads=threads
        )
        result = {**about, "likelihood_samples": samples, **figures}
        if "communication" in trained.about:  # numbers that the rule sends per step of learning
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


def stopping_rule(model: Any, readout: Any, size: int) -> Any:
    """Stop a stream at a small set of classes, if the model answers with sets; else None."""
    from gemsnn.inference import SmallSet

    return SmallSet(model.calibration.guarantee, size) if promises(model, readout) else None


def promises(model: Any, readout: Any) -> bool:
    """Whether the model answers with sets; prints a message if it is calibrated for another decoder."""
    if model.calibration is None:
        return False
    calibrated: Any = model.calibration.decoder
    if calibrated != readout:
        compartments = counted(calibrated.compartments, "compartment")
        say(f"no sets: the model was calibrated for the {calibrated.name} decoder with {compartments}", error=True)
    return bool(calibrated == readout)


FIGURES = (
    ("log_likelihood", "log-likelihood ({likelihood_samples} realisations)", "{:.3f}"),
    ("accuracy", "accuracy", "{:.2%}"),
    ("exact_match", "examples with every label correct", "{:.2%}"),
    ("ece", "expected calibration error ({n_bins} bins)", "{:.4f}"),
    ("nll", "negative log-likelihood of the class", "{:.4f}"),
    ("brier", "Brier score", "{:.4f}"),
    ("van_rossum", "van Rossum distance from the targets ({tau:g} steps)", "{:.4f}"),
    ("hidden_spikes_per_step", "hidden spikes per step", "{:.2f}"),
)
COMMUNICATION = {
    "to_processor": "to the processor",
    "to_neurons": "from the processor to the neurons",
    "sent_back": "from the readout back to hidden neurons",
}


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
    sent = result.get("communication", {})
    rows += [
        (f"numbers sent {way} per training step", str(sent[key])) for key, way in COMMUNICATION.items() if key in sent
    ]
    return rows + _cost_rows(result["cost"])


def _cost_rows(cost: dict[str, Any]) -> list[tuple[str, str]]:
    """The metrics of NeuroBench per recording, and per answer if the model stops early."""
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
    decoder = f"{result['decoder']} decoder, " if "decoder" in result else ""
    compartments = counted(result["compartments"], "compartment")
    print_figures(_rows(result), f"{result['model']} on {result['data']}: {decoder}{compartments}")
    if "sets" in result:
        _print_sets(result["sets"])
    if "reliability" not in result:
        return
    reliability, n = result["reliability"], result["n_bins"]
    bins = zip(reliability["counts"], reliability["confidence"], reliability["accuracy"], strict=True)
    print_table(
        ("confidence", "examples", "mean confidence", "accuracy"),
        [
            (f"{i / n:.2f} to {(i + 1) / n:.2f}", str(count), f"{confidence:.3f}", f"{accuracy:.3f}")
            for i, (count, confidence, accuracy) in enumerate(bins)
            if count
        ],
        "Reliability",
    )
    if "any_time" in result:
        _print_any_time(result["any_time"])


def _print_any_time(figures: dict[str, Any]) -> None:
    rows = [
        (
            f"{100 * one['share']:.0f} %",
            f"{100 * one['accuracy']:.1f} %",
            f"{one['confidence']:.3f}",
            f"{one['ece']:.4f}",
            f"{one['nll']:.4f}",
            f"{one['hidden_spikes']:.0f}",
        )
        for one in figures["after"]
    ]
    head = ("after", "accuracy", "mean confidence", "calibration error", "negative log-likelihood", "hidden spikes")
    print_table(head, rows, "Answers after a fraction of each recording")


def _print_sets(sets: dict[str, Any]) -> None:
    coverage = 100 * (1 - sets["alpha"])
    title = f"Sets with a guarantee: coverage of at least {coverage:g} %, from {sets['recordings']} recordings"
    if not sets["examples"]:
        say(f"{title}. All examples were used for calibration; coverage cannot be estimated")
        return
    print_figures(_set_rows(sets), title)


def _set_rows(sets: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures of the sets, by name; none if all examples were used for calibration."""
    if not sets["examples"]:
        return []
    without = f" (without {sets['calibrated_on']} used for calibration)" if sets["calibrated_on"] else ""
    low, high = (100 * end for end in sets["interval"])
    classes = "one class" if sets["size"] == 1 else f"{sets['size']} classes"
    return [
        (f"examples{without}", str(sets["examples"])),
        ("sets with the true class (95 % interval)", f"{100 * sets['coverage']:.1f} % ({low:.1f} to {high:.1f})"),
        ("classes per set", f"{sets['mean_size']:.2f}"),
        *((f"  sets of {size}", str(count)) for size, count in enumerate(sets["sizes"]) if count),
        (f"stopped early, at {classes} or fewer", f"{100 * sets['stopped_early']:.1f} %"),
        ("time steps until the stop", f"{sets['steps']:.1f} of {sets['steps_to_the_end']:.1f}"),
        ("hidden spikes until the stop", f"{sets['hidden_spikes']:.0f} of {sets['hidden_spikes_to_the_end']:.0f}"),
    ]
