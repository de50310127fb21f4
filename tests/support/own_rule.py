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
    def post(spike, probability):
        return math.sqrt(probability) * (spike - probability)

    @staticmethod
    def broadcast(settings, log_weights, importance, memory, visible, hidden):
        for k in range(len(importance)):
            memory[k] = settings.memory * memory[k] + (1 - settings.memory) * log_weights[k]
            visible[k] = importance[k]
            hidden[k] = importance[k] * math.tanh(log_weights[k] - memory[k])

    @staticmethod
    def local(settings, hidden, errors, reach, spikes, memory, signals):
        K, rate, pull = len(signals), 0.0, 0.0
        for k in range(K):
            rate += spikes[k] / K
            for x in range(len(reach)):
                pull += errors[k, x] * reach[x] / K
        memory[0] = 0.9 * memory[0] + 0.1 * rate
        for k in range(K):
            signals[k] = hidden[k] + pull - settings.pressure * (memory[0] - settings.target)
