"""Running without learning: many sequences at once, divided among threads, or one sequence step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine import running
from gemsnn.engine.input_spikes import Inputs, input_spikes, n_steps
from gemsnn.engine.protocol import Simulation, Step
from gemsnn.engine.randomness import Draws
from gemsnn.engine.threads import share_out
from gemsnn.model import Network, Parameters


class Running:
    """See :class:`gemsnn.engine.protocol.Running`."""

    def __init__(self, network: Network, parameters: Parameters) -> None:
        self.network = network
        self._weights = running.arrange(network, parameters)

    def simulate(
        self,
        inputs: Sequence[Inputs] | NDArray[Any],
        n_compartments: int,
        draws_of: Callable[[int], Draws],
        targets: NDArray[Any] | None = None,
        threads: int = 1,
    ) -> Simulation:
        network, weights = self.network, self._weights
        N, T, K = len(inputs), n_steps(inputs), n_compartments
        n, n_visible, dtype = network.n_neurons, network.n_visible, weights.bias.dtype
        spikes = np.zeros((N, T, K, n), dtype=np.bool_)
        potential = np.zeros((N, T, K, n_visible), dtype=dtype)
        given = np.zeros((N, 0, n_visible), np.uint8) if targets is None else np.ascontiguousarray(targets)
        clamp = given.view(np.uint8)

        def run(part: int) -> None:
            past = running.silence(weights, K)
            thresholds = np.empty((T, K, n if targets is None else network.n_hidden), dtype=dtype)
            for index in range(part, N, parts):
                running.forget(past)
                draws_of(index).draw_logits(thresholds)
                listed = input_spikes(inputs[index], network.n_inputs)
                running.run(weights, past, *listed, clamp[index], thresholds, spikes[index], potential[index])

        parts = max(1, min(threads, N))
        share_out(run, parts, parts)
        return Simulation(spikes, potential)

    def recording(self, n_compartments: int, draws: Draws, clamped: bool = False) -> Recording:
        return Recording(self.network, self._weights, n_compartments, draws, clamped)


class Recording:
    """See :class:`gemsnn.engine.protocol.Recording`. The steps are, to the bit, those of :meth:`Running.simulate`."""

    def __init__(
        self, network: Network, weights: running.Weights, n_compartments: int, draws: Draws, clamped: bool
    ) -> None:
        K, n, dtype = n_compartments, network.n_neurons, weights.bias.dtype
        n_drawn = network.n_hidden if clamped else n
        self._weights, self._past = weights, running.silence(weights, K)
        # Drawn step by step: drawing ahead would make some steps slow.
        self._thresholds = np.empty((1, K, n_drawn), dtype=dtype)
        self._targets = np.zeros((int(clamped), network.n_visible), dtype=np.uint8)
        self._spikes = np.zeros((1, K, n), dtype=np.bool_)
        self._potential = np.zeros((1, K, network.n_visible), dtype=dtype)
        self._step = Step(self._spikes[0], self._potential[0])
        self._draws = draws

    @property
    def spikes(self) -> NDArray[np.bool_]:
        return self._step.spikes

    def begin(self, draws: Draws) -> None:
        running.forget(self._past)
        self._draws = draws

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None = None) -> Step:
        self._draws.draw_logits(self._thresholds)
        if target_t is not None:
            self._targets[0] = target_t
        running.run(
            self._weights, self._past, *input_spikes(inputs_t[None], len(inputs_t)), self._targets,
            self._thresholds, self._spikes, self._potential,
        )  # fmt: skip
        return self._step
