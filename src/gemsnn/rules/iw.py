r"""IW: the importance-weighted bound L = log (1/K) sum_k exp(beta v^k).

visible signal   beta w^k                                                     w = SoftMax(beta v)
hidden signal    leave-one-out:  L - L^{-k},  where in L^{-k} exp(beta v^k) is replaced by exp of the mean of the other
                                beta v
                 a number:       L - b,       b <- baseline b + (1 - baseline) L  before use
                 None:           L
post             spike - probability
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from gemsnn.rules.rule import Array, Rule, leaving_one_out


class Settings(NamedTuple):
    """The settings that :meth:`broadcast` reads."""

    leaves_one_out: bool
    has_running_mean: bool
    memory: float  # decay factor of the running mean
    beta: float


@dataclass(frozen=True)
class IW(Rule):
    """The gradient of the importance-weighted bound.

    Parameters
    ----------
    learning_rate, kappa, gamma
        As for every :class:`Rule`.
    baseline
        Subtracted from the bound to form the signal of hidden neurons: ``"leave-one-out"``, the bound without the
        compartment (with K = 1 hidden neurons then do not learn); a number in [0, 1), its running mean with that decay
        factor; None, nothing.
    beta
        Factor on v within the bound; with rewards, beta v takes the place of a log-probability.
    """

    baseline: Literal["leave-one-out"] | float | None = "leave-one-out"
    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_not_negative("beta")
        if self.baseline is not None and self.baseline != "leave-one-out":
            allowed = "be 'leave-one-out', lie in [0, 1), or be None"
            self.check_number("baseline", allowed, lambda value: 0 <= value < 1)

    def settings(self) -> Settings:
        if self.baseline is None or self.baseline == "leave-one-out":
            return Settings(self.baseline is not None, False, 0.0, self.beta)
        return Settings(False, True, self.baseline, self.beta)

    def processor_memory(self, n_compartments: int) -> int:
        return 1

    @staticmethod
    def broadcast(
        settings: Any, log_weights: Array, importance: Array, memory: Array, visible: Array, hidden: Array
    ) -> None:
        K, beta = len(log_weights), settings.beta
        highest = beta * log_weights[0]
        for k in range(1, K):
            highest = max(highest, beta * log_weights[k])
        total, mean = 0.0, 0.0
        for k in range(K):
            total += math.exp(beta * log_weights[k] - highest)
            mean += beta * log_weights[k] / K
        bound = highest + math.log(total / K)
        if settings.has_running_mean:
            memory[0] = settings.memory * memory[0] + (1 - settings.memory) * bound
        for k in range(K):
            visible[k] = beta * importance[k]
            if not settings.leaves_one_out:
                hidden[k] = bound - memory[0]  # 0 without a running mean
            elif K == 1:
                hidden[k] = 0.0
            else:
                others = (mean * K - beta * log_weights[k]) / (K - 1)
                top = max(highest, others)
                without = math.exp(others - top)
                for other in range(K):
                    if other != k:
                        without += math.exp(beta * log_weights[other] - top)
                hidden[k] = bound - (top + math.log(without / K))

    @property
    def sharpness(self) -> float:
        return self.beta

    def refuse(self, n_compartments: int, free: bool = False, shared: bool = False) -> str | None:
        return leaving_one_out(n_compartments, shared) if self.baseline == "leave-one-out" else None

    def messages(self, visible: Array, hidden: Array) -> tuple[Array, Array]:
        # Without leaving one out the signal is the same for all compartments.
        return visible, hidden if self.baseline == "leave-one-out" else hidden[:1]
