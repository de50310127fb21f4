"""Arrays whose rows begin with a cache line: a vector that lies across two of them takes twice as long."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE = 64  # bytes


def padded(n: int, dtype: np.dtype[Any]) -> int:
    """The next number of columns that fills whole lines."""
    each = LINE // dtype.itemsize
    return -(-n // each) * each


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """``np.zeros`` that begins with a line; rows do as well if the last axis is :func:`padded`."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.zeros(size + LINE, dtype=np.uint8)
    begin = -memory.ctypes.data % LINE
    return memory[begin : begin + size].view(dtype).reshape(shape)
