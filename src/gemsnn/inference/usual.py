r"""How usual a recording is: the fraction of held-out recordings that are at least as unusual.

Two measures complement each other. The **distance** of the hidden neurons' rates after t steps from those of training
recordings: with r the square roots of the rates, :math:`m_c` their mean over training recordings of class c, and S
their within-class covariance (shrunk: plus a tenth of its mean variance on the diagonal),

.. math:: d = \min_c \, (r - m_c)^\top S^{-1} (r - m_c),

and the **entropy** e of the decoder's probabilities. Among n held-out recordings and the new one, each recording has
a rank in d and in e: :math:`q^d_i` is the fraction of the n + 1 whose d is at least that of i, and :math:`q^e_i`
likewise. With :math:`u_i = 1 / q^d_i + 1 / q^e_i`, which is large if either fraction is small, the p-value is the
fraction of the n + 1 whose u is at least that of the new one:

.. math:: p = \frac{1 + \#\{i \le n : u_i \ge u_{n+1}\}}{n + 1}.

u is symmetric in the n + 1 recordings, so if the new one is exchangeable with the held-out ones, then
:math:`P(p \le a) \le a` for every a: p is a conformal p-value and needs no other assumption. This holds at any one
checkpoint for recordings that reach it, not for the smallest p of several checkpoints. Values are stored for ten
checkpoints; between them, p is that of the latest one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ShapeError

UNUSUAL = 0.02
"""A recording with a p-value below this is unlike anything that the model was trained on."""
UNLIKE = "unlike anything it was trained on"
"""Text shown for such a recording."""
CHECKPOINTS = 10
SHRINKAGE = 0.1
MOST_NEURONS = 256  # whose rates are used, evenly spaced among all


@dataclass(frozen=True, eq=False)
class Usual:
    """Made by :func:`fit_usual`.

    Attributes
    ----------
    checkpoints
        P numbers of time steps.
    neurons
        (H,): indices of the hidden neurons used.
    means
        (P, C, H) of the square roots of their rates.
    whitening
        (H, H): W with W W' the inverse covariance.
    distances, entropies
        (P, n) of held-out recordings; -1 for those that ended before the checkpoint.
    compartments
        Number of compartments that ran.
    """

    checkpoints: tuple[int, ...]
    neurons: NDArray[np.int32]
    means: NDArray[np.float16]
    whitening: NDArray[np.float16]
    distances: NDArray[np.float32]
    entropies: NDArray[np.float32]
    compartments: int

    def checkpoint(self, step: int) -> int | None:
        """Index of the latest checkpoint at a step; None before the first."""
        passed = int(np.searchsorted(self.checkpoints, step, side="right"))
        return passed - 1 if passed else None

    def p_value(
        self, checkpoint: int, hidden_spikes: NDArray[np.integer], probabilities: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(...): of recordings at the checkpoint with this index.

        ``hidden_spikes`` (..., n_hidden) are counted until then and summed over compartments; ``probabilities``
        (..., C) are the decoder's, uncalibrated.
        """
        rates = square_root_rates(hidden_spikes[..., self.neurons], self.checkpoints[checkpoint], self.compartments)
        distance = _distance(rates, self.means[checkpoint], self.whitening)
        new = np.stack([distance, entropy(probabilities)], axis=-1).astype(np.float32)
        there = self.distances[checkpoint] >= 0
        return p_values(new, np.stack([self.distances[checkpoint, there], self.entropies[checkpoint, there]], axis=-1))


def fit_usual(
    checkpoints: tuple[int, ...],
    training_spikes: NDArray[np.integer],
    training_lengths: ArrayLike,
    training_labels: ArrayLike,
    held_out_spikes: NDArray[np.integer],
    held_out_lengths: ArrayLike,
    held_out_probabilities: NDArray[np.float64],
    compartments: int,
) -> Usual:
    """Fit to training recordings and to held-out ones, which the network was not trained on.

    Parameters
    ----------
    training_spikes, held_out_spikes
        (N, P, n_hidden) and (n, P, n_hidden): spikes of each hidden neuron until each checkpoint, summed over
        compartments.
    training_lengths, held_out_lengths
        (N,) and (n,): time steps; values at checkpoints after the end of a recording are ignored.
    training_labels
        (N,) class indices.
    held_out_probabilities
        (n, P, C) of the decoder, uncalibrated.
    """
    N, P, n_hidden = training_spikes.shape
    C = held_out_probabilities.shape[-1]
    steps, labels = np.array(checkpoints), np.asarray(training_labels)
    if len(steps) != P or labels.shape != (N,):
        raise ShapeError(f"there are {len(steps)} checkpoints and {len(labels)} labels for {training_spikes.shape}")
    neurons = np.unique(np.linspace(0, n_hidden - 1, min(n_hidden, MOST_NEURONS)).round().astype(np.int32))
    rates = square_root_rates(training_spikes[..., neurons], steps[:, None], compartments)
    there = np.asarray(training_lengths)[:, None] >= steps
    means, covariance, count = np.zeros((P, C, len(neurons))), np.zeros((len(neurons),) * 2), 0
    for p in range(P):
        for c in range(C):
            of_class = rates[there[:, p] & (labels == c), p]
            means[p, c] = of_class.mean(axis=0) if len(of_class) else rates[there[:, p], p].mean(axis=0)
            rest = (of_class - means[p, c]) * np.sqrt(steps[p])  # a mean over t steps varies as 1 / t
            covariance, count = covariance + rest.T @ rest, count + len(rest)
    covariance /= max(count, 1)
    covariance += (SHRINKAGE * np.trace(covariance) / len(neurons) + 1e-6) * np.eye(len(neurons))
    whitening = np.linalg.cholesky(np.linalg.inv(covariance)).astype(np.float16)
    kept = means.astype(np.float16)
    seen = square_root_rates(held_out_spikes[..., neurons], steps[:, None], compartments)
    over = np.asarray(held_out_lengths) < steps[:, None]  # (P, n)
    distances = np.stack([_distance(seen[:, p], kept[p], whitening) for p in range(P)])
    entropies = entropy(held_out_probabilities).T
    return Usual(
        tuple(int(step) for step in steps),
        neurons,
        kept,
        whitening,
        np.where(over, -1, distances).astype(np.float32),
        np.where(over, -1, entropies).astype(np.float32),
        compartments,
    )


def p_values(new: NDArray[np.floating], old: NDArray[np.floating]) -> NDArray[np.float64]:
    """(...) of new (..., J) values among n old ones (n, J); greater values are more unusual.

    Examples
    --------
    >>> old = np.arange(9.0)[:, None]
    >>> p_values(np.array([[20.0], [8.0], [-1.0]]), old)
    array([0.1, 0.2, 1. ])
    """
    n, ordered = len(old), np.sort(old, axis=0)

    def as_great(values: NDArray[np.floating]) -> NDArray[np.intp]:
        """(..., J): how many of the old ones are as great."""
        return n - np.stack([np.searchsorted(ordered[:, j], values[..., j]) for j in range(old.shape[1])], axis=-1)

    as_great_old, as_great_new = as_great(old), as_great(new) + 1
    shares_old = as_great_old + (new[..., None, :] >= old)  # (..., n, J): including the new one
    unusual_old, unusual_new = (1 / shares_old).sum(axis=-1), (1 / as_great_new).sum(axis=-1)
    more: NDArray[np.float64] = (1 + (unusual_old >= unusual_new[..., None] - 1e-12).sum(axis=-1)) / (n + 1)
    return more


def square_root_rates(spikes: NDArray[np.integer], steps: int | NDArray[np.integer], K: int) -> NDArray[np.float64]:
    """From spike counts (..., H) until a step."""
    found: NDArray[np.float64] = np.sqrt(spikes / (K * np.asarray(steps)))
    return found


def entropy(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """(...) of (..., C)."""
    found: NDArray[np.float64] = -(probabilities * np.log(np.maximum(probabilities, 1e-300))).sum(axis=-1)
    return found


# ---- inside


def _distance(
    rates: NDArray[np.float64], means: NDArray[np.float16], whitening: NDArray[np.float16]
) -> NDArray[np.float64]:
    """(...): squared Mahalanobis distance of rates (..., H) from the nearest class mean (C, H)."""
    W = whitening.astype(np.float64)
    apart = (rates @ W)[..., None, :] - means.astype(np.float64) @ W
    found: NDArray[np.float64] = (apart**2).sum(axis=-1).min(axis=-1)
    return found
