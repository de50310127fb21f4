"""The paper's size, and random data of a given spike density."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import gemsnn

DENSITY = 0.1


class Workload(NamedTuple):
    network: gemsnn.Network
    parameters: gemsnn.Parameters
    rule: gemsnn.GEM
    inputs: NDArray[np.uint8]  # (T, n_inputs)
    targets: NDArray[np.uint8]  # (T, n_visible): the first class's desired pattern


def workload(
    n_inputs: int = 676, n_hidden: int = 200, n_visible: int = 3, T: int = 80, density: float = DENSITY
) -> Workload:
    """Three raised cosines over ten steps, float32; the defaults are the paper's network and sequence."""
    network = gemsnn.Network.fully_connected(n_inputs, n_hidden, n_visible)
    targets = np.zeros((T, n_visible), dtype=np.uint8)
    targets[:, 0] = 1
    return Workload(network, network.init(seed=0), gemsnn.GEM(), spikes((T, n_inputs), density), targets)


def spikes(shape: tuple[int, ...], density: float = DENSITY) -> NDArray[np.uint8]:
    return (np.random.default_rng(0).random(shape) < density).astype(np.uint8)
