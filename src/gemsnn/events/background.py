"""Recordings of nothing in particular: an empty scene, passers-by, the flicker of a lamp."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from gemsnn.errors import DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.recordings import read_recording, recordings_in, sensor_size_of
from gemsnn.model.spike_list import SpikeList


def read_background(folder: str | PathLike[str], preprocessing: Preprocessing) -> tuple[SpikeList, ...]:
    """The spikes of all recordings in a folder and its folders, each in its whole length, prepared as examples are."""
    root = Path(folder)
    if not root.is_dir():
        raise DataError(f"{root}: not a folder; background recordings are files in one")
    choices = preprocessing.model_copy(update={"n_steps": None, "start_us": None})
    found = []
    for file in recordings_in(root):
        size = sensor_size_of(file)
        if size is not None and size != preprocessing.sensor_size:
            raise DataError(
                f"{file}: from a sensor of {size[0]} x {size[1]}, but the examples come from one of "
                f"{preprocessing.sensor_size[0]} x {preprocessing.sensor_size[1]}"
            )
        found.append(choices.spikes(read_recording(file), str(file)).folded(preprocessing.n_inputs))
    return tuple(found)
