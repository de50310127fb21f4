r"""The model's own posterior.

The SoftMax over classes of :math:`\log \frac{1}{K} \sum_k \prod_t p(x_{c,t} \mid h^k)`: the estimated log-likelihoods
of the classes' desired patterns :math:`x_c`, under a uniform prior.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemsnn.inference.decoders.decoder import Answer
from gemsnn.model.votes import count_votes, softmax


class Likelihood:
    """Sums log-probabilities over the steps; the state is the sums (..., K, C)."""

    name = "likelihood"
    free = False

    def start(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return np.zeros(shape)

    def update(self, state: NDArray[np.float64], evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return state + evidence

    def answer(self, state: NDArray[np.float64]) -> Answer:
        score = log_mean_exp(state)
        return Answer(score.argmax(axis=-1), softmax(score), count_votes(state))


def log_mean_exp(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., C): log of the mean over compartments of exp(values), (..., K, C)."""
    found: NDArray[np.float64] = np.logaddexp.reduce(values, axis=-2) - np.log(values.shape[-2])
    return found
