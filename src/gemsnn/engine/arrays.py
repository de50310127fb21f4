"""Types of arrays, and named tuples of arrays whose annotations state their shapes.

Arrays begin at a cache line: a vector that lies across two of them takes twice as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
"""In the precision of the parameters, float32 or float64."""
Doubles = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.intp]
Words = NDArray[np.uint64]
Counts = NDArray[np.int32]
Histories = NDArray[np.uint16]

_DTYPES: dict[Any, Any] = {
    kind: get_args(get_args(kind)[1])[0] for kind in (Doubles, Booleans, Integers, Words, Counts, Histories)
}

LINE = 64  # bytes

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


def allocate(kind: type[Arrays], sizes: dict[str, int], dtype: np.dtype[Any], **given: Any) -> Arrays:
    """A named tuple of arrays of zeros.

    A field of ``kind`` that is not given is annotated ``Annotated[Floats, "M * K", "columns"]``: the type of the array
    and its axes, each an expression of the named sizes. Arrays of :data:`Floats` have the given dtype.
    """
    arrays = {}
    for name, (array_type, axes) in _annotated(kind).items():
        if name not in given:
            shape = tuple(int(eval(axis, {"max": max}, sizes)) for axis in axes)
            arrays[name] = zeros(shape, np.dtype(_DTYPES.get(array_type, dtype)))
    return kind(**arrays, **given)


@cache
def _annotated(kind: type) -> dict[str, tuple[Any, list[Any]]]:
    """Type and axes of each annotated field; the expressions of the axes are compiled."""
    hints = get_type_hints(kind, include_extras=True)
    parts = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Annotated}
    return {name: (array, [compile(axis, name, "eval") for axis in axes]) for name, (array, *axes) in parts.items()}


def enlarged(old: Arrays, new: Arrays) -> Arrays:
    """The content of old arrays at the beginning of new ones that are as large or larger; all other fields are new."""
    for before, after in zip(old, new, strict=True):
        if isinstance(before, np.ndarray) and before.size:
            after[tuple(slice(0, size) for size in before.shape)] = before
    return new


def copied(arrays: Arrays) -> Arrays:
    """A named tuple whose arrays are copies."""
    return type(arrays)(*(value.copy() if isinstance(value, np.ndarray) else value for value in arrays))


def padded(n: int, dtype: np.dtype[Any]) -> int:
    """The next number of columns that fills whole cache lines."""
    per_line = LINE // dtype.itemsize
    return -(-n // per_line) * per_line


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Floats:
    """``np.zeros`` that begins at a cache line; so do all rows if the last axis is :func:`padded`."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.zeros(size + LINE, dtype=np.uint8)
    begin = -memory.ctypes.data % LINE
    return memory[begin : begin + size].view(dtype).reshape(shape)


def wider(array: Floats, columns: int) -> Floats:
    """A copy, padded with zeros to that many columns."""
    result = zeros((*array.shape[:-1], columns), array.dtype)
    result[..., : array.shape[-1]] = array
    return result


def shift(array: Floats, axis: int, by: int) -> None:
    """Move the content of an array towards its beginning along an axis; zeros come in."""
    if by and array.shape[axis]:
        moved = np.moveaxis(array, axis, 0)
        moved[: len(moved) - by] = moved[by:].copy()
        moved[len(moved) - by :] = 0


def add_changes(total: Floats, values: Sequence[Floats]) -> None:
    """Where all examples began with ``total``: replace it by the first value, and add what the others have changed."""
    before = total.copy()
    total[:] = values[0]
    for value in values[1:]:
        total += value - before
