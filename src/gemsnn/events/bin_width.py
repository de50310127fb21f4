"""The default bin width, which follows from the recordings.

The memory of filters is a number of *steps*, so the bin width determines what a network can detect. The default is a
round width (1, 2, 2.5 or 5 times a power of ten milliseconds) that gives the median recording 40 to 80 steps, as close
to 60 as possible; if the number of steps is given, the smallest that fits the median recording into them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.columns import GuessWarning
from gemsnn.events.records import Events, as_events

FEWEST, WANTED, MOST = 40, 60, 80
"""Steps of the median recording."""
LOOKED_AT = 64
"""Recordings, evenly spaced among all, from which the median is estimated."""

_ROUND = [1, 2, 5] + [round(digit * 10**power) for power in range(1, 13) for digit in (1, 2, 2.5, 5)]  # microseconds


class BinWidth(NamedTuple):
    """A chosen width, and the durations that it follows from."""

    bin_us: int
    median_us: float
    """Duration of the median recording."""
    n_steps: int
    """Steps of the median recording."""

    def __str__(self) -> str:
        return (
            f"{self.bin_us / 1000:g} ms per step: the median recording of {self.median_us / 1000:,.4g} ms has "
            f"{self.n_steps} steps"
        )


def chosen(
    preprocessing: Preprocessing, recordings: Sequence[Callable[[], Events]]
) -> tuple[Preprocessing, BinWidth | None]:
    """The preprocessing with a bin width chosen from recordings, and that width.

    Unchanged if it has a width, or if no recording has an event.

    Parameters
    ----------
    recordings
        Functions that read one recording each. Unreadable and empty recordings are ignored.
    """
    if preprocessing.bin_us is not None:
        return preprocessing, None
    indices = np.unique(np.linspace(0, len(recordings) - 1, min(len(recordings), LOOKED_AT)).astype(int))
    durations = []
    for index in indices:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # repeated when the recording is read for its events
                t = recordings[index]()["t"]
        except DataError:
            continue
        if len(t):
            start = int(t.min()) if preprocessing.start_us is None else preprocessing.start_us
            durations.append(max(0, int(t.max()) - start))
    if not durations:
        return preprocessing, None
    width = width_for(float(np.median(durations)), preprocessing.n_steps)
    return preprocessing.model_copy(update={"bin_us": width.bin_us}), width


def with_bin_width(
    preprocessing: Preprocessing,
    recordings: Sequence[Any] | NDArray[Any],
    read: Callable[[Any], Any] = lambda recording: recording,
) -> Preprocessing:
    """The preprocessing with a bin width chosen from recordings, which a `GuessWarning` reports.

    `read` returns the events of a recording.
    """
    found, width = chosen(preprocessing, [partial(lambda one: as_events(read(one)), one) for one in recordings])
    if width is not None:
        warnings.warn(f"{width}; give bin_us for another width", GuessWarning, stacklevel=3)
    return found


def width_for(median_us: float, n_steps: int | None = None) -> BinWidth:
    """The width for a median duration.

    Examples
    --------
    >>> print(width_for(306_000))
    5 ms per step: the median recording of 306 ms has 62 steps
    >>> print(width_for(306_000, n_steps=40))
    10 ms per step: the median recording of 306 ms has 31 steps
    """

    def steps(width: int) -> int:
        return int(median_us // width) + 1

    if n_steps is not None:
        width = next((width for width in _ROUND if steps(width) <= n_steps), _ROUND[-1])
    else:
        fitting = [width for width in _ROUND if FEWEST <= steps(width) <= MOST] or _ROUND
        width = min(fitting, key=lambda width: abs(math.log(steps(width) / WANTED)))
    return BinWidth(width, median_us, steps(width))
