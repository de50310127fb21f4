"""ON and OFF events of a pixel as one input, as the paper has them, of recordings that are stored with both apart."""

from __future__ import annotations

from typing import Any, cast

from gemsnn.model.spike_list import SpikeList
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
        self.train, self.test = (_MergedExamples(part, self.n_inputs) for part in (data.train, data.test))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._data, name)


class _MergedExamples:
    def __init__(self, examples: Examples, n_inputs: int) -> None:
        self._examples, self._n_inputs = examples, n_inputs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._examples, name)

    def __len__(self) -> int:
        return len(self._examples)

    def load(self, index: int, /) -> tuple[SpikeList, SpikeList | None]:
        inputs, target = self._examples.load(index)
        return inputs.folded(self._n_inputs), target  # all OFF cells come first, then all ON cells
