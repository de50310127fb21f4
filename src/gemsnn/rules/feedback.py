r"""Feedback: hidden neurons learn from the errors of the visible neurons that they reach. Not GEM.

A hidden neuron's signal is the derivative of the visible neurons' log-probability with respect to its potential,
through one synapse and with its spike replaced by its probability; its post factor is the derivative of that
probability:

    visible signal   w^k                                                          w = SoftMax(v)
    hidden signal    w^k (gain sum_c error_c^k reach_{i,c} - push_i)              reach: sum over bases of the weights
    push             pressure (rate_i - target_rate) while above 0, else 0        rate: running mean of its spikes
    post             probability (1 - probability) = sigmoid'(u)

The push is local: a neuron that fires more often than the target rate lowers its potential, to save spikes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gemsnn.rules.rule import Array, Rule

RATE_MEMORY = 0.9
"""Factor by which a neuron's running rate decays at each step."""


@dataclass(frozen=True)
class Feedback(Rule):
    """The errors of the readout, sent back to hidden neurons through their weights onto visible neurons.

    Parameters
    ----------
    learning_rate, kappa, gamma
        As for every :class:`Rule`; by default training measures the learning rate on its data.
    gain
        Factor on the learning rate of hidden neurons, relative to visible ones.
    target_rate
        Spikes per step above which a hidden neuron's rate is pushed down; 1 disables it.
    pressure
        Strength of the push: signal for each spike per step above the target.
    """

    learning_rate: float | None = None
    gain: float = 10.0
    target_rate: float = 0.2
    pressure: float = 3.0

    neuron_memory: ClassVar[int] = 1  # the running rate

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_not_negative("gain")
        self.check_number("target_rate", "lie in [0, 1]", lambda value: 0 <= value <= 1)
        self.check_not_negative("pressure")

    @staticmethod
    def post(spike: float, probability: float) -> float:
        return probability * (1 - probability)

    @staticmethod
    def broadcast(
        settings: Any, log_weights: Array, importance: Array, memory: Array, visible: Array, hidden: Array
    ) -> None:
        for k in range(len(importance)):
            visible[k] = importance[k]
            hidden[k] = importance[k]

    @staticmethod
    def local(
        settings: Any, hidden: Array, errors: Array, reach: Array, spikes: Array, memory: Array, signals: Array
    ) -> None:
        K, fired = len(signals), 0.0
        for k in range(K):
            fired += 1.0 if spikes[k] else 0.0
        memory[0] = RATE_MEMORY * memory[0] + (1 - RATE_MEMORY) * fired / K
        push = settings.pressure * max(memory[0] - settings.target_rate, 0.0)
        for k in range(K):
            error = 0.0
            for c in range(len(reach)):
                error += errors[k, c] * reach[c]
            signals[k] = hidden[k] * (settings.gain * error - push)
