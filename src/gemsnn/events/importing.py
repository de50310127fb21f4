"""Recordings of a data set as one prepared file, with their groups, and of a background folder as spikes."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.aedat import read_aedat_header
from gemsnn.events.bin_width import chosen
from gemsnn.events.binning import Preprocessing
from gemsnn.events.datasets.inventory import Inventory, Recording
from gemsnn.events.prepared import Content, Example, PreparedWriter, SplitName, example_from_events, stratified_split
from gemsnn.events.recordings import read_recording, recordings_in, sensor_size_of
from gemsnn.model.spike_list import SpikeList

SplitChoice = Literal["auto", "official", "stratified"]


def import_recordings(
    inventory: Inventory,
    out: str | PathLike[str],
    *,
    preprocessing: Preprocessing | None = None,
    split: SplitChoice = "auto",
    test_fraction: float = 0.1,
    seed: int = 0,
    allow_missing: bool = False,
    skip_damaged: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Write all recordings of an inventory to one prepared file.

    Parameters
    ----------
    inventory
        From `find_dataset`, or a function like `find_mnist_dvs` or `find_folder`.
    out
        The prepared file; it appears only once complete.
    preprocessing
        Default: that of the data set. Without `bin_us`, the bin width follows from the recordings (see
        `gemsnn.events.bin_width`), and is recorded as `bin_width`.
    split
        `"official"`: the data set's own. `"stratified"`: `test_fraction` of each class, drawn with `seed`; where
        recordings have groups, whole groups with about `test_fraction` of all recordings. `"auto"`: official if every
        class then has both training and test recordings, else stratified.
    allow_missing
        Keep classes without recordings; otherwise they are a `DataError`.
    skip_damaged
        Leave out unreadable recordings, and record their names, instead of stopping at the first.
    advance
        Called after each recording, for progress bars.

    Returns
    -------
    dict
        The file's attributes, such as source and split.
    """
    if inventory.missing_classes and not allow_missing:
        absent = ", ".join(str(label) for label in inventory.missing_classes)
        present = ",".join(str(label) for label in inventory.classes if label not in inventory.missing_classes)
        raise DataError(
            f"{inventory.folder}: no recordings of {absent}; pass --digits {present} to leave them out, or "
            "--allow-missing to keep classes without recordings"
        )
    recordings = inventory.recordings
    skipped: list[str] = []
    if skip_damaged:
        recordings, skipped = _readable(recordings)
    if split == "auto":
        split = "official" if inventory.has_official_split() else "stratified"
    names: list[SplitName]
    if split == "official":
        names = [recording.official_split or "train" for recording in recordings]
        recorded: dict[str, Any] = {"kind": "official"}
    else:
        labels = np.array([inventory.classes.index(recording.label) for recording in recordings])
        groups = [recording.group for recording in recordings]
        together = None if None in groups else np.array(groups)
        names = stratified_split(labels, test_fraction, seed, together).tolist()
        recorded = {"kind": "stratified", "test_fraction": test_fraction, "seed": seed}
        if together is not None:
            recorded["groups"] = len(np.unique(together[np.array(names) == "test"]))

    choices = preprocessing or inventory.preprocessing
    choices, width = chosen(choices, [recording.read for recording in recordings])
    simulated = _is_simulated(recordings[0])
    attributes = {
        "source": f"{inventory.dataset} layout, gemsnn simulator" if simulated else inventory.dataset,
        "simulated": simulated,
        "split": recorded,
        "missing": {str(label): what for label, what in inventory.missing.items()},
        "skipped": skipped,
        "unread": inventory.unread_lines(),
        **({} if width is None else {"bin_width": str(width)}),
        **inventory.details,
    }

    def examples() -> Iterator[Example]:
        for recording, name in zip(recordings, names, strict=True):
            if _is_simulated(recording) != simulated:
                raise DataError(
                    f"{recording.path or recording.name}: {'a real' if simulated else 'a simulated'} recording among "
                    f"{'simulated' if simulated else 'real'} ones; keep them in separate folders"
                )
            label = inventory.classes.index(recording.label)
            yield example_from_events(recording.read(), choices, name, label, recording.name, recording.group)

    with PreparedWriter(out, Content.of_recordings(inventory.classes, choices, attributes)) as writer:
        for example in examples():
            writer.add(example)
            advance()
    return attributes


def grouped(inventory: Inventory, by: str) -> Inventory:
    """The inventory, with a group for every recording.

    Parameters
    ----------
    by
        A regular expression, searched for in each recording's path inside the folder: its first parenthesised part,
        or the whole match, is the recording's group. Or a table (.csv) with a line NAME,GROUP per recording.

    Examples
    --------
    >>> from gemsnn.events.importing import grouped
    >>> grouped(inventory, r"(person\\d+)_")  # doctest: +SKIP
    """
    group_of = _from_table(Path(by)) if Path(by).suffix.lower() == ".csv" else _from_names(by)
    recordings = tuple(replace(one, group=group_of(one.name)) for one in inventory.recordings)
    return replace(inventory, recordings=recordings)


def _from_names(expression: str) -> Callable[[str], str]:
    try:
        pattern = re.compile(expression)
    except re.error as error:
        raise ConfigError(f"--group {expression}: not a regular expression: {error}") from None

    def group_of(name: str) -> str:
        found = pattern.search(name)
        group = None if found is None else found[1] if pattern.groups else found[0]
        if not group:
            raise DataError(f"{name}: --group {expression} does not match this name, so its group is unknown")
        return group

    return group_of


def _from_table(file: Path) -> Callable[[str], str]:
    try:
        rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeError, csv.Error) as error:
        raise DataError(f"{file}: cannot be read as a table of NAME,GROUP: {error}") from None
    groups = {row[0].strip(): row[1].strip() for row in rows if len(row) >= 2}

    def group_of(name: str) -> str:
        group = groups.get(name) or groups.get(Path(name).name)
        if not group:
            raise DataError(f"{file}: no line for {name}; there must be one NAME,GROUP for every recording")
        return group

    return group_of


def read_background(folder: str | PathLike[str], preprocessing: Preprocessing) -> tuple[SpikeList, ...]:
    """The spikes of all recordings in a folder and its subfolders, in full length, preprocessed like examples."""
    root = Path(folder)
    if not root.is_dir():
        raise DataError(f"{root}: not a folder; background recordings are files in a folder")
    choices = preprocessing.model_copy(update={"n_steps": None, "start_us": None})
    found = []
    for file in recordings_in(root):
        size = sensor_size_of(file)
        if size is not None and size != preprocessing.sensor_size:
            raise DataError(
                f"{file}: from a sensor of {size[0]} x {size[1]}, but the examples come from one of "
                f"{preprocessing.sensor_size[0]} x {preprocessing.sensor_size[1]}"
            )
        found.append(choices.spikes(read_recording(file), str(file)).folded(preprocessing.n_inputs))
    return tuple(found)


def _is_simulated(recording: Recording) -> bool:
    path = recording.path
    return path is not None and path.suffix.lower() == ".aedat" and read_aedat_header(path).simulated


def _readable(recordings: tuple[Recording, ...]) -> tuple[tuple[Recording, ...], list[str]]:
    good, skipped = [], []
    for recording in recordings:
        try:
            recording.read()
            good.append(recording)
        except DataError as error:
            skipped.append(str(error))
    if not good:
        raise DataError(f"no recording can be read; the first says: {skipped[0]}")
    return tuple(good), skipped
