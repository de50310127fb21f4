"""`gemsnn calibrate`: give a trained model a guarantee, from held-out recordings."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from gemsnn.cli.evaluate import Compartments, DecoderOption, Run, SplitOption, Threads, Which, load, model_file
from gemsnn.cli.output import print_table
from gemsnn.common.words import counted
from gemsnn.errors import ConfigError


def calibrate(
    run: Run,
    data: Annotated[
        Path,
        typer.Option("--data", help="Prepared file to calibrate on, or a folder with one subfolder per class."),
    ],
    alpha: Annotated[float, typer.Option(help="Fraction of recordings whose set may miss the true class.")] = 0.1,
    checkpoints: Annotated[
        str,
        typer.Option(
            metavar="N|STEP,STEP,...",
            help="Number of checkpoints at which classes may leave the set, or their time steps: 10, or 8,16,40.",
        ),
    ] = "10",
    split: SplitOption = "test",
    share: Annotated[
        float, typer.Option(help="Fraction of them to calibrate on, drawn at random; `evaluate` uses the others.")
    ] = 0.5,
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    threads: Threads = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Give a model sets of classes with a guarantee, from held-out recordings; they are kept in the model's file.

    `evaluate`, `predict`, `stream` and `watch` then answer with sets that contain the true class with probability at
    least 1 - alpha, and stop when a set is small enough. The guarantee holds for recordings like those used for
    calibration, which must not be training examples: the train split of the model's own data is refused.

    Example: gemsnn calibrate runs/first --data digits.h5 --alpha 0.1
    """
    from gemsnn.cli.inputs import FolderExamples, check_recordings_fit, fitting
    from gemsnn.events import open_prepared
    from gemsnn.training import save_model
    from gemsnn.training.lock import locked

    options: dict[str, Any] = {"share": share, "checkpoints": _checkpoints(checkpoints), "threads": threads}
    path = model_file(run, model)
    with locked(run) if run.is_dir() else nullcontext():  # training would replace the model
        trained, readout = load(path, None, decoder, compartments)
        if data.is_dir():
            check_recordings_fit(trained, run)
            promised = trained.calibrate_on(
                FolderExamples(trained, data), alpha, decoder=readout.kind, compartments=readout.compartments, **options
            )
        else:
            with open_prepared(data) as opened:
                prepared = fitting(trained, opened)
                promised = trained.calibrate_on(
                    prepared, alpha, split=split, decoder=readout.kind, compartments=readout.compartments, **options
                )
        save_model(promised, path)
    result = _result(promised.calibration, path, data)
    if as_json:
        typer.echo(json.dumps(result, allow_nan=False))
    else:
        _print(result)


def _checkpoints(text: str) -> int | list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"--checkpoints {text}: give their number, or time steps such as 8,16,40") from None
    return numbers if "," in text else numbers[0]


def _result(calibration: Any, path: Path, data: Path) -> dict[str, Any]:
    guarantee, about = calibration.guarantee, calibration.about
    return {
        "model": str(path),
        "data": str(data),
        "split": about.get("split"),
        "alpha": guarantee.alpha,
        "recordings": guarantee.n_recordings,
        "of": about["of"],
        "decoder": calibration.decoder.name,
        "compartments": calibration.decoder.compartments,
        "checkpoints": list(guarantee.checkpoints),
        "thresholds": list(guarantee.thresholds),
    }


def _print(result: dict[str, Any]) -> None:
    import math

    rows = [
        (str(step), f"{math.exp(-threshold):.3g}")
        for step, threshold in zip(result["checkpoints"], result["thresholds"], strict=True)
    ]
    part = f"the {result['split']} split" if result["split"] else "the recordings"
    title = f"{result['model']}: coverage of at least {100 * (1 - result['alpha']):g} % for recordings like these"
    of = f"calibrated on {result['recordings']} of the {result['of']} examples in {part} of {result['data']}"
    decoder = f"{result['decoder']} decoder, {counted(result['compartments'], 'compartment')}"
    head = ("after step", "a class leaves the set if its probability is below")
    print_table(head, rows, f"{title}\n{of}: {decoder}")
