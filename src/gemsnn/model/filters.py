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

from gemsnn.errors import ConfigError
from gemsnn.model.checks import whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    def __init__(self, taps: ArrayLike) -> None:
        taps = np.array(taps, dtype=np.float64)
        if taps.ndim != 2 or 0 in taps.shape:
            raise ConfigError(f"taps must have shape (n_basis, duration) with both at least 1, got {taps.shape}")
        if not np.isfinite(taps).all():
            raise ConfigError("taps must be finite numbers")
        taps.flags.writeable = False
        self.taps = taps

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
        """Draw each basis against the lag in steps; returns the matplotlib axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        lags = np.arange(1, self.duration + 1)
        for index, basis in enumerate(self.taps):
            ax.plot(lags, basis, marker="o", label=f"basis {index + 1}", **style)
        ax.set(xlabel="lag (steps since the spike)", ylabel="weight of the spike", title=repr(self))
        ax.legend()
        return ax


class RaisedCosine(Filter):
    r"""Raised cosine bumps, evenly spaced in log(lag + offset) (Pillow et al. 2008).

    With :math:`\tau = lag - 1 = 0, ..., duration - 1`, spacing
    :math:`\Delta = [\log(duration + offset) - \log(offset)] / (n\_basis + 1)` and centres
    :math:`\phi_b = \log(offset) + b \Delta`, :math:`b = 0, ..., n\_basis - 1`,

    .. math:: g_b(\tau) = \tfrac12 \Big[ 1 + \cos\Big(\mathrm{clip}\Big(
              \frac{\pi}{2} \frac{\log(\tau + offset) - \phi_b}{\Delta}, -\pi, \pi\Big)\Big)\Big],
              \qquad taps_b = g_b / \textstyle\sum_\tau g_b(\tau).

    The first bump peaks at the most recent spike, neighbouring bumps cross at half height, and the last one reaches
    zero at ``duration``. A small ``offset`` gives fine resolution near the spike and coarse resolution far away; a
    large one spaces the bumps evenly in time.

    Examples
    --------
    >>> RaisedCosine(n_basis=3, duration=10).taps.sum(axis=1)
    array([1., 1., 1.])
    """

    def __init__(self, n_basis: int = 3, duration: int = 10, offset: float = 1.0) -> None:
        if whole_number("n_basis", n_basis, 1) > whole_number("duration", duration, 1):
            raise ConfigError(f"need n_basis <= duration, got n_basis={n_basis}, duration={duration}")
        if not (np.isfinite(offset) and offset > 0):
            raise ConfigError(f"offset must be a positive number of steps, got {offset}")
        self.offset = float(offset)
        log_time = np.log(np.arange(duration) + offset)
        spacing = (np.log(duration + offset) - np.log(offset)) / (n_basis + 1)
        centres = np.log(offset) + spacing * np.arange(n_basis)
        angle = (np.pi / 2) * (log_time - centres[:, None]) / spacing
        bumps = (1 + np.cos(np.clip(angle, -np.pi, np.pi))) / 2
        area = bumps.sum(axis=1, keepdims=True)
        if (area < 1e-9).any():
            raise ConfigError(
                f"{n_basis} raised cosines do not fit into {duration} steps with offset {offset}: "
                "use fewer bases, a longer duration or a larger offset"
            )
        super().__init__(bumps / area)


class Exponential(Filter):
    """Decaying exponentials ``exp(-(lag - 1) / time_constant)``, cut at ``duration`` and scaled to unit area.

    Examples
    --------
    >>> Exponential(time_constants=(1.0, 4.0), duration=10)
    Exponential(n_basis=2, duration=10)
    """

    def __init__(self, time_constants: ArrayLike = (1.0, 3.0, 9.0), duration: int = 10) -> None:
        constants = np.atleast_1d(np.asarray(time_constants, dtype=np.float64))
        if constants.ndim != 1 or constants.size == 0 or not (np.isfinite(constants) & (constants > 0)).all():
            raise ConfigError(f"time_constants must be positive numbers of steps, got {time_constants!r}")
        whole_number("duration", duration, 1)
        decay = np.exp(-np.arange(duration) / constants[:, None])
        self.time_constants = tuple(constants.tolist())
        super().__init__(decay / decay.sum(axis=1, keepdims=True))
