"""What training needs to know of data, so that a prepared file and arrays in memory serve alike."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.events import Preprocessing


class Examples(Protocol):
    """Examples that can be read one by one; ``labels`` are class indices."""

    @property
    def labels(self) -> NDArray[np.int64]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> NDArray[Any]:
        """(T, n_inputs) spikes."""

    def read(self, indices: ArrayLike, /) -> NDArray[Any]:
        """(n, T, n_inputs) spikes."""


class Data(Protocol):
    """Training and test examples, as ``gemsnn.events.open_prepared`` gives them."""

    @property
    def n_inputs(self) -> int: ...
    @property
    def n_steps(self) -> int: ...
    @property
    def classes(self) -> Sequence[Any]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def grid(self) -> tuple[int, int] | None: ...
    @property
    def preprocessing(self) -> Preprocessing | None: ...
    @property
    def train(self) -> Examples: ...
    @property
    def test(self) -> Examples: ...


class ArrayExamples:
    """(n, T, n_inputs) spikes of 0/1 (uint8 or bool) and (n,) class indices."""

    def __init__(self, spikes: NDArray[Any], labels: NDArray[np.int64]) -> None:
        self.spikes, self.labels = spikes, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int, /) -> NDArray[Any]:
        spikes: NDArray[Any] = self.spikes[index]
        return spikes

    def read(self, indices: ArrayLike, /) -> NDArray[Any]:
        spikes: NDArray[Any] = self.spikes[np.asarray(indices)]
        return spikes


class ArrayData:
    """Arrays in memory as training data; ``classes`` are the labels that class indices stand for."""

    def __init__(
        self,
        train: ArrayExamples,
        classes: Sequence[Any],
        test: ArrayExamples | None = None,
        preprocessing: Preprocessing | None = None,
    ) -> None:
        self.preprocessing, self.grid = preprocessing, None if preprocessing is None else preprocessing.grid
        self.n_steps, self.n_inputs = train.spikes.shape[1:]
        self.classes, self.train = tuple(classes), train
        self.test = ArrayExamples(train.spikes[:0], train.labels[:0]) if test is None else test

    @property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(repr((self.classes, self.train.spikes.shape, self.test.spikes.shape)).encode())
        for part in (self.train, self.test):
            digest.update(np.packbits(part.spikes).tobytes() + part.labels.astype("<i8").tobytes())
        return digest.hexdigest()
