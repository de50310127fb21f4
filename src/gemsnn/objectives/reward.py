r"""Reward from outside: after a step, the user says how good it was; visible neurons draw their own spikes.

report    r_t^k = what ``Stream.reward`` is given: one number for all compartments, or one for each

The reward is used at once, with the eligibility as it stands; a step without a reward changes no weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gemsnn.objectives.objective import Array, Objective


@dataclass(frozen=True)
class Reward(Objective):
    """Do what is rewarded."""

    free: ClassVar[bool] = True
    rewarded: ClassVar[bool] = True

    @staticmethod
    def report(
        settings: Any, spikes: Array, targets: Array, log_probability: Array, hidden_spikes: float, memory: Array
    ) -> float:
        return 0.0  # the reward is added when it comes
