"""`gemsnn export`: a trained model for other programs."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gemsnn.cli.evaluate import Compartments, DecoderOption, Run, SplitOption, Which, load
from gemsnn.cli.output import print_figures, say
from gemsnn.errors import ConfigError

Weights = Literal["float32", "int16", "int8"]


def export(
    run: Run,
    to: Annotated[Literal["c", "nir"], typer.Option(help="c: a C99 program; nir: a file for other simulators.")],
    out: Annotated[Path, typer.Option(help="Folder for the C program, or the NIR file.")],
    weights: Annotated[
        Weights,
        typer.Option(help="For C: float32 gives the same spikes as Python; int16 and int8 are smaller."),
    ] = "float32",
    data: Annotated[
        Path | None,
        typer.Option(help="Prepared file, or a folder with one subfolder per class, to measure the exported model on."),
    ] = None,
    split: SplitOption = "test",
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
) -> None:
    """Export a trained model: C for any device, NIR for other simulators.

    With --data, compare the accuracy of the exported model with that of the original.

    Example: gemsnn export runs/first --to c --out firmware --weights int8 --data digits.h5
    """
    trained, readout = load(run, model, decoder, compartments)
    write = _write_c if to == "c" else _write_nir
    rows, exported = write(trained, readout, out, weights)
    if data is not None:
        from gemsnn.cli.inputs import evaluated_examples

        with evaluated_examples(trained, run, data, split) as (examples, _):
            rows += _accuracy_rows(trained, readout, exported, examples)
    if rows:
        print_figures(rows, f"{run} as {to.upper()}")


def _write_c(model: Any, readout: Any, out: Path, weights: Weights) -> tuple[list[tuple[str, str]], Any]:
    """Figures of the program, and the exported parameters."""
    from gemsnn.export import export_c

    program = export_c(model, out, decoder=readout.kind, compartments=readout.compartments, weights=weights)
    say(f"wrote {', '.join(str(path) for path in program.files)}")
    return [
        ("weights", weights),
        ("decoder, compartments", f"{readout.name}, {readout.compartments}"),
        ("constants (flash), bytes", f"{program.constant_bytes:,}"),
        ("state (RAM), bytes", f"{program.state_bytes:,}"),
    ], program.fixed


def _write_nir(model: Any, readout: Any, out: Path, weights: Weights) -> tuple[list[tuple[str, str]], Any]:
    from dataclasses import replace

    from gemsnn.export import write_nir
    from gemsnn.export.nir_graph import nir_graph

    if weights != "float32":
        raise ConfigError(f"--weights {weights}: a NIR file contains the weights unchanged; leave it out")
    exported = replace(model, decoder=readout)
    write_nir(exported, out)
    say(f"wrote {out}")
    return [], nir_graph(exported)


def _accuracy_rows(model: Any, readout: Any, exported: Any, examples: Any) -> list[tuple[str, str]]:
    """Figures of the original and the exported model; float32 in C is bit-for-bit identical."""
    from gemsnn.export.judging import judge

    original, as_exported = judge(model, readout, exported, examples)
    rows = [("recordings", str(len(examples)))]
    for name, form in (("accuracy", "{:.2%}"), ("ece", "{:.4f}"), ("nll", "{:.4f}")):
        if name not in as_exported:
            continue
        both = [form.format(figures[name]).replace("%", " %") for figures in (original, as_exported)]
        rows.append((name if name == "accuracy" else name.upper(), f"{both[0]} in Python, {both[1]} as exported"))
    return rows
