"""What learning and inference cost on distributed hardware: messages and spikes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gemsnn.errors import ShapeError
from gemsnn.model import Network
from gemsnn.model.checks import whole_number


class Communication(NamedTuple):
    """Real numbers sent at each learning step."""

    to_processor: int  #: ``K |X|``: each visible neuron reports a loss a compartment
    to_neurons: int  #: ``K (|X| + |H|)``: every neuron receives K importance weights
    sent_back: int = 0  #: with feedback, K a synapse from a hidden to a visible neuron: the error, times the weight


def communication(network: Network, n_compartments: int, feedback: bool = False) -> Communication:
    """Communication loads of learning with K compartments, with or without ``GEM.feedback``."""
    K = whole_number("n_compartments", n_compartments, 1)
    synapses = network.topology.mask[network.n_hidden :, network.n_inputs : network.n_inputs + network.n_hidden]
    return Communication(K * network.n_visible, K * network.n_neurons, K * int(synapses.sum()) if feedback else 0)


def hidden_spikes_per_step(hidden: ArrayLike) -> float:
    """Mean number of hidden spikes a time step, summed over compartments, of (..., T, K, n_hidden) spikes."""
    spikes = np.asarray(hidden)
    if spikes.ndim < 3:
        raise ShapeError(f"hidden has shape {spikes.shape}, but (..., T, K, n_hidden) is needed")
    return float(spikes.sum(axis=(-1, -2)).mean())
