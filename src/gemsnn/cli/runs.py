"""`gemsnn runs`: training runs side by side."""

import json
from pathlib import Path
from typing import Annotated

import typer

from gemsnn.cli.output import ForcePage, Json, print_table, refuse_existing, say


def runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with training runs, at any depth.")],
    sort: Annotated[
        str,
        typer.Option(
            metavar="FIELD",
            help="Sort by name; by accuracy, ece, nll, brier or log_likelihood on validation examples, best first; or "
            "by position, status or any setting.",
        ),
    ] = "name",
    page: Annotated[
        Path | None,
        typer.Option(help="Also write a page: table and learning curves.", metavar="FILE.html", dir_okay=False),
    ] = None,
    force: ForcePage = False,
    as_json: Json = False,
) -> None:
    """List and compare training runs: settings that differ, results, and learning curves as a page.

    Results are those of the best evaluation by validation, or of the last one if nothing was held out.

    Example: gemsnn runs runs --sort accuracy --page runs.html
    """
    from gemsnn.common.files import write_whole
    from gemsnn.training.comparison import compare, comparison_page

    refuse_existing("--page", page, force, but_pages=True)
    compared = compare(folder).sorted_by(sort)
    if page is not None:
        write_whole(page, comparison_page(compared).encode())
        say(f"wrote {page}", error=True)  # standard output may be JSON
    if as_json:
        for run in compared.runs:
            record = {"run": run.name, "status": run.status, "error": run.error, "settings": run.settings}
            typer.echo(json.dumps({**record, "evaluation": run.record}))
        return
    head, rows = compared.rows()
    print_table(head, rows, left=head[:2])
