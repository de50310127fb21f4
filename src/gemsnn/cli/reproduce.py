"""`gemsnn reproduce`: the paper's experiments, from data to a report page."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemsnn.cli.output import outlast_output, print_table, say, warnings_as_lines
from gemsnn.common.words import counted, plus_minus, with_interval

if TYPE_CHECKING:
    from gemsnn.experiments import Finished


def reproduce(
    out: Annotated[Path, typer.Option("--out", help="Reproduction directory; made if not there.", file_okay=False)],
    data: Annotated[
        Path | None, typer.Option("--data", help="Prepared file; without it, recordings are simulated.", dir_okay=False)
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="A few minutes with a smaller network, or the paper's sizes.")
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as cores, if not given.", min=1)] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="Spread the runs over a Dask cluster instead.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds: 0, 1, ...; three if quick, else five.", min=1)
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(help="Examples learned from the same weights.", show_default="1, as in the paper", min=1),
    ] = None,
    published_code: Annotated[
        bool,
        typer.Option(
            "--published-code",
            help="As the first author's public code where it differs from the paper's text: initial weights and biases "
            "from -0.1 to 0.1, synapses between read-out neurons, mean of log p for the log-likelihood.",
        ),
    ] = False,
    resplit: Annotated[
        bool | None,
        typer.Option(
            "--resplit/--no-resplit",
            help="A split of its own for each seed; by default where the file's split was drawn at random.",
        ),
    ] = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run nothing; write figures and report anew from results.json.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Another value for a field of the protocol, e.g. --set compartments=[1,5]. May be repeated.",
        ),
    ] = None,
) -> None:
    """Carry out the paper's experiments: train every K with every seed, draw the figures, judge the claims.

    Ctrl-C saves; the same command goes on. Runs that are done are not repeated.

    Example: gemsnn reproduce --quick --out demo
    """
    outlast_output()
    from rich.console import Console
    from rich.progress import Progress

    from gemsnn.experiments import Protocol, carry_out, conclude, failures, own_folder, plan, rewrite
    from gemsnn.experiments.protocol import PUBLISHED_CODE
    from gemsnn.experiments.reproduce import command_line
    from gemsnn.training.config import parse_assignment

    if report_only:
        _print_results(rewrite(out))
        return
    changes: dict[str, Any] = dict(parse_assignment(text) for text in settings or [])
    if published_code:
        changes = {**PUBLISHED_CODE, **changes}
    if seeds is not None:
        changes["seeds"] = tuple(range(seeds))
    if batch_size is not None:
        changes["batch_size"] = batch_size
    protocol = Protocol.make("quick" if quick else "full", **changes)
    with own_folder(out), warnings_as_lines():
        n_recordings = sum(protocol.per_class) * len(protocol.digits)
        with Progress(transient=True, disable=data is not None or not Console().is_terminal) as bar:
            task = bar.add_task("simulating recordings", total=n_recordings)
            made = plan(
                protocol,
                out,
                data,
                resplit=resplit,
                commands=[command_line(sys.argv[1:])],
                advance=lambda: bar.advance(task),
            )
        say(
            f"{protocol.name}: {len(made.runs)} runs (K = {', '.join(map(str, protocol.compartments))}; "
            f"{counted(len(protocol.seeds), 'seed')}) on {'simulated' if made.data['simulated'] else 'real'} data, "
            f"{made.data['n_train']} training and {made.data['n_test']} test recordings"
        )
        ended = carry_out(made.runs, Console(emoji=False), workers=workers, scheduler=scheduler)
        failed = failures(ended)
        for line in failed:
            say(line, error=True)
        finished = conclude(made, ended)
    _print_results(finished)
    if failed:
        raise typer.Exit(1)


def _print_results(finished: "Finished") -> None:
    from rich.table import Table

    from gemsnn.experiments.protocol import DecodedBy

    results = finished.results
    table = Table(title="Test set, iteration chosen on validation, 95 % intervals over seeds", title_justify="left")
    few = results.protocol.few_compartments
    for column in ("K", "log-likelihood", "accuracy, %", f"ECE with K^I = {few}", "accuracy by likelihood, %"):
        table.add_column(column, justify="right")
    for K in results.compartments:
        cells = []
        shown = [
            ("log_likelihood", DecodedBy.VOTE, 1, 2),
            ("accuracy", DecodedBy.VOTE, 100, 1),
            ("ece", DecodedBy.FEW, 1, 3),
            ("accuracy", DecodedBy.LIKELIHOOD, 100, 1),
        ]
        for metric, decoder, factor, digits in shown:
            value = results.estimate(K, metric, "chosen_on_validation", decoder)
            cells.append(plus_minus(value, factor, digits))
        table.add_row(str(K), *cells)
    print_table(table)
    table = Table(title="The paper's claims", title_justify="left")
    for column in ("claim", "verdict", "effect"):
        table.add_column(column)
    for claim in finished.claims:
        table.add_row(claim.name, claim.verdict, with_interval(claim.evidence[0].estimate))
    print_table(table)
    say(f"Report: {finished.report}")
