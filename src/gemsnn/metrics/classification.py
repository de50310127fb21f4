"""Accuracy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gemsnn.errors import DataError, ShapeError


def accuracy(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Share of (N,) predictions that equal the (N,) labels."""
    truth, guess = np.asarray(labels), np.asarray(predicted)
    if truth.shape != guess.shape or truth.ndim != 1:
        raise ShapeError(f"labels have shape {truth.shape} and predictions {guess.shape}: both must be (N,)")
    if not truth.size:
        raise DataError("there is nothing to measure: labels are empty")
    return float((truth == guess).mean())
