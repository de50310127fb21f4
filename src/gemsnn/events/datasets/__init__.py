"""Data sets by name. A data set is one file: its layout on disk, its format, preprocessing and split."""

import inspect
from collections.abc import Callable
from os import PathLike
from typing import Any

from gemsnn.common import kinds
from gemsnn.errors import ConfigError
from gemsnn.events.datasets.folder import find_folder
from gemsnn.events.datasets.inventory import Inventory, Recording
from gemsnn.events.datasets.mnist_dvs import find_mnist_dvs, mnist_dvs_preprocessing
from gemsnn.events.datasets.n_mnist import find_nmnist, nmnist_preprocessing
from gemsnn.events.datasets.tonic import find_tonic

DATASETS: dict[str, Callable[..., Inventory]] = {
    "mnist-dvs": find_mnist_dvs,
    "n-mnist": find_nmnist,
    "folder": find_folder,
    "tonic": find_tonic,
}


def find_dataset(dataset: str, folder: str | PathLike[str], **choices: Any) -> Inventory:
    """Find a data set by its name in `DATASETS`; `tonic:NAME` is tonic's data set of that name.

    `choices` are arguments of its function, such as `classes`, `scale` or `sensor_size`.
    """
    kind, _, name = dataset.partition(":")
    if kind not in DATASETS or bool(name) != (kind == "tonic"):
        known = ", ".join("tonic:NAME" if each == "tonic" else each for each in DATASETS)
        raise ConfigError(f"data set {dataset!r} is not known; there are {known}")
    if name:
        choices["name"] = name
    for choice in choices:
        if choice not in inspect.signature(DATASETS[kind]).parameters:
            raise ConfigError(f"data set {dataset}: it has no option {choice}")
    return DATASETS[kind](folder, **choices)


def register(name: str, find: Callable[..., Inventory]) -> None:
    """Register a data set under a name.

    ``find`` takes a folder, and options as keywords, and returns an :class:`Inventory`.
    """
    if not callable(find):
        raise ConfigError(f"a data set is a function that takes a folder, got {find!r}")
    if ":" in str(name):
        raise ConfigError(f"the name of a data set must not contain a colon, got {name!r}")
    kinds.register("data set", DATASETS, name, find)


__all__ = [
    "DATASETS",
    "Inventory",
    "Recording",
    "find_dataset",
    "find_folder",
    "find_mnist_dvs",
    "find_nmnist",
    "find_tonic",
    "mnist_dvs_preprocessing",
    "nmnist_preprocessing",
    "register",
]
