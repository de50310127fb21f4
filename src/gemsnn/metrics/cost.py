"""What learning and inference cost on distributed hardware: messages, spikes, memory and operations.

Memory and operations have NeuroBench's names and definitions (Yik et al., Nature Communications 2025). The layer that
these are of takes the spikes of all sources, inputs and neurons, to all neurons, with a weight for each basis:

- ``Footprint``: bytes of weights, self-memory, biases and taps. Compartments share them.
- ``ParameterCount``: how many numbers are learned; synapses that the graph does not have are none.
- ``ConnectionSparsity``: share of zeros among the weights from every source to every neuron.
- ``ActivationSparsity``: share of silence among the steps of the neurons that draw spikes.
- ``Effective_ACs``: weights that are added up because a source spiked. Inputs spike alike in all compartments, so that
  theirs are added once. ``Effective_MACs``: multiplications of weights; spikes need none. ``Dense``: all weights,
  every step.
- ``MembraneUpdates``: potentials computed, one of each neuron, compartment and step. NeuroBench leaves out those that
  happen to stay as they were, which after the first spikes of a recording are none.

Filters are part of a neuron's dynamics, which NeuroBench does not count among synaptic operations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ShapeError
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import whole_number
from gemsnn.rules import Communication, Rule


def communication(network: Network, rule: Rule, n_compartments: int) -> Communication:
    """Communication loads of a step of learning by a rule with K compartments."""
    return rule.communication(network, whole_number("n_compartments", n_compartments, 1))


def hidden_spikes_per_step(hidden: ArrayLike) -> float:
    """Mean number of hidden spikes a time step, summed over compartments, of (..., T, K, n_hidden) spikes."""
    spikes = np.asarray(hidden)
    if spikes.ndim < 3:
        raise ShapeError(f"hidden has shape {spikes.shape}, but (..., T, K, n_hidden) is needed")
    return float(spikes.sum(axis=(-1, -2)).mean())


class NetworkCost(NamedTuple):
    """Of a network, whatever runs through it."""

    footprint: int  #: bytes
    parameter_count: int
    connection_sparsity: float


def network_cost(network: Network, parameters: Parameters) -> NetworkCost:
    """Memory and connections.

    Examples
    --------
    >>> import gemsnn
    >>> network = gemsnn.Network.fully_connected(n_inputs=676, n_hidden=200, n_visible=3)
    >>> network_cost(network, network.init(seed=0)).parameter_count
    533696
    """
    taps = network.synaptic_filter.taps.size + network.somatic_filter.taps.size
    kept = parameters.synaptic.size + parameters.somatic.size + parameters.bias.size + taps
    learned = network.topology.n_synapses * network.synaptic_filter.n_basis
    learned += int(network.has_memory.sum()) * network.somatic_filter.n_basis + network.n_neurons
    zeros = parameters.synaptic.size - np.count_nonzero(parameters.synaptic)
    return NetworkCost(kept * parameters.dtype.itemsize, learned, zeros / parameters.synaptic.size)


class StepCost(NamedTuple):
    """Of each time step of N sequences, (N, T)."""

    effective_acs: NDArray[np.int64]
    spikes: NDArray[np.int64]  #: of the neurons that draw, all compartments together
    dense: int  #: synaptic operations of a step, if nothing were sparse
    activations: int  #: neurons that draw times compartments
    membrane_updates: int  #: neurons times compartments


def step_cost(network: Network, inputs: NDArray[Any], spikes: NDArray[Any], drawn: int | None = None) -> StepCost:
    """From (N, T, n_inputs) inputs and (N, T, K, n_neurons) spikes.

    ``drawn``: so many of the neurons draw spikes, the first ones; the others are clamped. Default: all.
    """
    K, n = spikes.shape[2:]
    active, n_basis = n if drawn is None else drawn, network.synaptic_filter.n_basis
    fed = network.topology.mask.sum(axis=0) * n_basis  # weights out of each source
    of_inputs = inputs @ fed[: network.n_inputs]
    of_neurons = spikes.sum(axis=2) @ fed[network.n_inputs :]
    return StepCost(
        (of_inputs + of_neurons).astype(np.int64),
        np.count_nonzero(spikes[..., :active], axis=(2, 3)),
        (network.n_inputs + K * n) * n * n_basis,
        K * active,
        K * n,
    )
