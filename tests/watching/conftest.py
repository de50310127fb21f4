import pytest
from watched import calibrated, made_up_model


@pytest.fixture(scope="session")
def model():
    return calibrated(made_up_model())


@pytest.fixture(scope="session")
def without_grid():
    return calibrated(made_up_model(preprocessing=None, classes=("left", "right")), planes=1)
