"""Traces by table: a byte of spike history is looked up instead of convolved."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def history_bytes(memory: int) -> int:
    """Bytes that hold the last ``memory`` spikes."""
    return -(-memory // 8)


def trace_table(taps: NDArray[np.float64], dtype: DTypeLike) -> NDArray[Any]:
    """(bytes, 256, n_basis): the trace of a spike history is the sum of one entry a byte.

    Bit ``n`` of byte ``m`` says that there was a spike ``8 m + n + 1`` steps ago.
    """
    n_basis, duration = taps.shape
    n_bytes = history_bytes(duration)
    padded = np.zeros((n_basis, 8 * n_bytes))
    padded[:, :duration] = taps
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")  # (256, 8)
    table = np.einsum("vn,bmn->mvb", bits.astype(np.float64), padded.reshape(n_basis, n_bytes, 8))
    return np.ascontiguousarray(table.astype(dtype))
