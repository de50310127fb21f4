"""The synapses of a sparse graph as lists, source by source: absent synapses take no memory and no time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.model import Parameters, Topology

SPARSE = 1 / 12  # share of the possible synapses below which adding listed weights is faster than adding whole rows


class Lists(NamedTuple):
    """Source j feeds the neurons ``neuron[start[j] : start[j + 1]]``, in ascending order."""

    start: NDArray[np.intp]  # (n_sources + 1,)
    neuron: NDArray[np.int32]  # (n_synapses,)

    @property
    def source(self) -> NDArray[np.intp]:
        """(n_synapses,)"""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def weights(self, synaptic: NDArray[Any]) -> NDArray[Any]:
        """(n_synapses, n_basis) out of (n_neurons, n_sources, n_basis)."""
        found: NDArray[Any] = synaptic[self.neuron, self.source]
        return found

    def onto_visible(self, n_inputs: int, n_hidden: int) -> tuple[NDArray[np.intp], ...]:
        """Synapses from hidden to visible neurons: visible neuron, hidden neuron, and index in the list of each."""
        first, last = self.start[n_inputs], self.start[n_inputs + n_hidden]
        index = first + np.flatnonzero(self.neuron[first:last] >= n_hidden)
        return self.neuron[index] - n_hidden, self.source[index] - n_inputs, index

    def parameters(self, weights: NDArray[Any], somatic: NDArray[Any], bias: NDArray[Any]) -> Parameters:
        """Copies; the weights (n_synapses, n_basis) become (n_neurons, n_sources, n_basis), 0 without synapse."""
        synaptic = np.zeros((len(bias), len(self.start) - 1, weights.shape[1]), dtype=bias.dtype)
        synaptic[self.neuron, self.source] = weights
        return Parameters(synaptic, somatic.copy(), bias.copy())


def is_sparse(topology: Topology) -> bool:
    return topology.n_synapses < SPARSE * topology.mask.size


@lru_cache(maxsize=4)
def synapse_lists(topology: Topology) -> Lists:
    """The lists of a graph, cached."""
    source, neuron = topology.mask.T.nonzero()
    start = np.searchsorted(source, np.arange(topology.n_sources + 1))
    return Lists(start.astype(np.intp), neuron.astype(np.int32))
