"""What learning and inference cost on distributed hardware: messages and spikes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gemsnn.errors import ShapeError
from gemsnn.model import Network
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
