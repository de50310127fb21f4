"""Is there anything in sight? Known by the rate of input spikes alone, so that no network has to run to tell.

Training recordings say how quiet they ever are: with w steps in a row, in each recording, the fewest input spikes of
any w steps between its first spike and its last. **Nothing is in sight** when the latest w steps had fewer than half of
what 99 of 100 training recordings have at their quietest. w is an eighth of a recording; where recordings pause that
long, it is doubled until they do not.

Something comes in sight when a quarter of w steps, or more, have a quarter of those spikes: sooner than it leaves, so
that little of the beginning is missed.

How usual a recording is (:mod:`gemsnn.inference.usual`) is another question: a scene full of noise is in sight, and
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
        Steps that are looked at together.
    least
        Input spikes in so many steps, with fewer of which nothing is in sight.
    """

    window: int
    least: int

    @property
    def first_window(self) -> int:
        """Steps that are looked at while nothing is in sight."""
        return max(1, self.window // 4)

    @property
    def first_least(self) -> int:
        """Input spikes in these, with which something is."""
        return max(1, math.ceil(self.least * self.first_window / self.window))


def fit_sight(recordings: Iterable[SpikeList], n_steps: int) -> Sight:
    """From training recordings, of usually ``n_steps``."""
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
    """Spikes in any ``window`` steps in a row."""
    until = np.concatenate([[0], counts.cumsum()])
    return int((until[window:] - until[:-window]).min())
