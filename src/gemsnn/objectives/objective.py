r"""The contract that every objective keeps, the built-in ones and a user's own.

A rule defines how signals change weights; an objective defines what the network is rewarded for. After every step t of
learning, the visible neurons of compartment k report a number r_t^k to the central processor,

    v^k <- kappa v^k + r_t^k ,

and the rule makes its learning signals from v. For the paper's objective, r is the log-probability of the desired
spikes. An objective defines

* ``free``: whether visible neurons draw their own spikes while learning, or are clamped to the desired ones;
* ``report``: r_t^k, from the visible spikes, the desired ones, and the objective's memory of earlier steps;
* ``slope`` and ``at_once`` (only where visible neurons draw, and only for rules that send errors back): the derivative
  of later reports with respect to a visible neuron's filtered spikes, and the immediate gain of a spike.

Visible neurons that draw use the learning signal of the hidden neurons: like these, they learn by trial. (The signals
of visible neurons, 1/K or the importance weight, are correct only for clamped neurons.)

The functions are plain functions of numbers and arrays, written in the part of Python that Numba compiles. They read
the objective's settings by name, from the named tuple that ``settings()`` returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from gemsnn.common.named_numbers import named_numbers
from gemsnn.model import Network
from gemsnn.rules import Rule

Array = NDArray[Any]


@dataclass(frozen=True)
class Objective:
    """Base class of objectives: an objective is a frozen dataclass that adds its own settings and its report."""

    free: ClassVar[bool] = False
    """Whether visible neurons draw their own spikes while learning."""

    rewarded: ClassVar[bool] = False
    """Whether the reports come from outside, by ``Stream.reward``, so that learning needs no targets."""

    unit_memory: ClassVar[int] = 0
    """The number of values that the objective keeps per visible neuron and compartment, zeros before the first step."""

    @staticmethod
    def report(
        settings: Any, spikes: Array, targets: Array, log_probability: Array, hidden_spikes: float, memory: Array
    ) -> float:
        """The report of the visible neurons of one compartment after a step.

        ``spikes`` and ``targets`` (n_visible,) are 0 or 1; ``log_probability`` (n_visible,) is that of the visible
        spikes (of a winner-take-all circuit at its first neuron, 0 at the others); ``hidden_spikes`` is the number of
        hidden neurons that spike, for objectives that penalise spikes; ``memory`` (n_visible, unit_memory) is the
        objective's own. All numbers are float64.
        """
        raise NotImplementedError

    select_by: ClassVar[str | None] = None
    """The metric by which the best model is chosen where examples are spike patterns; None: their log-likelihood."""

    slope: ClassVar[Any] = None
    """None, or a function (settings, memory) of one visible neuron's ``memory`` (unit_memory,) after the report: the
    derivative of later reports with respect to the filtered spikes in this memory."""

    at_once: ClassVar[Any] = None
    """With ``slope``: a function (settings, spike), the immediate gain of a visible neuron's spike (1 or 0)."""

    def settings(self) -> Any:
        """The settings that the functions can read: a named tuple of floats, ints and bools; by default all fields."""
        return named_numbers(self)

    def eligibility_memory(self, gamma: float) -> float:
        """Decay factor of the eligibility when errors are sent back; ``gamma`` is the rule's."""
        return gamma

    def doubts(self, rate: float) -> str | None:
        """Why learning may fail for desired spikes of that rate per step and neuron; None if there is no reason."""
        return None

    def sends_errors_back(self, rule: Rule) -> bool:
        """Whether learning follows ``slope`` and ``at_once`` instead of the rule's broadcast."""
        return self.free and rule.local is not None

    def refuse(self, rule: Rule, network: Network, n_compartments: int) -> str | None:
        """Why a rule cannot learn for this objective; None if it can."""
        if not self.free:
            return rule.refuse(n_compartments) if network.n_hidden else None
        if rule.local is None:
            return rule.refuse(n_compartments, free=True)
        name = type(self).__name__
        if self.slope is None or self.at_once is None:
            return (
                f"{type(rule).__name__} sends back the errors of visible neurons, and {name} does not define "
                "them: choose a rule that compares rewards, such as MB"
            )
        if network.circuits.visible.competing:
            return (
                f"{type(rule).__name__} cannot send back the errors of winner-take-all circuits that draw their own "
                "spikes: use Bernoulli visible neurons, or a rule that compares rewards, such as MB"
            )
        return None
