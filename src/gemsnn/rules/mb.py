r"""MB: the mean of K single-sample rules; with K = 1 the earlier rule VLSNN.

Follows the gradient of the mean over compartments of the log-probability:

    visible signal   1 / K
    hidden signal    (v^k - b^k) / K,     b^k <- baseline b^k + (1 - baseline) v^k  before use;  b = 0 without baseline
    post             spike - probability
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gemsnn.rules.rule import Array, Rule


@dataclass(frozen=True)
class MB(Rule):
    """Mean over compartments of the single-sample rule (multi-sample "mean bound"; K = 1 is VLSNN).

    Parameters
    ----------
    learning_rate, kappa, gamma
        As every :class:`Rule` has them.
    baseline
        Memory, in [0, 1), of the running mean of the log-weight that each compartment's signal is compared with;
        None compares with nothing.
    """

    baseline: float | None = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.baseline is not None:
            self.check_number("baseline", "lie in [0, 1) or be None", lambda value: 0 <= value < 1)

    def numbers(self) -> tuple[float, ...]:
        return (math.nan if self.baseline is None else float(self.baseline),)

    def processor_memory(self, n_compartments: int) -> int:
        return n_compartments

    @staticmethod
    def broadcast(
        settings: Array, log_weights: Array, importance: Array, memory: Array, visible: Array, hidden: Array
    ) -> None:
        baseline, K = settings[0], len(log_weights)
        for k in range(K):
            if not np.isnan(baseline):
                memory[k] = baseline * memory[k] + (1 - baseline) * log_weights[k]
            visible[k] = 1 / K
            hidden[k] = (log_weights[k] - memory[k]) / K

    def messages(self, visible: Array, hidden: Array) -> tuple[Array, Array]:
        return visible[:0], hidden  # visible neurons know 1 / K
