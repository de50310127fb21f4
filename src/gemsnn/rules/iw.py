r"""IW: the importance-weighted bound L = log (1/K) sum_k exp(v^k).

visible signal   w^k                                                          w = SoftMax(v)
hidden signal    leave-one-out:  L - L^{-k},  where in L^{-k} exp(v^k) is replaced by exp of the mean of the other v
                 a number:       L - b,       b <- baseline b + (1 - baseline) L  before use
                 None:           L
post             spike - probability
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gemsnn.rules.rule import Array, Rule

_LEAVE_ONE_OUT = -1.0


@dataclass(frozen=True)
class IW(Rule):
    """The gradient of the importance-weighted bound.

    Parameters
    ----------
    learning_rate, kappa, gamma
        As every :class:`Rule` has them.
    baseline
        What the bound is compared with to make the hidden neurons' signal: ``"leave-one-out"``, what it would be
        without the compartment (with K = 1 hidden neurons then do not learn); a number in [0, 1), the memory of its
        running mean; None, nothing.
    """

    baseline: Literal["leave-one-out"] | float | None = "leave-one-out"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.baseline is not None and self.baseline != "leave-one-out":
            allowed = "be 'leave-one-out', lie in [0, 1), or be None"
            self.check_number("baseline", allowed, lambda value: 0 <= value < 1)

    def numbers(self) -> tuple[float, ...]:
        if self.baseline == "leave-one-out":
            return (_LEAVE_ONE_OUT,)
        return (math.nan if self.baseline is None else float(self.baseline),)

    def processor_memory(self, n_compartments: int) -> int:
        return 1

    @staticmethod
    def broadcast(
        settings: Array, log_weights: Array, importance: Array, memory: Array, visible: Array, hidden: Array
    ) -> None:
        baseline, K = settings[0], len(log_weights)
        highest = log_weights[0]
        for k in range(1, K):
            highest = max(highest, log_weights[k])
        total, mean = 0.0, 0.0
        for k in range(K):
            total += math.exp(log_weights[k] - highest)
            mean += log_weights[k] / K
        bound = highest + math.log(total / K)
        if baseline >= 0:
            memory[0] = baseline * memory[0] + (1 - baseline) * bound
        for k in range(K):
            visible[k] = importance[k]
            if baseline != _LEAVE_ONE_OUT:  # NaN: no baseline at all
                hidden[k] = bound - (0.0 if np.isnan(baseline) else memory[0])
            elif K == 1:
                hidden[k] = 0.0
            else:
                others = (mean * K - log_weights[k]) / (K - 1)
                top = max(highest, others)
                without = math.exp(others - top)
                for other in range(K):
                    if other != k:
                        without += math.exp(log_weights[other] - top)
                hidden[k] = bound - (top + math.log(without / K))

    def refuse(self, n_compartments: int) -> str | None:
        if self.baseline == "leave-one-out" and n_compartments == 1:
            return "baseline = 'leave-one-out' compares compartments; use 2 or more, or another baseline"
        return None

    def messages(self, visible: Array, hidden: Array) -> tuple[Array, Array]:
        # Without leaving one out the signal is the same for all compartments.
        return visible, hidden if self.baseline == "leave-one-out" else hidden[:1]
