from pathlib import Path

import pytest
import toy

from gemsnn.events import open_prepared
from gemsnn.training import train


@pytest.fixture(scope="session")
def data_file(tmp_path_factory):
    return toy.prepared(tmp_path_factory.mktemp("data") / "toy.h5")


@pytest.fixture
def data(data_file):
    with open_prepared(data_file) as opened:
        yield opened


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory, data_file) -> Path:
    """A run that nothing ever interrupted. Not to be changed."""
    directory = tmp_path_factory.mktemp("reference") / "run"
    with open_prepared(data_file) as opened:
        train(toy.config(), opened, directory)
    return directory
