"""Sums of rows: adding one row of weights per spike is what spikes cost in every form of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.jit import FASTMATH, kernel


@kernel(fastmath=FASTMATH)
def gather(weights: Any, active: Any, n_active: int, total: Any) -> None:
    """Sum the rows of the active sources, four at a time."""
    width = weights.shape[1]
    for c in range(width):
        total[c] = 0
    four = n_active // 4 * 4
    for a in range(0, four, 4):
        j0, j1, j2, j3 = active[a], active[a + 1], active[a + 2], active[a + 3]
        for c in range(width):
            total[c] += (weights[j0, c] + weights[j1, c]) + (weights[j2, c] + weights[j3, c])
    for a in range(four, n_active):
        j0 = active[a]
        for c in range(width):
            total[c] += weights[j0, c]


@kernel(fastmath=FASTMATH)
def mix(values: Any, offsets: Any, factors: Any, number: int, first: int, last: int, total: Any) -> None:
    """total[c] = sum over r < number of factors[r] values[offsets[r] + c], for c from ``first`` to ``last`` - 1.

    The rows of ``values`` may overlap, as those of a filter do; four of them are added per pass.
    """
    start, end = np.uint64(first), np.uint64(last)
    for c in range(start, end):
        total[c] = 0
    four = number // 4 * 4
    for r in range(0, four, 4):
        f0, f1, f2, f3 = factors[r], factors[r + 1], factors[r + 2], factors[r + 3]
        o0, o1, o2, o3 = (
            np.uint64(offsets[r]),
            np.uint64(offsets[r + 1]),
            np.uint64(offsets[r + 2]),
            np.uint64(offsets[r + 3]),
        )
        for c in range(start, end):
            total[c] += (f0 * values[o0 + c] + f1 * values[o1 + c]) + (f2 * values[o2 + c] + f3 * values[o3 + c])
    for r in range(four, number):
        f0, o0 = factors[r], np.uint64(offsets[r])
        for c in range(start, end):
            total[c] += f0 * values[o0 + c]
