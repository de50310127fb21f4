"""Whether anything is in sight, determined from the rate of input spikes alone, without running the network.

The quietest w consecutive steps of a training recording are those with the fewest input spikes between its first spike
and its last. **Nothing is in sight** when the latest w steps had fewer than half of the spikes that 99 % of training
recordings have in their quietest w steps. w is an eighth of a recording; if recordings pause for that long, it is
doubled until they do not.

Something comes into sight when a quarter of w steps have a quarter of those spikes: this is detected sooner than its
leaving, so that little of the beginning is missed.

This is independent of how usual a recording is (:mod:`gemsnn.inference.usual`): a scene full of noise is in sight, and
unlike anything that the model was trained on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsnn.model.spike_list import SpikeList


@dataclass(frozen=True)
class Sight:
    """Made by :func:`fit_sight`.

    Attributes
    ----------
    window
        Number of latest steps that are considered.
    least
        With fewer input spikes than this in the window, nothing is in sight.
    """

    window: int
    least: int

    @property
    def first_window(self) -> int:
        """Number of latest steps that are considered while nothing is in sight."""
        return max(1, self.window // 4)

    @property
    def first_least(self) -> int:
        """With at least this many input spikes in ``first_window``, something comes into sight."""
        return max(1, math.ceil(self.least * self.first_window / self.window))


def fit_sight(recordings: Iterable[SpikeList], n_steps: int) -> Sight:
    """Fit to training recordings with a median length of ``n_steps``."""
    counts = [np.bincount(one.spikes["step"]) for one in recordings if len(one.spikes)]
    counts = [one[np.flatnonzero(one)[0] :] for one in counts]
    window = max(1, n_steps // 8)
    while counts and window < n_steps:
        fewest = [_fewest(one, window) for one in counts if len(one) >= window]
        least = math.ceil(float(np.quantile(fewest, 0.01)) / 2) if fewest else 0
        if least:
            return Sight(window, least)
        window *= 2
    return Sight(n_steps, 1)


def _fewest(counts: NDArray[np.int64], window: int) -> int:
    """Minimum number of spikes in ``window`` consecutive steps."""
    until = np.concatenate([[0], counts.cumsum()])
    return int((until[window:] - until[:-window]).min())
