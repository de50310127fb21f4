"""Data adapted to a model: its inputs, its polarities, and its classes in its order."""

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


def with_inputs_of(model: Model, data: Data, name: str | None = None) -> Data:
    """The data with the model's inputs; data that were prepared differently are a ``DataError`` that names the choices.

    Polarities are merged if they are in the model.
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
    found = dict.fromkeys(option for field in fields if (option := options.get(field)) is not None)
    return f": with {' '.join(found)}" if found else ""


def merged_polarities(data: Data) -> Data:
    """The data with ON and OFF events of a pixel as one input, as in the paper; unchanged if they are not separate."""
    choices = data.preprocessing
    if choices is None or choices.polarity == "merged" or choices.n_inputs != data.n_inputs:
        return data
    merged = choices.model_copy(update={"polarity": "merged"})
    train, test = (_MergedExamples(part, merged_inputs=merged.n_inputs) for part in (data.train, data.test))
    return cast(Data, _Adapted(data, preprocessing=merged, n_inputs=merged.n_inputs, train=train, test=test))


def relabelled(data: Data, classes: Sequence[Any], names: Sequence[str] | None = None) -> Data:
    """The data with these classes; its own classes are matched by name.

    ``names`` are new names of the data's classes.
    """
    if tuple(data.classes) == tuple(classes) and names is None:
        return data
    index = {str(label): i for i, label in enumerate(classes)}
    own = [str(label) for label in data.classes] if names is None else list(names)
    indices = np.array([index.get(name, -1) for name in own])
    train, test = (
        _AdaptedExamples(part, labels=_relabelled(part, indices, len(classes))) for part in (data.train, data.test)
    )
    return cast(Data, _Adapted(data, classes=tuple(classes), n_visible=len(classes), train=train, test=test))


def _relabelled(examples: Examples, indices: NDArray[np.int64], n_classes: int) -> NDArray[Any]:
    """Labels by the new indices of the old classes; -1 stands for a class that is not among the new ones."""
    labels = examples.labels
    assert labels is not None  # data of classes
    if labels.ndim == 1:
        return np.asarray(indices[labels])
    found = np.zeros((len(labels), n_classes), dtype=labels.dtype)
    found[:, indices[indices >= 0]] = labels[:, indices >= 0]
    return found


class _Adapted:
    """Data of which some attributes are replaced."""

    def __init__(self, original: Any, **replaced: Any) -> None:
        self.__dict__.update(replaced, _original=original)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class _AdaptedExamples(_Adapted):
    def __len__(self) -> int:
        return len(self._original)

    def __getitem__(self, index: int) -> Any:
        return self._original[index]


class _MergedExamples(_AdaptedExamples):
    def __getitem__(self, index: int) -> NDArray[np.bool_]:
        return self.load(index)[0].to_array(self.merged_inputs)

    def load(self, index: int, /) -> tuple[SpikeList, SpikeList | None]:
        inputs, target = self._original.load(index)
        return inputs.folded(self.merged_inputs), target  # all OFF cells come first, then all ON cells
