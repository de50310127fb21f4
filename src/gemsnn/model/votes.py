r"""The class predicted by the visible spikes: the paper's majority vote.

Compartment k votes for the visible neuron that spiked most, :math:`\hat c^k = \arg\max_c \sum_t x^k_{c,t}`; the class
with most votes :math:`z_c` wins; its probability is the SoftMax of the votes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def count_votes(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Votes (..., C) from spike counts (..., K, C): one per compartment, where a tie goes to the lower class index."""
    choice = np.asarray(counts).argmax(axis=-1)[..., None]
    votes: NDArray[np.int64] = (choice == np.arange(counts.shape[-1])).sum(axis=-2)
    return votes


def decide(votes: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int64]:
    """Winning class (...) from votes (..., C) and spike counts (..., K, C).

    Equal votes are decided by the spikes summed over compartments, then by the lower class index.
    """
    total = np.asarray(counts).sum(axis=-2)
    leading = votes == votes.max(axis=-1, keepdims=True)
    winner: NDArray[np.int64] = np.where(leading, total, -1).argmax(axis=-1)
    return winner


def vote_probabilities(votes: NDArray[Any]) -> NDArray[np.float64]:
    """SoftMax of the votes, (..., C)."""
    return softmax(np.asarray(votes, dtype=np.float64))


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """SoftMax of scores (..., C). SciPy's takes ten times as long for a handful of numbers, as a live step has them."""
    odds: NDArray[np.float64] = np.exp(scores - scores.max(axis=-1, keepdims=True))
    odds /= odds.sum(axis=-1, keepdims=True)
    return odds
