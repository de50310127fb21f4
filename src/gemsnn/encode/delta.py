"""Delta modulation: a spike when a signal has changed by a threshold, as in an event camera."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.encode import checks
from gemsnn.errors import ShapeError


def delta_modulation(signals: ArrayLike, threshold: ArrayLike) -> NDArray[np.bool_]:
    """Spikes where signals rise or fall by a threshold.

    With the signal x and a reference r that starts at x_0, at every step t

        on_t  = 1 if x_t - r_t >= threshold,    off_t = 1 if r_t - x_t >= threshold,
        r_{t+1} = r_t + threshold (on_t - off_t).

    There is at most one spike per step: a signal that changes by more than a threshold per step is tracked with delay.

    Parameters
    ----------
    signals
        (..., T, n): T samples of n channels.
    threshold
        One for all channels, or (n,). A tenth of a channel's range is a reasonable start.

    Returns
    -------
    (..., T, 2 n)
        First the n OFF channels, then the n ON channels, like a camera's polarities.

    Examples
    --------
    >>> spikes = delta_modulation([[0.0], [0.6], [1.2], [0.9], [0.1]], threshold=0.5)
    >>> spikes.astype(int).T.tolist()
    [[0, 0, 0, 0, 1], [0, 1, 1, 0, 0]]
    """
    x = checks.numbers("signals", signals, ("T", "n"))
    step = _thresholds(threshold, x.shape[-1])
    reference = x[..., 0, :].copy()
    spikes = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), dtype=np.bool_)
    off, on = spikes[..., : x.shape[-1]], spikes[..., x.shape[-1] :]
    for t in range(x.shape[-2]):
        change = x[..., t, :] - reference
        on[..., t, :], off[..., t, :] = change >= step, -change >= step
        reference += step * (on[..., t, :].astype(np.float64) - off[..., t, :])
    return spikes


def delta_demodulation(spikes: ArrayLike, threshold: ArrayLike, start: ArrayLike = 0.0) -> NDArray[np.float64]:
    """Signals from the spikes of `delta_modulation`: x_t = start + threshold sum_{s <= t} (on_s - off_s).

    If a signal changes by at most a threshold per step, the reconstruction differs from it by less than a threshold.

    Parameters
    ----------
    spikes
        (..., T, 2 n), OFF channels first.
    threshold
        The threshold of the modulation.
    start
        The first samples, (n,) or (..., n), which the spikes do not encode.

    Examples
    --------
    >>> signal = np.sin(np.linspace(0, 6, 100))[:, None]
    >>> back = delta_demodulation(delta_modulation(signal, 0.1), 0.1, signal[0])
    >>> bool(abs(back - signal).max() < 0.1)
    True
    """
    array = checks.spikes("spikes", spikes)
    n, odd = divmod(array.shape[-1], 2)
    if odd:
        raise ShapeError(f"spikes have {array.shape[-1]} channels, but OFF and ON channels come in pairs")
    steps = array[..., n:].astype(np.float64) - array[..., :n]
    first = checks.numbers("start", start, ())
    changes = _thresholds(threshold, n) * steps.cumsum(axis=-2)
    try:
        signals: NDArray[np.float64] = (first[..., None, :] if first.ndim else first) + changes
        return signals
    except ValueError:
        raise ShapeError(f"start has shape {first.shape}, which does not fit spikes of shape {array.shape}") from None


def _thresholds(threshold: ArrayLike, n: int) -> NDArray[np.float64]:
    step = checks.positive("threshold", threshold)
    if step.ndim and step.shape != (n,):
        raise ShapeError(f"threshold has shape {step.shape}, but there are {n} channels")
    return step
