"""Exponentials: the cheapest filters, in hardware and here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError
from gemsnn.model.checks import whole_number
from gemsnn.model.filters.filter import Filter, check_sizes


class Exponential(Filter):
    """Decaying exponentials ``exp(-(lag - 1) / time_constant)``, cut at ``duration`` and scaled to unit area.

    Examples
    --------
    >>> Exponential(time_constants=(1.0, 4.0), duration=10)
    Exponential(n_basis=2, duration=10)
    """

    def __init__(self, time_constants: ArrayLike = (1.0, 3.0, 9.0), duration: int = 10) -> None:
        try:
            constants = np.atleast_1d(np.asarray(time_constants, dtype=np.float64))
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(
                f"time_constants must be positive numbers of steps, got {shown(time_constants)}"
            ) from None
        if constants.ndim != 1 or constants.size == 0 or not (np.isfinite(constants) & (constants > 0)).all():
            raise ConfigError(f"time_constants must be positive numbers of steps, got {shown(time_constants)}")
        check_sizes(constants.size, whole_number("duration", duration, 1))
        decay = np.exp(-np.arange(duration) / constants[:, None])
        self.time_constants = tuple(constants.tolist())
        super().__init__(decay / decay.sum(axis=1, keepdims=True))

    def settings(self) -> dict[str, Any]:
        return {"kind": "exponential", "time_constants": list(self.time_constants), "duration": self.duration}
