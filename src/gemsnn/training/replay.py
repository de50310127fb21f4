"""Old examples shown in between new ones, so that a network does not forget them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError
from gemsnn.learning import Lesson
from gemsnn.rules import Rule
from gemsnn.training.data import Examples
from gemsnn.training.partition import Indices
from gemsnn.training.randomness import Purpose, shuffled
from gemsnn.training.targets import desired

FIRST_KEY = 1 << 62
"""Keys of replayed lessons count from here, beyond those of any run's own."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Adds old examples to each batch, so that they make up ``share`` of what is learned.

    The old examples come in random order, each once before any comes again. Which follow an example is decided by the
    seed and the number of the example in the run. A replayed example has the step size of the one that it follows.

    Parameters
    ----------
    examples, indices
        Old examples, and which of them are shown.
    share
        Of all examples learned, at least 0 and below 1.
    n_visible
        Visible neurons of the network.
    """

    examples: Examples
    indices: Indices
    share: float
    n_visible: int
    _orders: dict[int, NDArray[np.intp]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise ConfigError(f"replay_share = {self.share}: must be at least 0 and below 1")

    def before(self, example: int) -> int:
        """How many are replayed before example number ``example`` of the run."""
        return math.floor(example * (self.share / (1 - self.share)))

    def __call__(self, lessons: Sequence[Lesson], seed: int, /) -> list[Lesson]:
        replayed = [
            self._lesson(number, lesson.rule, seed)
            for lesson in lessons
            for number in range(self.before(lesson.example), self.before(lesson.example + 1))
        ]
        return [*lessons, *replayed]

    def _lesson(self, number: int, rule: Rule, seed: int) -> Lesson:
        index = int(self.indices[self._order(number // len(self.indices), seed)[number % len(self.indices)]])
        inputs, target = self.examples.load(index)
        targets = desired(self.examples.labels, index, target, inputs.n_steps, self.n_visible)
        return Lesson(inputs, targets, rule, FIRST_KEY + number)

    def _order(self, epoch: int, seed: int) -> NDArray[np.intp]:
        if epoch not in self._orders:
            self._orders.clear()
            self._orders[epoch] = shuffled(len(self.indices), seed, Purpose.REPLAY, epoch)
        return self._orders[epoch]
