"""Gradients by finite differences: the oracle of every test of an expected update."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gemsnn import Network, Parameters

STEP = 1e-4


def gradient(network: Network, parameters: Parameters, value: Callable[[Parameters], float]) -> list[np.ndarray]:
    """By central differences of ``value(parameters)``, for every parameter that exists."""
    exists = [
        np.broadcast_to(network.topology.mask[:, :, None], parameters.synaptic.shape),
        np.broadcast_to(network.has_memory[:, None], parameters.somatic.shape),
        np.ones_like(parameters.bias, dtype=bool),
    ]
    found = []
    for name, there in zip(("synaptic", "somatic", "bias"), exists, strict=True):
        array = np.zeros(there.shape)
        for place in np.argwhere(there):
            sides = []
            for size in (STEP, -STEP):
                moved = parameters.copy()
                getattr(moved, name)[tuple(place)] += size
                sides.append(value(moved))
            array[tuple(place)] = (sides[0] - sides[1]) / (2 * STEP)
        found.append(array)
    return found
