"""What there is to see of one recording: its events, the hidden spikes, the answers, the set, and when it would stop.

A page stays small whatever the recording: time steps are put together into frames where there are thousands, cells of a
large sensor into squares, and of many hidden neurons or classes some are shown. What was put together is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.words import printable
from gemsnn.errors import DataError
from gemsnn.events import Preprocessing
from gemsnn.inference import UNUSUAL, AnytimePrediction, sample
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import DecoderSettings, Model
from gemsnn.watching.packing import pack_numbers, pack_shares, pack_spikes

MOST_FRAMES = 1500
MOST_SIDE = 320  # cells of a picture along its longer side
MOST_SPIKES = 300_000  # of a recording; about half a megabyte
MOST_HIDDEN, MOST_HIDDEN_SPIKES = 400, 100_000
MOST_CLASSES = 12
STEP_MS = 25.0  # where a step has no length of its own, so that it can be played


class Picture(NamedTuple):
    """How the inputs are drawn: on a grid, or one row for each where there is none."""

    n_inputs: int
    grid: tuple[int, int] | None = None
    preprocessing: Preprocessing | None = None

    @classmethod
    def of(cls, model: Model, grid: tuple[int, int] | None = None) -> Picture:
        """For a model; ``grid`` is that of data that know it."""
        known = model.preprocessing.grid if model.preprocessing is not None else grid
        return cls(model.network.n_inputs, known, model.preprocessing)

    @property
    def step_ms(self) -> float | None:
        return None if self.preprocessing is None else self.preprocessing.width_us / 1000


class Layout(NamedTuple):
    """Where a spike goes in the drawing."""

    width: int
    height: int
    place: NDArray[np.int64]  # (cells,): of a cell, or input, in the drawing, row by row
    two_colours: bool  # places run twice over the drawing: OFF, then ON
    merged: int  # cells along the side of a square that is one in the drawing


@dataclass(frozen=True)
class Scene:
    """One recording with everything that happened, as JSON values for the page.

    Attributes
    ----------
    name, truth
        What it is called, and which class it is, if that is known.
    chosen, confidence
        The answer at the end: index and probability.
    members, stopped
        The set at the end, as indices, and the number of steps after which it would have been stopped; None where the
        model makes no promise.
    steps
        T
    content
        All the rest, packed.
    """

    name: str
    truth: str | None
    chosen: int
    confidence: float
    members: list[int] | None
    stopped: int | None
    steps: int
    content: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """As the page's script reads it."""
        head = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "content"}
        return {**head, **self.content}


def make_scene(
    model: Model,
    spikes: SpikeList,
    picture: Picture,
    name: str,
    *,
    truth: Any = None,
    decoder: DecoderSettings | None = None,
    size: int = 1,
    answers: AnytimePrediction | None = None,
) -> Scene:
    """Run a model on a recording, with the draws of :meth:`gemsnn.training.Model.predict`.

    Parameters
    ----------
    spikes
        Of the inputs; polarities that the network merges may be apart.
    decoder
        The model's own if not given; a model that is calibrated for another gives no sets.
    size
        The recording would be stopped as soon as the set has no more classes.
    answers
        Of the model with that decoder, if it was asked already.
    """
    how = model.decoder if decoder is None else decoder
    if len(model.classes) != model.network.n_visible:
        raise DataError("this model was trained on spike patterns: it has no classes, so there are no answers to watch")
    inputs = spikes.to_array(picture.n_inputs)
    if answers is None:
        answers = model.predict_anytime(inputs, how.kind, how.compartments)
    assert answers.usual is not None  # a model always says
    T, n_frames = len(inputs), min(len(inputs), MOST_FRAMES)
    ends = -(-np.arange(1, n_frames + 1) * T // n_frames)  # steps seen when each frame is over
    frame_of = np.searchsorted(ends, np.arange(T), side="right")
    shown = _classes_to_show(answers.probabilities)
    layout, drawn = _drawing(spikes, picture, frame_of, n_frames)
    content = {
        "step_ms": picture.step_ms,
        "play_ms": picture.step_ms or STEP_MS,
        "ends": pack_numbers(np.diff(ends, prepend=0)),
        "frames": n_frames,
        "width": layout.width,
        "height": layout.height,
        "on_grid": picture.grid is not None,
        "two_colours": layout.two_colours,
        "merged": layout.merged,
        "spikes": drawn,
        "spike_count": len(spikes.spikes),
        **_hidden(model, how, inputs, frame_of, n_frames),
        "hidden_spikes": pack_numbers(np.bincount(frame_of, answers.hidden_spikes, n_frames).round().astype(np.int64)),
        "shown": shown.tolist(),
        "probabilities": pack_shares(answers.probabilities[ends - 1][:, shown]),
        "answers": pack_numbers(answers.classes[ends - 1]),
        "confidences": pack_shares(answers.confidence[ends - 1]),
        "unusual": pack_numbers((answers.usual[ends - 1] < UNUSUAL).astype(np.int64)),
    }
    members, stopped = None, None
    if model.calibration is not None and model.calibration.decoder == how:
        guarantee = model.calibration.guarantee
        sets = guarantee.sets(answers)
        members = np.flatnonzero(sets[-1]).tolist()
        stopped = int(guarantee.stop(answers, size).steps)
        content["promise"] = {
            "alpha": guarantee.alpha,
            "size": size,
            "checkpoints": list(guarantee.checkpoints),
            "thresholds": [float(np.exp(-threshold)) for threshold in guarantee.thresholds],
            # of each class, the number of steps after which it left; 0 if it never did
            "left": np.where(sets[-1], 0, sets.sum(axis=0) + 1).tolist(),
        }
    last, certain = int(answers.classes[-1]), float(answers.confidence[-1])
    told = None if truth is None else printable(truth)
    return Scene(printable(name), told, last, certain, members, stopped, T, content)


def drawing_of(picture: Picture, merged: int = 1) -> Layout:
    """How spikes of a picture are placed; ``merged`` cells along a side are one."""
    if picture.grid is None:
        height = -(-picture.n_inputs // merged)
        return Layout(1, height, np.arange(picture.n_inputs) // merged, False, merged)
    rows, columns = picture.grid
    cells = np.arange(rows * columns).reshape(rows, columns)
    stood = cells if picture.preprocessing is None else picture.preprocessing.upright(cells)
    y, x = np.indices(stood.shape) // merged
    height, width = (-(-side // merged) for side in stood.shape)
    place = np.zeros(cells.size, dtype=np.int64)
    place[stood.reshape(-1)] = (y * width + x).reshape(-1)
    recorded = picture.preprocessing is not None or picture.n_inputs == 2 * cells.size
    return Layout(width, height, place, recorded, merged)


def places(layout: Layout, index: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Where spikes of the given indices go; the second plane, ON, after the first."""
    plane, cell = np.divmod(index.astype(np.int64), len(layout.place))
    offset = np.where(plane == 1, layout.width * layout.height, 0) if layout.two_colours else 0
    found: NDArray[np.int64] = layout.place[cell] + offset
    return found


def _drawing(spikes: SpikeList, picture: Picture, frame_of: NDArray[Any], n_frames: int) -> tuple[Layout, str]:
    """As fine as the size of the page allows."""
    frames, index = frame_of[spikes.spikes["step"]], spikes.spikes["index"]
    longest = picture.n_inputs if picture.grid is None else max(picture.grid)
    merged = max(1, -(-longest // MOST_SIDE))
    while True:
        layout = drawing_of(picture, merged)
        where = places(layout, index)
        cells = 2 * layout.width * layout.height
        told = np.unique(frames.astype(np.int64) * cells + where)
        if len(told) <= MOST_SPIKES or merged >= longest:
            return layout, pack_spikes(*np.divmod(told, cells), n_frames)
        merged *= 2


def _hidden(
    model: Model, how: DecoderSettings, inputs: NDArray[Any], frame_of: NDArray[Any], n_frames: int
) -> dict[str, Any]:
    """Of the first compartment, while the visible neurons run freely."""
    seed = model.prediction_seed
    response = sample(model.network, model.parameters, inputs, how.compartments, seed, example=None)
    hidden = response[:, 0, : model.network.n_hidden]
    n = hidden.shape[1]
    few = min(n, MOST_HIDDEN)
    if hidden.sum() > MOST_HIDDEN_SPIKES:
        few = max(1, min(few, int(n * MOST_HIDDEN_SPIKES / hidden.sum())))
    rows = np.unique(np.linspace(0, max(0, n - 1), few).astype(np.int64)) if n else np.zeros(0, dtype=np.int64)
    step, row = np.nonzero(hidden[:, rows])
    return {
        "hidden": pack_spikes(frame_of[step], row, n_frames),
        "hidden_rows": len(rows),
        "hidden_of": n,
        "compartments": how.compartments,
    }


def _classes_to_show(probabilities: NDArray[np.float64]) -> NDArray[np.intp]:
    """Those that were ever the most probable, in their order."""
    order = np.argsort(-probabilities.max(axis=0), kind="stable")[:MOST_CLASSES]
    return np.sort(order)
