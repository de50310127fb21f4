"""What a model that learned spike patterns makes of an example: several samples, since it is a distribution."""

from __future__ import annotations

import io
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.described import described
from gemsnn.common.files import write_whole, writing
from gemsnn.errors import ConfigError, DataError
from gemsnn.events import PreparedData, Split
from gemsnn.events.completion import whole_pictures
from gemsnn.inference import sample
from gemsnn.training.model import Model
from gemsnn.training.randomness import Purpose, derived_seed

if TYPE_CHECKING:
    from gemsnn.plot.panels import Panel

SAMPLES, SHOWN = 20, 3  # drawn for the mean, and shown one by one
MOMENTS = 3
FADING = 0.6  # of what a frame still shows of the one before
FRAMES_PER_SECOND = 10
OTHER = "desired or completed"


@described
class Completed(NamedTuple):
    """One example: what was given, what is desired, and what the model makes of it."""

    given: NDArray[np.bool_]  #: (T, n_inputs)
    truth: NDArray[np.bool_]  #: (T, n_visible)
    samples: NDArray[np.bool_]  #: (n_samples, T, n_visible), drawn freely

    @property
    def n_steps(self) -> int:
        return len(self.given)


def complete(model: Model, examples: Split, index: int, n_samples: int = SAMPLES) -> Completed:
    """Let the model run freely on an example whose target is a spike pattern."""
    if not 0 <= index < len(examples):
        raise ConfigError(f"example {index}: the {examples.name} split has examples 0 to {len(examples) - 1}")
    given, truth = examples[index], examples.target(index)
    if truth is None:
        raise DataError(f"example {index}: has labels and no spike pattern, so there is nothing to complete")
    seed = derived_seed(model.seed, Purpose.PREDICT)
    spikes = sample(model.network, model.parameters, given, n_samples, seed, example=None)
    return Completed(given, truth, spikes[..., model.network.n_hidden :].swapaxes(0, 1))


def pictures(data: PreparedData, completed: Completed) -> dict[str, NDArray[np.float64]] | None:
    """For each name (T, 2, height, width): given and other spikes; None where they do not lie on one picture."""
    given, truth, samples = completed
    found = {"given": np.zeros_like(truth), "truth": truth}
    found |= {f"sample {i + 1}": one for i, one in enumerate(samples[:SHOWN])}
    shown = {name: whole_pictures(data, given, other) for name, other in found.items()}
    wholes = [whole_pictures(data, given, one) for one in samples]
    if any(one is None for one in wholes):
        return None
    named = {name: one.astype(np.float64) for name, one in shown.items() if one is not None}
    return {**named, f"mean of {len(samples)}": np.mean([one for one in wholes if one is not None], axis=0)}


def panels(data: PreparedData, completed: Completed) -> list[Panel]:
    """Drawings for a page: the whole recording and some moments of it, or rasters where there is no picture."""
    from gemsnn import plot
    from gemsnn.plot.panels import Panel

    frames, time = pictures(data, completed), _Clock(data)
    if frames is None:
        tall = (3.4, 2.6)
        step_ms = None if data.preprocessing is None else data.preprocessing.bin_us / 1000
        shown = {"given": completed.given, "truth": completed.truth}
        shown |= {f"sample {i + 1}": one for i, one in enumerate(completed.samples[:SHOWN])}
        return [
            Panel(partial(plot.raster, spikes, step_ms=step_ms, title=name), f"{name}: spikes over time", tall)
            for name, spikes in shown.items()
        ]
    size = (1.35 * len(frames), 2.0)
    found = []
    for begin, end in _windows(completed.n_steps):
        title = f"all {time(end)}" if end - begin == completed.n_steps else f"from {time(begin)} to {time(end)}"
        counts = {name: frame[begin:end].sum(axis=0) for name, frame in frames.items()}
        full = max(1.0, float(np.percentile(counts["truth"], 99.5)))
        about = f"{title}: the given half, the truth, and what the model makes of it"
        found.append(Panel(partial(plot.completion, counts, largest=full, title=title, other=OTHER), about, size))
    return found


def animation(data: PreparedData, completed: Completed) -> bytes | None:
    """The same as a GIF that moves, with a frame for each step; None where there is no picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    from gemsnn import plot
    from gemsnn.plot.completions import row_of
    from gemsnn.plot.panels import style

    frames, time = pictures(data, completed), _Clock(data)
    if frames is None:
        return None
    for array in frames.values():  # spikes of one step are few: let them fade
        for step in range(1, len(array)):
            array[step] = np.maximum(array[step], FADING * array[step - 1])
    drawn = []
    with style():
        canvas = FigureCanvasAgg(Figure(figsize=(1.35 * len(frames), 2.1), layout="constrained", dpi=90))
        figure = canvas.figure
        axes = plot.completion(
            {name: array[0] for name, array in frames.items()}, axes=figure.add_subplot(), other=OTHER
        )
        for step in range(completed.n_steps):
            axes.images[0].set_data(row_of([array[step] for array in frames.values()], 1.0)[0])
            axes.set_title(time(step), fontsize=9, loc="right")
            canvas.draw()  # type: ignore[no-untyped-call]
            figure.set_layout_engine("none")  # it stays as it was laid out: pictures do not jump
            pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
            image = Image.fromarray(pixels).convert("RGB")
            drawn.append(image.quantize(32, dither=Image.Dither.NONE))
    file = io.BytesIO()
    drawn[0].save(file, "GIF", save_all=True, append_images=drawn[1:], duration=1000 // FRAMES_PER_SECOND, loop=0)
    return file.getvalue()


def save_completion(data: PreparedData, completed: Completed, out: str | PathLike[str], title: str = "") -> None:
    """Draw it to a file: `.gif` moves, `.png`, `.svg` and `.pdf` stand still."""
    from matplotlib.figure import Figure

    from gemsnn.plot.panels import style

    file = Path(out)
    suffix = file.suffix.lower()
    if suffix == ".gif":
        moving = animation(data, completed)
        if moving is None:
            raise ConfigError(f"{file}: an animation needs inputs and targets on a grid; draw a .png")
        write_whole(file, moving)
        return
    if suffix not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"{file}: pictures end in .png, .svg or .pdf, animations in .gif")
    drawn = panels(data, completed)
    with style(), writing(file):
        width, height = drawn[0].size[0], sum(panel.size[1] for panel in drawn)
        figure = Figure(figsize=(max(width, 6.0), height + 0.3), layout="constrained")
        for panel, axes in zip(drawn, figure.subplots(len(drawn), squeeze=False)[:, 0], strict=True):
            panel.draw(axes=axes)
        figure.suptitle(title, fontsize=10, parse_math=False)
        figure.savefig(file, dpi=130, facecolor="white")


def _windows(n_steps: int) -> list[tuple[int, int]]:
    """The whole, and some short moments of it."""
    length = max(1, n_steps // 16)
    starts = np.linspace(0, n_steps, MOMENTS + 2)[1:-1].astype(int).tolist() if n_steps > MOMENTS else []
    return [(0, n_steps), *((start, start + length) for start in starts)]


class _Clock:
    """Steps as times, where that is known."""

    def __init__(self, data: PreparedData) -> None:
        self._ms = None if data.preprocessing is None else data.preprocessing.bin_us / 1000

    def __call__(self, step: int) -> str:
        return f"{step} steps" if self._ms is None else f"{step * self._ms:.0f} ms"
