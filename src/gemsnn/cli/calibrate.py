"""`gemsnn calibrate`: give a trained model a guarantee, from held-out recordings."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from gemsnn.cli.evaluate import Compartments, Data, DecoderOption, Run, SplitOption, Threads, Which, load, model_file
from gemsnn.cli.output import Json, print_table
from gemsnn.common.words import counted
from gemsnn.errors import ConfigError


def calibrate(
    run: Run,
    data: Data,
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
        float, typer.Option(help="Fraction to calibrate on, at random; `evaluate` uses the others.")
    ] = 0.5,
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Give a model sets of classes with a guarantee, from held-out recordings; they are kept in the model's file.

    `evaluate`, `predict`, `stream` and `watch` then answer with sets that contain the true class with probability at
    least 1 - alpha, and stop when a set is small enough. The guarantee holds for recordings like those used for
    calibration, which must not be training examples: the train split of the model's own data is refused.

    Example: gemsnn calibrate runs/first --data digits.h5 --alpha 0.1
    """
    from gemsnn.cli.inputs import check_classes, evaluated_examples
    from gemsnn.training import save_model
    from gemsnn.training.lock import locked

    options: dict[str, Any] = {"share": share, "checkpoints": _checkpoints(checkpoints), "threads": threads}
    path = model_file(run, model)
    with locked(run) if run.is_dir() else nullcontext():  # training would replace the model
        trained, readout = load(path, None, decoder, compartments)
        check_classes(trained, run)
        options |= {"decoder": readout.kind, "compartments": readout.compartments}
        with evaluated_examples(trained, run, data, split) as (examples, prepared):
            if prepared is None:
                calibrated = trained.calibrate_on(examples, alpha, **options)
            else:
                calibrated = trained.calibrate_on(prepared, alpha, split=split, **options)
        save_model(calibrated, path)
    result = _result(calibrated.calibration, path, data)
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
