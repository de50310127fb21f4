"""From a data set's recordings to one prepared file."""

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, Literal

import numpy as np

from gemsnn.errors import DataError
from gemsnn.events.aedat import parse_aedat, parse_header
from gemsnn.events.binning import Preprocessing
from gemsnn.events.files import read_bytes
from gemsnn.events.layouts import Inventory, Recording
from gemsnn.events.nmnist import parse_nmnist
from gemsnn.events.prepared import Content, Example, PreparedWriter, SplitName, example_from_events, stratified_split
from gemsnn.events.records import Events

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
    """Write one prepared file of everything in the inventory.

    Parameters
    ----------
    inventory
        From `find_mnist_dvs` or `find_nmnist`.
    out
        The prepared file; it appears only once complete.
    preprocessing
        Choices other than the data set's usual ones.
    split
        `"official"`: as the data set says. `"stratified"`: `test_fraction` of each digit, drawn with `seed`. `"auto"`:
        official if that gives every digit both training and test recordings, else stratified.
    allow_missing
        Keep a digit as a class although there is no recording of it; without this it is a `DataError`.
    skip_damaged
        Leave unreadable recordings out, and record their names, instead of stopping at the first.
    advance
        Called after each recording, for progress bars.

    Returns
    -------
    dict
        What was recorded in the file about source and split.
    """
    if inventory.missing_digits and not allow_missing:
        absent = ", ".join(str(digit) for digit in inventory.missing_digits)
        there = ", ".join(str(d) for d in inventory.digits if d not in inventory.missing_digits)
        raise DataError(
            f"{inventory.folder}: no recordings of digit {absent}, so this would not be a classification set; "
            f"ask for --digits {there.replace(',', '')}, or pass --allow-missing to keep a class without recordings"
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
        digits = np.array([recording.digit for recording in recordings])
        names = stratified_split(digits, test_fraction, seed).tolist()
        recorded = {"kind": "stratified", "test_fraction": test_fraction, "seed": seed}

    choices = preprocessing or inventory.preprocessing
    simulated = _says_simulated(recordings[0])
    attributes = {
        "source": f"{inventory.dataset} layout, gemsnn simulator" if simulated else inventory.dataset,
        "simulated": simulated,
        "digits": list(inventory.digits),
        "split": recorded,
        "missing": {str(digit): what for digit, what in inventory.missing.items()},
        "skipped": skipped,
        **inventory.details,
    }

    def examples() -> Iterator[Example]:
        for recording, name in zip(recordings, names, strict=True):
            if _says_simulated(recording) != simulated:
                raise DataError(
                    f"{recording.path}: {'a real' if simulated else 'a simulated'} recording among "
                    f"{'simulated' if simulated else 'real'} ones; keep them in folders of their own"
                )
            events = _read(recording)
            label = inventory.digits.index(recording.digit)
            relative = str(recording.path.relative_to(inventory.folder))
            yield example_from_events(events, choices, name, label, relative)

    with PreparedWriter(out, Content.of_recordings(inventory.digits, choices, attributes)) as writer:
        for example in examples():
            writer.add(example)
            advance()
    return attributes


def _read(recording: Recording) -> Events:
    data = read_bytes(recording.path)
    parse = parse_aedat if recording.path.suffix == ".aedat" else parse_nmnist
    return parse(data, str(recording.path))


def _says_simulated(recording: Recording) -> bool:
    if recording.path.suffix != ".aedat":
        return False
    return parse_header(read_bytes(recording.path), str(recording.path)).simulated


def _readable(recordings: tuple[Recording, ...]) -> tuple[tuple[Recording, ...], list[str]]:
    good, skipped = [], []
    for recording in recordings:
        try:
            _read(recording)
            good.append(recording)
        except DataError as error:
            skipped.append(str(error))
    if not good:
        raise DataError(f"no recording can be read; the first says: {skipped[0]}")
    return tuple(good), skipped
