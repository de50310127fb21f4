r"""Likelihood, the paper's objective: visible neurons are clamped to the desired spikes x.

report    r_t^k = sum_i log p(x_{i,t} given u_{i,t}^k)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gemsnn.objectives.objective import Array, Objective


@dataclass(frozen=True)
class Likelihood(Objective):
    """Make the desired spikes probable; the default."""

    @staticmethod
    def report(
        settings: Any, spikes: Array, targets: Array, log_probability: Array, hidden_spikes: float, memory: Array
    ) -> float:
        total = 0.0
        for i in range(len(log_probability)):
            total += log_probability[i]
        return total
