"""Slow means of the input traces, which mean-free learning subtracts from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ConfigError
from gemsnn.model import Network
from gemsnn.model.checks import spike_array
from gemsnn.model.spike_list import SpikeList

SLOWEST = 1e-3
"""Smallest weight of an example in the means; the n-th example has the weight 1 / n until then."""


@dataclass(frozen=True, eq=False)
class TraceMeans:
    """Means over time of the traces of a network's inputs, to be passed to :func:`gemsnn.learn` as ``means``.

    Learning is badly conditioned where traces have means: the weights of all inputs then change a neuron's potential in
    the same direction. With means, the network learns from the traces minus their means; the function that it computes
    is the same, so that means are needed only for learning.

    Attributes
    ----------
    value
        (n_inputs, n_basis), local to the synapse.
    count
        Number of examples so far.

    Examples
    --------
    >>> network = Network.fully_connected(n_inputs=4, n_hidden=3, n_visible=2)
    >>> means = TraceMeans.zero(network)
    >>> means = means.after(network, np.ones((50, 4)))  # once for every example that was learned
    >>> means.value.shape
    (4, 3)
    """

    value: NDArray[np.float64]
    count: int = 0

    @classmethod
    def zero(cls, network: Network) -> Self:
        """The means before the first example."""
        return cls(np.zeros((network.n_inputs, network.synaptic_filter.n_basis)))

    def after(self, network: Network, inputs: ArrayLike) -> Self:
        """The means after one more example, (T, n_inputs) of 0/1."""
        spikes = spike_array("inputs", inputs, {"T": None, "n_inputs": network.n_inputs})
        return self.moved(mean_trace(network, SpikeList.from_array(spikes, "inputs")))

    def moved(self, mean: NDArray[np.float64]) -> Self:
        """The means after an example with the given mean trace."""
        count = self.count + 1
        return type(self)(self.value + max(1 / count, SLOWEST) * (mean - self.value), count)

    def check(self, network: Network) -> None:
        """Refuse means that do not belong to the network."""
        shape = (network.n_inputs, network.synaptic_filter.n_basis)
        if self.value.shape != shape or not np.isfinite(self.value).all():
            raise ConfigError(f"means have shape {self.value.shape}, but this network needs {shape}, all finite")
        if self.value.dtype != np.float64:
            raise ConfigError(f"means are {self.value.dtype}, but float64 is needed")


def mean_trace(network: Network, inputs: SpikeList) -> NDArray[np.float64]:
    """(n_inputs, n_basis): the mean of an example's traces over its T steps, computed from the spikes."""
    taps = network.synaptic_filter.taps
    # What a spike adds to all later traces, by the number of steps that follow it; its own step does not see it.
    sums = np.concatenate([np.zeros((len(taps), 1)), np.cumsum(taps, axis=1)], axis=1)
    steps, index = inputs.spikes["step"].astype(np.intp), inputs.spikes["index"].astype(np.intp)
    following = np.minimum(inputs.n_steps - 1 - steps, sums.shape[1] - 1)
    total = [np.bincount(index, weights=of_basis[following], minlength=network.n_inputs) for of_basis in sums]
    return np.stack(total, axis=1) / max(inputs.n_steps, 1)
