"""Data sets of simulated recordings of your own pictures, in one folder per class, as a prepared file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gemsnn.common.seeds import words
from gemsnn.errors import ConfigError, DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.calibration import CAMERAS
from gemsnn.events.datasets.folder import class_folders
from gemsnn.events.datasets.inventory import Unread, check_folder, contents, entries, unread_lines, unreadable
from gemsnn.events.prepared import (
    Content,
    Example,
    PreparedWriter,
    SplitName,
    example_from_events,
    stratified_split,
)
from gemsnn.events.screen import ENDINGS, frames_in
from gemsnn.events.simulated import FIRST_TEST_NUMBER, in_order
from gemsnn.events.simulator import simulate
from gemsnn.events.variation import Variation
from gemsnn.model.checks import one_of, whole_number

BEYOND_TEST_NUMBERS = 1 << 20


class Picture(NamedTuple):
    """A picture, or a folder of frames, to be recorded."""

    path: Path
    split: SplitName
    label: int
    """Index of its class among the sorted names."""
    number: int
    """1.. for training, 901.. for testing, as in the layout of MNIST-DVS; part of the seed."""
    take: int = 0


class Found(NamedTuple):
    """The pictures in a folder."""

    classes: tuple[str, ...]
    pictures: tuple[Picture, ...]
    """Class by class, training before test."""
    scenes: bool
    """Whether some of them are folders of frames."""
    official: bool
    """Whether the folder defines the split."""
    unread: tuple[str, ...]


def find_pictures(folder: str | PathLike[str], test_fraction: float = 0.2, seed: int = 0, takes: int = 1) -> Found:
    """Find the pictures `CLASS/PICTURE` or `SPLIT/CLASS/PICTURE`; a folder instead of a picture is a scene of frames.

    Splits are as in `gemsnn.events.find_folder`; without them, `test_fraction` of each class is drawn with `seed`.
    """
    root, unread = check_folder(folder), list[Unread]()
    whole_number("takes", takes, 1)
    by_class: dict[str, list[tuple[Path, SplitName | None]]] = {}
    for split, class_folder in class_folders(root, unread):
        for path in entries(class_folder):
            if (path.is_dir() and frames_in(path)) or (unreadable(path) is None and path.suffix.lower() in ENDINGS):
                by_class.setdefault(class_folder.name, []).append((path, split))
            else:
                reason = "a folder without pictures" if path.is_dir() else "not a PNG or JPEG picture"
                unread.append(Unread(path, reason))
    if len(by_class) < 2:
        raise DataError(
            f"{root}: classes with pictures: {', '.join(sorted(by_class)) or 'none'}; at least two are needed, "
            f"each a folder CLASS with files that end in {', '.join(ENDINGS)}. {contents(root)}"
        )
    classes, pictures = tuple(sorted(by_class)), list[Picture]()
    official = all(split is not None for files in by_class.values() for _, split in files)
    for label, name in enumerate(classes):
        files = by_class[name]
        splits = [split for _, split in files]
        if not official:
            splits = stratified_split(np.full(len(files), label), test_fraction, seed + label).tolist()
        of = {split: [path for (path, _), own in zip(files, splits, strict=True) if own == split] for split in splits}
        for k, path in enumerate(of.get("train", [])):
            number = k + 1 if k + 1 < FIRST_TEST_NUMBER else BEYOND_TEST_NUMBERS + k
            pictures += [Picture(path, "train", label, number, take) for take in range(takes)]
        pictures += [
            Picture(path, "test", label, FIRST_TEST_NUMBER + k) for k, path in enumerate(of.get("test", []))
        ]  # fmt: skip
    scenes = any(picture.path.is_dir() for picture in pictures)
    return Found(classes, tuple(pictures), scenes, official, tuple(unread_lines(root, unread)))


def simulate_pictures(
    folder: str | PathLike[str],
    out: str | PathLike[str],
    *,
    found: Found | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    takes: int = 1,
    camera: str = "mnist-dvs",
    preprocessing: Preprocessing | None = None,
    vary: Variation | None = None,
    shades: bool = False,
    frames_per_second: float = 25.0,
    skip_damaged: bool = False,
    workers: int | None = None,
    advance: Callable[[], None] = lambda: None,
) -> tuple[str, ...]:
    """Simulate recordings of the pictures in a folder and write them as one prepared file, marked as simulated.

    Parameters
    ----------
    folder, test_fraction, takes
        See :func:`find_pictures`, whose result may be passed as `found`. Each training picture is recorded `takes`
        times, each test picture once.
    camera, preprocessing, vary
        As in :func:`simulate_prepared`.
    shades, frames_per_second
        As in :func:`simulate`.
    seed
        The same folder and seed give the same file, with any number of workers.
    skip_damaged
        Leave out pictures that cannot be recorded, and return them as messages.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, colour in (("red", "red"), ("blue", "blue")):
    ...         Path(folder, "in", name).mkdir(parents=True)
    ...         for n in range(2):
    ...             picture = Image.new("RGB", (40, 30))
    ...             picture.paste(colour, (5, 5, 20 + n, 20))
    ...             picture.save(Path(folder, "in", name, f"{n}.png"))
    ...     left_out = simulate_pictures(f"{folder}/in", f"{folder}/out.h5", test_fraction=0.5, shades=True)
    """
    pictures = found or find_pictures(folder, test_fraction, seed, takes)
    choices = preprocessing or CAMERAS[one_of("camera", camera, tuple(CAMERAS))].preprocessing
    counts = {split: sum(picture.split == split for picture in pictures.pictures) for split in ("train", "test")}
    attributes = {
        "source": "gemsnn simulator",
        "simulated": True,
        "split": {"kind": "given" if pictures.official else "simulated", **counts},
        "seed": seed,
        "images": str(folder),
        "takes": takes,
        "camera": camera,
        "shades": shades,
        "vary": None if vary is None else vary.model_dump(mode="json"),
    }
    root, skipped = Path(folder), list[str]()

    def record(picture: Picture) -> Example | str:
        key = (picture.label, picture.number, *([picture.take] if picture.take else []))
        try:
            events = simulate(
                picture.path,
                np.random.SeedSequence(words(seed, *key)),
                camera,
                vary=vary if picture.split == "train" else None,
                shades=shades,
                frames_per_second=frames_per_second,
            )
        except (DataError, ConfigError) as error:
            if not skip_damaged:
                raise
            return str(error)
        name = f"simulated, {picture.path.relative_to(root)}" + (f", take {picture.take}" if picture.take else "")
        return example_from_events(events, choices, picture.split, picture.label, name)

    with PreparedWriter(out, Content.of_recordings(pictures.classes, choices, attributes)) as writer:
        recorded: Iterator[Any] = in_order(pictures.pictures, record, workers)
        for example in recorded:
            if isinstance(example, str):
                skipped.append(example)
            else:
                writer.add(example)
            advance()
        if len(skipped) == len(pictures.pictures):
            raise DataError(f"{folder}: no picture can be recorded: {skipped[0]}")
    return tuple(skipped)
