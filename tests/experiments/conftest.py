"""A reproduction so small that it takes seconds: real data files, real runs."""

from pathlib import Path

import numpy as np
import pytest

from gemsnn.events import write_prepared
from gemsnn.experiments import Protocol


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes that differ in which inputs fire most; a given, fixed split."""
    path = tmp_path_factory.mktemp("data") / "tiny.h5"
    rng = np.random.default_rng(0)
    labels = np.tile([0, 1, 2], 20)
    rates = np.full((3, 9), 0.1) + 0.5 * np.repeat(np.eye(3), 3, axis=1)
    spikes = rng.random((60, 12, 9)) < rates[labels][:, None, :]
    write_prepared(path, spikes, labels, split=["train"] * 42 + ["test"] * 18)
    return path


@pytest.fixture(scope="session")
def tiny_protocol() -> Protocol:
    return Protocol.make(
        "full",
        compartments=(1, 3),
        seeds=(0, 1),
        n_hidden=4,
        epochs=2,
        learning_rate=1e-2,
        evaluation_points=(0.25, 0.5, 1.0),
        realisations=5,
    )
