"""Types of arrays, and arrays whose rows begin with a cache line: a vector across two of them takes twice as long."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
"""In the precision of the parameters, float32 or float64; written f where shapes are."""
Doubles = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.intp]
Words = NDArray[np.uint64]

LINE = 64  # bytes


def padded(n: int, dtype: np.dtype[Any]) -> int:
    """The next number of columns that fills whole lines."""
    each = LINE // dtype.itemsize
    return -(-n // each) * each


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Floats:
    """``np.zeros`` that begins with a line; rows do as well if the last axis is :func:`padded`."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.zeros(size + LINE, dtype=np.uint8)
    begin = -memory.ctypes.data % LINE
    return memory[begin : begin + size].view(dtype).reshape(shape)


def wider(array: Floats, columns: int) -> Floats:
    """A copy with columns of no neuron after the last."""
    result = zeros((*array.shape[:-1], columns), array.dtype)
    result[..., : array.shape[-1]] = array
    return result


def longer(array: Floats, axis: int, size: int) -> Floats:
    """The array with room for more along an axis."""
    if not array.shape[axis] or array.shape[axis] >= size:
        return array
    result = zeros((*array.shape[:axis], size, *array.shape[axis + 1 :]), array.dtype)
    np.moveaxis(result, axis, 0)[: array.shape[axis]] = np.moveaxis(array, axis, 0)
    return result


def shift(array: Floats, axis: int, by: int) -> None:
    """Move what is in an array towards its beginning along an axis; zeros come in."""
    if by and array.shape[axis]:
        moved = np.moveaxis(array, axis, 0)
        moved[: len(moved) - by] = moved[by:].copy()
        moved[len(moved) - by :] = 0


def add_changes(total: Floats, values: Sequence[Floats]) -> None:
    """Where all examples began with ``total``: make of it what the first has, and add what the others have changed."""
    before = total.copy()
    total[:] = values[0]
    for value in values[1:]:
        total += value - before
