"""All that a page shows of one recording: events, hidden spikes, answers, the set of classes, and the stop.

The size of a page is bounded: thousands of time steps are merged into frames, cells of a large sensor into squares, and
of many hidden neurons or classes only some are shown. The page states what was merged or left out.
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
STEP_MS = 25.0  # to play time steps that have no duration


class Picture(NamedTuple):
    """How the inputs are drawn: on a grid, or else as one row per input."""

    n_inputs: int
    grid: tuple[int, int] | None = None
    preprocessing: Preprocessing | None = None

    @classmethod
    def of(cls, model: Model, grid: tuple[int, int] | None = None) -> Picture:
        """The picture for a model; ``grid`` is that of the data, for a model that knows none."""
        known = model.preprocessing.grid if model.preprocessing is not None else grid
        return cls(model.network.n_inputs, known, model.preprocessing)

    @property
    def step_ms(self) -> float | None:
        return None if self.preprocessing is None else self.preprocessing.width_us / 1000


class Layout(NamedTuple):
    """Where spikes are drawn."""

    width: int
    height: int
    place: NDArray[np.int64]  # (cells,): position of each cell, or input, in the drawing, row by row
    two_colours: bool  # positions of OFF come first, then those of ON
    merged: int  # side, in cells, of the square that is drawn as one


@dataclass(frozen=True)
class Scene:
    """One recording with the model's answers, as JSON values for the page.

    Attributes
    ----------
    name, truth
        Name, and true class if it is known.
    chosen, confidence
        The answer at the end: class index and probability.
    members, stopped
        Class indices of the set at the end, and the number of steps until the stop; None for a model without a
        guarantee.
    steps
        Number of time steps T.
    content
        Everything else, packed.
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
        """The form that the page's script reads."""
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
        Input spikes; polarities that the network merges may be separate.
    decoder
        Default: the model's. A model that is calibrated for another decoder gives no sets.
    size
        The recording stops when the set has at most this many classes.
    answers
        The model's answers with that decoder, if they are known.
    """
    readout = model.decoder if decoder is None else decoder
    if len(model.classes) != model.network.n_visible:
        raise DataError("this model was trained on spike patterns: it has no classes, so there are no answers to watch")
    inputs = spikes.to_array(picture.n_inputs)
    if answers is None:
        answers = model.predict_anytime(inputs, readout.kind, readout.compartments)
    assert answers.usual is not None
    T, n_frames = len(inputs), min(len(inputs), MOST_FRAMES)
    ends = -(-np.arange(1, n_frames + 1) * T // n_frames)  # number of steps at the end of each frame
    frame_of = np.searchsorted(ends, np.arange(T), side="right")
    shown = _classes_to_show(answers.probabilities)
    layout, drawn = _drawing(spikes, picture, frame_of, n_frames)
    content = {
        **head_of(picture, layout, readout.compartments),
        "ends": pack_numbers(np.diff(ends, prepend=0)),
        "frames": n_frames,
        "two_colours": layout.two_colours,
        "spikes": drawn,
        **_hidden(model, readout, inputs, frame_of, n_frames),
        "hidden_spikes": pack_numbers(np.bincount(frame_of, answers.hidden_spikes, n_frames).round().astype(np.int64)),
        "shown": shown.tolist(),
        "probabilities": pack_shares(answers.probabilities[ends - 1][:, shown]),
        "answers": pack_numbers(answers.classes[ends - 1]),
        "confidences": pack_shares(answers.confidence[ends - 1]),
        "unusual": pack_numbers((answers.usual[ends - 1] < UNUSUAL).astype(np.int64)),
    }
    members, stopped = None, None
    if model.calibration is not None and model.calibration.decoder == readout:
        guarantee = model.calibration.guarantee
        sets = guarantee.sets(answers)
        members = np.flatnonzero(sets[-1]).tolist()
        stopped = int(guarantee.stop(answers, size).steps)
        content["promise"] = promise_of(guarantee, size, np.where(sets[-1], 0, sets.sum(axis=0) + 1).tolist())
    last, confidence = int(answers.classes[-1]), float(answers.confidence[-1])
    true_class = None if truth is None else printable(truth)
    return Scene(printable(name), true_class, last, confidence, members, stopped, T, content)


def head_of(picture: Picture, layout: Layout, compartments: int) -> dict[str, Any]:
    """What the page has to know of a recording, live or not, before its steps."""
    return {
        "step_ms": picture.step_ms,
        "play_ms": picture.step_ms or STEP_MS,
        "width": layout.width,
        "height": layout.height,
        "on_grid": picture.grid is not None,
        "merged": layout.merged,
        "compartments": compartments,
    }


def promise_of(guarantee: Any, size: int, left: list[int]) -> dict[str, Any]:
    """A guarantee for the page; ``left`` is the step at which each class leaves the set, 0 if it never does."""
    return {
        "alpha": guarantee.alpha,
        "size": size,
        "checkpoints": list(guarantee.checkpoints),
        "thresholds": [float(np.exp(-threshold)) for threshold in guarantee.thresholds],
        "left": left,
    }


def drawing_of(picture: Picture, merged: int = 1) -> Layout:
    """The layout of a picture; squares with a side of ``merged`` cells are drawn as one."""
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
    """Positions of spikes in the drawing; those of the second plane, ON, follow those of the first."""
    plane, cell = np.divmod(index.astype(np.int64), len(layout.place))
    offset = np.where(plane == 1, layout.width * layout.height, 0) if layout.two_colours else 0
    found: NDArray[np.int64] = layout.place[cell] + offset
    return found


def _drawing(spikes: SpikeList, picture: Picture, frame_of: NDArray[Any], n_frames: int) -> tuple[Layout, str]:
    """The layout and the packed spikes, at the finest resolution that the size of a page allows."""
    frames, index = frame_of[spikes.spikes["step"]], spikes.spikes["index"]
    longest = picture.n_inputs if picture.grid is None else max(picture.grid)
    merged = max(1, -(-longest // MOST_SIDE))
    while True:
        layout = drawing_of(picture, merged)
        cells = 2 * layout.width * layout.height
        distinct = np.unique(frames.astype(np.int64) * cells + places(layout, index))
        if len(distinct) <= MOST_SPIKES or merged >= longest:
            return layout, pack_spikes(*np.divmod(distinct, cells), n_frames)
        merged *= 2


def _hidden(
    model: Model, readout: DecoderSettings, inputs: NDArray[Any], frame_of: NDArray[Any], n_frames: int
) -> dict[str, Any]:
    """Hidden spikes of the first compartment; no visible neuron is clamped."""
    seed = model.prediction_seed
    response = sample(model.network, model.parameters, inputs, readout.compartments, seed, example=None)
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
    }


def _classes_to_show(probabilities: NDArray[np.float64]) -> NDArray[np.intp]:
    """Indices of the classes with the highest probability at any time."""
    order = np.argsort(-probabilities.max(axis=0), kind="stable")[:MOST_CLASSES]
    return np.sort(order)
