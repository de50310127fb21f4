"""What commands print is text, whatever is in it."""

import pytest
from rich.table import Table

from gemsnn.cli.output import print_table, say


@pytest.mark.parametrize("name", ["[/red]", "[bold]x", "rec[bold].aedat", '"><script>', r"$\frac{$", "\\"])
def test_names_are_never_markup(name, capsys):
    table = Table(name, title=name)
    table.add_row(name)
    print_table(table, name)
    say(name)
    assert capsys.readouterr().out.count(name) == 5
