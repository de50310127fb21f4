r"""The paper's majority vote.

Compartment k votes for the visible neuron with the most spikes, :math:`\hat c^k = \arg\max_c \sum_t x^k_{c,t}`; the
class with the most votes :math:`z_c` wins; the probabilities are the SoftMax of the votes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.inference.decoders.decoder import Answer
from gemsnn.model.votes import count_votes, decide, vote_probabilities


class Vote:
    """Counts spikes; the state is the counts (..., K, C)."""

    name = "vote"
    free = True

    def start(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.zeros(shape, dtype=np.int64)

    def update(self, state: NDArray[np.int64], evidence: NDArray[Any]) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = state + evidence
        return counts

    def answer(self, state: NDArray[np.int64]) -> Answer:
        votes = count_votes(state)
        return Answer(decide(votes, state), vote_probabilities(votes), votes)
