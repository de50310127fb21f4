r"""MB: the mean of K single-sample rules; with K = 1 the earlier rule VLSNN.

Follows the gradient of the mean over compartments of the log-probability:

    visible signal   1 / K
    hidden signal    (v^k - b^k) / K,     a number:       b^k <- baseline b^k + (1 - baseline) v^k  before use
                                          leave-one-out:  b^k is the mean of the other v
                                          None:           b^k = 0
    post             spike - probability
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from gemsnn.rules.rule import Array, Rule, leaving_one_out


class Settings(NamedTuple):
    """The settings that :meth:`broadcast` reads."""

    leaves_one_out: bool
    has_running_mean: bool
    memory: float  # decay factor of the running mean


@dataclass(frozen=True)
class MB(Rule):
    """Mean over compartments of the single-sample rule (multi-sample "mean bound"; K = 1 is VLSNN).

    Parameters
    ----------
    learning_rate, kappa, gamma
        As for every :class:`Rule`.
    baseline
        Subtracted from each compartment's log-weight: a number in [0, 1), its running mean with that decay factor;
        ``"leave-one-out"``, the mean of the other compartments (unbiased; needs two or more); None, nothing.
    """

    baseline: Literal["leave-one-out"] | float | None = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.baseline is not None and self.baseline != "leave-one-out":
            allowed = "be 'leave-one-out', lie in [0, 1), or be None"
            self.check_number("baseline", allowed, lambda value: 0 <= value < 1)

    def settings(self) -> Settings:
        if self.baseline is None or self.baseline == "leave-one-out":
            return Settings(self.baseline is not None, False, 0.0)
        return Settings(False, True, self.baseline)

    def processor_memory(self, n_compartments: int) -> int:
        return n_compartments

    @staticmethod
    def broadcast(
        settings: Any, log_weights: Array, importance: Array, memory: Array, visible: Array, hidden: Array
    ) -> None:
        K, total = len(log_weights), 0.0
        for k in range(K):
            total += log_weights[k]
        for k in range(K):
            if settings.has_running_mean:
                memory[k] = settings.memory * memory[k] + (1 - settings.memory) * log_weights[k]
            elif settings.leaves_one_out:
                memory[k] = (total - log_weights[k]) / (K - 1) if K > 1 else log_weights[k]
            visible[k] = 1 / K
            hidden[k] = (log_weights[k] - memory[k]) / K

    def refuse(self, n_compartments: int, free: bool = False, shared: bool = False) -> str | None:
        return leaving_one_out(n_compartments, shared) if self.baseline == "leave-one-out" else None

    def messages(self, visible: Array, hidden: Array) -> tuple[Array, Array]:
        return visible[:0], hidden  # visible neurons need no message: their signal is 1 / K
