"""Validation of the arguments of public functions: they become clean arrays, or a clear error is raised."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError, DataError, ShapeError

# Contiguous and writeable: for a read-only array, Numba would compile another kernel.
LAYOUT: tuple[Literal["C"], Literal["W"]] = ("C", "W")


def spike_array(name: str, value: ArrayLike, shape: dict[str, int | None]) -> NDArray[np.uint8]:
    """A 0/1 array as uint8. ``shape`` names each dimension and gives its size, or None for any size."""
    array = np.asarray(value)
    check_shape(name, array, shape)
    if array.dtype == bool:
        return np.require(array, requirements=LAYOUT).view(np.uint8)
    if array.dtype.kind not in "iuf":
        raise DataError(f"{name} must hold spikes, 0 or 1, but its dtype is {array.dtype}")
    wrong = array > 1 if array.dtype == np.uint8 else (array != 0) & (array != 1)  # NaN is neither
    if wrong.any():
        index = tuple(np.argwhere(wrong)[0].tolist())
        raise DataError(f"{name} must hold spikes, 0 or 1, but {name}[{', '.join(map(str, index))}] is {array[index]}")
    return np.require(array, np.uint8, LAYOUT)


def uniform_array(name: str, value: ArrayLike, shape: dict[str, int | None]) -> NDArray[np.float64]:
    """Draws in [0, 1]."""
    array = np.require(value, np.float64, LAYOUT)
    check_shape(name, array, shape)
    if array.size and not (array.min() >= 0 and array.max() <= 1):
        raise DataError(f"{name} must lie in [0, 1]")
    return array


def check_shape(name: str, array: NDArray[Any], shape: dict[str, int | None]) -> None:
    fits = array.ndim == len(shape) and all(
        want is None or have == want for have, want in zip(array.shape, shape.values(), strict=True)
    )
    if not fits:
        names = ", ".join(shape)
        sizes = ", ".join("any" if size is None else str(size) for size in shape.values())
        comma = "," if len(shape) == 1 else ""
        raise ShapeError(f"{name} has shape {array.shape}, but ({names}{comma}) = ({sizes}{comma}) is needed")
    if "T" in shape and array.shape[list(shape).index("T")] == 0:
        raise ShapeError(f"{name} has shape {array.shape}: there must be at least one time step")


MOST = (1 << 63) - 1
"""Largest count or seed: it has to fit into 64 bits, signed."""


def whole_number(name: str, value: Any, least: int) -> int:
    """An integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= MOST:
        most = " and at most 2^63 - 1" if isinstance(value, int | np.integer) and value > MOST else ""
        raise ConfigError(f"{name} must be a whole number of at least {least}{most}, got {shown(value)}")
    return int(value)


def number(name: str, value: Any) -> float:
    """A finite real number."""
    try:
        finite = not isinstance(value, bool) and isinstance(value, int | float | np.number) and math.isfinite(value)
    except (OverflowError, TypeError):  # an integer of hundreds of digits, or a complex number
        finite = False
    if not finite:
        raise ConfigError(f"{name} must be a finite number, got {shown(value)}")
    return float(value)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ConfigError(f"unknown {name} {shown(value)}: choose one of {', '.join(map(repr, choices))}")
    return str(value)
