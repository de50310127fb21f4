"""ON and OFF events of a pixel as one input, as the paper has them, of recordings that are stored with both apart."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.training.data import Data, Examples


def merged_polarities(data: Data) -> Data:
    """The data with the polarities of its recordings merged; what is not recordings with both apart stays as it is."""
    choices = data.preprocessing
    if choices is None or choices.polarity == "merged" or choices.n_inputs != data.n_inputs:
        return data
    return cast(Data, _MergedData(data))


class _MergedData:
    def __init__(self, data: Data) -> None:
        assert data.preprocessing is not None
        self._data = data
        self.preprocessing = data.preprocessing.model_copy(update={"polarity": "merged"})
        self.n_inputs = self.preprocessing.n_inputs
        self.train, self.test = _MergedExamples(data.train), _MergedExamples(data.test)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._data, name)


class _MergedExamples:
    def __init__(self, examples: Examples) -> None:
        self._examples = examples

    def __getattr__(self, name: str) -> Any:
        return getattr(self._examples, name)

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, index: int, /) -> NDArray[Any]:
        return _merged(self._examples[index])

    def read(self, indices: ArrayLike, /) -> NDArray[Any]:
        return _merged(self._examples.read(indices))


def _merged(spikes: NDArray[Any]) -> NDArray[Any]:
    """(..., n_inputs) of (..., 2 n_inputs): all OFF cells, then all ON cells."""
    off, on = np.split(spikes, 2, axis=-1)
    merged: NDArray[Any] = off | on
    return merged
