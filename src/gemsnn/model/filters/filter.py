r"""Synaptic and somatic filters: how a neuron remembers spikes.

A filter is a bank of ``n_basis`` finite impulse responses of ``duration`` steps. The trace of a spike train s through
basis b, as the membrane potential of step t sees it, is

    trace_{b,t} = sum_{lag=1}^{duration} taps[b, lag - 1] * s_{t - lag},

so ``taps[:, 0]`` weighs the spike of the step just before. Every basis is scaled to unit area: a trace is a weighted
firing rate in [0, 1], and a learning rate means the same whatever the filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TAPS = 100_000
"""Of all bases together; the engine's tables of traces grow with it."""
LARGEST_TAP = 1e6
"""With weights of at most ``parameters.LARGEST`` no potential leaves the range of float32."""


def check_sizes(n_basis: int, duration: int) -> None:
    """Refuse a filter that would take longer to look up than to compute."""
    if n_basis * duration > MOST_TAPS:
        raise ConfigError(f"{n_basis} bases of {duration} steps are too many: at most {MOST_TAPS:,} taps in all")


class Filter:
    """A bank of impulse responses given by its taps.

    Parameters
    ----------
    taps
        (n_basis, duration). Used as they are: unlike the families below, these are not rescaled.

    Examples
    --------
    >>> Filter([[0.5, 0.3, 0.2]])
    Filter(n_basis=1, duration=3)
    """

    taps: NDArray[np.float64]
    decay: NDArray[np.float64] | None
    """(n_basis,): each tap as a share of the one before, if that is the same below 1 at every lag; else None."""

    def __init__(self, taps: ArrayLike) -> None:
        try:
            taps = np.array(taps, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(f"taps must be rows of numbers, all equally long, got {shown(taps)}") from None
        if taps.ndim != 2 or 0 in taps.shape:
            raise ConfigError(f"taps must have shape (n_basis, duration) with both at least 1, got {taps.shape}")
        check_sizes(*taps.shape)
        if not (np.abs(taps) <= LARGEST_TAP).all():  # NaN is not
            raise ConfigError(f"taps must be finite numbers of at most {LARGEST_TAP:g}")
        taps.flags.writeable = False
        self.taps, self.decay = taps, _decay(taps)

    def settings(self) -> dict[str, Any]:
        """What makes this filter again; a family of one's own is kept as its taps if it does not say."""
        return {"kind": "taps", "taps": self.taps.tolist()}

    @property
    def n_basis(self) -> int:
        return int(self.taps.shape[0])

    @property
    def duration(self) -> int:
        """Number of past steps that the filter sees."""
        return int(self.taps.shape[1])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_basis={self.n_basis}, duration={self.duration})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and np.array_equal(self.taps, other.taps)

    def __hash__(self) -> int:
        return hash((self.taps.shape, self.taps.tobytes()))

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw each basis against the lag in steps: :func:`gemsnn.plot.filters`."""
        from gemsnn.plot import filters

        return filters(self, axes=ax, **style)


def _decay(taps: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Found in the taps: it does not matter whether a filter was made from time constants or read from a file."""
    if taps.shape[1] == 1 or (taps[:, 0] == 0).any():
        return None
    decay: NDArray[np.float64] = taps[:, 1] / taps[:, 0]
    expected = taps[:, :1] * decay[:, None] ** np.arange(taps.shape[1])
    fading = bool(((decay >= 0) & (decay < 1)).all())
    return decay if fading and np.allclose(taps, expected, rtol=1e-9, atol=1e-300) else None
