"""PyTorch data sets: objects with a length whose items are pairs of spikes or events and a label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import DataError, ShapeError
from gemsnn.events.binning import Preprocessing
from gemsnn.model.spike_list import SpikeList


def is_pairs(value: Any) -> bool:
    """Whether this is a data set of pairs, unlike arrays, tables, and lists or tuples of arrays."""
    kind = type(value)
    return (
        hasattr(kind, "__getitem__")
        and hasattr(kind, "__len__")
        and not isinstance(value, np.ndarray | Sequence | dict | str)
        and not hasattr(value, "train")  # prepared data
        and not hasattr(value, "dtype")  # arrays of other libraries
        and not hasattr(value, "__array__")
        and not hasattr(value, "iloc")  # tables
    )


class Pair(NamedTuple):
    """One item of a data set."""

    content: NDArray[Any]  #: (T, n_inputs) of 0/1, or events with fields x, y, t, p
    label: int | str
    grid: tuple[int, int] | None  #: rows and columns, where the item was (T, planes, rows, columns)


def pairs(dataset: Any) -> Iterator[Pair]:
    """All items, in order."""
    if not len(dataset):
        raise DataError("the data set is empty: its length is 0")
    return (pair(dataset, index) for index in range(len(dataset)))


def pair(dataset: Any, index: int) -> Pair:
    """One item; an error names it if it is not a pair of spikes or events and a label.

    Arrays and tensors may be (T, n_inputs), or frames (T, planes, rows, columns) or (T, rows, columns), which are
    flattened in this order.
    """
    name = f"item {index} of the data set"
    item = dataset[index]
    if not isinstance(item, tuple | list) or len(item) != 2:
        found = f"{len(item)} values" if isinstance(item, tuple | list) else type(item).__name__
        raise DataError(f"{name}: must be a pair (spikes or events, label), got {found}")
    content, label = as_array(item[0], name), as_array(item[1], f"the label of {name}")
    if label.ndim or label.dtype.kind not in "biuU":
        raise DataError(
            f"{name}: its label must be an integer or a string, got {label.dtype} of shape {label.shape}; for spike "
            "patterns or several labels, use gemsnn.events.write_prepared with targets or y"
        )
    plain = int(label) if label.dtype.kind in "biu" else str(label)
    if content.dtype.names is not None:
        return Pair(content, plain, None)
    if content.ndim not in (2, 3, 4) or not all(content.shape):
        raise ShapeError(
            f"{name}: has shape {content.shape}, but (T, n_inputs), (T, rows, columns), (T, planes, rows, columns) or "
            "an array of events with fields x, y, t, p is needed"
        )
    grid = None if content.ndim == 2 else (int(content.shape[-2]), int(content.shape[-1]))
    if content.dtype != np.bool_ and not np.isin(content, (0, 1)).all():
        raise DataError(
            f"{name}: contains values other than 0 and 1; for counts of events, make the data set's transform return "
            "frames > 0"
        )
    return Pair(content.reshape(len(content), -1), plain, grid)


def as_array(value: Any, name: str) -> NDArray[Any]:
    """An array from an array, a scalar, or a tensor on any device, without importing PyTorch."""
    for method in ("detach", "cpu", "resolve_conj", "to_dense"):
        if hasattr(value, "detach") and hasattr(value, method) and (method != "to_dense" or _is_sparse(value)):
            value = getattr(value, method)()
    try:
        return value.numpy() if hasattr(value, "numpy") and callable(value.numpy) else np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{name}: is not an array: {error}") from None


def _is_sparse(value: Any) -> bool:
    return bool(getattr(value, "is_sparse", False))


class Contents(Sequence[Any]):
    """The spikes or events of a data set without its labels, read one at a time."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return pair(self._dataset, index).content


class Gathered(NamedTuple):
    """A whole data set in memory, as lists of spikes."""

    spikes: list[SpikeList]
    labels: list[int | str]
    n_inputs: int
    grid: tuple[int, int] | None


def gathered(dataset: Any, preprocessing: Preprocessing | None) -> Gathered:
    """All items as lists of spikes, in one pass."""
    found, labels = list[SpikeList](), list[int | str]()
    width, grid = (None, None) if preprocessing is None else (preprocessing.n_inputs, preprocessing.grid)
    for index, one in enumerate(pairs(dataset)):
        name = f"item {index} of the data set"
        if one.content.dtype.names is not None:
            if preprocessing is None:
                raise DataError(f"{name} is a recording of events: give preprocessing=gemsnn.events.Preprocessing(...)")
            found.append(preprocessing.spikes(one.content, name))
        else:
            if index == 0 and preprocessing is None:
                width, grid = one.content.shape[1], one.grid
            if one.content.shape[1] != width:
                raise ShapeError(f"{name}: has {one.content.shape[1]} inputs per step, but others have {width}")
            found.append(SpikeList.from_array(one.content, name))
        labels.append(one.label)
    assert width is not None
    return Gathered(found, one_kind(labels), width, grid)


def one_kind(labels: list[int | str]) -> list[int | str]:
    """The labels; a `DataError` unless all are integers or all are strings."""
    if len({type(label) for label in labels}) > 1:
        raise DataError("the labels of the data set mix strings and integers; use one type")
    return labels
