"""`gemsnn export`: a trained model for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gemsnn.cli.evaluate import Compartments, DecoderOption, Run, SplitName, Which, load
from gemsnn.cli.output import print_table, say
from gemsnn.errors import ConfigError


class Target(StrEnum):
    C = "c"
    NIR = "nir"


class WeightKind(StrEnum):
    FLOAT32 = "float32"
    INT16 = "int16"
    INT8 = "int8"


def export(
    run: Run,
    to: Annotated[Target, typer.Option(help="c: a C99 program without libraries; nir: a file for other simulators.")],
    out: Annotated[Path, typer.Option(help="Folder to write the C program to; or the NIR file.")],
    weights: Annotated[
        WeightKind,
        typer.Option(help="Of the C program: float32 gives the same spikes as Python; int16 and int8 are smaller."),
    ] = WeightKind.FLOAT32,
    data: Annotated[
        Path | None,
        typer.Option(help="Prepared file, or a folder with a folder of recordings per class: what the export costs."),
    ] = None,
    split: Annotated[SplitName, typer.Option(help="Which examples of a prepared file.")] = SplitName.TEST,
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
) -> None:
    """Write a trained model for other programs: C for any device, NIR for other simulators.

    With --data, say how well it classifies these recordings there, beside how well it does here.

    Example: gemsnn export runs/first --to c --out firmware --weights int8 --data digits.h5
    """
    trained, how = load(run, model, decoder, compartments)
    write = _write_c if to is Target.C else _write_nir
    rows, exported = write(trained, how, out, weights)
    if data is not None:
        from gemsnn.cli.inputs import evaluated_examples

        with evaluated_examples(trained, run, data, split.value) as (examples, _):
            rows += _accuracy_rows(trained, how, exported, examples)
    if rows:
        _print(rows, f"{run} as {'C' if to is Target.C else 'NIR'}")


def _write_c(model: Any, how: Any, out: Path, weights: WeightKind) -> tuple[list[tuple[str, str]], Any]:
    """What is to be said of it, and what its answers follow from."""
    from gemsnn.export import export_c

    program = export_c(model, out, decoder=how.kind, compartments=how.compartments, weights=weights.value)
    say(f"wrote {', '.join(str(path) for path in program.files)}")
    return [
        ("weights", weights.value),
        ("decoder, compartments", f"{how.name}, {how.compartments}"),
        ("constants (flash), bytes", f"{program.constant_bytes:,}"),
        ("state (RAM), bytes", f"{program.state_bytes:,}"),
    ], program.fixed


def _write_nir(model: Any, how: Any, out: Path, weights: WeightKind) -> tuple[list[tuple[str, str]], Any]:
    from dataclasses import replace

    from gemsnn.export import write_nir
    from gemsnn.export.nir_graph import nir_graph

    if weights is not WeightKind.FLOAT32:
        raise ConfigError(f"--weights {weights.value}: a NIR file keeps the weights as they are; leave it out")
    exported = replace(model, decoder=how)
    write_nir(exported, out)
    say(f"wrote {out}")
    return [], nir_graph(exported)


def _accuracy_rows(model: Any, how: Any, exported: Any, examples: Any) -> list[tuple[str, str]]:
    """The model's figures, and those of whole numbers or without noise; floats in C are the same to the bit."""
    from gemsnn.export.judging import judge

    here, there = judge(model, how, exported, examples)
    rows = [("recordings", str(len(examples)))]
    for name, form in (("accuracy", "{:.2%}"), ("ece", "{:.4f}"), ("nll", "{:.4f}")):
        if name not in there:
            continue
        both = [form.format(figures[name]).replace("%", " %") for figures in (here, there)]
        rows.append((name if name == "accuracy" else name.upper(), f"{both[0]} in Python, {both[1]} as exported"))
    return rows


def _print(rows: list[tuple[str, str]], title: str) -> None:
    from rich.table import Table

    table = Table(show_header=False)
    table.add_column("figure")
    table.add_column("value", justify="right")
    for row in rows:
        table.add_row(*row)
    print_table(table, title)
