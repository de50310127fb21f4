"""Map-style PyTorch data sets as training data."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import DataError, ShapeError
from gemsnn.events import Preprocessing
from gemsnn.events.bin_width import with_bin_width
from gemsnn.events.pairs import gathered, pair
from gemsnn.model.spike_list import SpikeList


class PairExamples:
    """Lists of spikes in memory, and a class index for each."""

    def __init__(self, spikes: Sequence[SpikeList], labels: NDArray[np.int64]) -> None:
        self.spikes, self.labels = spikes, labels
        self.lengths = np.array([one.n_steps for one in spikes], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.spikes)

    def load(self, index: int, /) -> tuple[SpikeList, SpikeList | None]:
        """The input spikes of an example, and no target besides its class."""
        return self.spikes[index], None


class PairData:
    """Training data from any data set with ``len(d)`` and ``d[i] == (spikes or events, label)``, as in PyTorch.

    Spikes are (T, n_inputs) or frames (T, planes, rows, columns) of 0 and 1, as arrays or tensors; events are arrays
    with fields x, y, t, p, as in tonic, and need ``preprocessing``. Everything is read once and stored as lists of
    spikes.

    Parameters
    ----------
    train, test
        Data sets; ``test`` is evaluated on while training.
    preprocessing
        How events become spikes. Without ``bin_us``, the width of a time bin follows from the recordings.
    classes
        In the order of the visible neurons; default: all labels, sorted.

    Examples
    --------
    >>> class Mine:  # as torch.utils.data.Dataset
    ...     def __len__(self):
    ...         return 20
    ...     def __getitem__(self, index):
    ...         rng, label = np.random.default_rng(index), index % 2
    ...         return rng.random((30, 6)) < (0.1, 0.4)[label], label
    >>> data = PairData(Mine())
    >>> data.n_inputs, data.classes, len(data.train)
    (6, (0, 1), 20)
    """

    target_grid = None

    def __init__(
        self,
        train: Any,
        test: Any = None,
        *,
        preprocessing: Preprocessing | None = None,
        classes: Sequence[int | str] | None = None,
    ) -> None:
        if preprocessing is not None and preprocessing.bin_us is None:
            preprocessing = with_bin_width(
                preprocessing, list(range(len(train))), lambda index: pair(train, index).content
            )
        found = gathered(train, preprocessing)
        own = set(found.labels)
        self.classes: tuple[int | str, ...] = tuple(sorted(own, key=_order) if classes is None else classes)
        self.preprocessing, self.grid, self.n_inputs = preprocessing, found.grid, found.n_inputs
        self.n_visible = len(self.classes)
        if self.n_visible < 2:
            raise DataError(f"the data set has only one class, {self.classes[0]!r}; at least two are needed")
        self.train = PairExamples(found.spikes, self._indices(found.labels))
        others = PairExamples([], np.zeros(0, dtype=np.int64))
        if test is not None:
            found = gathered(test, preprocessing)
            if found.n_inputs != self.n_inputs:
                raise ShapeError(f"test has {found.n_inputs} inputs per step, but train has {self.n_inputs}")
            others = PairExamples(found.spikes, self._indices(found.labels))
        self.test = others
        self.n_steps = int(self.train.lengths.max())

    def _indices(self, labels: Sequence[int | str]) -> NDArray[np.int64]:
        indices = {label: index for index, label in enumerate(self.classes)}
        if unknown := [label for label in labels if label not in indices]:
            raise DataError(f"label {unknown[0]!r} is not among the classes {list(self.classes)}")
        return np.array([indices[label] for label in labels], dtype=np.int64)

    @property
    def fingerprint(self) -> str:
        """Hash of every example: length, spikes and label."""
        digest = hashlib.sha256(repr((self.classes, self.n_inputs, len(self.train), len(self.test))).encode())
        for part in (self.train, self.test):
            for spikes, label in zip(part.spikes, part.labels.tolist(), strict=True):
                digest.update(repr((spikes.n_steps, label, len(spikes.spikes))).encode() + spikes.spikes.tobytes())
        return digest.hexdigest()


def _order(label: int | str) -> tuple[int, str]:
    return (label, "") if isinstance(label, int) else (0, label)
