"""The settings of GEM-VLSNN, which both engines read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemsnn.errors import ConfigError


@dataclass(frozen=True)
class GEM:
    """Generalized expectation-maximisation, online (GEM-VLSNN).

    Parameters
    ----------
    learning_rate
        Step size eta.
    kappa
        Memory of the log-weights, in (0, 1].
    gamma
        Memory of the eligibility, in (0, 1].
    centred
        Hidden neurons learn from their importance weights less 1 / K. What is taken away, the mean over compartments of
        the eligibility, is 0 on average, so the rule follows the same gradient with less noise; with K = 1 hidden
        neurons do not learn. False is the paper's rule.
    feedback
        0 is the paper's rule: hidden neurons learn from the importance weights, the same for all of them. Above 0 each
        hidden neuron learns instead from the errors of the visible neurons it reaches, through the weights by which it
        reaches them, and ``feedback`` times as fast as the visible neurons; ``centred`` then means nothing.
    """

    learning_rate: float = 1e-3
    kappa: float = 0.9
    gamma: float = 0.9
    centred: bool = False
    feedback: float = 0.0

    def __post_init__(self) -> None:
        for name in ("learning_rate", "feedback"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ConfigError(f"{name} must be a finite number of at least 0, got {getattr(self, name)!r}")
        for name in ("kappa", "gamma"):
            if not 0 < getattr(self, name) <= 1:
                raise ConfigError(f"{name} must lie in (0, 1], got {getattr(self, name)!r}")
