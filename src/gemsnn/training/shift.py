"""Moving training examples by a few pixels, so that a network does not learn where things happened to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from gemsnn.learning import Lesson
from gemsnn.model.spike_list import SpikeList
from gemsnn.training.randomness import Purpose, stream

DEFAULT_SHIFT, SMALLEST_SIDE = 2, 16
"""Where ``shift`` is not given, and the grid has at least so many rows and columns."""


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
        """The spikes of one example as they are shown; by how far they move follows from seed and example."""
        draws = stream(seed, Purpose.SHIFT, example).random(2)
        down, right = (int(draw * (2 * self.largest + 1)) - self.largest for draw in draws)
        return moved(spikes, self.grid, down, right)


def moved(spikes: SpikeList, grid: tuple[int, int], down: int, right: int) -> SpikeList:
    """Spikes moved on their grid, of one or more planes; what leaves it is lost, and silence comes in.

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
