"""What commands print is text, whatever is in it."""

import pytest

from gemsnn.cli.output import print_table, say


@pytest.mark.parametrize("name", ["[/red]", "[bold]x", "rec[bold].aedat", '"><script>', r"$\frac{$", "\\"])
def test_names_are_never_markup(name, capsys):
    print_table((name,), [(name,)], name)
    say(name)
    assert capsys.readouterr().out.count(name) == 4
