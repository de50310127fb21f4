"""Validation of the encoders' arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ConfigError, DataError, ShapeError

LARGEST = 1e100
"""Squares and sums of numbers up to this one are finite."""


def numbers(name: str, value: ArrayLike, shape: tuple[str, ...]) -> NDArray[np.float64]:
    """A nonempty array of numbers up to `LARGEST`, whose last dimensions have the names in ``shape``."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise ValueError
    except ValueError:
        raise DataError(f"{name} must be an array of numbers") from None
    if array.ndim < len(shape) or 0 in array.shape:
        raise ShapeError(
            f"{name} has shape {array.shape}, but (..., {', '.join(shape)}) with at least one of each is needed"
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        index = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        raise DataError(f"{name}{list(index)} is {array[index]}; fill gaps in, or cut them out")
    if np.abs(array).max() > LARGEST:
        raise DataError(f"{name} has numbers beyond {LARGEST:g}; scale it, or look for damage")
    return array


def unit_interval(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """(..., n) numbers in [0, 1]."""
    array = numbers(name, value, ("n",))
    if array.min() < 0 or array.max() > 1:
        raise DataError(
            f"{name} must be in [0, 1], but ranges from {array.min():g} to {array.max():g}; scale each column by its "
            "range in the training data, or use ReceptiveFields"
        )
    return array


def spikes(name: str, value: ArrayLike) -> NDArray[np.bool_]:
    """(..., T, n) of 0/1."""
    array = numbers(name, value, ("T", "n"))
    if not np.isin(array, (0, 1)).all():
        raise DataError(f"{name} must contain spikes, 0 or 1")
    return array.astype(np.bool_)


def positive(name: str, value: Any) -> NDArray[np.float64]:
    """A number above 0, or one for each channel."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or array.ndim > 1 or not all(0 < x <= LARGEST for x in np.atleast_1d(array)):
        raise ConfigError(
            f"{name} must be a number above 0 and up to {LARGEST:g}, or one for each channel, got {value!r}"
        )
    return array.astype(np.float64)
