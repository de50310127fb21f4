"""`gemsnn runs`: training runs side by side."""

import json
from pathlib import Path
from typing import Annotated

import typer

from gemsnn.cli.output import ForcePage, print_table, refuse_existing, say


def runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that holds training runs, at any depth.")],
    sort: Annotated[
        str,
        typer.Option(
            metavar="FIELD",
            help="Order of the runs: name; accuracy, ece, nll, brier or log_likelihood, the best on validation "
            "examples first; position, status, or any setting.",
        ),
    ] = "name",
    page: Annotated[
        Path | None,
        typer.Option(help="Also write a page to this file: table and curves.", metavar="FILE.html", dir_okay=False),
    ] = None,
    force: ForcePage = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line per run, not a table.")] = False,
) -> None:
    """List and compare training runs: the settings in which they differ, what came of it, and the curves as a page.

    Figures are those of the best evaluation by validation; of the last one where nothing was held out.

    Example: gemsnn runs runs --sort accuracy --page runs.html
    """
    from rich.table import Table

    from gemsnn.common.files import write_whole
    from gemsnn.training.comparison import compare, comparison_page

    refuse_existing("--page", page, force, but_pages=True)
    compared = compare(folder).sorted_by(sort)
    if page is not None:
        write_whole(page, comparison_page(compared).encode())
        say(f"wrote {page}", error=True)  # the output itself may be JSON
    if as_json:
        for run in compared.runs:
            told = {"run": run.name, "status": run.status, "error": run.error, "settings": run.settings}
            typer.echo(json.dumps({**told, "evaluation": run.record}))
        return
    head, rows = compared.rows()
    table = Table()
    for place, column in enumerate(head):
        table.add_column(column, justify="left" if place < 2 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    print_table(table)
