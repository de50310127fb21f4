r"""Calibrated probabilities of an answer after t steps with s input spikes.

A decoder's probabilities are raised to a power and normalised:

.. math:: p'_c \propto p_c^{\beta(t, s)}, \qquad
          \beta(t, s) = \frac{s}{s + 1} \exp f\!\left(\log_2 \frac{t}{T}, \log_2 \frac{s}{s_t}\right)

T is the length of the recordings that it was fitted on, and :math:`s_t` their median number of input spikes after t
steps. f is piecewise linear between its values at t = T/32, T/16, ..., T and at s = s_t/32, s_t/16, ..., s_t, and
constant beyond. The power preserves the order of the classes. Without input spikes it is 0, and all classes are equally
probable.

:func:`gemsnn.inference.fit_temperature` fits f. A temperature gives no guarantee; see
:mod:`gemsnn.inference.guarantee`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError
from gemsnn.model.checks import whole_number
from gemsnn.model.votes import softmax

OCTAVES = 6  # knots of f along each axis, a factor of two apart; the last is at 1
MEDIANS = 20  # points in time at which the median number of input spikes is stored
STEEPEST = 8.0  # upper bound on |f|


@dataclass(frozen=True)
class Temperature:
    """Made by :func:`gemsnn.inference.fit_temperature`.

    Attributes
    ----------
    n_steps
        T.
    median_spikes
        s_t after T/20, 2T/20, ..., T steps.
    log_power
        f: six rows from t = T/32 to T, six columns from s = s_t/32 to s_t.
    n_recordings
        Number of recordings that it was fitted on.

    Examples
    --------
    >>> flat = Temperature(10, (100.0,) * 20, ((0.0,) * 6,) * 6, 50)
    >>> flat(np.array([0.8, 0.2]), steps=10, input_spikes=100).round(2)
    array([0.8, 0.2])
    >>> flat(np.array([0.8, 0.2]), steps=10, input_spikes=0)
    array([0.5, 0.5])
    """

    n_steps: int
    median_spikes: tuple[float, ...]
    log_power: tuple[tuple[float, ...], ...]
    n_recordings: int

    def __post_init__(self) -> None:
        whole_number("n_steps", self.n_steps, 1)
        medians, powers = np.asarray(self.median_spikes, float), np.asarray(self.log_power, float)
        if medians.shape != (MEDIANS,) or not (np.isfinite(medians).all() and (medians >= 0).all()):
            raise ConfigError(f"median_spikes must be {MEDIANS} numbers of spikes")
        if powers.shape != (OCTAVES, OCTAVES) or not (np.abs(powers) <= STEEPEST).all():
            raise ConfigError(f"log_power must be {OCTAVES} x {OCTAVES} numbers from {-STEEPEST:g} to {STEEPEST:g}")
        object.__setattr__(self, "median_spikes", tuple(medians.tolist()))
        object.__setattr__(self, "log_power", tuple(map(tuple, powers.tolist())))

    def __call__(self, probabilities: NDArray[np.float64], steps: Any, input_spikes: Any) -> NDArray[np.float64]:
        """Calibrated (..., C) from a decoder's (..., C), given the steps and the input spikes so far."""
        spikes = np.asarray(input_spikes, float)
        corners, weights = corners_of(np.asarray(steps), spikes, self.n_steps, np.asarray(self.median_spikes))
        f = (np.asarray(self.log_power).ravel()[corners] * weights).sum(axis=-1)
        return softmax((seen(spikes) * np.exp(f))[..., None] * logarithm(probabilities))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: what ``Temperature(**values)`` takes."""
        return asdict(self)


def corners_of(
    steps: NDArray[Any], spikes: NDArray[np.float64], n_steps: int, medians: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """(..., 4) flat indices of the surrounding knots of f, and their interpolation weights."""
    steps, spikes = np.broadcast_arrays(steps, spikes)
    share = steps / n_steps
    usual = np.interp(share, np.arange(MEDIANS + 1) / MEDIANS, np.concatenate([[0.0], medians]))
    usual = np.maximum(usual * np.maximum(share, 1), 1e-9)  # beyond T, the mean rate until T
    time, time_rest = _between(share)
    spike, spike_rest = _between(np.maximum(spikes, 1e-9) / usual)
    row, column = time * OCTAVES, spike
    corners = np.stack([row + column, row + column + 1, row + OCTAVES + column, row + OCTAVES + column + 1], axis=-1)
    early, late, few, many = 1 - time_rest, time_rest, 1 - spike_rest, spike_rest
    return corners, np.stack([early * few, early * many, late * few, late * many], axis=-1)


def seen(spikes: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = spikes / (spikes + 1)
    return found


def logarithm(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    return found


# ---- inside


def _between(ratio: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The knot before a ratio, and the fraction of the way to the next one."""
    place = np.clip(np.log2(ratio) + OCTAVES - 1, 0, OCTAVES - 1)
    knot = np.minimum(place.astype(np.intp), OCTAVES - 2)
    return knot, place - knot
