"""Philox4x64-10 (Salmon et al., 2011), compiled: those of ``numpy.random.Philox`` without its overhead per call."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.instructions import high_half
from gemsnn.compiling.jit import jit

ROUNDS = 10
PER_BLOCK = 8  # 32-bit numbers per block of the counter
_FACTORS = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_WEYL = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)


@jit()
def write_numbers(key: Any, population: int, start: int, as_uniforms: bool, out: Any) -> None:
    """Write 32-bit numbers (T, K, n), from step ``start`` on; with ``as_uniforms``, (number + 1/2) / 2^32.

    Each compartment of a population has a stream of its own: the two low words of the 256-bit counter advance with the
    draws; the two high words distinguish the streams.
    """
    T, K, n = out.shape
    kind = out.dtype.type
    for t in range(T):
        position = (start + t) * n  # of the row's first number in its stream
        for k in range(K):
            row, i = out[t, k], -(position % PER_BLOCK)
            for block in range(position // PER_BLOCK, (position + n + PER_BLOCK - 1) // PER_BLOCK):
                words = _block(key, np.uint64(block + 1), np.uint64(population), np.uint64(k))  # NumPy counts from 1
                if i >= 0 and i + PER_BLOCK <= n:
                    for word in words:
                        row[i], row[i + 1] = kind(word & _LOW_HALF), kind(word >> np.uint64(32))
                        i += 2
                else:
                    for word in words:
                        for half in (word & _LOW_HALF, word >> np.uint64(32)):
                            if 0 <= i < n:
                                row[i] = kind(half)
                            i += 1
            if as_uniforms:
                for i in range(n):
                    row[i] = kind((row[i] + 0.5) * 2.0**-32)


@jit()
def _block(key: Any, count: Any, population: Any, compartment: Any) -> Any:
    """The four words of the counter (count, 0, population, compartment)."""
    a, b, c, d = count, np.uint64(0), population, compartment
    first, second = key[0], key[1]
    for _ in range(ROUNDS):
        product = _FACTORS[0] * a, _FACTORS[1] * c
        a, b, c, d = (
            high_half(_FACTORS[1], c) ^ b ^ first,
            product[1],
            high_half(_FACTORS[0], a) ^ d ^ second,
            product[0],
        )
        first, second = first + _WEYL[0], second + _WEYL[1]
    return a, b, c, d
