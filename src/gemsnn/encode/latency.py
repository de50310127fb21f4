"""Latency coding: the larger a value, the earlier its spike."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.encode import checks
from gemsnn.errors import ConfigError
from gemsnn.model.checks import whole_number


def latency(values: ArrayLike, n_steps: int, *, least: float = 0.0) -> NDArray[np.bool_]:
    """One spike per channel, at step

        t_i = round((1 - x_i) (n_steps - 1)),

    and none for values of at most `least`.

    Parameters
    ----------
    values
        (..., n) in [0, 1].
    n_steps
        Time steps T, at least 2.
    least
        Largest value without a spike.

    Returns
    -------
    (..., T, n)

    Examples
    --------
    >>> latency([0.0, 0.4, 1.0], n_steps=6).astype(int).T.tolist()
    [[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0]]
    """
    x = checks.unit_interval("values", values)
    whole_number("n_steps", n_steps, 2)
    if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least < 1:
        raise ConfigError(f"least must be in [0, 1), got {least!r}")
    when = np.rint((1 - x) * (n_steps - 1))
    spikes: NDArray[np.bool_] = (np.arange(n_steps)[:, None] == when[..., None, :]) & (x > least)[..., None, :]
    return spikes


def latency_inverse(spikes: ArrayLike) -> NDArray[np.float64]:
    """(..., n) values of (..., T, n) spikes: x_i = 1 - t_i / (T - 1) of the first spike, and 0 where there is none.

    Values above `least` are recovered with an error of at most 1 / (2 (T - 1)).

    Examples
    --------
    >>> latency_inverse(latency([0.0, 0.4, 1.0], n_steps=6)).round(2).tolist()
    [0.0, 0.4, 1.0]
    """
    array = checks.spikes("spikes", spikes)
    longest = max(array.shape[-2] - 1, 1)
    values: NDArray[np.float64] = np.where(array.any(axis=-2), 1 - array.argmax(axis=-2) / longest, 0.0)
    return values
