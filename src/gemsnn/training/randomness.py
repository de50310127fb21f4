"""What is random in a run besides the spikes, and how everything random follows from the run's one seed."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Purpose(IntEnum):
    """What draws are for; each purpose has a stream of its own. The numbers are part of what makes runs repeatable."""

    ORDER = 1
    HOLD_OUT = 2
    VALIDATION = 3
    TEST = 4
    PREDICT = 5
    TRAIN = 6
    SHIFT = 7


def derived_seed(seed: int, purpose: Purpose) -> int:
    """A seed for the spikes of one purpose, so that evaluating never repeats the draws of learning."""
    return int(np.random.SeedSequence([seed, purpose]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def stream(seed: int, purpose: Purpose, *key: int) -> np.random.Generator:
    """Draws for one purpose; ``key`` tells its uses apart."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, purpose, *key])))


def shuffled(n: int, seed: int, purpose: Purpose, *key: int) -> NDArray[np.intp]:
    """A random order of n things. By sorting draws: the order does not depend on how NumPy shuffles."""
    return np.argsort(stream(seed, purpose, *key).random(n), kind="stable")


def epoch_order(n: int, seed: int, epoch: int) -> NDArray[np.intp]:
    """The order in which an epoch presents n examples."""
    return shuffled(n, seed, Purpose.ORDER, epoch)


def stratified_order(labels: NDArray[np.int64], seed: int) -> NDArray[np.intp]:
    """A random order whose every beginning holds the classes in nearly the right proportion."""
    rank = np.empty(len(labels))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        rank[members[shuffled(len(members), seed, Purpose.HOLD_OUT, int(label))]] = (
            np.arange(len(members)) + 0.5
        ) / len(members)
    return np.argsort(rank, kind="stable")


def hold_out(labels: NDArray[np.int64], fraction: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices to train on and to validate on: the same share of each class, which always keeps one to train on."""
    held = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        count = round(fraction * len(members))
        if fraction > 0:
            count = min(max(count, 1), len(members) - 1)
        held[members[shuffled(len(members), seed, Purpose.HOLD_OUT, int(label))[:count]]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
