"""Arrays or recordings, with labels or desired spike patterns, as a prepared file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.common.splits import strata
from gemsnn.errors import DataError, ShapeError
from gemsnn.events.bin_width import with_bin_width
from gemsnn.events.binning import Preprocessing
from gemsnn.events.pairs import Contents, is_pairs, one_kind, pairs
from gemsnn.events.prepared import (
    SPLITS,
    Content,
    Desired,
    Example,
    Label,
    PreparedWriter,
    example_from_events,
    plain,
    stratified_split,
)
from gemsnn.model.spike_list import SpikeList


def write_prepared(
    path: str | PathLike[str],
    X: ArrayLike | Iterable[ArrayLike],
    y: ArrayLike | Sequence[Label] | None = None,
    *,
    targets: Sequence[ArrayLike] | NDArray[Any] | None = None,
    split: float | Sequence[str] | NDArray[Any] = 0.2,
    seed: int = 0,
    classes: Sequence[Label] | None = None,
    names: Sequence[str] | None = None,
    groups: Sequence[str] | NDArray[Any] | None = None,
    grid: tuple[int, int] | None = None,
    target_grid: tuple[int, int] | None = None,
    preprocessing: Preprocessing | None = None,
    source: str = "arrays",
    attributes: Mapping[str, Any] | None = None,
) -> None:
    """Write spikes or recordings, and labels, as a prepared file for training from the command line.

    Parameters
    ----------
    path
        File to write; an existing one is replaced.
    X
        Spikes, 0 or 1: an array (n, T, n_inputs), or an iterable of n arrays (T, n_inputs), for data that does not fit
        in memory. T may differ between examples. With `preprocessing` also recordings: arrays of events with fields x,
        y, t, p. Or a PyTorch data set whose items are pairs (spikes or events, label), without `y`; its items are read
        twice, first for their labels.
    y
        (n,) labels, integers or strings. Or (n, C) of 0 and 1 for several labels per example.
    targets
        Instead of `y`: the desired spikes of each example, (n, T, n_visible) or n arrays (T, n_visible).
    split
        `"train"` or `"test"` for each example; or the fraction of each class to test on, drawn with `seed`.
    classes
        The classes in the order of their visible neurons; default: the sorted labels. If these are strings, `y` may
        also contain their indices. For (n, C) labels, the names of the columns.
    names
        Names of the examples, for example in error messages and pictures.
    groups
        Group of each example, such as a person, a day or a trial; groups are held out as a whole.
    grid
        (rows, columns), if the inputs are pixels: n_inputs = planes x rows x columns, the column varying fastest.
        Needed to draw examples, and to shift them as augmentation.
    target_grid
        The same for `targets`, if they are pictures.
    preprocessing
        Conversion from events to spikes; includes the grid. Without `bin_us`, the bin width follows from the
        recordings, and a `gemsnn.events.GuessWarning` reports it; X must then be a sequence.
    source
        Origin of the data, for the file's attributes.
    attributes
        Further attributes; JSON values.

    Examples
    --------
    >>> import tempfile
    >>> from gemsnn.events import open_prepared
    >>> folder = tempfile.TemporaryDirectory()
    >>> X = [np.random.default_rng(i).random((20 + i, 6)) < 0.3 for i in range(10)]
    >>> write_prepared(f"{folder.name}/mine.h5", X, ["left", "right"] * 5, split=0.4, grid=(2, 3))
    >>> with open_prepared(f"{folder.name}/mine.h5") as data:
    ...     print(len(data.train), len(data.test), data.classes, data.train.lengths.tolist())
    6 4 ('left', 'right') [20, 21, 22, 25, 26, 27]
    >>> folder.cleanup()
    """
    if is_pairs(X):
        if y is not None or targets is not None:
            raise DataError("the data set brings its own labels: leave y and targets out")
        labels, first_grid = list[Label](), None
        for i, one in enumerate(pairs(X)):
            labels.append(one.label)
            first_grid = one.grid if i == 0 else first_grid
        X, y, grid = Contents(X), one_kind(labels), first_grid if grid is None and preprocessing is None else grid
    wanted = _desired(y, targets, classes)
    n, given = wanted.n, "y" if targets is None else "targets"
    together = None if groups is None else np.array([str(group) for group in groups])
    if together is not None and len(together) != n:
        raise DataError(f"groups must hold the group of each of the {n} examples, got {len(together)}")
    parts, recorded = _split(split, seed, wanted, together)
    if names is not None and len(names) != n:
        raise DataError(f"names must name each of the {n} examples, got {len(names)}")
    preprocessing = _with_bin_width(preprocessing, X)
    try:
        examples = iter(cast(Iterable[ArrayLike], X))
        first = _array(next(examples), 0)
    except TypeError:
        raise ShapeError(f"X must be an array (n, T, n_inputs), or yield arrays (T, n_inputs), not {X!r:.60}") from None
    except StopIteration:
        raise DataError(f"X contains no examples, {given} has {n}") from None
    n_inputs = _width(first) if preprocessing is None else preprocessing.n_inputs
    shape = grid if preprocessing is None else preprocessing.grid
    if grid is not None and shape is not None and tuple(grid) != tuple(shape):
        raise ShapeError(f"grid = {grid}: the preprocessing gives {shape}; leave grid out")
    _check_grid("grid", shape, n_inputs, "inputs")
    if target_grid is not None and targets is None:
        raise DataError("target_grid belongs to targets; labels have none")
    _check_grid("target_grid", target_grid, wanted.n_visible, "visible neurons")
    content = Content(
        n_inputs=n_inputs,
        n_planes=2 if first.dtype.names and preprocessing and preprocessing.polarity == "merged" else 1,
        n_visible=wanted.n_visible,
        desired=wanted.kind,
        classes=wanted.classes,
        grid=None if shape is None else [int(side) for side in shape],
        target_grid=None if target_grid is None else [int(side) for side in target_grid],
        preprocessing=None if preprocessing is None else preprocessing.to_dict(),
        attributes=plain({"source": source, "simulated": False, "split": recorded, **(attributes or {})}),
    )
    with PreparedWriter(path, content) as writer:
        array: NDArray[Any] = first
        for i in range(n):
            if i:
                found = next(examples, None)
                if found is None:
                    raise DataError(f"X contains {i} examples, {given} has {n}")
                array = _array(found, i)
            name = f"example {i}" if names is None else str(names[i])
            if (array.dtype.names is None) != (first.dtype.names is None):
                raise DataError(f"{name}: X must contain either arrays (T, n_inputs) or recordings, not both")
            if array.dtype.names is not None:
                if preprocessing is None:
                    raise DataError(f"{name} is a recording of events; give its preprocessing")
                example = example_from_events(array, preprocessing, parts[i], wanted.labels[i], name)
            else:
                example = Example(parts[i], wanted.labels[i], _spikes(array, n_inputs, name), name)
            target = wanted.target(i, example.spikes.n_steps, name)
            writer.add(example._replace(target=target, group=None if together is None else str(together[i])))
        if next(examples, None) is not None:
            raise DataError(f"X contains more examples than {given}, which has {n}")


def _with_bin_width(preprocessing: Preprocessing | None, X: Any) -> Preprocessing | None:
    if preprocessing is None or preprocessing.bin_us is not None:
        return preprocessing
    if not isinstance(X, Sequence | np.ndarray):
        raise DataError("preprocessing has no bin_us, and X can be read only once: give bin_us, or X as a list")
    return with_bin_width(preprocessing, X)


def _check_grid(name: str, grid: tuple[int, int] | None, n: int, what: str) -> None:
    if grid is not None and (len(grid) != 2 or min(grid) < 1 or n % (grid[0] * grid[1])):
        raise ShapeError(f"{name} = {grid}: {n} {what} do not form planes of this size")


class _Desired(NamedTuple):
    """The labels or targets of the examples."""

    kind: Desired
    n: int
    classes: list[Label]
    labels: Any
    """The class index of each example, its row of 0 and 1, or None."""
    targets: Sequence[Any] | None
    n_visible: int

    def target(self, i: int, n_steps: int, name: str) -> SpikeList | None:
        if self.targets is None:
            return None
        array, needed = np.asarray(self.targets[i]), (n_steps, self.n_visible)
        if array.shape != needed:
            raise ShapeError(f"the target of {name} has shape {array.shape}, but (T, n_visible) = {needed} is needed")
        return SpikeList.from_array(array, f"the target of {name}")


def _desired(y: Any, targets: Any, classes: Sequence[Label] | None) -> _Desired:
    if (y is None) == (targets is None):
        raise DataError("give either y, the labels, or targets, the desired spikes of each example")
    if targets is not None:
        if classes is not None:
            raise DataError("classes belong to labels; targets have none")
        if not len(targets) or np.ndim(targets[0]) != 2 or not np.shape(targets[0])[1]:
            raise ShapeError("targets must hold a (T, n_visible) array for each example")
        return _Desired("pattern", len(targets), [], [None] * len(targets), targets, np.shape(targets[0])[1])
    labels = _labels(y)
    named: list[Label]
    if labels.ndim == 2:
        if not labels.size or not np.isin(labels, (0, 1)).all():
            raise DataError("y with two dimensions must hold 0 or 1 for each example and class")
        named = list(range(labels.shape[1])) if classes is None else _class_names(classes)
        if len(named) != labels.shape[1]:
            raise DataError(f"classes names {len(named)} classes, y has {labels.shape[1]} columns")
        return _Desired("labels", len(labels), named, labels.astype(np.uint8), None, len(named))
    found = [label.item() for label in np.unique(labels)]
    named = _class_names(found if classes is None else classes)
    index: dict[Any, int] = {name: i for i, name in enumerate(named)}
    if labels.dtype.kind == "i" and all(isinstance(name, str) for name in named):
        index = {i: i for i in range(len(named))}
    unknown = [label for label in found if label not in index]
    if unknown:
        raise DataError(f"label {unknown[0]!r} is not among the classes {named}")
    return _Desired("label", len(labels), named, [index[label] for label in labels.tolist()], None, len(named))


def _labels(y: Any) -> NDArray[Any]:
    """(n,) int64 or strings, or (n, C) numbers."""
    if not isinstance(y, np.ndarray):
        y = list(y)
        if len({isinstance(label, str) for label in y}) > 1:
            raise DataError("y mixes strings and numbers; labels must all have one type")
    try:
        labels = np.asarray(y)
        if labels.dtype.kind == "O":
            labels = np.asarray(labels.tolist())
    except ValueError as error:
        raise DataError(f"y is not an array of labels: {error}") from None
    if (
        labels.ndim not in (1, 2)
        or not len(labels)
        or labels.dtype.kind not in ("iubU" if labels.ndim == 1 else "iubf")
    ):
        raise DataError(
            f"y must have one integer or string per example, or be (n, C) of 0 and 1, got {labels.dtype} of shape "
            f"{labels.shape}"
        )
    if labels.dtype.kind == "u" and labels.max() > np.iinfo(np.int64).max:
        raise DataError(f"label {labels.max()} is larger than 2^63 - 1; use smaller numbers, or strings")
    return labels if labels.ndim == 2 or labels.dtype.kind == "U" else labels.astype(np.int64)


def _class_names(classes: Iterable[Any]) -> list[Label]:
    named = [name.item() if isinstance(name, np.generic) else name for name in classes]
    for name in named:
        if isinstance(name, bool) or not isinstance(name, int | str):
            raise DataError(f"class {name!r}: classes must be integers or strings")
        if isinstance(name, str):
            try:
                name.encode()
            except UnicodeError:
                raise DataError(f"class {name!r}: not valid UTF-8") from None
        elif not -(1 << 63) <= name < 1 << 63:
            raise DataError(f"class {name}: larger than 2^63 - 1; use a string")
    if len(set(named)) != len(named):
        raise DataError(f"classes contains duplicates: {named}")
    return named


def _split(
    split: Any, seed: int, wanted: _Desired, groups: NDArray[np.str_] | None
) -> tuple[list[Any], dict[str, Any]]:
    if isinstance(split, int | float):
        labels = None if wanted.kind == "pattern" else np.asarray(wanted.labels)
        parts = stratified_split(strata(labels, wanted.n), split, seed, groups)
        return parts.tolist(), {"kind": "stratified", "test_fraction": split, "seed": seed}
    parts = np.asarray(split)
    if parts.shape != (wanted.n,) or not np.isin(parts, SPLITS).all():
        raise DataError('split must be "train" or "test" for each example, or the fraction of test examples')
    return parts.tolist(), {"kind": "given"}


def _array(example: Any, i: int) -> NDArray[Any]:
    try:
        return np.asarray(example)
    except ValueError as error:
        raise ShapeError(f"example {i} is not an array (T, n_inputs): {error}") from None


def _width(first: NDArray[Any]) -> int:
    if first.dtype.names is not None:
        raise DataError("X contains recordings of events; give their preprocessing")
    if first.ndim != 2 or not first.shape[1]:
        raise ShapeError(f"an example must have shape (T, n_inputs), the first has {first.shape}")
    return int(first.shape[1])


def _spikes(array: NDArray[Any], n_inputs: int, name: str) -> SpikeList:
    if array.ndim != 2 or array.shape[1] != n_inputs or not len(array):
        raise ShapeError(f"{name} has shape {array.shape}, but (T, n_inputs) with n_inputs = {n_inputs} is needed")
    return SpikeList.from_array(array, name)
