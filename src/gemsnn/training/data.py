"""The interface of training data, which prepared files and arrays in memory both have."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import DataError
from gemsnn.events import Preprocessing
from gemsnn.model.spike_list import SpikeList


class Examples(Protocol):
    """Examples that can be read one by one."""

    @property
    def labels(self) -> NDArray[Any] | None:
        """(n,) class indices; (n, C) of 0/1 if several labels can hold at once; None if there are only targets."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,): T of each example."""

    def __len__(self) -> int: ...

    def load(self, index: int, /) -> tuple[SpikeList, SpikeList | None]:
        """The input spikes of an example, and its desired visible spikes if it has a pattern of its own."""


class Data(Protocol):
    """Training and test examples, as ``gemsnn.events.open_prepared`` gives them."""

    @property
    def n_inputs(self) -> int: ...
    @property
    def n_visible(self) -> int:
        """Classes, or the width of the targets."""

    @property
    def n_steps(self) -> int:
        """Of the longest example."""

    @property
    def classes(self) -> Sequence[Any]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def grid(self) -> tuple[int, int] | None: ...
    @property
    def target_grid(self) -> tuple[int, int] | None:
        """Rows and columns of the targets, if they are pictures."""

    @property
    def preprocessing(self) -> Preprocessing | None: ...
    @property
    def train(self) -> Examples: ...
    @property
    def test(self) -> Examples: ...


class ArrayExamples:
    """Spikes of 0/1 (uint8 or bool) in memory, (n, T, n_inputs) or a list of (T_i, n_inputs), with labels or targets.

    ``labels`` are (n,) class indices or (n, C) of 0/1; ``targets``, a list or array of (T_i, n_visible), take
    precedence. ``weights`` (n,) are factors on the step size; an example of weight 0 is ignored. ``groups`` (n,) are
    what examples belong to: whole groups are held out.
    """

    def __init__(
        self,
        spikes: NDArray[Any] | Sequence[NDArray[Any]],
        labels: NDArray[Any] | None = None,
        targets: NDArray[Any] | Sequence[NDArray[Any]] | None = None,
        weights: NDArray[Any] | None = None,
        groups: NDArray[Any] | None = None,
    ) -> None:
        self.groups = groups
        self.spikes, self.labels, self.targets, self.weights = spikes, labels, targets, weights
        self.lengths = np.array([len(sequence) for sequence in spikes], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.spikes)

    def load(self, index: int, /) -> tuple[SpikeList, SpikeList | None]:
        target = None if self.targets is None else SpikeList.from_array(self.targets[index], "targets")
        return SpikeList.from_array(self.spikes[index], "spikes"), target


class ArrayData:
    """Arrays in memory as training data; ``classes`` are the labels by class index."""

    def __init__(
        self,
        train: ArrayExamples,
        classes: Sequence[Any],
        test: ArrayExamples | None = None,
        preprocessing: Preprocessing | None = None,
    ) -> None:
        if not len(train):
            raise DataError("there are no training examples in the data")
        self.preprocessing, self.grid = preprocessing, None if preprocessing is None else preprocessing.grid
        self.target_grid = None
        self.n_steps, self.n_inputs = int(train.lengths.max()), train.spikes[0].shape[1]
        self.classes, self.train = tuple(classes), train
        self.n_visible = len(self.classes) if train.targets is None else train.targets[0].shape[1]
        self.test = ArrayExamples(train.spikes[:0], None if train.labels is None else train.labels[:0])
        if test is not None:
            self.test = test

    @property
    def fingerprint(self) -> str:
        """Hash of every example: length, spikes, label, target, weight and group."""
        digest = hashlib.sha256(repr((self.classes, self.n_inputs, len(self.train), len(self.test))).encode())
        for part in (self.train, self.test):
            digest.update(b"" if part.groups is None else repr(np.asarray(part.groups).tolist()).encode())
            digest.update(b"" if part.weights is None else np.asarray(part.weights, dtype="<f8").tobytes())
            for index in range(len(part)):
                label = None if part.labels is None else np.asarray(part.labels[index]).astype("<i8").tobytes()
                for piece in (part.spikes[index], None if part.targets is None else part.targets[index]):
                    packed = b"" if piece is None else np.packbits(np.asarray(piece) != 0).tobytes()
                    digest.update(repr((int(part.lengths[index]), label, len(packed))).encode() + packed)
        return digest.hexdigest()


def are_classes(examples: Examples) -> bool:
    """Whether each example has exactly one class, and no spike pattern of its own."""
    return examples.labels is not None and examples.labels.ndim == 1 and examples.load(0)[1] is None


def desired(
    labels: NDArray[Any] | None, index: int, own: SpikeList | None, n_steps: int, n_visible: int
) -> NDArray[np.uint8]:
    """(T, n_visible) desired spikes of an example with T = ``n_steps``.

    The neurons of its class or labels spike at every step and the others never, unless it has a pattern of its own.
    """
    if own is not None:
        return own.to_array(n_visible).view(np.uint8)
    assert labels is not None  # an example without a pattern has labels
    spiking = np.arange(n_visible) == labels[index] if labels.ndim == 1 else labels[index]
    return np.repeat(np.asarray(spiking, dtype=np.uint8)[None], n_steps, axis=0)
