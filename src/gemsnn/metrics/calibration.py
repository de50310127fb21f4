"""Calibration of probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import DataError, ShapeError
from gemsnn.model.checks import whole_number


class Reliability(NamedTuple):
    """Predictions binned by confidence; means are NaN in empty bins."""

    edges: NDArray[np.float64]  #: (n_bins + 1,): bin m holds confidences in (edges[m], edges[m + 1]]
    counts: NDArray[np.int64]  #: (n_bins,)
    confidence: NDArray[np.float64]  #: (n_bins,): mean confidence
    accuracy: NDArray[np.float64]  #: (n_bins,): fraction of correct predictions
    ece: float  #: sum over bins of ``counts / N * |accuracy - confidence|``

    @property
    def n_bins(self) -> int:
        return len(self.counts)


def reliability(
    labels: ArrayLike, probabilities: ArrayLike, n_bins: int = 10, *, predicted: ArrayLike | None = None
) -> Reliability:
    """Bin (N, C) class probabilities by confidence, in equal-width, right-closed bins, against (N,) class indices.

    ``predicted`` (N,) are the chosen classes if they are not simply the most probable ones (a vote breaks ties
    differently); the confidence is the probability of the chosen class.

    Examples
    --------
    >>> reliability([0, 1], [[1.0, 0.0], [0.6, 0.4]], n_bins=5).ece  # one certain and correct, one 0.6 and wrong
    0.3
    """
    truth, p = _checked(labels, probabilities)
    n_bins = whole_number("n_bins", n_bins, 1)
    choice = p.argmax(axis=1) if predicted is None else np.asarray(predicted)
    if choice.shape != truth.shape:
        raise ShapeError(f"predicted has shape {choice.shape}, but labels have {truth.shape}")
    _check_classes("predicted", choice, p.shape[1])
    confidence, right = p[np.arange(len(p)), choice], choice == truth
    edges = np.linspace(0, 1, n_bins + 1)
    index = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, n_bins - 1)
    counts = np.bincount(index, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        mean_confidence = np.bincount(index, confidence, n_bins) / counts
        mean_accuracy = np.bincount(index, right, n_bins) / counts
    gap = np.nan_to_num(np.abs(mean_accuracy - mean_confidence))
    return Reliability(edges, counts, mean_confidence, mean_accuracy, float(counts @ gap / len(p)))


def expected_calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, n_bins: int = 10, *, predicted: ArrayLike | None = None
) -> float:
    """Mean difference between confidence and accuracy over the bins of :func:`reliability`."""
    return reliability(labels, probabilities, n_bins, predicted=predicted).ece


def negative_log_likelihood(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Mean of -log p(label). A probability of 0 counts as the smallest positive float, so that the result is finite."""
    truth, p = _checked(labels, probabilities)
    of_label = p[np.arange(len(p)), truth]
    return float(-np.log(np.maximum(of_label, np.finfo(np.float64).tiny)).mean())


def brier_score(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Mean over examples of the squared distance between probabilities and the label's unit vector (0 to 2)."""
    truth, p = _checked(labels, probabilities)
    return float(((p - np.eye(p.shape[1])[truth]) ** 2).sum(axis=1).mean())


def _checked(labels: ArrayLike, probabilities: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    truth, p = np.asarray(labels), np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or truth.shape != p.shape[:1]:
        raise ShapeError(f"labels have shape {truth.shape} and probabilities {p.shape}: (N,) and (N, C) are needed")
    if not len(p):
        raise DataError("there is nothing to measure: labels are empty")
    _check_classes("labels", truth, p.shape[1])
    if not (np.isfinite(p).all() and (p >= 0).all() and np.allclose(p.sum(axis=1), 1, atol=1e-6)):
        raise DataError("probabilities must be non-negative and sum to 1 in each row")
    return truth.astype(np.int64), p


def _check_classes(name: str, classes: NDArray[Any], n_classes: int) -> None:
    if classes.dtype.kind not in "iu" or classes.min() < 0 or classes.max() >= n_classes:
        raise DataError(f"{name} must be class indices from 0 to {n_classes - 1}")
