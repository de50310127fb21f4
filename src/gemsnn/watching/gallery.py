"""Many recordings, the least certain first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gemsnn.errors import GemsnnError
from gemsnn.events import PreparedData, read_recording
from gemsnn.events.prepared import Split
from gemsnn.inference import AnytimePrediction
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import DecoderSettings, Model
from gemsnn.watching.scene import Picture, Scene, make_scene

BATCH = 64  # recordings per run of the network
KEPT = 256  # recordings whose spikes and answers stay in memory; more do not fit on a page
MOST_TEXT = 16_000_000  # approximate number of characters of a page


class Item(NamedTuple):
    """A recording that is read when it is needed."""

    name: str
    read: Callable[[], SpikeList]
    truth: Any = None
    answers: AnytimePrediction | None = None
    """The model's answers, if they are known."""
    spikes: SpikeList | None = None
    """What ``read`` gives, if it was read."""


def recordings(model: Model, files: Sequence[Path]) -> list[Item]:
    """Recordings in files; those in a folder with the name of a class are of that class."""
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
        position = f"{split.name} {index}"
        name = f"{position}: {split.names[index]}" if split.names[index] else position
        truth = None if split.labels is None or split.labels.ndim > 1 else data.classes[split.labels[index]]
        return Item(name, lambda: split.example(index).spikes, truth)

    return [item(index) for index in range(len(split))]


def least_certain(
    model: Model, items: Sequence[Item], picture: Picture, decoder: DecoderSettings | None = None
) -> tuple[list[Item], list[str]]:
    """The recordings in order of confidence, and error messages of those that cannot be read.

    Each is read once, and the network runs once on it; the first ``KEPT`` are returned with their spikes and answers.
    """
    readout = model.decoder if decoder is None else decoder
    found: list[tuple[float, Item]] = []
    errors: list[str] = []
    for first in range(0, len(items), BATCH):
        inputs, batch = [], []
        for item in items[first : first + BATCH]:
            try:
                spikes = item.read()
            except GemsnnError as error:
                errors.append(str(error))
                continue
            inputs.append(spikes.to_array(picture.n_inputs))
            batch.append(item._replace(spikes=spikes))
        answers = model.predict_anytime(inputs, readout.kind, readout.compartments) if batch else []
        for item, answer in zip(batch, answers, strict=True):
            found.append((float(answer.confidence[-1]), item._replace(answers=answer)))
        found.sort(key=lambda entry: entry[0])
        for n, (confidence, item) in enumerate(found[KEPT:], start=KEPT):
            found[n] = confidence, item._replace(spikes=None, answers=None)
    return [item for _, item in found], errors


def scenes_of(
    model: Model,
    items: Sequence[Item],
    picture: Picture,
    *,
    decoder: DecoderSettings | None = None,
    size: int = 1,
) -> list[Scene]:
    """Scenes of the recordings, from the first, as many as a page has room for."""
    scenes: list[Scene] = []
    room = MOST_TEXT
    for item in items:
        spikes, known = item.spikes or item.read(), {"truth": item.truth, "answers": item.answers}
        scene = make_scene(model, spikes, picture, item.name, decoder=decoder, size=size, **known)
        room -= sum(len(part) for part in scene.content.values() if isinstance(part, str))
        if room < 0 and scenes:
            break
        scenes.append(scene)
    return scenes
