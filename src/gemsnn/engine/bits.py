"""Spikes as bits, 64 to a word: whole populations are listed and counted word by word."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from gemsnn.engine.jit import FASTMATH, kernel


@intrinsic
def _count_ones(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


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
def list_active(bits: Any, column: int, active: Any) -> int:
    """Write down which sources spike in a column of (words, ...); returns how many."""
    n = 0
    for w in range(bits.shape[0]):
        word = bits[w, column]
        while word != np.uint64(0):
            active[n] = 64 * w + np.int64(_trailing_zeros(word))  # type: ignore[call-arg]
            n += 1
            word &= word - np.uint64(1)
    return n


@kernel(fastmath=FASTMATH)
def count_pairs(bits: Any, mine: int, first: int, last: int, whole: Any, counts: Any) -> None:
    """For columns ``first`` to ``last`` - 1: how many sources spike there and in column ``mine``; counted as int32."""
    start, end = np.uint64(first), np.uint64(last)
    for c in range(start, end):
        whole[c] = 0
    for w in range(bits.shape[0]):
        word = bits[w, mine]
        if word != np.uint64(0):
            for c in range(start, end):
                whole[c] += np.int32(_count_ones(bits[w, c] & word))  # type: ignore[call-arg]
    for c in range(start, end):
        counts[c] = whole[c]
