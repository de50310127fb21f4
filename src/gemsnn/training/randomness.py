"""Random draws of a run besides the spikes; everything random is derived from the run's seed."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.common import splits
from gemsnn.common.seeds import words


class Purpose(IntEnum):
    """Purposes of draws; each has a stream of its own. Changing a number changes the results of runs."""

    ORDER = 1
    HOLD_OUT = 2
    VALIDATION = 3
    TEST = 4
    PREDICT = 5
    TRAIN = 6
    SHIFT = 7
    CALIBRATE = 8
    CERTAINTY = 9
    NOTHING = 10
    REPLAY = 11


def derived_seed(seed: int, purpose: Purpose) -> int:
    """A seed for the spikes of one purpose, so that evaluating never repeats the draws of learning."""
    return int(np.random.SeedSequence(words(seed, purpose)).generate_state(1, np.uint64)[0] >> np.uint64(1))


def stream(seed: int, purpose: Purpose, *key: int) -> np.random.Generator:
    """Draws for one purpose; ``key`` distinguishes its uses."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(words(seed, purpose, *key))))


def shuffled(n: int, seed: int, purpose: Purpose, *key: int) -> NDArray[np.intp]:
    """A random permutation of n indices, by sorting draws, so that it does not depend on how NumPy shuffles."""
    return np.argsort(stream(seed, purpose, *key).random(n), kind="stable")


def epoch_order(n: int, seed: int, epoch: int) -> NDArray[np.intp]:
    """The order in which an epoch presents n examples."""
    return shuffled(n, seed, Purpose.ORDER, epoch)


def stratified_order(labels: NDArray[Any], seed: int) -> NDArray[np.intp]:
    """A random order in which every prefix is nearly stratified by class."""
    return splits.stratified_order(labels, _hold_out_draw(seed))


def hold_out(labels: NDArray[Any], fraction: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training and validation indices: the same fraction of each class; at least one of each is trained on."""

    def count(n: int) -> int:
        return min(max(round(fraction * n), 1), n - 1) if fraction > 0 else 0

    held = splits.stratified_share(labels, count, _hold_out_draw(seed))
    return np.flatnonzero(~held), np.flatnonzero(held)


def hold_out_groups(groups: NDArray[Any], fraction: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training and validation indices; no group is in both."""
    held = splits.group_share(groups, fraction, _hold_out_draw(seed))
    return np.flatnonzero(~held), np.flatnonzero(held)


def _hold_out_draw(seed: int) -> splits.Draw:
    return lambda label, n: shuffled(n, seed, Purpose.HOLD_OUT, label)
