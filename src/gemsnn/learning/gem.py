"""The settings of GEM-VLSNN."""

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
    """

    learning_rate: float = 1e-3
    kappa: float = 0.9
    gamma: float = 0.9
    centred: bool = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.learning_rate) and self.learning_rate >= 0):
            raise ConfigError(f"learning_rate must be a finite number of at least 0, got {self.learning_rate!r}")
        for name in ("kappa", "gamma"):
            if not 0 < getattr(self, name) <= 1:
                raise ConfigError(f"{name} must lie in (0, 1], got {getattr(self, name)!r}")
