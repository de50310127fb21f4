"""One recording, step by step, without learning."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine import running
from gemsnn.engine.randomness import Draws
from gemsnn.model import Network, Parameters


class Step(NamedTuple):
    """What a step gives. The next step writes over it."""

    spikes: NDArray[np.bool_]  # (K, n_neurons)
    visible_potential: NDArray[Any]  # (K, n_visible)


class Runner:
    """A network that runs without learning, in buffers of its own that never grow.

    The steps are, to the bit, those of :func:`gemsnn.engine.simulate.simulate` with the same draws.

    Parameters
    ----------
    network, parameters
        What runs. The parameters are copied.
    n_compartments
        K.
    draws
        Those of the recording: of all neurons or, if the visible ones are clamped, of the hidden ones.
    clamped
        Whether visible neurons are told at every step whether to spike.
    """

    def __init__(
        self, network: Network, parameters: Parameters, n_compartments: int, draws: Draws, clamped: bool = False
    ) -> None:
        K, n = n_compartments, network.n_neurons
        n_drawn = network.n_hidden if clamped else n
        self._weights = running.arrange(network, parameters)
        self._past = running.silence(self._weights, K)
        # Drawn step by step: drawing ahead would make some steps slow.
        self._thresholds = np.empty((1, K, n_drawn), dtype=parameters.dtype)
        self._targets = np.zeros((int(clamped), network.n_visible), dtype=np.uint8)
        self._spikes = np.zeros((1, K, n), dtype=np.bool_)
        self._potential = np.zeros((1, K, network.n_visible), dtype=parameters.dtype)
        self._step = Step(self._spikes[0], self._potential[0])
        self._draws, self.time = draws, 0

    @property
    def spikes(self) -> NDArray[np.bool_]:
        """(K, n_neurons): of the latest step."""
        return self._step.spikes

    def begin(self, draws: Draws) -> None:
        """Silence before another recording, which has draws of its own."""
        running.forget(self._past)
        self._draws, self.time = draws, 0

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None = None) -> Step:
        """One step, from (n_inputs,) inputs and, if the visible neurons are clamped, (n_visible,) targets."""
        self._draws.draw_logits(self._thresholds)
        if target_t is not None:
            self._targets[0] = target_t
        running.run(
            self._weights, self._past, inputs_t.reshape(1, -1).view(np.uint8), self._targets,
            self._thresholds, self._spikes, self._potential,
        )  # fmt: skip
        self.time += 1
        return self._step
