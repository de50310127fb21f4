"""Gaussian receptive fields: one value as the activity of several neurons with different preferred values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.encode import checks
from gemsnn.errors import ConfigError, ShapeError
from gemsnn.model.checks import whole_number


@dataclass(frozen=True)
class ReceptiveFields:
    """Population coding after Bohte, Kok and La Poutre (2002): `n_fields` bell curves over a range.

    With the spacing d = (high - low) / (n_fields - 1), the activity of field j is

        a_j = exp(-(x - c_j)^2 / (2 s^2)),    c_j = low + j d,    s = width d.

    Parameters
    ----------
    low, high
        The range of the values, from training data; values beyond it are clipped.
    n_fields
        Number of neurons per value.
    width
        Standard deviation of the curves, in spacings.

    Examples
    --------
    >>> fields = ReceptiveFields(low=0.0, high=10.0, n_fields=5)
    >>> activity = fields.encode([[2.5, 9.0]])  # two measurements
    >>> activity.round(2).tolist()
    [[0.32, 1.0, 0.32, 0.01, 0.0, 0.0, 0.0, 0.06, 0.67, 0.84]]
    >>> fields.decode(activity).round(6).tolist()
    [[2.5, 9.0]]
    """

    low: float
    high: float
    n_fields: int = 8
    width: float = 2 / 3

    def __post_init__(self) -> None:
        low, high = (checks.numbers(name, getattr(self, name), ()) for name in ("low", "high"))
        if low.ndim or high.ndim or not low < high:
            raise ConfigError(f"low = {self.low} and high = {self.high} must be the two ends of a range")
        whole_number("n_fields", self.n_fields, 2)
        width = checks.positive("width", self.width)
        if width.ndim or not 0.01 <= width <= 100:
            raise ConfigError(f"width must be a number of spacings from 0.01 to 100, got {self.width!r}")

    @property
    def centres(self) -> NDArray[np.float64]:
        """(n_fields,) preferred values of the neurons."""
        return np.linspace(self.low, self.high, self.n_fields)

    @property
    def deviation(self) -> float:
        """Standard deviation of the bell curves."""
        return self.width * (self.high - self.low) / (self.n_fields - 1)

    def encode(self, values: ArrayLike) -> NDArray[np.float64]:
        """(..., n n_fields) activities in [0, 1] of (..., n) values, the fields of a value next to each other."""
        x = np.clip(checks.numbers("values", values, ("n",)), self.low, self.high)
        position = (x - self.low) / (self.high - self.low) * (self.n_fields - 1)  # in spacings
        distance = position[..., None] - np.arange(self.n_fields)
        activity: NDArray[np.float64] = np.exp(-((distance / self.width) ** 2) / 2)
        return activity.reshape(*x.shape[:-1], -1)

    def decode(self, activity: ArrayLike) -> NDArray[np.float64]:
        """(..., n) values from (..., n n_fields) activities: exact, from the two most active neighbours.

        For neighbours j and k = j + 1, x = (c_j + c_k) / 2 + s^2 log(a_k / a_j) / (c_k - c_j).
        """
        a = checks.unit_interval("activity", activity)
        if a.shape[-1] % self.n_fields:
            raise ShapeError(f"activity has {a.shape[-1]} columns, which is not a multiple of {self.n_fields} fields")
        a = a.reshape(*a.shape[:-1], -1, self.n_fields)
        first = (a[..., 1:] + a[..., :-1]).argmax(axis=-1)[..., None]
        smallest = np.finfo(np.float64).tiny
        left, right = (np.maximum(np.take_along_axis(a, j, -1)[..., 0], smallest) for j in (first, first + 1))
        position = first[..., 0] + 0.5 + self.width**2 * np.log(right / left)  # in spacings
        values: NDArray[np.float64]
        values = self.low + position / (self.n_fields - 1) * (self.high - self.low)
        return np.clip(values, self.low, self.high, out=values)
