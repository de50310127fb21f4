"""Inputs of a model: spikes, events, recordings, files, or a list of these; all are converted to spikes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.events.recordings import read_recording
from gemsnn.events.records import Events
from gemsnn.model.spike_list import SpikeList

Bin = Callable[[Events, str], NDArray[Any]]
"""Converts events to (T, n_inputs) spikes; the string names the recording in messages."""


class Inputs(NamedTuple):
    """Spikes for :func:`gemsnn.predict`."""

    spikes: Any  # (N, T, n_inputs), or a list of (T_i, n_inputs)
    one: bool  # whether a single recording was given, not a list


def inputs_of(recordings: Any, n_inputs: int, bin_events: Bin) -> Inputs:
    """From one recording, an (N, T, n_inputs) array, or a list of recordings."""
    if _is_one(recordings):
        return Inputs([spikes_of(recordings, "the recording", bin_events, n_inputs)], True)
    if isinstance(recordings, np.ndarray) and recordings.dtype != object:
        return Inputs(recordings, False)
    return Inputs([spikes_of(one, f"recordings[{n}]", bin_events, n_inputs) for n, one in enumerate(recordings)], False)


def spikes_of(recording: Any, name: str, bin_events: Bin, n_inputs: int | None = None) -> NDArray[Any]:
    """(T, n_inputs) of one recording: a path, events, an object with ``events`` or ``read()``, or spikes."""
    if isinstance(recording, SpikeList) and n_inputs is not None:
        return recording.to_array(n_inputs)
    if isinstance(recording, str | PathLike):
        name = str(recording)
    found = events_or_spikes(recording)
    return bin_events(found, name) if _are_events(found) else np.asarray(found)


def events_or_spikes(recording: Any) -> Any:
    """The events of a path, or of an object with ``events`` or ``read()``; anything else is returned unchanged."""
    if isinstance(recording, str | PathLike):
        return read_recording(recording)
    if hasattr(recording, "events"):
        return recording.events
    return recording.read() if callable(getattr(recording, "read", None)) else recording


def _is_one(value: Any) -> bool:
    """Whether this is one recording, not a list of them."""
    if isinstance(value, str | PathLike | SpikeList) or hasattr(value, "events") or hasattr(value, "read"):
        return True
    if isinstance(value, Sequence):  # of rows, or of recordings
        return bool(len(value)) and all(not _is_one(one) and np.ndim(one) == 1 for one in value)
    return _are_events(value) or np.ndim(value) == 2


def _are_events(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.names is not None
