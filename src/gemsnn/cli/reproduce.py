"""`gemsnn reproduce`: the paper's experiments, from data to a report page."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemsnn.cli.output import outlast_output, print_table, say, warnings_as_lines
from gemsnn.common.words import counted, plus_minus, with_interval

if TYPE_CHECKING:
    from gemsnn.experiments import Finished


def reproduce(
    out: Annotated[Path, typer.Option("--out", help="Folder, created if missing.", file_okay=False)],
    data: Annotated[
        Path | None, typer.Option("--data", help="Prepared file. Default: simulated.", dir_okay=False)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick/--full", help="Smaller networks, or the paper's sizes.")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes. Default: one per core.", min=1)] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on the Dask cluster at tcp://HOST:PORT instead of this machine."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds. Default: 3 with --quick, else 5.", min=1)] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Examples per update. Default: 1, as the paper.", min=1)
    ] = None,
    published_code: Annotated[
        bool,
        typer.Option(
            "--published-code",
            help="Follow the first author's public code where it differs from the paper's text: initial weights and "
            "biases from -0.1 to 0.1, synapses between readout neurons, mean of log p for the log-likelihood.",
        ),
    ] = False,
    resplit: Annotated[
        bool | None,
        typer.Option(
            "--resplit/--no-resplit",
            help="Draw a new split for each seed. Default: if the split of the file was drawn at random.",
        ),
    ] = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Train nothing; write figures and report from results.json again.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Change a field of the protocol, e.g. --set epochs=10. May be repeated.",
        ),
    ] = None,
) -> None:
    """Run the paper's experiments: train every K with every seed, draw the figures, judge the claims.

    Ctrl-C saves; the same command resumes. Finished runs are not repeated.

    Example: gemsnn reproduce --quick --out demo
    """
    outlast_output()
    from rich.console import Console
    from rich.progress import Progress

    from gemsnn.experiments import Protocol, carry_out, conclude, failures, own_folder, plan, rewrite
    from gemsnn.experiments.protocol import PUBLISHED_CODE
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
                commands=[shlex.join(["gemsnn", *sys.argv[1:]])],
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
    from gemsnn.experiments.protocol import DecodedBy

    results = finished.results
    shown = {
        "log-likelihood": ("log_likelihood", DecodedBy.VOTE, 1, 2),
        "accuracy, %": ("accuracy", DecodedBy.VOTE, 100, 1),
        f"ECE with K^I = {results.protocol.few_compartments}": ("ece", DecodedBy.FEW, 1, 3),
        "accuracy by likelihood, %": ("accuracy", DecodedBy.LIKELIHOOD, 100, 1),
    }
    rows = []
    for K in results.compartments:
        cells = [
            plus_minus(results.estimate(K, metric, "chosen_on_validation", decoder), factor, digits)
            for metric, decoder, factor, digits in shown.values()
        ]
        rows.append([str(K), *cells])
    print_table(["K", *shown], rows, "Test set, iteration chosen on validation, 95 % intervals over seeds")
    head = ("claim", "verdict", "effect")
    rows = [[claim.name, claim.verdict, with_interval(claim.evidence[0].estimate)] for claim in finished.claims]
    print_table(head, rows, "The paper's claims", left=head)
    say(f"Report: {finished.report}")
