"""The data of a reproduction: the file given, the simulator's, or a split of its own for each seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gemsnn.common.files import remove_partial_files
from gemsnn.errors import DataError
from gemsnn.events import PreparedData, open_prepared, simulate_prepared
from gemsnn.events.prepared import SPLITS, Example, PreparedWriter, SplitName, stratified_split
from gemsnn.experiments.protocol import Protocol


def simulated_file(folder: Path, protocol: Protocol, advance: Callable[[], None] = lambda: None) -> Path:
    """The simulator's prepared file for a protocol, made if it is not there."""
    n_train, n_test = protocol.per_class
    digits = "".join(map(str, protocol.digits))
    path = folder / f"simulated-{digits}-{n_train}+{n_test}-seed{protocol.data_seed}.h5"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        remove_partial_files(folder)
        simulate_prepared(
            path, digits=protocol.digits, per_class=protocol.per_class, seed=protocol.data_seed, advance=advance
        )
    return path


def needs_resplit(data: PreparedData) -> bool:
    """Whether the file's own split was drawn at random, so that one split is as good as another."""
    split = data.attributes.get("split")
    return not len(data.test) or (isinstance(split, dict) and split.get("kind") == "stratified")


def check_usable(data: PreparedData) -> None:
    """Refuse what cannot be reproduced on."""
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
    """For each seed a prepared file with the same examples and a stratified split of its own; made where missing.

    Ordinary files, so that each run stays an ordinary run that every command understands.
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_partial_files(folder)
    made = {}
    with open_prepared(path) as data:
        for seed in seeds:
            out = folder / f"split-{data.fingerprint[:8]}-{test_fraction:g}-seed{seed}.h5"
            if not out.exists():
                _resplit(data, out, seed, test_fraction)
            made[seed] = out
    return made


def _resplit(data: PreparedData, out: Path, seed: int, test_fraction: float) -> None:
    labels = np.concatenate([split.labels for split in data.splits])
    places = [(split, i) for split in data.splits for i in range(len(split))]
    names: list[SplitName] = stratified_split(labels, test_fraction, seed).tolist()
    kept = {"classes", "n_inputs", "n_steps", "version"} | set(
        {} if data.preprocessing is None else data.preprocessing.to_dict()
    )
    attributes: dict[str, Any] = {key: value for key, value in data.attributes.items() if key not in kept}
    recorded = {"kind": "stratified", "test_fraction": test_fraction, "seed": seed, "of": data.fingerprint}
    shape = None if data.preprocessing is None else data.preprocessing.grid
    with PreparedWriter(
        out,
        counts={name: names.count(name) for name in SPLITS},
        classes=data.classes,
        n_steps=data.n_steps,
        n_inputs=data.n_inputs,
        attributes={**attributes, "split": recorded},
        preprocessing=data.preprocessing,
    ) as writer:
        for (split, i), name in zip(places, names, strict=True):
            events, durations = split.n_events, split.duration_us
            writer.add(
                Example(
                    name,
                    int(split.labels[i]),
                    split[i],
                    split.names[i],
                    None if shape is None else split.planes(i, shape),
                    0 if events is None else int(events[i]),
                    0 if durations is None else int(durations[i]),
                )
            )
