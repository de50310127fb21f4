"""Several labels at once: how often, and how surely, each of them is right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import DataError, ShapeError


class LabelScores(NamedTuple):
    """Of N examples and C labels."""

    accuracy: NDArray[np.float64]  #: (C,): share of the examples of which the label is said rightly to hold or not
    brier: NDArray[np.float64]  #: (C,): mean of (probability - label)^2, 0 to 1
    log_loss: NDArray[np.float64]  #: (C,): mean of -log of the probability of what is true
    exact_match: float  #: share of the examples of which all labels are right


def label_scores(labels: ArrayLike, probabilities: ArrayLike, predicted: ArrayLike | None = None) -> LabelScores:
    """Scores of (N, C) probabilities that labels hold, against (N, C) labels of 0/1.

    ``predicted`` (N, C) says which are called true; default: those with a probability above 1/2.
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
