"""The prepared file: examples as lists of spikes, with labels or targets, and all settings they were made with.

`gemsnn.events.container` describes its byte layout. The groups `train` and `test` have one row per example:

| table | shape | content |
|---|---|---|
| `begin`, `count` | (n,) | position of the example's spikes in `/spikes`, and their number |
| `target_count` | (n,) | number of spikes after those that belong to its target pattern; 0 if it has labels |
| `length` | (n,) | time steps T, which may differ between examples |
| `sha256` | (n, 32) | checksum of the bytes of both |
| `label` | (n,) or (n, C) | class index; or 0/1 for each class if an example can have several labels |
| `name` | (n,) | origin of the example |
| `n_events`, `duration_us` | (n,) | of the recording before cropping; 0 if made from arrays |
| `group` | (n,) | group of the example, such as a person or a day; only in files with groups |

A spike's index is that of its input. Recordings with merged polarities keep them for pictures: index i is then input
i mod n_inputs with polarity i // n_inputs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gemsnn.common.files import replacing
from gemsnn.common.splits import group_share, strata, stratified_share
from gemsnn.errors import ConfigError, DataError, ShapeError
from gemsnn.events import container
from gemsnn.events.binning import Preprocessing
from gemsnn.events.records import Events, as_events
from gemsnn.model.spike_list import MOST_STEPS, SPIKE_DTYPE, SpikeList, check_size

SplitName = Literal["train", "test"]
SPLITS: tuple[SplitName, SplitName] = ("train", "test")

Label = int | str
Desired = Literal["label", "labels", "pattern"]
"""The desired output of visible neurons: one class, any number of classes, or a spike pattern per example."""
Half = Literal["left", "right", "top", "bottom"]
"""Half of an upright picture."""

_NUMBERS = ("begin", "count", "target_count", "length", "n_events", "duration_us")


class Example(NamedTuple):
    """One example of a prepared file."""

    split: SplitName
    label: Any
    """Class index; (C,) 0/1 if there can be several; None if the target is a spike pattern."""
    spikes: SpikeList
    name: str = ""
    target: SpikeList | None = None
    n_events: int = 0
    duration_us: int = 0
    group: str | None = None
    """Group, such as a person, a day or a trial; groups are held out as a whole."""


def example_from_events(
    events: Events, preprocessing: Preprocessing, split: SplitName, label: Any, name: str, group: str | None = None
) -> Example:
    """Preprocess one recording."""
    events = as_events(events, name)
    duration = int(events["t"].max()) - int(events["t"].min()) if len(events) else 0
    return Example(split, label, preprocessing.spikes(events, name), name, None, len(events), duration, group)


Grid = Annotated[list[Annotated[int, Field(gt=0)]], Field(min_length=2, max_length=2)]


class Content(BaseModel):
    """The metadata of a prepared file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    n_inputs: Annotated[int, Field(gt=0, lt=1 << 31)]
    n_planes: Annotated[int, Field(gt=0, le=2)] = 1
    """Spike indices range over n_planes * n_inputs."""
    n_visible: Annotated[int, Field(gt=0, lt=1 << 31)]
    """Number of classes, or of neurons in the target patterns."""
    desired: Desired = "label"
    classes: list[int | str]
    grid: Grid | None = None
    target_grid: Grid | None = None
    """Rows and columns of the target patterns, if they are pictures."""
    target_half: Half | None = None
    """The half of a picture that the target patterns are, if the inputs are the other half."""
    preprocessing: dict[str, Any] | None = None
    attributes: dict[str, Any]

    @classmethod
    def of_recordings(
        cls, classes: Sequence[Label], preprocessing: Preprocessing, attributes: Mapping[str, Any]
    ) -> Self:
        """For recordings with one label each; merged polarities are kept for pictures."""
        return cls(
            n_inputs=preprocessing.n_inputs,
            n_planes=2 if preprocessing.polarity == "merged" else 1,
            n_visible=len(classes),
            classes=list(classes),
            grid=list(preprocessing.grid),
            preprocessing=preprocessing.to_dict(),
            attributes=plain(dict(attributes)),
        )


# ---- reading ---------------------------------------------------------------------------------------------------------


class Split:
    """The training or the test examples of a prepared file; spikes are read from disk on access."""

    def __init__(self, reader: container.Reader, name: SplitName, content: Content) -> None:
        self.name: SplitName = name
        self._reader, self._content = reader, content
        tables = {key: reader.tables[f"{name}/{key}"] for key in (*_NUMBERS, "sha256", "name")}
        self._tables = tables
        self.lengths: NDArray[np.int64] = tables["length"]
        """(n,) time steps of each example."""
        n = len(self.lengths)
        self.names: tuple[str, ...] = tuple(self._strings(tables["name"]))
        """Origin of each example."""
        groups = reader.tables.get(f"{name}/group")
        self.groups: NDArray[np.str_] | None = None if groups is None else np.array(self._strings(groups), np.str_)
        """(n,) names of the examples' groups, if there are groups."""
        self.labels: Any = None if content.desired == "pattern" else reader.tables[f"{name}/label"]
        """(n,) class indices; (n, C) 0/1 if examples can have several labels; None if targets are spike patterns."""
        if any(tables[key].shape != (n,) or tables[key].dtype != np.int64 for key in _NUMBERS):
            raise ValueError(f"a {name} table has the wrong shape")
        if tables["sha256"].shape != (n, 32) or tables["sha256"].dtype != np.uint8:
            raise ValueError(f"a {name} table has the wrong shape")
        for key in ("begin", "count", "target_count"):
            if n and not 0 <= tables[key].min() <= tables[key].max() <= reader.n_spikes:
                raise ValueError(f"{name} examples lie outside the spikes")
        if n and (tables["begin"] + tables["count"] + tables["target_count"]).max() > reader.n_spikes:
            raise ValueError(f"{name} examples lie outside the spikes")
        if n and not 0 < self.lengths.min() <= self.lengths.max() < MOST_STEPS:
            raise ValueError(f"{name} lengths are out of range")
        self._check_labels(n)

    def _strings(self, table: NDArray[Any]) -> list[str]:
        if table.shape != (len(self),) or table.dtype.kind != "S":
            raise ValueError(f"{self.name} names or groups are not strings")
        return [raw.decode() for raw in table.tolist()]

    def _check_labels(self, n: int) -> None:
        labels, n_classes = self.labels, len(self._content.classes)
        if self._content.desired == "label":
            good = labels.shape == (n,) and labels.dtype == np.int64
            if not good or (n and not 0 <= labels.min() <= labels.max() < n_classes):
                raise ValueError(f"{self.name} labels are not class indices")
        elif self._content.desired == "labels":
            good = labels.shape == (n, n_classes) and labels.dtype == np.uint8
            if not good or labels.max(initial=0) > 1:
                raise ValueError(f"{self.name} labels are not 0 or 1 for each class")

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> NDArray[np.bool_]:
        """Spikes of one example, (T, n_inputs)."""
        return self.example(index).spikes.to_array(self._content.n_inputs)

    def __iter__(self) -> Iterator[NDArray[np.bool_]]:
        return (self[i] for i in range(len(self)))

    def target(self, index: int) -> NDArray[np.bool_] | None:
        """The target pattern of one example, (T, n_visible); None if it has labels."""
        target = self.example(index).target
        return None if target is None else target.to_array(self._content.n_visible)

    def load(self, index: int) -> tuple[SpikeList, SpikeList | None]:
        """Input spikes and target pattern of one example, in one read; no target if it has labels."""
        example = self.example(index)
        return example.spikes.folded(self._content.n_inputs), example.target

    def read(self, indices: ArrayLike) -> NDArray[np.bool_]:
        """Spikes of several examples of equal length, in the given order, (n, T, n_inputs)."""
        wanted = np.asarray(indices)
        if wanted.ndim != 1 or (len(wanted) and wanted.dtype.kind not in "iu"):
            raise ShapeError(f"indices must be a list of integers, got {wanted.dtype} of shape {wanted.shape}")
        positions = [self._position(int(index)) for index in wanted]
        lengths = sorted(set(self.lengths[positions].tolist())) or [int(self.lengths.max(initial=0))]
        if len(lengths) > 1:
            raise ShapeError(
                f"examples of {lengths[0]} to {lengths[-1]} steps do not fit one array; read them one by one"
            )
        out = np.empty((len(wanted), lengths[0], self._content.n_inputs), dtype=np.bool_)
        for i, position in enumerate(positions):
            out[i] = self[position]
        return out

    def planes(self, index: int, grid: tuple[int, int] | None = None) -> NDArray[np.bool_] | None:
        """One example on its grid, (T, n_planes, n_rows, n_columns), for pictures; None if there is no grid.

        The planes of a recording are its polarities, OFF and ON, even if they are merged for the network.
        """
        shape = grid or self._content.grid
        if shape is None:
            return None
        spikes = self.example(index).spikes
        width = self._content.n_inputs * self._content.n_planes
        return spikes.to_array(width).reshape(spikes.n_steps, -1, *shape)

    @property
    def n_events(self) -> NDArray[np.int64] | None:
        """(n,) number of events of each recording before cropping; None if made from arrays."""
        return None if self._content.preprocessing is None else self._tables["n_events"]

    @property
    def duration_us(self) -> NDArray[np.int64] | None:
        """(n,) time from the first to the last event; None if made from arrays."""
        return None if self._content.preprocessing is None else self._tables["duration_us"]

    def density(self, index: int) -> float:
        """Fraction of the (T, n_inputs) cells of one example that contain a spike."""
        spikes, n_inputs = self.example(index).spikes, self._content.n_inputs
        return spikes.count(n_inputs) / (spikes.n_steps * n_inputs)

    def example(self, index: int) -> Example:
        """All data of one example; a `DataError` if it does not match its checksum."""
        i = self._position(index)
        row = {key: int(self._tables[key][i]) for key in _NUMBERS}
        raw = self._reader.spikes(row["begin"], row["count"] + row["target_count"])
        if hashlib.sha256(raw).digest() != self._tables["sha256"][i].tobytes():
            raise self._damaged(i, "does not match its checksum")
        pairs = np.frombuffer(raw, dtype=SPIKE_DTYPE)
        spikes = SpikeList(pairs[: row["count"]], row["length"])
        target = SpikeList(pairs[row["count"] :], row["length"]) if self._content.desired == "pattern" else None
        n_indices = self._content.n_inputs * self._content.n_planes
        for part, width in ((spikes, n_indices), (target, self._content.n_visible)):
            if part is not None:
                check_size(part.n_steps, width, f"{self._reader.path}: {self.name} example {i}", len(pairs))
                if not part.fits(width):
                    raise self._damaged(i, "has a spike out of range")
        label = None if self.labels is None else self.labels[i]
        group = None if self.groups is None else str(self.groups[i])
        return Example(self.name, label, spikes, self.names[i], target, row["n_events"], row["duration_us"], group)

    def _damaged(self, i: int, problem: str) -> DataError:
        where = f"{self._reader.path}: damaged: {self.name} example {i} ({self.names[i]})"
        return DataError(f"{where} {problem}; the file was changed since it was made: make it again")

    def _position(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"example {index} of {len(self)} in the {self.name} split")
        return index % len(self)


class PreparedData:
    """An open prepared file, from `open_prepared`. Can be pickled: the copy reopens the file."""

    def __init__(self, path: str | PathLike[str], fingerprint: str | None = None) -> None:
        self.path = Path(path)
        self._reader = container.Reader(self.path)
        try:
            self.content = content = Content.model_validate(self._reader.content)
            self.n_inputs: int = content.n_inputs
            self.n_visible: int = content.n_visible
            """Number of classes, or of neurons in the target patterns."""
            self.classes: tuple[Label, ...] = tuple(content.classes)
            """The labels of the class indices: integers or strings."""
            self.grid: tuple[int, int] | None = None if content.grid is None else (content.grid[0], content.grid[1])
            """Rows and columns, if the inputs are planes of cells."""
            target = content.target_grid
            self.target_grid: tuple[int, int] | None = None if target is None else (target[0], target[1])
            """Rows and columns, if the target patterns are planes of cells."""
            self.fingerprint: str = self._reader.fingerprint
            choices = content.preprocessing
            self.preprocessing: Preprocessing | None = None if choices is None else Preprocessing.from_dict(choices)
            self.train = Split(self._reader, "train", content)
            self.test = Split(self._reader, "test", content)
            self._check()
        except (KeyError, TypeError, ValueError) as error:
            self._reader.close()
            what = f"{error.errors()[0]['loc']}" if isinstance(error, ValidationError) else str(error)
            raise DataError(f"{self.path}: damaged prepared file ({what}); make it again") from None
        if fingerprint is not None and fingerprint != self.fingerprint:
            self._reader.close()
            raise DataError(f"{self.path}: the file was replaced by another since it was opened")
        self.n_steps: int = int(max(split.lengths.max(initial=0) for split in self.splits))
        """Time steps of the longest example."""
        self.attributes: dict[str, Any] = {
            **content.attributes,
            **(choices or {}),
            "classes": list(self.classes),
            "n_inputs": self.n_inputs,
            "n_steps": self.n_steps,
            "grid": content.grid,
            "version": self._reader.version,
        }

    def _check(self) -> None:
        """A `ValueError` if the metadata is inconsistent."""
        content, choices = self.content, self.preprocessing
        if len(set(self.classes)) != len(self.classes):
            raise ValueError("duplicate classes")
        if content.desired != "pattern" and self.n_visible != len(self.classes):
            raise ValueError("n_visible is not the number of classes")
        if self.grid is not None and self.n_inputs % (self.grid[0] * self.grid[1]):
            raise ValueError("the inputs do not fill the grid")
        if self.target_grid is not None and (
            content.desired != "pattern" or self.n_visible % (self.target_grid[0] * self.target_grid[1])
        ):
            raise ValueError("the targets do not fill their grid")
        if content.target_half is not None and (self.grid is None or self.target_grid is None):
            raise ValueError("halves of a picture need a grid each")
        if choices is not None and (choices.n_inputs != self.n_inputs or choices.grid != self.grid):
            raise ValueError("the preprocessing gives other inputs")

    def label_of(self, split: Split, index: int) -> str:
        """The desired output of an example, in words: its class or classes, or "a spike pattern"."""
        if split.labels is None:
            return "a spike pattern"
        label = split.labels[index]
        named = [self.classes[i] for i in np.flatnonzero(label)] if label.ndim else [self.classes[label]]
        return ", ".join(map(str, named)) or "none"

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def splits(self) -> tuple[Split, Split]:
        """The training and the test split."""
        return self.train, self.test

    def bin(self, events: Events, name: str = "events") -> NDArray[np.bool_]:
        """Preprocess a recording like those of this file, (T, n_inputs)."""
        if self.preprocessing is None:
            raise DataError(f"{self.path}: made from arrays, so it has no preprocessing for events")
        return self.preprocessing.bin(events, name)

    def verify(self) -> None:
        """Read everything once; a `DataError` names the first changed example."""
        for split in self.splits:
            for i in range(len(split)):
                split.example(i)

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[PreparedData], tuple[Path, str]]:
        return PreparedData, (self.path, self.fingerprint)


def open_prepared(path: str | PathLike[str], expect: Mapping[str, Any] | None = None) -> PreparedData:
    """Open a prepared file for reading; several processes may do so at the same time.

    Parameters
    ----------
    path
        A file made by `gemsnn data import`, `gemsnn data simulate` or `write_prepared`.
    expect
        Values that attributes of the file (`PreparedData.attributes`) must have, for example `{"bin_us": 25_000,
        "simulated": False}`; a `DataError` names each difference.

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
                differences.append(f"{key} is not recorded in the file, {plain(wanted)!r} was expected")
            elif found != plain(wanted):
                differences.append(f"{key} is {found!r}, {plain(wanted)!r} was expected")
        if differences:
            data.close()
            raise DataError(f"{data.path}: made with other settings: {'; '.join(differences)}. Make the file again")
    return data


# ---- writing ---------------------------------------------------------------------------------------------------------


class PreparedWriter:
    """Writes a prepared file example by example; the file appears under its name only when complete.

    Use it as a context manager. An exception, including an interrupt, removes the incomplete file.
    """

    def __init__(self, path: str | PathLike[str], content: Content) -> None:
        self.path = Path(path)
        self._content = content
        self._rows: dict[SplitName, list[tuple[Any, ...]]] = {name: [] for name in SPLITS}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._bytes = container.Writer(self._stack.enter_context(replacing(self.path)))
        return self

    def add(self, example: Example) -> None:
        """Append an example to its split."""
        parts = [example.spikes.spikes] if example.target is None else [example.spikes.spikes, example.target.spikes]
        width = max(self._content.n_inputs * self._content.n_planes, self._content.n_visible)
        check_size(example.spikes.n_steps, width, example.name or "an example", sum(map(len, parts)))
        begin, counts = self._bytes.count, [len(part) for part in parts]
        digest = hashlib.sha256()
        for part in parts:
            self._bytes.append(part)
            digest.update(part.tobytes())
        name = example.name.replace("\0", "\\0").encode("utf-8", "backslashreplace")
        numbers = (begin, counts[0], sum(counts[1:]), example.spikes.n_steps, example.n_events, example.duration_us)
        group = None if example.group is None else example.group.replace("\0", "\\0").encode()
        self._rows[example.split].append((numbers, digest.digest(), name, example.label, group))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if error is not None:
                raise error
            tables = {f"{split}/{key}": table for split in SPLITS for key, table in self._tables(split).items()}
            self._bytes.finish(self._content.model_dump(), tables)

    @property
    def _grouped(self) -> bool:
        return any(row[4] is not None for rows in self._rows.values() for row in rows)

    def _tables(self, split: SplitName) -> dict[str, NDArray[Any]]:
        rows = self._rows[split]
        numbers = np.array([row[0] for row in rows], dtype="<i8").reshape(len(rows), len(_NUMBERS))
        tables: dict[str, NDArray[Any]] = {key: numbers[:, i].copy() for i, key in enumerate(_NUMBERS)}
        tables["sha256"] = np.frombuffer(b"".join(row[1] for row in rows), dtype=np.uint8).reshape(len(rows), 32)
        tables["name"] = np.array([row[2] for row in rows], dtype=f"|S{max([1, *(len(row[2]) for row in rows)])}")
        groups = [row[4] for row in rows]
        if self._grouped:
            if None in groups:
                raise DataError(f"{rows[groups.index(None)][2].decode()}: has no group, but others have one")
            tables["group"] = np.array(groups, dtype=f"|S{max([1, *map(len, groups)])}")
        if self._content.desired == "label":
            tables["label"] = np.array([row[3] for row in rows], dtype="<i8")
        elif self._content.desired == "labels":
            width = len(self._content.classes)
            tables["label"] = np.array([row[3] for row in rows], dtype=np.uint8).reshape(len(rows), width)
        return tables


def resplit(data: PreparedData, path: str | PathLike[str], test_fraction: float, seed: int) -> None:
    """Write the examples of a prepared file to another one with a new random split; groups stay together."""
    examples = [(split, i) for split in data.splits for i in range(len(split))]
    labels = None if data.train.labels is None else np.concatenate([split.labels for split in data.splits])
    known = [split.groups for split in data.splits if split.groups is not None]
    groups = np.concatenate(known) if known else None
    names: list[SplitName] = stratified_split(strata(labels, len(examples)), test_fraction, seed, groups).tolist()
    recorded = {"kind": "stratified", "test_fraction": test_fraction, "seed": seed, "of": data.fingerprint}
    attributes = {**data.content.attributes, "split": recorded}
    with PreparedWriter(path, data.content.model_copy(update={"attributes": attributes})) as writer:
        for (split, i), name in zip(examples, names, strict=True):
            writer.add(split.example(i)._replace(split=name))


def stratified_split(
    labels: NDArray[Any], test_fraction: float, seed: int, groups: NDArray[Any] | None = None
) -> NDArray[np.str_]:
    """Draw "train" or "test" for each example: the same fraction of each class, and at least one of each if possible.

    With groups, whole groups are drawn instead, regardless of classes.
    """
    if not 0 <= test_fraction <= 1:
        raise DataError(f"the fraction of test examples must be in 0..1, not {test_fraction}")
    if seed < 0:
        raise ConfigError(f"seed {seed}: it must be 0 or more")
    rng = np.random.default_rng(seed)
    if groups is not None:
        return np.where(group_share(groups, test_fraction, lambda _, n: rng.permutation(n)), "test", "train")

    def count(n: int) -> int:
        share = round(test_fraction * n)
        return min(max(share, 1), n - 1) if 0 < test_fraction < 1 and n > 1 else share

    return np.where(stratified_share(labels, count, lambda _, n: rng.permutation(n)), "test", "train")


def plain(value: Any) -> Any:
    """The value after a round trip through JSON."""
    try:
        text = json.dumps(
            value, default=lambda other: other.tolist() if hasattr(other, "tolist") else str(other), allow_nan=False
        )
    except (ValueError, RecursionError) as error:
        raise DataError(f"attributes must be JSON values: {error}") from None
    return json.loads(text)
