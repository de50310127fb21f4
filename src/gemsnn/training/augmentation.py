"""What happens to examples each time they are learned: they are moved by a few pixels, or old ones are replayed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError
from gemsnn.learning import Lesson
from gemsnn.model.spike_list import SpikeList
from gemsnn.rules import Rule
from gemsnn.training.data import Examples, desired
from gemsnn.training.partition import Indices
from gemsnn.training.randomness import Purpose, shuffled, stream

DEFAULT_SHIFT, SMALLEST_SIDE = 2, 16
"""Default of ``shift`` on grids with at least so many rows and columns."""
FIRST_KEY = 1 << 62
"""Keys of replayed lessons start here, beyond those of any run's own."""


class Augmentation(Protocol):
    """Changes the lessons of a batch before they are learned.

    A run resumes bit-for-bit identically, so nothing may depend on earlier calls: all draws must follow from ``seed``
    and each lesson's ``example``, which is unique within a run.
    """

    def __call__(self, lessons: Sequence[Lesson], seed: int, /) -> Sequence[Lesson]:
        """The given lessons, changed, in the same order; further ones, with keys of their own, may follow them.

        Inputs are lists of spikes. Added lessons are learned with the batch, but they are neither counted as examples
        nor included in the means of the traces.
        """


@dataclass(frozen=True)
class Shift:
    """Moves an example's spikes by up to ``largest`` pixels along both axes of the grid (rows, columns)."""

    largest: int
    grid: tuple[int, int]

    def __call__(self, lessons: Sequence[Lesson], seed: int, /) -> list[Lesson]:
        return [
            lesson._replace(inputs=self.moved(cast(SpikeList, lesson.inputs), seed, lesson.example))
            for lesson in lessons
        ]

    def moved(self, spikes: SpikeList, seed: int, example: int) -> SpikeList:
        """The moved spikes of one example; the displacement follows from seed and example."""
        draws = stream(seed, Purpose.SHIFT, example).random(2)
        down, right = (int(draw * (2 * self.largest + 1)) - self.largest for draw in draws)
        return moved(spikes, self.grid, down, right)


def moved(spikes: SpikeList, grid: tuple[int, int], down: int, right: int) -> SpikeList:
    """Spikes moved on their grid, of one or more planes; those that leave it are lost.

    Examples
    --------
    >>> corners = SpikeList.from_array(np.array([[1, 0, 0, 1]]), "corners")
    >>> moved(corners, (2, 2), 0, 1).to_array(4).astype(int)
    array([[0, 1, 0, 0]])
    """
    rows, columns = grid
    index = spikes.spikes["index"].astype(np.intp)
    column = index % columns + right
    row = index // columns % rows + down
    stays = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    return SpikeList.from_pairs(spikes.spikes["step"][stays], (index + down * columns + right)[stays], spikes.n_steps)


@dataclass(frozen=True, eq=False)
class Replay:
    """Adds old examples to each batch, as a fraction ``share`` of all that is learned, so that they are not forgotten.

    The old examples come in random order; each is shown once before any is shown again. Which of them follow an example
    depends on the seed and the number of the example in the run. A replayed example has the step size of the example
    that it follows.

    Parameters
    ----------
    examples, indices
        Old examples, and the indices of those that are shown.
    share
        Fraction of all examples learned, at least 0 and below 1.
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
        """Number of examples replayed before example number ``example`` of the run."""
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
