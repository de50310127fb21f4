"""Lessons about nothing: spikes of no class, with random classes as targets.

A network that learns only from recordings of known classes answers noise, or a dark room, with the class that it
resembles most, at high confidence. So some examples are followed by an additional lesson, whose spikes are derived from
theirs so that they belong to no class:

- *thinned*: a thousandth to a tenth of the spikes, or none;
- *noise*: up to twice as many spikes as the example has, anywhere;
- *scrambled inputs*: the inputs are permuted, if there are enough of them;
- *scrambled blocks*: blocks of a half or a quarter of the sides are permuted, if the inputs lie on a grid;
- *background*: a piece of a recording given by the user, half of the time if there are any.

The target is a class drawn anew at every step. The best prediction is then the same probability for every class, for
winner-take-all and Bernoulli readouts alike. If several labels can hold at once, the target is silence: none of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from gemsnn.learning import Lesson
from gemsnn.model.spike_list import SpikeList
from gemsnn.training.randomness import Purpose, stream

DEFAULT_SHARE = 0.25
"""Lessons about nothing per example, where examples have one class each."""
FEWEST_INPUTS = 8
"""With fewer inputs, these are not permuted: the result could be of a class."""
SMALLEST_GRID = 8  # minimum rows and columns for scrambled blocks
SILENT = 1 / 8  # fraction of thinned lessons that have no spikes
KEYS = 1 << 61
"""Added to an example's key for the key of the lesson that follows it."""

Random = np.random.Generator


class AnyClass:
    """The type of `NOTHING`."""

    def __repr__(self) -> str:
        return "gemsnn.NOTHING"


NOTHING = AnyClass()
"""In place of a class: the input belongs to none."""


@dataclass(frozen=True)
class LessonsAboutNothing:
    """Adds lessons about nothing to a batch; they depend on seed and example only.

    Attributes
    ----------
    share
        Fraction of examples that are followed by such a lesson.
    n_inputs, grid
        Of the data; rows and columns if the inputs lie on a grid of one or more planes.
    several_labels
        Whether several labels can hold at once.
    background
        Recordings of the background.
    """

    share: float
    n_inputs: int
    grid: tuple[int, int] | None = None
    several_labels: bool = False
    background: tuple[SpikeList, ...] = ()

    def __call__(self, lessons: Sequence[Lesson], seed: int, /) -> list[Lesson]:
        return [*lessons, *(extra for lesson in lessons if (extra := self.after(lesson, seed)) is not None)]

    def after(self, lesson: Lesson, seed: int) -> Lesson | None:
        """The lesson that follows one, if any."""
        random = stream(seed, Purpose.NOTHING, lesson.example)
        if random.random() >= self.share:
            return None
        spikes = self.spikes(cast(SpikeList, lesson.inputs), random)
        shape = (spikes.n_steps, lesson.targets.shape[1])
        target = np.zeros(shape, dtype=np.uint8) if self.several_labels else any_class(*shape, random)
        return lesson._replace(inputs=spikes, targets=target, example=lesson.example + KEYS)

    def spikes(self, example: SpikeList, random: Random) -> SpikeList:
        """Spikes of no class."""
        if self.background and random.random() < 0.5:
            return piece(self.background[random.integers(len(self.background))], example.n_steps, random)
        example = example.folded(self.n_inputs)
        kinds = ["thinned", "noise"]
        if self.n_inputs >= FEWEST_INPUTS:
            kinds.append("inputs")
        if self.grid is not None and min(self.grid) >= SMALLEST_GRID:
            kinds.append("blocks")
        match kinds[random.integers(len(kinds))]:
            case "thinned":
                return thinned(example, 0.0 if random.random() < SILENT else 10 ** random.uniform(-3, -1), random)
            case "noise":
                density = len(example.spikes) / (example.n_steps * self.n_inputs)
                return noise(example.n_steps, self.n_inputs, min(1.0, density * 10 ** random.uniform(-2, 0.3)), random)
            case "inputs":
                return scrambled_inputs(example, self.n_inputs, random)
            case _:
                return scrambled_blocks(example, self.n_inputs, self.grid or (1, 1), int(random.choice([2, 4])), random)

    @property
    def fingerprint(self) -> str | None:
        """Hash of the background recordings, if any."""
        if not self.background:
            return None
        digest = hashlib.sha256()
        for one in self.background:
            digest.update(repr((one.n_steps, len(one.spikes))).encode() + one.spikes.tobytes())
        return digest.hexdigest()


def any_class(n_steps: int, n_visible: int, random: Random) -> NDArray[np.uint8]:
    """(T, n_visible): at every step one visible neuron spikes, drawn at random."""
    target = np.zeros((n_steps, n_visible), dtype=np.uint8)
    target[np.arange(n_steps), random.integers(n_visible, size=n_steps)] = 1
    return target


def targets_of_nothing(
    lengths: NDArray[np.int64], learned: NDArray[np.intp], n_visible: int, seed: int, first: int
) -> list[NDArray[np.uint8]]:
    """(T, n_visible) targets of each example, all of which belong to no class.

    The examples that are learned have consecutive keys from ``first``; the targets of the others are silent.
    """
    targets = [np.zeros((length, n_visible), dtype=np.uint8) for length in lengths.tolist()]
    for key, index in enumerate(learned.tolist(), start=first):
        random = stream(seed, Purpose.NOTHING, key, 1)
        targets[index] = any_class(len(targets[index]), n_visible, random)
    return targets


def thinned(spikes: SpikeList, share: float, random: Random) -> SpikeList:
    """Keeps each spike with probability ``share``."""
    return SpikeList(spikes.spikes[random.random(len(spikes.spikes)) < share], spikes.n_steps)


def noise(n_steps: int, n_inputs: int, probability: float, random: Random) -> SpikeList:
    """Independent spikes of every input at every step; the cost is proportional to the number of spikes."""
    cells, found = n_steps * n_inputs, [np.array([-1])]
    expected = cells * probability
    while probability > 0 and found[-1][-1] < cells:
        gaps = random.geometric(probability, size=int(expected + 6 * expected**0.5) + 10)
        found.append(found[-1][-1] + np.cumsum(gaps))
    cell = np.concatenate(found[1:]) if len(found) > 1 else np.zeros(0, dtype=np.int64)
    step, index = np.divmod(cell[cell < cells], n_inputs)
    return SpikeList.from_pairs(step, index, n_steps)


def scrambled_inputs(spikes: SpikeList, n_inputs: int, random: Random) -> SpikeList:
    """The inputs permuted, in the same way at all steps."""
    index = random.permutation(n_inputs)[spikes.spikes["index"]]
    return _ordered(spikes.spikes["step"].astype(np.int64), index, n_inputs, spikes.n_steps)


def scrambled_blocks(spikes: SpikeList, n_inputs: int, grid: tuple[int, int], parts: int, random: Random) -> SpikeList:
    """The ``parts`` x ``parts`` blocks of the grid permuted; no block stays in place."""
    rows, columns = grid
    height, width = -(-rows // parts), -(-columns // parts)
    blocks = np.arange(parts * parts)
    order = random.permutation(blocks)
    while (order == blocks).any():  # about one permutation in three moves every block
        order = random.permutation(blocks)
    plane, cell = np.divmod(spikes.spikes["index"].astype(np.int64), rows * columns)
    row, column = np.divmod(cell, columns)
    block_row, block_column = np.divmod(order[row // height * parts + column // width], parts)
    row, column = block_row * height + row % height, block_column * width + column % width
    stays = (row < rows) & (column < columns)  # blocks at the edges may be smaller
    index = (plane * rows + row) * columns + column
    step = spikes.spikes["step"].astype(np.int64)
    return _ordered(step[stays], index[stays], n_inputs, spikes.n_steps)


def piece(recording: SpikeList, n_steps: int, random: Random) -> SpikeList:
    """``n_steps`` consecutive steps of a recording from a random start; all of a recording that is not longer."""
    if recording.n_steps <= n_steps:
        return recording
    start = int(random.integers(recording.n_steps - n_steps + 1))
    first, end = np.searchsorted(recording.spikes["step"], [start, start + n_steps])
    spikes = recording.spikes[first:end].copy()
    spikes["step"] -= start
    return SpikeList(spikes, n_steps)


def _ordered(step: NDArray[np.int64], index: NDArray[np.int64], width: int, n_steps: int) -> SpikeList:
    return SpikeList.from_pairs(*np.divmod(np.sort(step * width + index), width), n_steps)
