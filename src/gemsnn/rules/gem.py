r"""GEM-VLSNN, the paper's rule: all neurons learn from the importance weights of the compartments.

visible signal   w^k                                      w = SoftMax(beta v)
hidden signal    w^k, or w^k - 1/K if centred
post             spike - probability
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError
from gemsnn.rules.rule import Array, Rule


@dataclass(frozen=True)
class GEM(Rule):
    """Generalized expectation-maximisation, online: the paper's rule.

    Parameters
    ----------
    learning_rate, kappa, gamma
        As for every :class:`Rule`.
    centred
        Hidden neurons learn from their importance weights minus 1 / K. What is subtracted, the mean of the eligibility
        over compartments, is 0 on average, so the rule follows the same gradient with less noise; with K = 1 hidden
        neurons do not learn. False is the paper's rule.
    beta
        Sharpness of the importance weights, SoftMax(beta v). With rewards, beta v takes the place of a log-probability;
        1 is the paper's rule.
    """

    centred: bool = False
    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_not_negative("beta")
        if not isinstance(self.centred, bool):
            raise ConfigError(f"centred must be true or false, got {shown(self.centred)}")

    @staticmethod
    def broadcast(
        settings: Any, log_weights: Array, importance: Array, memory: Array, visible: Array, hidden: Array
    ) -> None:
        K = len(importance)
        for k in range(K):
            visible[k] = importance[k]
            hidden[k] = importance[k] - (1 / K if settings.centred else 0.0)

    @property
    def sharpness(self) -> float:
        return self.beta

    def refuse(self, n_compartments: int, free: bool = False, shared: bool = False) -> str | None:
        if shared and n_compartments > 1:
            return (
                "GEM compares compartments, and a reward that all of them share makes all importance weights equal: "
                "give each compartment its own reward, or use MB with a running mean as baseline"
            )
        if free and not self.centred:
            return "centred = false: neurons that draw their own spikes learn by comparing compartments; set it to true"
        if self.centred and n_compartments == 1:
            instead = "" if free else ", or centred = false"
            return f"centred: hidden neurons learn by comparing compartments; use 2 or more{instead}"
        return None
