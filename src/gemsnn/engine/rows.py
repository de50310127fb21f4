"""Weights as rows, one for each source: what spikes cost in every form of the engine is rows that are added up."""

from __future__ import annotations

from typing import Any

from gemsnn.engine.jit import FASTMATH, kernel


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
