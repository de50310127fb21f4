"""Recordings for the tests: real ones where they are at hand, else events made up on the spot."""

import os
from pathlib import Path

import numpy as np
import pytest

from gemsnn.events.records import Events, make_events


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with real recordings, or skip."""
    folder = os.environ.get("GEMSNN_REAL_DATA")
    if not folder:
        pytest.skip("GEMSNN_REAL_DATA is not set")
    return Path(folder)


@pytest.fixture
def dvs_events() -> Events:
    """200 events of a 128 x 128 sensor, 2 s."""
    return random_events(200, 128, 2_000_000, seed=0)


@pytest.fixture
def nmnist_events() -> Events:
    """150 events of a 34 x 34 sensor, 300 ms."""
    return random_events(150, 34, 300_000, seed=1)


def random_events(n: int, side: int, duration_us: int, seed: int) -> Events:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, side, (2, n))
    return make_events(x, y, np.sort(rng.integers(0, duration_us, n)), rng.integers(0, 2, n))
