"""How much each training example counts: its weight times the step size is what it is learned with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError, DataError, ShapeError
from gemsnn.training.config import ClassWeight
from gemsnn.training.data import Data


def example_weights(setting: ClassWeight, data: Data) -> NDArray[np.float64]:
    """(n_train,) what the data say of each training example, 1 if they say nothing, times the weight of its class."""
    n, labels = len(data.train), data.train.labels
    given = getattr(data.train, "weights", None)
    weights = np.ones(n) if given is None else checked_weights(given, n)
    if setting is None:
        return weights
    if labels is None or labels.ndim != 1:
        raise ConfigError("class_weight needs examples that have one class each; these have patterns or several labels")
    of_class = class_weights(setting, data.classes, labels[weights > 0])
    both: NDArray[np.float64] = weights * of_class[labels]
    if not both.any():
        raise ConfigError("class_weight: every weight is zero, so there is nothing to learn from")
    return both


def checked_weights(given: Any, n: int, name: str = "weights") -> NDArray[np.float64]:
    """(n,) finite weights of at least 0, one of them above; a single number stands for all."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers, one for each example") from None
    if weights.ndim == 0:
        weights = np.full(n, weights)
    if weights.shape != (n,):
        raise ShapeError(f"{name} has shape {weights.shape}, but there are {n} examples")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError(f"{name} must be finite numbers of at least 0")
    if not weights.any():
        raise DataError(f"{name}: every weight is zero, so there is nothing to learn from")
    return weights


def class_weights(
    setting: ClassWeight, classes: Sequence[Any], labels: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """(C,) the weight of each class.

    ``"balanced"`` gives every class the same sum over its examples, (n,) indices in ``labels``, and all examples
    together their number.
    """
    if isinstance(setting, Mapping):
        weights, places = np.ones(len(classes)), {str(label): place for place, label in enumerate(classes)}
        for label, weight in setting.items():
            if label not in places:
                raise ConfigError(f"class_weight.{label}: there is no such class; they are {', '.join(places)}")
            weights[places[label]] = weight
        return weights
    if setting is None or labels is None:
        return np.ones(len(classes))
    counts = np.bincount(labels, minlength=len(classes))
    balanced: NDArray[np.float64] = len(labels) / (np.count_nonzero(counts) * np.maximum(counts, 1))
    return balanced
