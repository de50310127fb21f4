"""Running without learning, one step at a time: what ``simulate.py`` does for sequences that are there already."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.simulate import _arrange, _fire, _look_up, _remember
from gemsnn.engine.tables import history_format
from gemsnn.model import Network, Parameters


class Stepper:
    """A network with K compartments between two steps; its memory does not grow."""

    def __init__(self, network: Network, parameters: Parameters, n_compartments: int) -> None:
        self._weights = _arrange(network, parameters)
        words, self._bits = history_format(network.memory)
        K, n, width, f = n_compartments, network.n_neurons, self._weights.bias.size, parameters.dtype
        n_basis = len(self._weights.synaptic_table)
        self._input_history = np.zeros((words, network.n_inputs), dtype=np.uint16)
        self._input_traces = np.zeros((n_basis, network.n_inputs), dtype=f)
        self._history = np.zeros((1, K, words, n), dtype=np.uint16)
        self._traces = np.zeros((1, K, *self._weights.private.shape[:2]), dtype=f)
        self._drive = np.zeros((1, 1, width), dtype=f)
        self._potential = np.zeros((1, K, width), dtype=f)
        self._free = np.zeros((1, 0, network.n_visible), dtype=np.uint8)

    def reset(self) -> None:
        """Silence."""
        for array in (self._input_history, self._history, self._traces):
            array[:] = 0

    def step(
        self,
        inputs_t: NDArray[np.uint8],
        thresholds: NDArray[Any],
        clamp: NDArray[np.uint8] | None,
        spikes: NDArray[np.bool_],
        visible_potential: NDArray[Any],
    ) -> None:
        """One step: writes (K, n_neurons) spikes and (K, n_visible) potentials.

        ``thresholds`` are the logits of the draws, (K, n_hidden) if visible neurons are clamped, else (K, n_neurons).
        """
        w = self._weights
        width = w.bias.size
        _look_up(self._input_history, w.synaptic_table, self._input_traces)
        _remember(inputs_t, self._input_history, self._bits)
        np.matmul(self._input_traces.reshape(-1), w.exogenous.reshape(-1, width), out=self._drive[0, 0])
        self._drive += w.bias
        K = len(spikes)
        np.matmul(self._traces.reshape(K, -1), w.private.reshape(-1, width), out=self._potential[0])
        _fire(
            0, self._potential, self._drive, thresholds[None, None], self._free if clamp is None else clamp[None, None],
            w.first_own, w.somatic, w.somatic_table, w.synaptic_table, w.circuits, self._bits, self._history,
            self._traces, spikes[None, None], visible_potential[None, None],
        )  # fmt: skip
