"""Accuracy, of one class per example or of several labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import DataError, ShapeError


def accuracy(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Fraction of (N,) predictions that equal the (N,) labels."""
    truth, guess = np.asarray(labels), np.asarray(predicted)
    if truth.shape != guess.shape or truth.ndim != 1:
        raise ShapeError(f"labels have shape {truth.shape} and predictions {guess.shape}: both must be (N,)")
    if not truth.size:
        raise DataError("there is nothing to measure: labels are empty")
    return float((truth == guess).mean())


class LabelScores(NamedTuple):
    """Scores of C labels on N examples."""

    accuracy: NDArray[np.float64]  #: (C,): fraction of the examples with a correct prediction
    brier: NDArray[np.float64]  #: (C,): mean of (probability - label)^2, 0 to 1
    log_loss: NDArray[np.float64]  #: (C,): mean of -log of the probability of the true value
    exact_match: float  #: fraction of the examples with all labels correct


def label_scores(labels: ArrayLike, probabilities: ArrayLike, predicted: ArrayLike | None = None) -> LabelScores:
    """Scores of (N, C) probabilities that labels hold, against (N, C) labels of 0/1.

    ``predicted`` (N, C): which labels are predicted to hold; default: those with a probability above 1/2.
    """
    truth, p = np.asarray(labels), np.asarray(probabilities, dtype=np.float64)
    chosen = p > 0.5 if predicted is None else np.asarray(predicted)
    if truth.ndim != 2 or not truth.shape == p.shape == chosen.shape:
        raise ShapeError(
            f"labels have shape {truth.shape}, probabilities {p.shape}, predictions {chosen.shape}: all must be (N, C)"
        )
    if not len(truth):
        raise DataError("there is nothing to measure: labels are empty")
    if not ((truth == 0) | (truth == 1)).all():
        raise DataError("labels must be 0 or 1")
    if not ((p >= 0) & (p <= 1)).all():
        raise DataError("probabilities must lie in [0, 1]")
    right = (chosen != 0) == (truth != 0)
    of_truth = np.maximum(np.where(truth != 0, p, 1 - p), np.finfo(np.float64).tiny)
    return LabelScores(
        right.mean(axis=0),
        ((p - truth) ** 2).mean(axis=0),
        -np.log(of_truth).mean(axis=0),
        float(right.all(axis=1).mean()),
    )
