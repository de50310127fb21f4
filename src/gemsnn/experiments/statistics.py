"""Means with intervals over seeds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats


class Estimate(NamedTuple):
    """A mean over seeds and its Student t interval, which is None for a single seed."""

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def above(self) -> float:
        """Lower end of the interval, or minus infinity."""
        return -math.inf if self.low is None else self.low

    @property
    def below(self) -> float:
        """Upper end of the interval, or infinity."""
        return math.inf if self.high is None else self.high

    def scaled(self, factor: float) -> Estimate:
        """The estimate in another unit."""
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return Estimate(factor * self.mean, low, high, self.n)


def estimate(values: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Mean and interval of independent values.

    Examples
    --------
    >>> found = estimate([1.0, 2.0, 3.0])
    >>> f"{found.mean:g} [{found.low:.3f}, {found.high:.3f}]"
    '2 [-0.484, 4.484]'
    """
    data = np.asarray(values, dtype=np.float64)
    n, mean = len(data), float(data.mean())
    if n < 2:
        return Estimate(mean, None, None, n)
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1) * data.std(ddof=1) / math.sqrt(n))
    return Estimate(mean, mean - half, mean + half, n)


def slopes(x: ArrayLike, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least-squares slope of each row of (n_seeds, n_x) values over x."""
    centred = np.asarray(x, dtype=np.float64)
    centred = centred - centred.mean()
    result: NDArray[np.float64] = values @ centred / (centred @ centred)
    return result
