"""Which examples are learned from, which are held out, and how much each counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.splits import strata
from gemsnn.errors import ConfigError, DataError, ShapeError
from gemsnn.training.config import ClassWeight
from gemsnn.training.data import Data, Examples
from gemsnn.training.randomness import hold_out, hold_out_groups, stratified_order

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Partition:
    """How a run uses its examples.

    Attributes
    ----------
    training, validation
        Indices of the training examples that are learned from, and of those that are held out.
    test
        Indices of the test examples that are evaluated on while training.
    weights
        (n_train,): factor on the step size for each training example.
    """

    training: Indices
    validation: Indices
    test: Indices
    weights: NDArray[np.float64]

    @classmethod
    def whole(cls, data: Data) -> Self:
        """All training examples are learned from, and all test examples are evaluated on."""
        n = len(data.train)
        return cls(np.arange(n), np.zeros(0, dtype=np.intp), np.arange(len(data.test)), np.ones(n))

    @classmethod
    def stratified(
        cls,
        data: Data,
        weights: NDArray[np.float64],
        *,
        fraction: float,
        validation_limit: int | None,
        test_limit: int | None,
        seed: int,
    ) -> Self:
        """Hold out the same fraction of each class; an example of weight 0 is neither learned from nor held out.

        If examples have groups (``data.train.groups``), whole groups are held out, regardless of their classes.
        """
        if not len(data.train):
            raise DataError("there are no training examples in the data")
        counting = np.flatnonzero(weights)
        labels = strata(data.train.labels, len(data.train))[counting]
        groups = groups_of(data.train)
        if groups is None:
            parts = hold_out(labels, fraction, seed)
        else:
            parts = hold_out_groups(groups[counting], fraction, seed)
        training, validation = (counting[part] for part in parts)
        if fraction > 0 and not len(validation):
            of = f"{len(labels)} training examples" if groups is None else "a single group"
            raise ConfigError(
                f"validation_fraction = {fraction}: with {of} none can be held out; set it to 0, or use more data"
            )
        return cls(
            training,
            _limited(validation, data.train, validation_limit, seed),
            _limited(np.arange(len(data.test)), data.test, test_limit, seed),
            weights,
        )


def groups_of(examples: Examples) -> NDArray[Any] | None:
    """(n,): the group of each example; None if the examples have no groups."""
    found = getattr(examples, "groups", None)
    return None if found is None else np.asarray(found)


def _limited(indices: Indices, examples: Examples, limit: int | None, seed: int) -> Indices:
    """At most ``limit`` of the indices, stratified by class."""
    if limit is None or limit >= len(indices):
        return indices
    return np.sort(indices[stratified_order(strata(examples.labels, len(examples))[indices], seed)[:limit]])


# ---- how much each example counts


def example_weights(setting: ClassWeight, data: Data) -> NDArray[np.float64]:
    """(n_train,): the weight of each training example, by default 1, times the weight of its class."""
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
    """(n,) finite weights >= 0, not all zero; a single number is the weight of every example."""
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
    """(C,): the weight of each class.

    ``"balanced"`` gives every class the same sum of weights over its examples, (n,) indices in ``labels``; all weights
    sum to the number of examples.
    """
    if isinstance(setting, Mapping):
        weights, index = np.ones(len(classes)), {str(label): i for i, label in enumerate(classes)}
        for label, weight in setting.items():
            if label not in index:
                raise ConfigError(f"class_weight.{label}: there is no such class; they are {', '.join(index)}")
            weights[index[label]] = weight
        return weights
    if setting is None or labels is None:
        return np.ones(len(classes))
    counts = np.bincount(labels, minlength=len(classes))
    balanced: NDArray[np.float64] = len(labels) / (np.count_nonzero(counts) * np.maximum(counts, 1))
    return balanced
