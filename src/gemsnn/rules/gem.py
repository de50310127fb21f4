r"""GEM-VLSNN, the paper's rule: all neurons learn from the importance weights of the compartments.

visible signal   w^k                                      w = SoftMax(v)
hidden signal    w^k, or w^k - 1/K if centred
post             spike - probability
"""

from __future__ import annotations

from dataclasses import dataclass

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError
from gemsnn.rules.rule import Array, Rule


@dataclass(frozen=True)
class GEM(Rule):
    """Generalized expectation-maximisation, online: the paper's rule.

    Parameters
    ----------
    learning_rate, kappa, gamma
        As every :class:`Rule` has them.
    centred
        Hidden neurons learn from their importance weights less 1 / K. What is taken away, the mean over compartments of
        the eligibility, is 0 on average, so the rule follows the same gradient with less noise; with K = 1 hidden
        neurons do not learn. False is the paper's rule.
    """

    centred: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.centred, bool):
            raise ConfigError(f"centred must be true or false, got {shown(self.centred)}")

    @staticmethod
    def broadcast(
        settings: Array, log_weights: Array, importance: Array, memory: Array, visible: Array, hidden: Array
    ) -> None:
        centred, K = settings[0], len(importance)
        for k in range(K):
            visible[k] = importance[k]
            hidden[k] = importance[k] - centred / K

    def refuse(self, n_compartments: int) -> str | None:
        if self.centred and n_compartments == 1:
            return "centred: hidden neurons learn by comparing compartments; use 2 or more, or centred = false"
        return None
