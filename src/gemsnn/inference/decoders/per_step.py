r"""The model's posterior of each single step, averaged over the steps.

The SoftMax over classes of :math:`\frac{1}{T} \sum_t \log \frac{1}{K} \sum_k p(x_{c,t} \mid h^k)`. The steps of a
recording are strongly dependent, so their sum, which treats them as independent, is overconfident; their mean is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.inference.decoders.decoder import Answer
from gemsnn.inference.decoders.likelihood import log_mean_exp
from gemsnn.model.votes import count_votes, softmax


class PerStepState(NamedTuple):
    steps: int
    score: NDArray[np.float64]  # (..., C): sum over steps of the log of the mean probability
    each: NDArray[np.float64]  # (..., K, C): sum over steps of the log-probabilities


class PerStep:
    """Sums the log of each step's mean probability."""

    name = "per-step"
    free = False

    def start(self, shape: tuple[int, ...]) -> PerStepState:
        return PerStepState(0, np.zeros((*shape[:-2], shape[-1])), np.zeros(shape))

    def update(self, state: PerStepState, evidence: NDArray[np.float64]) -> PerStepState:
        return PerStepState(state.steps + 1, state.score + log_mean_exp(evidence), state.each + evidence)

    def answer(self, state: PerStepState) -> Answer:
        score = state.score / state.steps
        return Answer(score.argmax(axis=-1), softmax(score), count_votes(state.each))
