"""The prepared file: spikes, labels and every choice made on the way to them, in one HDF5 file that is read lazily.

Layout (format 1). Attributes of the root hold JSON text each: what `PreparedData.attributes` returns, besides
`format`, `n_inputs`, `n_steps`, `classes`, `preprocessing` and `fingerprint`. The groups `train` and `test` hold

| data set | shape | what |
|---|---|---|
| `spikes` | (n, ceil(T * n_inputs / 8)) uint8 | (T, n_inputs) in row order, 8 a byte, the first is bit 7 |
| `labels` | (n,) int64 | index into `classes` |
| `planes` | (n, ...) uint8 | both polarities, packed (T, 2, n_rows, n_columns), for pictures; recordings only |
| `names` | (n,) str | where each example came from |
| `n_events`, `duration_us` | (n,) int64 | of the recording before cropping; recordings only |

A chunk is one example, so reading one never touches another.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, cast

import h5py
import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn._version import __version__
from gemsnn.common.splits import stratified_share
from gemsnn.errors import DataError, ShapeError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.records import Events, as_events

FORMAT = "gemsnn prepared data, format 1"

SplitName = Literal["train", "test"]
SPLITS: tuple[SplitName, SplitName] = ("train", "test")


class Example(NamedTuple):
    """One example on its way into a prepared file."""

    split: SplitName
    label: int
    """Index into the classes."""
    spikes: NDArray[np.bool_]
    """(T, n_inputs)"""
    name: str = ""
    planes: NDArray[np.bool_] | None = None
    """(T, 2, n_rows, n_columns)"""
    n_events: int = 0
    duration_us: int = 0


def example_from_events(
    events: Events, preprocessing: Preprocessing, split: SplitName, label: int, name: str
) -> Example:
    """Preprocess one recording."""
    events = as_events(events, name)
    planes = preprocessing.planes(events, name)
    merged = planes.any(axis=1) if preprocessing.polarity == "merged" else planes
    spikes = merged.reshape(preprocessing.n_steps, preprocessing.n_inputs)
    duration = int(events["t"].max() - events["t"].min()) if len(events) else 0
    return Example(split, label, spikes, name, planes, len(events), duration)


class Split:
    """The training or the test examples of a prepared file; spikes are read from disk when asked for."""

    def __init__(self, file: h5py.File, name: SplitName, n_steps: int, n_inputs: int, n_classes: int) -> None:
        group = file[name]
        self.name: SplitName = name
        self.labels: NDArray[np.int64] = group["labels"][:]
        """(n,) class index of each example, 0..n_classes - 1."""
        self._group = group
        self._spikes = group["spikes"]
        self._shape = (n_steps, n_inputs)
        if self._spikes.shape != (len(self.labels), _packed_width(n_steps * n_inputs)):
            raise ValueError(f"{name} spikes have the wrong shape {self._spikes.shape}")
        if len(self.labels) and not 0 <= self.labels.min() <= self.labels.max() < n_classes:
            raise ValueError(f"{name} labels are no class indices")

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> NDArray[np.bool_]:
        """Spikes of one example, (T, n_inputs)."""
        return _unpack(self._packed(index), self._shape)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,): time steps of each example."""
        return np.full(len(self), self._shape[0], dtype=np.int64)

    def target(self, index: int) -> None:
        """Desired spikes of an example's own: none, labels say it all."""

    def __iter__(self) -> Iterator[NDArray[np.bool_]]:
        return (self[i] for i in range(len(self)))

    def read(self, indices: ArrayLike) -> NDArray[np.bool_]:
        """Spikes of several examples in the order asked for, (n, T, n_inputs)."""
        wanted = np.asarray(indices)
        if wanted.ndim != 1 or (len(wanted) and wanted.dtype.kind not in "iu"):
            raise ShapeError(f"indices must be a list of whole numbers, got {wanted.dtype} of shape {wanted.shape}")
        out = np.empty((len(wanted), *self._shape), dtype=np.bool_)
        for i, index in enumerate(wanted):
            out[i] = self[int(index)]
        return out

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Where each example came from."""
        return tuple(name.decode() for name in self._group["names"][:])

    @property
    def n_events(self) -> NDArray[np.int64] | None:
        """(n,) events of each recording before cropping, if the file was made from recordings."""
        return self._group["n_events"][:] if "n_events" in self._group else None

    @property
    def duration_us(self) -> NDArray[np.int64] | None:
        """(n,) time from the first to the last event, if the file was made from recordings."""
        return self._group["duration_us"][:] if "duration_us" in self._group else None

    def planes(self, index: int, shape: tuple[int, int]) -> NDArray[np.bool_] | None:
        """Both polarities of one recording, (T, 2, n_rows, n_columns), for pictures; `shape` is (n_rows, n_columns)."""
        position = self._position(index)
        if "planes" not in self._group:
            return None
        return _unpack(self._group["planes"][position], (self._shape[0], 2, *shape))

    def _packed(self, index: int) -> NDArray[np.uint8]:
        position = self._position(index)
        try:
            packed: NDArray[np.uint8] = self._spikes[position]
        except OSError as error:
            raise DataError(f"{self._group.file.filename}: {self.name} example {index} is damaged ({error})") from None
        return packed

    def _position(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"example {index} of {len(self)} in the {self.name} split")
        return index % len(self)


class PreparedData:
    """An open prepared file; made by `open_prepared`. May be pickled: the copy opens the file anew."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._file = _open(self.path)
        try:
            values = {key: json.loads(text) for key, text in self._file.attrs.items() if key != "format"}
            self.n_inputs: int = values.pop("n_inputs")
            self.n_steps: int = values.pop("n_steps")
            self.classes: tuple[int, ...] = tuple(values.pop("classes"))
            self.fingerprint: str = values.pop("fingerprint")
            choices = values.pop("preprocessing")
            self.preprocessing: Preprocessing | None = None if choices is None else Preprocessing.from_dict(choices)
            self.attributes: dict[str, Any] = {
                **values,
                **(choices or {}),
                "classes": list(self.classes),
                "n_inputs": self.n_inputs,
                "n_steps": self.n_steps,
            }
            self.train = Split(self._file, "train", self.n_steps, self.n_inputs, self.n_classes)
            self.test = Split(self._file, "test", self.n_steps, self.n_inputs, self.n_classes)
        except (KeyError, TypeError, ValueError, AttributeError, OSError, RuntimeError) as error:  # h5py has many ways
            self._file.close()
            raise DataError(f"{self.path}: damaged prepared file ({error}); make it again") from None

    @property
    def n_visible(self) -> int:
        """Visible neurons that the examples need."""
        return len(self.classes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def splits(self) -> tuple[Split, Split]:
        """The training and the test split."""
        return self.train, self.test

    def bin(self, events: Events, name: str = "events") -> NDArray[np.bool_]:
        """Preprocess a raw recording as this file's recordings were, (T, n_inputs)."""
        if self.preprocessing is None:
            raise DataError(f"{self.path}: made from arrays, so there is no preprocessing to apply to events")
        return self.preprocessing.bin(events, name)

    def verify(self) -> None:
        """Read everything and compare it with the fingerprint; a `DataError` if a bit has changed."""
        digest = _Digest(self.n_steps, self.n_inputs, self.classes, self.preprocessing)
        for split in self.splits:
            for i in range(len(split)):
                digest.add(split.name, int(split.labels[i]), split._packed(i))
        if digest.hexdigest() != self.fingerprint:
            raise DataError(f"{self.path}: the content does not fit its fingerprint; the file was changed or damaged")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type["PreparedData"], tuple[Path]]:
        return PreparedData, (self.path,)


def open_prepared(path: str | PathLike[str], expect: Mapping[str, Any] | None = None) -> PreparedData:
    """Open a prepared file for reading; several processes may do so at once.

    Parameters
    ----------
    path
        A file made by `gemsnn data import`, `gemsnn data simulate` or `write_prepared`.
    expect
        Choices that the file must have been made with, for example `{"bin_us": 25_000, "simulated": False}`; any key
        of `PreparedData.attributes`. A file made with others is a `DataError` that names each difference.

    Returns
    -------
    PreparedData
        Use it as a context manager, or call `close`.
    """
    data = PreparedData(path)
    if expect is not None:
        nothing = object()
        differences = []
        for key, wanted in expect.items():
            found = data.attributes.get(key, nothing)
            if found is nothing:
                differences.append(f"{key} is not recorded in the file, {_plain(wanted)!r} was asked for")
            elif found != _plain(wanted):
                differences.append(f"{key} is {found!r}, {_plain(wanted)!r} was asked for")
        if differences:
            data.close()
            raise DataError(f"{data.path}: made with other choices: {'; '.join(differences)}. Make the file again")
    return data


class PreparedWriter:
    """Writes a prepared file example by example; it appears under its name only once complete.

    Use as a context manager. Leaving it by an exception, an interrupt included, removes what was written.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        counts: Mapping[SplitName, int],
        classes: Sequence[int],
        n_steps: int,
        n_inputs: int,
        attributes: Mapping[str, Any],
        preprocessing: Preprocessing | None = None,
    ) -> None:
        self.path = Path(path)
        self._shape = (n_steps, n_inputs)
        self._n_classes = len(classes)
        self._counts = dict(counts)
        self._written: dict[SplitName, int] = dict.fromkeys(SPLITS, 0)
        self._digest = _Digest(n_steps, n_inputs, classes, preprocessing)
        self._planes = preprocessing is not None
        # The process number in the name keeps two writers apart; whoever is killed leaves only this file behind.
        self._partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        try:
            self._file = h5py.File(self._partial, "w", locking=False)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written: {error}; is the folder there, and yours?") from None
        try:
            own = {
                "n_steps": n_steps,
                "n_inputs": n_inputs,
                "classes": list(classes),
                "preprocessing": None if preprocessing is None else preprocessing.to_dict(),
                "version": __version__,
            }
            for key, value in {**attributes, **own}.items():
                self._file.attrs[key] = json.dumps(_plain(value))
            # Kept open to the end: h5py swallows the errors of a data set that it closes by itself.
            self._datasets = {name: self._make_group(name, preprocessing) for name in SPLITS}
        except (OSError, RuntimeError) as failure:
            self._discard()
            raise self._unwritable(failure) from None
        except BaseException:
            self._discard()
            raise

    def _make_group(self, name: SplitName, preprocessing: Preprocessing | None) -> dict[str, h5py.Dataset]:
        n = self._counts.get(name, 0)
        group = self._file.create_group(name)

        def packed(key: str, cells: int) -> h5py.Dataset:
            width = _packed_width(cells)
            return group.create_dataset(key, shape=(n, width), dtype=np.uint8, chunks=(1, width) if n else None)

        datasets = {
            "spikes": packed("spikes", self._shape[0] * self._shape[1]),
            "labels": group.create_dataset("labels", shape=(n,), dtype=np.int64),
            "names": group.create_dataset("names", shape=(n,), dtype=h5py.string_dtype()),
        }
        if preprocessing is not None:
            cells = preprocessing.n_steps * 2 * preprocessing.n_rows * preprocessing.n_columns
            datasets["planes"] = packed("planes", cells)
            for key in ("n_events", "duration_us"):
                datasets[key] = group.create_dataset(key, shape=(n,), dtype=np.int64)
        return datasets

    def add(self, example: Example) -> None:
        """Write the next example of its split."""
        spikes = np.asarray(example.spikes)
        if spikes.shape != self._shape:
            raise ShapeError(
                f"example {sum(self._written.values())} has spikes of shape {spikes.shape}, "
                f"but (n_steps, n_inputs) = {self._shape} is needed"
            )
        if spikes.dtype != np.bool_ and not np.isin(spikes, (0, 1)).all():
            raise DataError(f"example {sum(self._written.values())} holds values other than 0 and 1")
        i = self._written[example.split]
        if i >= self._counts.get(example.split, 0):
            raise DataError(f"more {example.split} examples than the {i} announced")
        if self._planes and example.planes is None:
            raise DataError("examples of recordings need both polarities; use example_from_events")
        packed = np.packbits(spikes.astype(np.bool_, copy=False).ravel())
        try:
            group = self._datasets[example.split]
            group["spikes"][i, : len(packed)] = packed
            group["labels"][i] = example.label
            group["names"][i] = example.name
            if example.planes is not None:
                group["planes"][i] = np.packbits(example.planes.ravel())
                group["n_events"][i] = example.n_events
                group["duration_us"][i] = example.duration_us
        except (OSError, RuntimeError) as failure:  # both are h5py's, for a full disk
            raise self._unwritable(failure) from None
        self._digest.add(example.split, example.label, packed)
        self._written[example.split] = i + 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._discard()
            return
        try:
            for name in SPLITS:
                if self._written[name] != self._counts.get(name, 0):
                    raise DataError(f"{self._written[name]} {name} examples instead of {self._counts.get(name, 0)}")
            self._file.attrs["fingerprint"] = json.dumps(self._digest.hexdigest())
            self._file.attrs["format"] = FORMAT  # last: a file without it is not a prepared file
            self._file.flush()
            self._file.close()
            with self._partial.open("rb+") as raw:
                os.fsync(raw.fileno())
            os.replace(self._partial, self.path)
        except (OSError, RuntimeError) as failure:
            self._discard()
            raise self._unwritable(failure) from None
        except BaseException:
            self._discard()
            raise

    def _unwritable(self, failure: Exception) -> DataError:
        told = re.search("error message = '([^']*)'", str(failure))  # the operating system's words among HDF5's
        return DataError(f"{self.path}: cannot be written: {told[1] if told else failure}; is the disk full?")

    def _discard(self) -> None:
        self._partial.unlink(missing_ok=True)
        # On a full disk HDF5 could not close the file, and would crash over it when the process ends: let it write the
        # rest, which nobody wants, to nowhere.
        with suppress(OSError, RuntimeError, ValueError):
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, self._file.id.get_vfd_handle())
            os.close(nowhere)
        with suppress(OSError, RuntimeError):
            self._file.close()


def write_prepared(
    path: str | PathLike[str],
    X: ArrayLike | Iterable[ArrayLike],
    y: ArrayLike,
    *,
    split: float | Sequence[str] | NDArray[Any] = 0.2,
    seed: int = 0,
    source: str = "arrays",
    attributes: Mapping[str, Any] | None = None,
) -> None:
    """Write your own spikes and labels as a prepared file, to train on from the command line.

    Parameters
    ----------
    path
        Where to write the file.
    X
        Spikes, 0 or 1: an array (n, T, n_inputs), or anything that yields n arrays (T, n_inputs) in turn, for data
        that does not fit in memory.
    y
        (n,) whole numbers, the labels; the classes are the different ones, sorted.
    split
        For each example `"train"` or `"test"`; or the share of each class to test on, drawn with `seed`.
    source
        What the file says about where the data come from.
    attributes
        Further things to record; JSON values.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> X = np.random.default_rng(0).random((10, 20, 5)) < 0.3
    >>> write_prepared(f"{folder.name}/mine.h5", X, [3, 7] * 5, split=0.4)
    >>> with open_prepared(f"{folder.name}/mine.h5") as data:
    ...     print(len(data.train), len(data.test), data.classes, data.train[0].shape)
    6 4 (3, 7) (20, 5)
    >>> folder.cleanup()
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or not len(labels) or labels.dtype.kind not in "iub":
        raise DataError(f"y must hold one whole number an example, got {labels.dtype} of shape {labels.shape}")
    classes, index = np.unique(labels.astype(np.int64), return_inverse=True)
    names: NDArray[Any]
    if isinstance(split, int | float):
        names = stratified_split(index, split, seed)
        recorded: Any = {"kind": "stratified", "test_fraction": split, "seed": seed}
    else:
        names = np.asarray(split)
        recorded = {"kind": "given"}
        if names.shape != labels.shape or not np.isin(names, SPLITS).all():
            raise DataError('split must say "train" or "test" for each example, or be the share of test examples')
    examples = iter(cast(Iterable[ArrayLike], X))
    try:
        first = np.asarray(next(examples))
    except StopIteration:
        raise DataError(f"X holds no examples, y has {len(labels)}") from None
    if first.ndim != 2:
        raise ShapeError(f"an example must have shape (T, n_inputs), the first has {first.shape}")
    counts: dict[SplitName, int] = {name: int((names == name).sum()) for name in SPLITS}
    own = {"source": source, "simulated": False, "split": recorded}
    with PreparedWriter(
        path,
        counts=counts,
        classes=[int(c) for c in classes],
        n_steps=first.shape[0],
        n_inputs=first.shape[1],
        attributes={**own, **(attributes or {})},
    ) as writer:
        spikes: Any = first
        for i in range(len(labels)):
            if i:
                try:
                    spikes = np.asarray(next(examples))
                except StopIteration:
                    raise DataError(f"X holds {i} examples, y has {len(labels)}") from None
            writer.add(Example(names[i], int(index[i]), spikes, name=f"example {i}"))
        if next(examples, None) is not None:
            raise DataError(f"X holds more examples than y, which has {len(labels)}")


def stratified_split(labels: NDArray[Any], test_fraction: float, seed: int) -> NDArray[np.str_]:
    """Draw "train" or "test" for each example: the same share of each class, at least one of each where possible."""
    if not 0 <= test_fraction <= 1:
        raise DataError(f"the share of test examples must lie in 0..1, not {test_fraction}")
    rng = np.random.default_rng(seed)

    def count(n: int) -> int:
        share = round(test_fraction * n)
        return min(max(share, 1), n - 1) if 0 < test_fraction < 1 and n > 1 else share

    return np.where(stratified_share(labels, count, lambda _, n: rng.permutation(n)), "test", "train")


class _Digest:
    """What identifies the content: shape, classes, preprocessing, and each split's spikes and labels in order."""

    def __init__(
        self, n_steps: int, n_inputs: int, classes: Sequence[int], preprocessing: Preprocessing | None
    ) -> None:
        head = {
            "n_steps": n_steps,
            "n_inputs": n_inputs,
            "classes": list(classes),
            "preprocessing": None if preprocessing is None else preprocessing.to_dict(),
        }
        self._head = json.dumps(head, sort_keys=True).encode()
        self._splits = {name: hashlib.sha256() for name in SPLITS}
        self._bytes = -(-n_steps * n_inputs // 8)

    def add(self, split: SplitName, label: int, packed: NDArray[np.uint8]) -> None:
        self._splits[split].update(label.to_bytes(8, "little") + packed[: self._bytes].tobytes())

    def hexdigest(self) -> str:
        parts = (self._head, *(self._splits[name].digest() for name in SPLITS))
        return hashlib.sha256(b"".join(parts)).hexdigest()


def _open(path: Path) -> h5py.File:
    try:
        if path.is_dir():
            raise DataError(f"{path}: this is a directory, not a prepared file")
        with path.open("rb"):
            pass
    except OSError as error:
        raise DataError(f"{path}: cannot be opened: {error.strerror or error}") from None
    try:
        # No chunk cache: a chunk is an example, and is read once. No locks: a file never changes once it has its name.
        file = h5py.File(path, "r", locking=False, rdcc_nbytes=0)
    except OSError as error:
        raise DataError(f"{path}: not a prepared file, or a damaged one ({error}); make it with gemsnn data") from None
    try:
        found = file.attrs.get("format", "none")
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        found = f"unreadable, {error}"
    if not isinstance(found, str) or found != FORMAT:
        file.close()
        raise DataError(f"{path}: an HDF5 file, but not one of ours (format {found}); make it with gemsnn data")
    return file


def _plain(value: Any) -> Any:
    """The value as JSON gives it back."""
    return json.loads(
        json.dumps(value, default=lambda other: other.tolist() if hasattr(other, "tolist") else str(other))
    )


def _packed_width(cells: int) -> int:
    return max(1, -(-cells // 8))


def _unpack(packed: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    count = int(np.prod(shape))
    return np.unpackbits(packed, count=count).reshape(shape).view(np.bool_)
