"""What commands take as data: recordings, folders of recordings, prepared files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.cli.output import say
from gemsnn.errors import DataError
from gemsnn.model.spike_list import SpikeList


def read_inputs(model: Any, file: Path) -> tuple[NDArray[Any], list[str]]:
    """(T, n_inputs) spikes of a recording, binned as the model's training data were, and the warnings."""
    from gemsnn.events import nmnist_preprocessing, read_recording

    size = model.preprocessing.sensor_size
    if file.suffix.lower() == ".bin" and size != nmnist_preprocessing().sensor_size:
        raise DataError(f"{file}: an N-MNIST recording, but the model was trained for a {size[0]} x {size[1]} sensor")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        inputs = model.bin(read_recording(file), str(file))
    messages = [str(warning.message) for warning in caught]
    for message in messages:
        say(f"warning: {message}", error=True)
    return inputs, messages


def check_classes(model: Any, run: Path) -> None:
    """Refuse a model that was trained on spike patterns where an answer is a class."""
    if not model.classes:
        raise DataError(
            f"{run}: the model was trained on spike patterns, so it has no classes to answer with; "
            f"`gemsnn evaluate {run} --data F.h5 --page patterns.html` draws the patterns that it produces"
        )


def check_recordings_fit(model: Any, run: Path) -> None:
    """Refuse a model that does not know how events become inputs."""
    if model.preprocessing is None:
        raise DataError(
            f"{run}: the model was trained on arrays, not on recordings, so it does not know how to bin events; "
            "give a prepared file with such arrays (gemsnn.events.write_prepared)"
        )


def fitting(model: Any, data: Any) -> Any:
    """The data of a prepared file, with the model's classes; data that do not fit are refused with what differs."""
    from gemsnn.training.adapted import relabelled, with_inputs_of

    data = with_inputs_of(model, data)
    known = {str(label) for label in model.classes}
    if model.classes and data.classes:
        if new := [str(label) for label in data.classes if str(label) not in known]:
            raise DataError(
                f"{data.path}: does not fit the model: class {new[0]} is not one of its classes, "
                f"{', '.join(map(str, model.classes))}; add it with `gemsnn train --from`, or leave it out"
            )
        return relabelled(data, model.classes)
    if model.network.n_visible != data.n_visible or model.classes or data.classes:
        raise DataError(
            f"{data.path}: does not fit the model: {model.network.n_visible} visible neurons and "
            f"{len(model.classes)} classes in the model, {data.n_visible} and {len(data.classes)} in the data"
        )
    return data


def prepared_examples(model: Any, file: Path) -> Iterator[tuple[str, str, NDArray[Any]]]:
    """Position, name and (T, n_inputs) spikes of every example in a prepared file."""
    from gemsnn.events import open_prepared

    with open_prepared(file) as prepared:
        data = fitting(model, prepared)
        for split, part in (("train", data.train), ("test", data.test)):
            for index in range(len(part)):
                yield f"{file} {split} {index}", part.names[index], part[index]


@contextmanager
def evaluated_examples(model: Any, run: Path, data: Path, split: str) -> Iterator[tuple[Any, Any]]:
    """Examples of a prepared file's split, with the file; or of one folder per class, with None."""
    from gemsnn.events import open_prepared

    if data.is_dir():
        check_recordings_fit(model, run)
        yield FolderExamples(model, data), None
        return
    with open_prepared(data) as opened:
        prepared = fitting(model, opened)
        part = getattr(prepared, split)
        if not len(part):
            raise DataError(f"{data}: the {split} split is empty")
        yield part, prepared


class FolderExamples:
    """Recordings in one folder per class; folders have the names of the model's classes."""

    def __init__(self, model: Any, folder: Path) -> None:
        from gemsnn.events.recordings import recordings_in

        known = {str(label): index for index, label in enumerate(model.classes)}
        folders = sorted(path for path in folder.iterdir() if path.is_dir())
        new = [path.name for path in folders if path.name not in known]
        if new or not folders:
            problem = f"{', '.join(new)} is none of them" if new else "there is none"
            raise DataError(f"{folder}: needs a folder for each class ({', '.join(known)}), but {problem}")
        files = [(file, known[path.name]) for path in folders for file in recordings_in(path)]
        self.inputs = [read_inputs(model, file)[0] for file, _ in files]
        self.names = tuple(str(file) for file, _ in files)
        self._grid = model.preprocessing.grid
        self.labels = np.array([label for _, label in files], dtype=np.int64)
        self.lengths = np.array([len(one) for one in self.inputs], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int, /) -> NDArray[Any]:
        return self.inputs[index]

    def planes(self, index: int) -> NDArray[Any]:
        """(T, n_planes, n_rows, n_columns) for pictures."""
        one = self.inputs[index]
        return one.reshape(len(one), -1, *self._grid)

    def load(self, index: int, /) -> tuple[SpikeList, SpikeList | None]:
        return SpikeList.from_array(self.inputs[index], self.names[index]), None
