"""The data sets of tonic; `pip install 'gemsnn[tonic]'`."""

import importlib
import inspect
from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import recfunctions

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.datasets.inventory import Inventory, Recording
from gemsnn.events.prepared import Label, SplitName
from gemsnn.events.records import Events, as_events


def find_tonic(
    folder: str | PathLike[str],
    classes: Sequence[Label] | None = None,
    sensor_size: tuple[int, int] | None = None,
    *,
    name: str,
) -> Inventory:
    """Find a data set of `tonic.datasets` by its name; tonic downloads it into the folder if needed.

    Parameters
    ----------
    folder
        tonic's `save_to`.
    classes
        tonic's names of the classes to read; all if not given.
    sensor_size
        Columns and rows; needed for data sets whose recordings differ in size.
    name
        Such as DVSGesture, SHD, NCALTECH101, CIFAR10DVS.
    """
    made = _open(name, Path(folder))
    recordings: list[Recording] = []
    named = _class_names(made[0][1])
    for split, dataset in made:
        for i, target in enumerate(_targets(dataset)):
            label = named.get(target, target)
            if classes is None or label in classes:
                title = f"{name} {i}" if split is None else f"{name} {split} {i}"
                recordings.append(Recording(title, label, split, partial(_read, dataset, i, title)))
    if not recordings:
        raise DataError(
            f"tonic:{name} in {folder}: no recordings" + ("" if classes is None else f" of {list(classes)}")
        )
    if sensor_size is None:
        size = made[0][1].sensor_size
        if size is None:
            raise DataError(f"tonic:{name}: its recordings differ in size; give --sensor COLUMNS ROWS")
        sensor_size = int(size[0]), int(size[1])
    labels = set(classes or named.values() or {recording.label for recording in recordings})
    polarity = "separate" if sensor_size[1] > 1 else "merged"  # one row of units is not a camera
    choices = Preprocessing.from_dict({"sensor_size": sensor_size, "polarity": polarity})
    return Inventory(f"tonic:{name}", Path(folder), tuple(sorted(labels)), tuple(recordings), choices, {}, {})


def _open(name: str, folder: Path) -> list[tuple[SplitName | None, Any]]:
    try:
        datasets = importlib.import_module("tonic").datasets
    except ImportError:
        raise ConfigError("tonic is not installed: pip install 'gemsnn[tonic]'") from None
    if name not in datasets.__all__:
        raise ConfigError(f"tonic:{name}: tonic has no such data set; it has {', '.join(datasets.__all__)}")
    kind = getattr(datasets, name)
    arguments = inspect.signature(kind).parameters
    make = partial(kind, save_to=str(folder))
    try:
        if "train" in arguments:
            return [("train", make(train=True)), ("test", make(train=False))]
        if "split" in arguments:
            return [("train", make(split="train")), ("test", make(split="test"))]
        return [(None, make())]
    except Exception as error:  # tonic's own, and those of a download
        raise DataError(f"tonic:{name} in {folder}: tonic cannot open it: {type(error).__name__}: {error}") from error


def _targets(dataset: Any) -> list[Any]:
    """The target of each recording: integers or strings."""
    targets = dataset.targets if len(dataset.targets) == len(dataset) else [dataset[i][1] for i in range(len(dataset))]
    plain = [target.item() if isinstance(target, np.generic) else target for target in targets]
    if plain and not isinstance(plain[0], int | str):
        raise DataError(f"tonic:{dataset}: its targets are {type(plain[0]).__name__}, not classes; use write_prepared")
    return plain


def _class_names(dataset: Any) -> dict[Any, Label]:
    """Names of integer targets, if tonic has them."""
    classes = getattr(dataset, "classes", None)
    if classes is None:
        return {}
    if isinstance(classes, dict):
        return {number: str(name) for name, number in classes.items()}
    return {i: each.decode() if isinstance(each, bytes) else str(each) for i, each in enumerate(classes)}


def _read(dataset: Any, i: int, name: str) -> Events:
    try:
        events = dataset[i][0]
    except Exception as error:
        raise DataError(f"{name}: tonic cannot read it: {type(error).__name__}: {error}") from error
    # Recordings of sound have neither rows nor polarities.
    for field, value in (("y", 0), ("p", 1)):
        if isinstance(events, np.ndarray) and events.dtype.names and field not in events.dtype.names:
            events = recfunctions.append_fields(events, field, np.full(len(events), value), usemask=False)
    return as_events(events, name)
