import sys

import pytest
import toy

from gemsnn.cli import main


@pytest.fixture(scope="session")
def data_file(tmp_path_factory):
    return toy.prepared(tmp_path_factory.mktemp("data") / "toy.h5")


@pytest.fixture
def gemsnn(monkeypatch, capsys):
    """Run a command in this process: exit code, output, errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["gemsnn", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run
