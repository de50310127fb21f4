"""A recording played back in real time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from os import PathLike

import numpy as np

from gemsnn.errors import ConfigError
from gemsnn.events.recordings import read_recording
from gemsnn.events.records import Events, as_events
from gemsnn.model.checks import whole_number


def play(recording: Events | str | PathLike[str], speed: float | None = 1.0, chunk_us: int = 1000) -> Iterator[Events]:
    """Yield the events of a recording in order of time, at the pace at which they were recorded.

    Parameters
    ----------
    recording
        Events, or a file that :func:`gemsnn.events.read_recording` can read.
    speed
        1 for real time, 2 for twice as fast, ...; None for no waiting.
    chunk_us
        Microseconds of the recording per array; arrays are longer where the consumer falls behind.

    Examples
    --------
    >>> from gemsnn.events import EVENT_DTYPE
    >>> events = np.array([(0, 0, 0, 1), (1, 0, 900, 0), (1, 0, 2100, 1)], dtype=EVENT_DTYPE)
    >>> [part["t"].tolist() for part in play(events, speed=None)]
    [[0, 900], [2100]]
    """
    if speed is not None and not (isinstance(speed, int | float) and 0 < speed < float("inf")):
        raise ConfigError(f"speed must be a number above 0, or None for as fast as possible, got {speed!r}")
    whole_number("chunk_us", chunk_us, 1)
    events = as_events(recording) if isinstance(recording, np.ndarray) else read_recording(recording)
    if (np.diff(events["t"]) < 0).any():
        events = events[np.argsort(events["t"], kind="stable")]
    return _chunks(events, speed, chunk_us)


def _chunks(events: Events, speed: float | None, chunk_us: int) -> Iterator[Events]:
    if not len(events):
        return
    times, begin = events["t"], int(events["t"][0])
    began, first = time.monotonic(), 0
    while first < len(events):
        # The chunk of the next event, and whatever is overdue.
        until = begin + ((int(times[first]) - begin) // chunk_us + 1) * chunk_us
        if speed is not None:
            wait = began + (until - begin) / 1e6 / speed - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            until = max(until, begin + int((time.monotonic() - began) * 1e6 * speed))
        end = int(np.searchsorted(times, until))
        yield events[first:end]
        first = end
