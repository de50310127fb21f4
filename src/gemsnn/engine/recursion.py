"""Exponential filters as recursions: whatever their duration, a step costs the same.

A trace through taps gain * decay^(lag - 1), cut after D lags, is

    R_t = decay R_{t-1} + gain x_{t-1} - leaving x_{t-1-D},        leaving = gain decay^D :

a spike that is D steps old leaves the filter's memory, and is taken off as what is left of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.model.filters import Filter


class Recursion(NamedTuple):
    """One number for each basis, in an engine's precision."""

    decay: NDArray[Any]
    gain: NDArray[Any]
    leaving: NDArray[Any]


def recursion(bank: Filter, dtype: np.dtype[Any]) -> Recursion | None:
    """The recursion of a bank of filters, or None if they are not exponentials."""
    if bank.decay is None:
        return None
    decay, gain = bank.decay.astype(dtype), bank.taps[:, 0].astype(dtype)
    # What is left of a spike after D steps of the rounded decay, so that nothing stays behind.
    leaving = gain.astype(np.float64) * decay.astype(np.float64) ** bank.duration
    return Recursion(decay, gain, leaving.astype(dtype))
