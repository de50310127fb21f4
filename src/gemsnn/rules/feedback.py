r"""Feedback: hidden neurons learn from the errors of the visible neurons that they reach. Not GEM.

A hidden neuron's signal is what its potential does to the visible neurons' log-probability, spikes taken for their
probability and one synapse far; its post factor is the derivative of its probability:

    visible signal   w^k                                                          w = SoftMax(v)
    hidden signal    gain w^k sum_c error_c^k reach_{i,c}                         reach: sum over bases of the weights
    post             probability (1 - probability) = sigmoid'(u)
"""

from __future__ import annotations

from dataclasses import dataclass

from gemsnn.rules.rule import Array, Rule


@dataclass(frozen=True)
class Feedback(Rule):
    """The read-out's errors, sent back to hidden neurons through the weights by which they reach it.

    Parameters
    ----------
    learning_rate, kappa, gamma
        As every :class:`Rule` has them.
    gain
        How many times as fast hidden neurons learn as visible ones.
    """

    learning_rate: float = 3e-4
    gain: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_not_negative("gain")

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
        gain = settings[0]
        n, K = signals.shape
        for i in range(n):
            for k in range(K):
                total = 0.0
                for c in range(errors.shape[1]):
                    total += errors[k, c] * reach[i, c]
                signals[i, k] = gain * hidden[k] * total
