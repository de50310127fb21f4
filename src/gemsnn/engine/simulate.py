"""Running many sequences without learning: one after the other, each whole; threads share them out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine import running
from gemsnn.engine.protocol import Simulation
from gemsnn.engine.randomness import Draws
from gemsnn.model import Network, Parameters


def simulate(
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    n_compartments: int,
    draws_of: Callable[[int], Draws],
    targets: NDArray[Any] | None = None,
    threads: int = 1,
) -> Simulation:
    """Run (N, T, n_inputs) inputs; visible neurons are clamped to (N, T, n_visible) targets, or run freely.

    ``draws_of(n)`` gives sequence n's draws: (T, K, n_hidden) if there are targets, else (T, K, n_neurons).
    """
    (N, T), K = inputs.shape[:2], n_compartments
    n, n_visible, dtype = network.n_neurons, network.n_visible, parameters.dtype
    spikes = np.zeros((N, T, K, n), dtype=np.bool_)
    potential = np.zeros((N, T, K, n_visible), dtype=dtype)
    weights = running.arrange(network, parameters)
    given = np.ascontiguousarray(inputs).view(np.uint8)
    clamp = np.zeros((N, 0, n_visible), np.uint8) if targets is None else np.ascontiguousarray(targets).view(np.uint8)

    def run(sequences: range) -> None:
        past = running.silence(weights, K)
        thresholds = np.empty((T, K, n if targets is None else network.n_hidden), dtype=dtype)
        for index in sequences:
            running.forget(past)
            draws_of(index).draw_logits(thresholds)
            running.run(weights, past, given[index], clamp[index], thresholds, spikes[index], potential[index])

    if min(threads, N) <= 1:
        run(range(N))
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run, (range(first, N, threads) for first in range(threads))))
    return Simulation(spikes, potential)
