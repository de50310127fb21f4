"""A rule that nobody in the package has heard of; it uses all that the contract offers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gemsnn.rules import Rule


@dataclass(frozen=True)
class Quiet(Rule):
    """Compartments learn by how much better than their running mean they are; busy hidden neurons are pushed down."""

    memory: float = 0.8
    target: float = 0.1
    pressure: float = 0.2

    neuron_memory = 1  # each hidden neuron's rate

    def processor_memory(self, n_compartments):
        return n_compartments

    @staticmethod
    def post(spikes, probability, post):
        for i in range(spikes.shape[0]):
            for k in range(spikes.shape[1]):
                post[i, k] = math.sqrt(probability[i, k]) * (spikes[i, k] - probability[i, k])

    @staticmethod
    def broadcast(settings, log_weights, importance, memory, visible, hidden):
        for k in range(len(importance)):
            memory[k] = settings[0] * memory[k] + (1 - settings[0]) * log_weights[k]
            visible[k] = importance[k]
            hidden[k] = importance[k] * math.tanh(log_weights[k] - memory[k])

    @staticmethod
    def local(settings, hidden, errors, reach, spikes, memory, signals):
        n, K = signals.shape
        for i in range(n):
            rate, pull = 0.0, 0.0
            for k in range(K):
                rate += spikes[i, k] / K
                for x in range(errors.shape[1]):
                    pull += errors[k, x] * reach[i, x] / K
            memory[i, 0] = 0.9 * memory[i, 0] + 0.1 * rate
            for k in range(K):
                signals[i, k] = hidden[k] + pull - settings[2] * (memory[i, 0] - settings[1])
