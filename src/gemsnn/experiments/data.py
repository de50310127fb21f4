"""The data of a reproduction: a given file, simulated recordings, or another split for each seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gemsnn.common.files import remove_partial_files
from gemsnn.errors import DataError
from gemsnn.events import PreparedData, mnist_dvs_preprocessing, open_prepared, simulate_prepared
from gemsnn.events.prepared import resplit
from gemsnn.experiments.protocol import Protocol


def simulated_file(folder: Path, protocol: Protocol, advance: Callable[[], None] = lambda: None) -> Path:
    """The prepared file with a protocol's simulated recordings, created if missing."""
    n_train, n_test = protocol.per_class
    digits = "".join(map(str, protocol.digits))
    path = folder / f"simulated-{digits}-{n_train}+{n_test}-seed{protocol.data_seed}.h5"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        remove_partial_files(folder)
        merged = mnist_dvs_preprocessing(4).model_copy(update={"polarity": "merged"})  # as the paper does
        simulate_prepared(
            path, digits=protocol.digits, per_class=protocol.per_class, seed=protocol.data_seed, preprocessing=merged,
            advance=advance,
        )  # fmt: skip
    return path


def needs_resplit(data: PreparedData) -> bool:
    """Whether the file's split was drawn at random, or is missing."""
    split = data.attributes.get("split")
    return not len(data.test) or (isinstance(split, dict) and split.get("kind") == "stratified")


def check_usable(data: PreparedData) -> None:
    """Refuse data with fewer than two classes, or without examples of a class in a split."""
    if len(data.classes) < 2:
        raise DataError(f"{data.path}: only one class; at least two are needed")
    for split in data.splits:
        if not len(split):
            raise DataError(f"{data.path}: no {split.name} examples; use --resplit, or a file that has some")
        missing = set(range(len(data.classes))) - set(split.labels.tolist())
        if missing:
            names = ", ".join(str(data.classes[i]) for i in sorted(missing))
            raise DataError(f"{data.path}: no {split.name} examples of {names}; use --resplit, or another file")


def resplit_files(path: Path, folder: Path, seeds: Sequence[int], test_fraction: float) -> dict[int, Path]:
    """For each seed, a prepared file with the same examples and another stratified split, created if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    remove_partial_files(folder)
    made = {}
    with open_prepared(path) as data:
        for seed in seeds:
            out = folder / f"split-{data.fingerprint[:8]}-{test_fraction:g}-seed{seed}.h5"
            if not out.exists():
                resplit(data, out, test_fraction, seed)
            made[seed] = out
    return made
