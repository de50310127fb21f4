r"""How usual a recording is: what share of held-out recordings is at least as unusual.

Two things are unusual about a recording after t steps, and they are good at different ones. The **distance** of its
hidden neurons' rates from those of training recordings: with r the square roots of the rates, :math:`m_c` their mean
over training recordings of class c, and S their covariance within a class (shrunk: plus a tenth of its mean variance),

.. math:: d = \min_c \, (r - m_c)^\top S^{-1} (r - m_c),

and the **entropy** e of the decoder's probabilities. Among n held-out recordings and the new one, each recording has
a rank in d and in e; :math:`q^d_i` is the share of the n + 1 whose d is as great as that of i, and :math:`q^e_i`
likewise. With :math:`u_i = 1 / q^d_i + 1 / q^e_i`, which is great where either share is small, the p-value is the share
of the n + 1 whose u is as great as that of the new one:

.. math:: p = \frac{1 + \#\{i \le n : u_i \ge u_{n+1}\}}{n + 1}.

The n + 1 are treated alike, so if the new recording could as well have been one of the held-out ones, then
:math:`P(p \le a) \le a` for every a: this is conformal and needs no other assumption. It holds after any one number
of steps, not for the smallest p of several. Ranks are kept for ten checkpoints; between them the latest one counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ShapeError

UNUSUAL = 0.02
"""Below this p-value a recording is unlike anything that the model was trained on."""
UNLIKE = "unlike anything it was trained on"
"""What is said of such a recording."""
CHECKPOINTS = 10
SHRINKAGE = 0.1
MOST_NEURONS = 256  # whose rates are kept; evenly spaced among all


@dataclass(frozen=True, eq=False)
class Usual:
    """Made by :func:`fit_usual`.

    Attributes
    ----------
    checkpoints
        P numbers of time steps.
    neurons
        (H,): which hidden neurons are looked at.
    means
        (P, C, H) of the square roots of their rates.
    whitening
        (H, H): W with W W' the inverse covariance.
    distances, entropies
        (P, n) of held-out recordings; -1 where one was over before.
    compartments
        How many ran.
    """

    checkpoints: tuple[int, ...]
    neurons: NDArray[np.int32]
    means: NDArray[np.float16]
    whitening: NDArray[np.float16]
    distances: NDArray[np.float32]
    entropies: NDArray[np.float32]
    compartments: int

    def checkpoint(self, step: int) -> int | None:
        """Index of the latest checkpoint after so many steps; None before the first."""
        passed = int(np.searchsorted(self.checkpoints, step, side="right"))
        return passed - 1 if passed else None

    def p_value(
        self, checkpoint: int, hidden_spikes: NDArray[np.integer], probabilities: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(...): of recordings at a checkpoint, given by its index.

        ``hidden_spikes`` (..., n_hidden) are those of each neuron until then, summed over compartments;
        ``probabilities`` (..., C) the decoder's, before any temperature.
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
    """From training recordings and from held-out ones, which the network did not learn from.

    Parameters
    ----------
    training_spikes, held_out_spikes
        (N, P, n_hidden) and (n, P, n_hidden): spikes of each hidden neuron until each checkpoint, all compartments.
    training_lengths, held_out_lengths
        (N,) and (n,): time steps; what stands at checkpoints after a recording's end does not count.
    training_labels
        (N,) class indices.
    held_out_probabilities
        (n, P, C) of the decoder, before any temperature.
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
    """(...) of new (..., J) values beside n old ones (n, J), in each of which greater is more unusual.

    Examples
    --------
    >>> old = np.arange(9.0)[:, None]
    >>> p_values(np.array([[20.0], [8.0], [-1.0]]), old)
    array([0.1, 0.2, 1. ])
    """
    n = len(old)
    as_great_old = (old[None] >= old[:, None]).sum(axis=1)  # (n, J): as great as each of the old ones
    as_great_new = (old >= new[..., None, :]).sum(axis=-2) + 1  # (..., J)
    shares_old = as_great_old + (new[..., None, :] >= old)  # (..., n, J): the new one counts too
    unusual_old, unusual_new = (1 / shares_old).sum(axis=-1), (1 / as_great_new).sum(axis=-1)
    more: NDArray[np.float64] = (1 + (unusual_old >= unusual_new[..., None] - 1e-12).sum(axis=-1)) / (n + 1)
    return more


def square_root_rates(spikes: NDArray[np.integer], steps: int | NDArray[np.integer], K: int) -> NDArray[np.float64]:
    """Of spike counts (..., H) until a step."""
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
    """(...): of (..., H) from the nearest of the classes' means (C, H)."""
    W = whitening.astype(np.float64)
    apart = (rates @ W)[..., None, :] - means.astype(np.float64) @ W
    found: NDArray[np.float64] = (apart**2).sum(axis=-1).min(axis=-1)
    return found
