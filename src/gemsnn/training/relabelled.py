"""Data in a model's terms: its inputs, and its classes in its order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import DataError
from gemsnn.events import Preprocessing
from gemsnn.model.spike_list import SpikeList
from gemsnn.training.data import Data, Examples
from gemsnn.training.model import Model
from gemsnn.training.polarity import merged_polarities


def with_inputs_of(model: Model, data: Data, name: str | None = None) -> Data:
    """The data with the model's inputs; data that were prepared otherwise are a ``DataError`` that says what differs.

    Polarities are merged where the model has them merged.
    """
    name = str(getattr(data, "path", "the data")) if name is None else name
    ours = model.preprocessing
    if ours is not None and ours.polarity == "merged":
        data = merged_polarities(data)
    different = []
    if model.network.n_inputs != data.n_inputs:
        different.append(f"inputs {model.network.n_inputs} in the model, {data.n_inputs} in the data")
    advice = "Prepare the data as for training"
    if ours is not None and data.preprocessing is not None:
        before, now = ours.to_dict(), data.preprocessing.to_dict()
        fields = [field for field in before if before[field] != now[field]]
        different += [f"{field} {before[field]!r} in the model, {now[field]!r} in the data" for field in fields]
        advice += how_to_prepare(ours, fields)
    if different:
        raise DataError(f"{name}: does not fit the model: {'; '.join(different)}. {advice}")
    return data


def how_to_prepare(choices: Preprocessing, fields: Sequence[str]) -> str:
    """The options of ``gemsnn data import`` that set some fields as they are in ``choices``, if there are any."""
    if "sensor_size" in fields:
        return ": recordings of a sensor of another size need a model of their own"
    x, y = choices.x_range, choices.y_range
    options = {
        "bin_us": None if choices.bin_us is None else f"--bin-ms {choices.bin_us / 1000:g}",
        "n_steps": None if choices.n_steps is None else f"--steps {choices.n_steps}",
        "polarity": f"--polarity {choices.polarity}",
        "downsample": f"--downsample {choices.downsample}",
        "flip": None if choices.flip is None else f"--flip {choices.flip}",
        "rotate": f"--rotate {choices.rotate}" if choices.rotate else None,
    }
    if x is not None and y is not None:
        crop = f"--crop {x[0]} {y[0]} {x[1] - x[0] + 1} {y[1] - y[0] + 1}"
        options |= {"x_range": crop, "y_range": crop}
    told = dict.fromkeys(option for field in fields if (option := options.get(field)) is not None)
    return f": with {' '.join(told)}" if told else ""


def relabelled(data: Data, classes: Sequence[Any], names: Sequence[str] | None = None) -> Data:
    """The data with these classes, among which its own are found by name.

    ``names`` are those of the data's classes where they are to be called otherwise.
    """
    if tuple(data.classes) == tuple(classes) and names is None:
        return data
    places = {str(label): place for place, label in enumerate(classes)}
    own = [str(label) for label in data.classes] if names is None else list(names)
    return cast(Data, _Relabelled(data, tuple(classes), np.array([places.get(name, -1) for name in own])))


class _Relabelled:
    def __init__(self, data: Data, classes: tuple[Any, ...], places: NDArray[np.int64]) -> None:
        self._data, self.classes, self.n_visible = data, classes, len(classes)
        self.train, self.test = (_RelabelledExamples(part, places, len(classes)) for part in (data.train, data.test))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._data, name)


class _RelabelledExamples:
    """Label -1 stands for a class that is not among the new ones."""

    def __init__(self, examples: Examples, places: NDArray[np.int64], n_classes: int) -> None:
        labels = examples.labels
        assert labels is not None  # data of classes
        if labels.ndim == 1:
            self.labels = places[labels]
        else:
            self.labels = np.zeros((len(labels), n_classes), dtype=labels.dtype)
            self.labels[:, places[places >= 0]] = labels[:, places >= 0]
        self._examples = examples

    def __getattr__(self, name: str) -> Any:
        return getattr(self._examples, name)

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, index: int) -> Any:
        return cast(Any, self._examples)[index]

    def load(self, index: int, /) -> tuple[SpikeList, SpikeList | None]:
        return self._examples.load(index)
