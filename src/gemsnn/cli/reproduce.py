"""`gemsnn reproduce`: the paper's experiments, from data to a report page."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from gemsnn.cli.output import print_table, say, warnings_as_lines
from gemsnn.errors import ConfigError

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
    from gemsnn.experiments import Protocol, carry_out, conclude, plan, rewrite
    from gemsnn.experiments.display import Watch
    from gemsnn.experiments.reproduce import command_line
    from gemsnn.experiments.sweep import locally, on_cluster
    from gemsnn.training.config import parse_assignment
    from gemsnn.training.lock import locked
    from gemsnn.training.signals import StopSignals

    if report_only:
        _print_results(rewrite(out))
        return
    changes: dict[str, Any] = dict(parse_assignment(text) for text in settings or [])
    if seeds is not None:
        changes["seeds"] = tuple(range(seeds))
    protocol = Protocol.make("quick" if quick else "full", **changes)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be made: {error.strerror or error}") from None
    n_workers = workers or os.cpu_count() or 1
    with locked(out), warnings_as_lines():
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
            f"{len(protocol.seeds)} seeds) on {'simulated' if made.data['simulated'] else 'real'} data, "
            f"{made.data['n_train']} training and {made.data['n_test']} test recordings"
        )
        execute = locally(n_workers) if scheduler is None else on_cluster(scheduler, say)
        with StopSignals() as stop:
            ended = carry_out(made, execute, Watch(Console(), made.runs, stop))
        if any(end.status == "interrupted" for end in ended):
            count = sum(end.status == "done" for end in ended)
            say(f"Stopped with {count} of {len(ended)} runs done; all is saved. Go on with the same command.")
            raise typer.Exit(stop.exit_code or 130)
        failed = [end for end in ended if end.status == "failed"]
        for end in failed:
            say(f"{end.name} failed: {end.error.strip()}", error=True)
        try:
            finished = conclude(made, ended)
        except ValueError as error:
            if not failed:
                raise
            raise ConfigError(f"too few runs are done to conclude anything: {error}") from None
    _print_results(finished)
    if failed:
        raise typer.Exit(1)


def _print_results(finished: "Finished") -> None:
    from gemsnn.experiments.claims import text

    results = finished.results
    table = Table(title="Test set, iteration chosen on validation, 95 % intervals over seeds", title_justify="left")
    few = results.protocol.few_compartments
    for column in ("K", "log-likelihood", "accuracy, %", f"ECE with K^I = {few}", "accuracy by likelihood, %"):
        table.add_column(column, justify="right")
    for K in results.compartments:
        cells = []
        shown: list[tuple[str, Literal["vote", "few", "likelihood"], int, int]] = [
            ("log_likelihood", "vote", 1, 2),
            ("accuracy", "vote", 100, 1),
            ("ece", "few", 1, 3),
            ("accuracy", "likelihood", 100, 1),
        ]
        for metric, decoder, factor, digits in shown:
            value = results.estimate(K, metric, "chosen_on_validation", decoder)
            half = "" if value.high is None else f" ± {factor * (value.high - value.mean):.{digits}f}"
            cells.append(f"{factor * value.mean:.{digits}f}{half}")
        table.add_row(str(K), *cells)
    print_table(table)
    table = Table(title="The paper's claims", title_justify="left")
    for column in ("claim", "verdict", "effect"):
        table.add_column(column)
    for claim in finished.claims:
        table.add_row(claim.name, claim.verdict, text(claim.evidence[0].estimate))
    print_table(table)
    say(f"Report: {finished.report}")
