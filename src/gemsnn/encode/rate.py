"""Rate coding: the larger a value, the more spikes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.encode import checks
from gemsnn.errors import ConfigError
from gemsnn.model.checks import whole_number


def rate(values: ArrayLike, n_steps: int, *, seed: int, highest: float = 0.5) -> NDArray[np.bool_]:
    """Independent random spikes: at every step, channel i spikes with probability highest x_i.

    The fraction of steps with a spike, divided by `highest`, estimates x_i with standard error

        sqrt(p (1 - p) / n_steps) / highest,    p = highest x_i.

    Parameters
    ----------
    values
        (..., n) in [0, 1].
    n_steps
        Time steps T.
    seed
        Seed of the random spikes.
    highest
        Probability of a spike for a value of 1.

    Returns
    -------
    (..., T, n)

    Examples
    --------
    >>> spikes = rate([0.0, 0.5, 1.0], n_steps=4000, seed=0)
    >>> (spikes.mean(axis=0) / 0.5).round(1).tolist()
    [0.0, 0.5, 1.0]
    """
    x = checks.unit_interval("values", values)
    whole_number("n_steps", n_steps, 1)
    whole_number("seed", seed, 0)
    if isinstance(highest, bool) or not isinstance(highest, int | float) or not 0 < highest <= 1:
        raise ConfigError(f"highest must be a probability above 0, got {highest!r}")
    draws = np.random.default_rng(seed).random((*x.shape[:-1], n_steps, x.shape[-1]), dtype=np.float32)
    spikes: NDArray[np.bool_] = draws < highest * x[..., None, :]
    return spikes
