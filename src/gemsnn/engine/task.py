"""What is learned, and how: what all engines and forms of learning are given."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gemsnn.model import Network
from gemsnn.objectives import LIKELIHOOD, Objective
from gemsnn.rules import Rule


class Task(NamedTuple):
    """Which network learns, by which rule, with how many compartments, and what for."""

    network: Network
    rule: Rule
    n_compartments: int
    objective: Objective = LIKELIHOOD

    @property
    def has_local(self) -> bool:
        """Whether each hidden neuron makes a learning signal of its own."""
        return self.rule.local is not None

    @property
    def sends_back(self) -> bool:
        """Whether learning follows errors that are sent back to visible neurons that draw their own spikes."""
        return self.objective.sends_errors_back(self.rule)

    @property
    def gamma(self) -> float:
        """Factor by which the eligibility decays at each step."""
        return self.objective.eligibility_memory(self.rule.gamma) if self.sends_back else self.rule.gamma

    def horizon(self, dtype: np.dtype[Any]) -> int | None:
        """Steps for which an eligibility matters; None if it does not decay."""
        return horizon(self.gamma, dtype)


def horizon(gamma: float, dtype: np.dtype[Any]) -> int | None:
    """Steps after which gamma^age is below a tenth of the precision; None if that is never."""
    if gamma == 1:
        return None
    return max(1, math.ceil(math.log(float(np.finfo(dtype).eps) / 10) / math.log(gamma)))
