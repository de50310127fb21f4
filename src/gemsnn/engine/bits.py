"""Spikes as bits, 64 per word: whole populations are listed and counted word by word."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.instructions import count_ones, trailing_zeros
from gemsnn.compiling.jit import FASTMATH, kernel


@kernel()
def pack(spikes: Any, bits: Any, column: int) -> None:
    """Write the spikes (n,) as bits into a column of (words, ...)."""
    n = spikes.shape[0]
    for w in range(bits.shape[0]):
        word = np.uint64(0)
        for j in range(64 * w, min(64 * w + 64, n)):
            word |= np.uint64(spikes[j] != 0) << np.uint64(j - 64 * w)
        bits[w, column] = word


@kernel()
def pack_listed(source: Any, first: int, size: int, bits: Any, column: int) -> None:
    """Write the listed spikes of the ``size`` sources from ``first`` on as bits into a column."""
    for w in range(bits.shape[0]):
        bits[w, column] = 0
    for a in range(source.shape[0]):
        j = source[a] - first
        if 0 <= j < size:
            bits[j // 64, column] |= np.uint64(1) << np.uint64(j % 64)


@kernel()
def list_active(bits: Any, column: int, active: Any) -> int:
    """List which sources spike in a column of (words, ...); returns how many."""
    n = 0
    for w in range(bits.shape[0]):
        word = bits[w, column]
        while word != np.uint64(0):
            active[n] = 64 * w + np.int64(trailing_zeros(word))
            n += 1
            word &= word - np.uint64(1)
    return n


@kernel(fastmath=FASTMATH)
def count_pairs(bits: Any, mine: int, first: int, last: int, whole: Any, counts: Any) -> None:
    """For columns ``first`` to ``last`` - 1: count the sources that spike there and in column ``mine``, as int32."""
    start, end = np.uint64(first), np.uint64(last)
    for c in range(start, end):
        whole[c] = 0
    for w in range(bits.shape[0]):
        word = bits[w, mine]
        if word != np.uint64(0):
            for c in range(start, end):
                whole[c] += np.int32(count_ones(bits[w, c] & word))
    for c in range(start, end):
        counts[c] = whole[c]
