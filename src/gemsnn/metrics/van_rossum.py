"""Distance between spikes and target spikes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import lfilter

from gemsnn.errors import ConfigError, ShapeError


def van_rossum_distance(spikes: ArrayLike, targets: ArrayLike, tau: float = 5.0) -> NDArray[np.float64]:
    r"""Distance of each neuron's spike train from its target, after van Rossum (2001), in discrete time.

    Every spike is replaced by an exponential that decays with a time constant of ``tau`` steps:

    .. math:: D^2 = \frac{1 - a^2}{2} \sum_{t=1}^{\infty} (f_t - g_t)^2, \qquad
              f_t = \sum_{s \le t} a^{t - s} x_s, \qquad a = e^{-1 / \tau},

    where g is computed from the target as f is from the spikes x; both decay after the last step. As in continuous
    time, D = 0 for equal trains, :math:`D^2 = 1/2` for one missing or additional spike, and :math:`D^2 = 1` for a spike
    that is displaced by many times tau.

    Parameters
    ----------
    spikes, targets
        (..., T, n) of 0/1; their shapes broadcast.

    Returns
    -------
    (..., n) distances D.

    Examples
    --------
    >>> float((van_rossum_distance([[0], [1], [0]], [[0], [0], [0]])[0] ** 2).round(12))
    0.5
    """
    if not (math.isfinite(tau) and tau > 0):
        raise ConfigError(f"tau must be a number of steps above 0, got {tau!r}")
    x, wanted = np.asarray(spikes), np.asarray(targets)
    if x.ndim < 2 or wanted.ndim < 2 or x.shape[-2:] != wanted.shape[-2:]:
        raise ShapeError(f"spikes have shape {x.shape} and targets {wanted.shape}: both must be (..., T, n)")
    a = math.exp(-1 / tau)
    difference = lfilter([1.0], [1.0, -a], np.subtract(x, wanted, dtype=np.float64), axis=-2)
    # After the last step the difference is d a, d a^2, ...: a geometric series.
    tail = difference[..., -1:, :] ** 2 * (a**2 / (1 - a**2))
    squared = (1 - a**2) / 2 * np.concatenate([difference**2, tail], axis=-2).sum(axis=-2)
    distance: NDArray[np.float64] = np.sqrt(squared)
    return distance
