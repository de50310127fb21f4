"""Exponential filters as recursions: the cost of a step does not depend on their duration.

A trace through taps gain * decay^(lag - 1), cut after D lags, is

    R_t = decay R_{t-1} + gain x_{t-1} - leaving x_{t-1-D},        leaving = gain decay^D :

a spike that is D steps old leaves the filter's memory: what remains of it is subtracted.
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
    # What remains of a spike after D steps of the rounded decay, so that nothing stays behind.
    remaining = decay.astype(np.float64) ** bank.duration
    remaining[remaining < np.finfo(dtype).eps / 10] = 0  # below the precision of what it is subtracted from
    leaving = gain.astype(np.float64) * remaining
    return Recursion(decay, gain, leaving.astype(dtype))


class Bank(NamedTuple):
    """A bank of filters, as kernels read it: exponentials by recursion, others by their taps."""

    taps: NDArray[Any]  # (n_basis, D)
    recursive: bool
    recursion: Recursion  # zeros where there is none


def bank(filter_: Filter, dtype: np.dtype[Any]) -> Bank:
    """The filters in an engine's precision."""
    found, nothing = recursion(filter_, dtype), np.zeros(filter_.n_basis, dtype=dtype)
    return Bank(filter_.taps.astype(dtype), found is not None, found or Recursion(nothing, nothing, nothing))
