"""How long a run trains, how its step size changes, how many examples form a batch, and what is averaged at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from gemsnn.rules import Rule

Decay = Literal["constant", "linear", "cosine"]

EXAMPLES_SHOWN, FEWEST_EPOCHS = 500, 16
"""Where epochs are not given: examples shown, times the square root of how many there are; and the least."""


@dataclass(frozen=True)
class Schedule:
    """The course of a run. Positions in it count the examples learned.

    Attributes
    ----------
    epochs
        Passes over the training examples; None: 500 / sqrt(examples), at least 16.
    batch_size
        Examples that are learned from the same weights, their changes added: 1 is purely online learning. Each epoch
        begins a batch; its last one may be shorter.
    max_time_samples
        Stop with the example that reaches so many time steps, if that comes before the last epoch's end.
    decay
        How the step size falls from the rule's to ``floor`` times the rule's over the run.
    floor
        Share of the rule's step size that is left at the end of a linear or cosine decay.
    average_last
        Share of the run, at its end, whose weights are averaged to give the model; 0 takes the last weights.
    shuffle
        Whether each epoch has a random order of its own; otherwise the examples come as they stand.

    Examples
    --------
    >>> schedule = Schedule(epochs=3, decay="linear")
    >>> total = schedule.total(n_examples=100, n_steps=20)
    >>> total, schedule.factor(150, total)
    (300, 0.5)
    """

    epochs: int | None = None
    batch_size: int = 1
    max_time_samples: int | None = None
    decay: Decay = "cosine"
    floor: float = 0.0
    average_last: float = 0.2
    shuffle: bool = True

    def epochs_of(self, n_examples: int) -> int:
        """Passes over so many training examples: few examples have to be shown more often."""
        return self.epochs or max(FEWEST_EPOCHS, round(EXAMPLES_SHOWN / math.sqrt(n_examples)))

    def total(self, n_examples: int, n_steps: float) -> int:
        """Examples shown in a run that is not stopped early, of so many steps on average."""
        total = self.epochs_of(n_examples) * n_examples
        if self.max_time_samples is not None:
            total = min(total, math.ceil(self.max_time_samples / n_steps))
        return total

    def factor(self, position: int, total: int) -> float:
        """What the step size is multiplied by for the batch that begins at ``position`` of ``total``."""
        if self.decay == "constant":
            return 1.0
        share = position / total
        height = 1 - share if self.decay == "linear" else (1 + math.cos(math.pi * share)) / 2
        return self.floor + (1 - self.floor) * height

    def rule_at(self, rule: Rule, position: int, total: int) -> Rule:
        """The rule with the step size for the batch that begins at ``position`` of ``total``."""
        changed: Rule = replace(rule, learning_rate=rule.step_size * self.factor(position, total))
        return changed
