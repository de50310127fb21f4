"""Objectives as a user writes them, which use all that an objective may see."""

from dataclasses import dataclass
from typing import ClassVar

from gemsnn.objectives import Objective


@dataclass(frozen=True)
class Priced(Objective):
    """Visible spikes cost what they cost here; hidden ones a price; the memory counts the spikes of each neuron."""

    price: float = 0.1
    squared: bool = False

    free: ClassVar[bool] = True
    unit_memory: ClassVar[int] = 2

    @staticmethod
    def report(settings, spikes, targets, log_probability, hidden_spikes, memory):
        total = -settings.price * hidden_spikes
        for i in range(len(spikes)):
            memory[i, 0] += spikes[i]
            memory[i, 1] = 0.5 * memory[i, 1] + targets[i]
            miss = memory[i, 0] * (spikes[i] - targets[i]) - memory[i, 1]
            total += -0.1 * miss**2 if settings.squared else 0.1 * miss
            total += 0.01 * log_probability[i]
        return total

    @staticmethod
    def slope(settings, memory):
        return memory[1] - 0.1 * memory[0]

    @staticmethod
    def at_once(settings, spike):
        return settings.price - spike


@dataclass(frozen=True)
class Tempered(Objective):
    """The likelihood, to a power: visible neurons are clamped."""

    power: float = 0.5

    @staticmethod
    def report(settings, spikes, targets, log_probability, hidden_spikes, memory):
        total = 0.0
        for i in range(len(log_probability)):
            total += settings.power * log_probability[i]
        return total
