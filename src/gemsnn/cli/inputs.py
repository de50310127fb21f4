"""What `evaluate` and `predict` are given to look at: recordings, folders of recordings, prepared files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.cli.output import say
from gemsnn.errors import DataError


def recordings_in(path: Path) -> list[Path]:
    """The recording itself, or all those in a folder and its folders."""
    from gemsnn.events.recordings import READERS

    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in READERS)
    if not found:
        raise DataError(f"{path}: there are no recordings in this folder; they end in {', '.join(READERS)}")
    return found


def read_inputs(model: Any, file: Path) -> tuple[NDArray[Any], list[str]]:
    """(T, n_inputs) of a recording, binned as the model's training data were, and what there is to warn of."""
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


def check_recordings_fit(model: Any, run: Path) -> None:
    if model.preprocessing is None:
        raise DataError(
            f"{run}: trained on arrays, not on recordings, so it cannot tell how to turn events into inputs"
        )


def fitting(model: Any, data: Any) -> Any:
    """The data of a prepared file as the model knows it; one that it was not made for is refused, with what differs."""
    from gemsnn.training.polarity import merged_polarities

    if model.preprocessing is not None and model.preprocessing.polarity == "merged":
        data = merged_polarities(data)
    different = [
        f"{what} {ours!r} in the model, {theirs!r} in the data"
        for what, ours, theirs in (
            ("inputs", model.network.n_inputs, data.n_inputs),
            ("visible neurons", model.network.n_visible, data.n_visible),
            ("classes", list(model.classes), list(data.classes)),
        )
        if ours != theirs
    ]
    if model.preprocessing is not None and data.preprocessing is not None:
        before, now = model.preprocessing.to_dict(), data.preprocessing.to_dict()
        different += [
            f"{key} {before[key]!r} in the model, {now[key]!r} in the data" for key in before if before[key] != now[key]
        ]
    if different:
        raise DataError(
            f"{data.path}: does not fit the model: {'; '.join(different)}. Prepare the data as for training"
        )
    return data


def prepared_examples(model: Any, file: Path) -> Iterator[tuple[str, str, NDArray[Any]]]:
    """Place, name and (T, n_inputs) spikes of every example in a prepared file."""
    from gemsnn.events import open_prepared

    with open_prepared(file) as prepared:
        data = fitting(model, prepared)
        for split, part in (("train", data.train), ("test", data.test)):
            for index in range(len(part)):
                yield f"{file} {split} {index}", part.names[index], part[index]


class FolderExamples:
    """Recordings in one folder for each class, named as the model's classes are."""

    def __init__(self, model: Any, folder: Path) -> None:
        known = {str(label): index for index, label in enumerate(model.classes)}
        folders = sorted(path for path in folder.iterdir() if path.is_dir())
        strange = [path.name for path in folders if path.name not in known]
        if strange or not folders:
            what = f"{', '.join(strange)} is none of them" if strange else "there is none"
            raise DataError(f"{folder}: needs a folder for each class ({', '.join(known)}), but {what}")
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

    def read(self, indices: ArrayLike, /) -> NDArray[Any]:
        return np.stack([self.inputs[index] for index in np.asarray(indices)])
