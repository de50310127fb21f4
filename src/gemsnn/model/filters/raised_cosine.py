"""Raised cosines: the paper's filters."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.errors import ConfigError
from gemsnn.model.checks import number, whole_number
from gemsnn.model.filters.filter import Filter, check_sizes


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
        check_sizes(n_basis, duration)
        if number("offset", offset) <= 0:
            raise ConfigError(f"offset must be a positive number of steps, got {offset}")
        self.offset = offset = float(offset)
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

    def settings(self) -> dict[str, Any]:
        return {"kind": "raised-cosine", "n_basis": self.n_basis, "duration": self.duration, "offset": self.offset}
