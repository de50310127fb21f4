"""Cost of learning and inference on distributed hardware: messages, spikes, memory and operations.

Memory and operations have NeuroBench's names and definitions (Yik et al., Nature Communications 2025). The network is
one layer from the spikes of all sources, inputs and neurons, to all neurons, with one weight per basis:

- ``Footprint``: bytes of weights, self-memory, biases and taps. Compartments share them.
- ``ParameterCount``: number of learned values, without synapses that are not in the graph.
- ``ConnectionSparsity``: fraction of zeros among the weights from every source to every neuron.
- ``ActivationSparsity``: fraction of silent steps of the neurons that draw spikes.
- ``Effective_ACs``: weights that are added because a source spiked. Inputs are the same in all compartments and are
  added once. ``Effective_MACs``: multiplications of weights; spikes need none. ``Dense``: all weights, at every step.
- ``MembraneUpdates``: potentials computed, one per neuron, compartment and step. NeuroBench excludes potentials that do
  not change, of which there are none after the first spikes of a recording.

Filters are part of the neuron dynamics, which NeuroBench does not count as synaptic operations.
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
    """Communication load of a rule with K compartments, per step of learning."""
    return rule.communication(network, whole_number("n_compartments", n_compartments, 1))


def hidden_spikes_per_step(hidden: ArrayLike) -> float:
    """Mean number of hidden spikes per time step, summed over compartments, of (..., T, K, n_hidden) spikes."""
    spikes = np.asarray(hidden)
    if spikes.ndim < 3:
        raise ShapeError(f"hidden has shape {spikes.shape}, but (..., T, K, n_hidden) is needed")
    return float(spikes.sum(axis=(-1, -2)).mean())


class NetworkCost(NamedTuple):
    """Costs of a network that do not depend on its inputs."""

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
    """Costs of each time step of N sequences, (N, T)."""

    effective_acs: NDArray[np.int64]
    spikes: NDArray[np.int64]  #: of the neurons that draw, summed over compartments
    dense: int  #: synaptic operations per step without sparsity
    activations: int  #: neurons that draw times compartments
    membrane_updates: int  #: neurons times compartments


def step_cost(network: Network, inputs: NDArray[Any], spikes: NDArray[Any], drawn: int | None = None) -> StepCost:
    """From (N, T, n_inputs) inputs and (N, T, K, n_neurons) spikes.

    The first ``drawn`` neurons draw spikes, the others are clamped; default: all draw.
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
