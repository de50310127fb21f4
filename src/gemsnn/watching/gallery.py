"""Many recordings, the least certain first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gemsnn.errors import GemsnnError
from gemsnn.events import PreparedData, read_recording
from gemsnn.events.prepared import Split
from gemsnn.inference import AnytimePrediction
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import DecoderSettings, Model
from gemsnn.watching.scene import Picture, Scene, make_scene

TOGETHER = 64  # recordings that are asked about at once
KEPT = 256  # recordings whose spikes and answers stay in memory: no page has room for more
MOST_TEXT = 16_000_000  # letters of a page, about


class Item(NamedTuple):
    """A recording that is read when it is needed."""

    name: str
    read: Callable[[], SpikeList]
    truth: Any = None
    answers: AnytimePrediction | None = None
    """The model's, if it was asked."""


def recordings(model: Model, files: Sequence[Path]) -> list[Item]:
    """Recordings in files; a folder that is called as a class says that its recordings are of that class."""
    preprocessing = model.preprocessing
    assert preprocessing is not None
    known = {str(label): label for label in model.classes}

    def item(file: Path) -> Item:
        return Item(
            str(file), lambda: preprocessing.spikes(read_recording(file), str(file)), known.get(file.parent.name)
        )

    return [item(file) for file in files]


def examples(data: PreparedData, split: Split) -> list[Item]:
    """The examples of a split."""

    def item(index: int) -> Item:
        place = f"{split.name} {index}"
        name = f"{place}: {split.names[index]}" if split.names[index] else place
        truth = None if split.labels is None or split.labels.ndim > 1 else data.classes[split.labels[index]]
        return Item(name, lambda: split.example(index).spikes, truth)

    return [item(index) for index in range(len(split))]


def least_certain(
    model: Model, items: Sequence[Item], picture: Picture, decoder: DecoderSettings | None = None
) -> tuple[list[Item], list[str]]:
    """The recordings in order of how sure the answers are, and what is wrong with those that cannot be read.

    Each is read once and the network runs once on it: the first come with their spikes and answers.
    """
    found: list[tuple[float, Item, Item]] = []  # how sure the answer is, the recording, and the same with its answers
    errors: list[str] = []
    for first in range(0, len(items), TOGETHER):
        read: list[tuple[Item, SpikeList]] = []
        for item in items[first : first + TOGETHER]:
            try:
                read.append((item, item.read()))
            except GemsnnError as error:
                errors.append(str(error))
        if not read:
            continue
        asked = model.decoder if decoder is None else decoder
        inputs = [spikes.to_array(picture.n_inputs) for _, spikes in read]
        for (item, spikes), answers in zip(
            read, model.predict_anytime(inputs, asked.kind, asked.compartments), strict=True
        ):
            known = item._replace(read=partial(_as_it_is, spikes), answers=answers)
            found.append((float(answers.confidence[-1]), item, known))
        found.sort(key=lambda entry: entry[0])
        found = [(sure, item, known if n < KEPT else item) for n, (sure, item, known) in enumerate(found)]
    return [known for _, _, known in found], errors


def _as_it_is(spikes: SpikeList) -> SpikeList:
    return spikes


def scenes_of(
    model: Model,
    items: Sequence[Item],
    picture: Picture,
    *,
    decoder: DecoderSettings | None = None,
    size: int = 1,
) -> list[Scene]:
    """Of as many of the recordings, from the first, as a page has room for."""
    scenes: list[Scene] = []
    room = MOST_TEXT
    for item in items:
        scene = make_scene(
            model, item.read(), picture, item.name, truth=item.truth, decoder=decoder, size=size, answers=item.answers
        )
        room -= sum(len(part) for part in scene.content.values() if isinstance(part, str))
        if room < 0 and scenes:
            break
        scenes.append(scene)
    return scenes
