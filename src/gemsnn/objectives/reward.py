r"""Reward from outside: after a step, the user rewards it; visible neurons draw their own spikes.

report    r_t^k = the argument of ``Stream.reward``: one number for all compartments, or one for each

The reward is used at once, with the present eligibility; a step without a reward changes no weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gemsnn.objectives.objective import Array, Objective


@dataclass(frozen=True)
class Reward(Objective):
    """Maximise rewards that the user gives after each step; for :class:`gemsnn.Stream`."""

    free: ClassVar[bool] = True
    rewarded: ClassVar[bool] = True

    @staticmethod
    def report(
        settings: Any, spikes: Array, targets: Array, log_probability: Array, hidden_spikes: float, memory: Array
    ) -> float:
        return 0.0  # the reward is added when it comes
