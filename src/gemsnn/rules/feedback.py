r"""Feedback: hidden neurons learn from the errors of the visible neurons that they reach. Not GEM.

A hidden neuron's signal is what its potential does to the visible neurons' log-probability, spikes taken for their
probability and one synapse far; its post factor is the derivative of its probability:

    visible signal   w^k                                                          w = SoftMax(v)
    hidden signal    w^k (gain sum_c error_c^k reach_{i,c} - push_i)              reach: sum over bases of the weights
    push             pressure (rate_i - target_rate) while above 0, else 0        rate: running mean of its spikes
    post             probability (1 - probability) = sigmoid'(u)

The push is local: a neuron that fires more often than it should lowers its potential. Spikes are what a network costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gemsnn.rules.rule import Array, Rule

RATE_MEMORY = 0.9
"""What a step keeps of a neuron's running rate."""


@dataclass(frozen=True)
class Feedback(Rule):
    """The read-out's errors, sent back to hidden neurons through the weights by which they reach it.

    Parameters
    ----------
    learning_rate, kappa, gamma
        As every :class:`Rule` has them.
    gain
        How many times as fast hidden neurons learn as visible ones.
    target_rate
        Spikes a step above which a hidden neuron's rate is pushed down; 1 pushes none.
    pressure
        How hard: signal for each spike a step above the target.
    """

    gain: float = 10.0
    target_rate: float = 0.05
    pressure: float = 3.0

    neuron_memory: ClassVar[int] = 1  # the running rate

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_not_negative("gain")
        self.check_number("target_rate", "lie in [0, 1]", lambda value: 0 <= value <= 1)
        self.check_not_negative("pressure")

    @staticmethod
    def post(spikes: Array, probability: Array, post: Array) -> None:
        for i in range(spikes.shape[0]):
            for k in range(spikes.shape[1]):
                post[i, k] = probability[i, k] * (1 - probability[i, k])

    @staticmethod
    def broadcast(
        settings: Array, log_weights: Array, importance: Array, memory: Array, visible: Array, hidden: Array
    ) -> None:
        for k in range(len(importance)):
            visible[k] = importance[k]
            hidden[k] = importance[k]

    @staticmethod
    def local(
        settings: Array, hidden: Array, errors: Array, reach: Array, spikes: Array, memory: Array, signals: Array
    ) -> None:
        gain, target_rate, pressure = settings[0], settings[1], settings[2]
        n, K = signals.shape
        for i in range(n):
            fired = 0.0
            for k in range(K):
                fired += 1.0 if spikes[i, k] else 0.0
            memory[i, 0] = RATE_MEMORY * memory[i, 0] + (1 - RATE_MEMORY) * fired / K
            push = pressure * max(memory[i, 0] - target_rate, 0.0)
            for k in range(K):
                total = 0.0
                for c in range(errors.shape[1]):
                    total += errors[k, c] * reach[i, c]
                signals[i, k] = hidden[k] * (gain * total - push)
