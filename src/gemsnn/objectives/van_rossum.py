r"""The Van Rossum distance between visible spikes and desired ones; visible neurons draw their own spikes.

With f_d = exp(-d / tau), visible neuron i of compartment k filters the difference of its spikes and the desired ones,

    z_{i,t}^k = exp(-1 / tau) z_{i,t-1}^k + s_{i,t}^k - x_{i,t}
    report      r_t^k = -c sum_i (z_{i,t}^k)^2 ,      c = 1 - exp(-2 / tau)

so that an isolated spike costs 1 in total: c sum_d f_d^2 = 1. For rules that send errors back, with decay factor
exp(-1 / tau) in place of gamma,

    slope       -2 c z_i           derivative of later reports with respect to the neuron's filtered spikes
    at once     2 s_i - 1          effect of the spike itself, which the slope does not include: without it, hardly
                                   anything is learned; with it, the update of neurons without self-memory is exact

A randomly timed spike gains about 4 lambda tau, where lambda is the rate of the desired spikes, and costs 1: below 1
the gradient points to silence. So learn for the likelihood first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError
from gemsnn.objectives.objective import Array, Objective


class Settings(NamedTuple):
    """The settings that the functions read."""

    fading: float  # exp(-1 / tau)
    cost: float  # c


@dataclass(frozen=True)
class VanRossum(Objective):
    """Minimise the Van Rossum distance to the desired spikes.

    Parameters
    ----------
    time_constant
        tau, in steps: the scale below which a shift of a spike costs little.
    """

    time_constant: float = 5.0

    free: ClassVar[bool] = True
    unit_memory: ClassVar[int] = 1  # z
    select_by: ClassVar[str | None] = "van_rossum"

    def __post_init__(self) -> None:
        tau = self.time_constant
        good = isinstance(tau, int | float) and not isinstance(tau, bool) and 0 < tau < math.inf
        if not good:
            raise ConfigError(f"time_constant must be a number of steps above 0, got {shown(tau)}")
        object.__setattr__(self, "time_constant", float(tau))

    def settings(self) -> Settings:
        return Settings(math.exp(-1 / self.time_constant), -math.expm1(-2 / self.time_constant))

    def eligibility_memory(self, gamma: float) -> float:
        return math.exp(-1 / self.time_constant)

    @staticmethod
    def report(
        settings: Any, spikes: Array, targets: Array, log_probability: Array, hidden_spikes: float, memory: Array
    ) -> float:
        total = 0.0
        for i in range(len(spikes)):
            memory[i, 0] = settings.fading * memory[i, 0] + (spikes[i] - targets[i])
            total -= settings.cost * memory[i, 0] ** 2
        return total

    @staticmethod
    def slope(settings: Any, memory: Array) -> float:
        value: float = -2 * settings.cost * memory[0]
        return value

    @staticmethod
    def at_once(settings: Any, spike: float) -> float:
        return 2 * spike - 1

    def favours_silence(self, rate: float) -> bool:
        """Whether the gradient points to silence for desired spikes of that rate per step: 4 lambda tau < 1."""
        return 4 * rate * self.time_constant < 1

    def doubts(self, rate: float) -> str | None:
        if not self.favours_silence(rate):
            return None
        return (
            f"the desired spikes are so rare, {rate:.2g} per step and neuron, that a randomly timed spike costs more "
            f"than it gains, and silence may win; take a time_constant above {1 / (4 * rate):.2g}"
            if rate
            else "no spike is desired: silence will win"
        )
