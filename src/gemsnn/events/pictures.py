"""Examples as pictures: both polarities in one image, an animation, or a raster where there is no grid."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.files import writing
from gemsnn.errors import ConfigError
from gemsnn.events.binning import Preprocessing


def save_picture(
    planes: NDArray[np.bool_],
    preprocessing: Preprocessing | None,
    out: str | PathLike[str],
    *,
    title: str = "",
    legend: str = "orange ON, blue OFF",
) -> None:
    """Draw an example to a file: `.gif` is an animation with a frame a time bin, `.png`, `.svg` or `.pdf` a picture.

    Parameters
    ----------
    planes
        (T, n_planes, n_rows, n_columns); two planes are the polarities, OFF and ON, any other number is drawn as one.
    preprocessing
        How the cells were made, if they were.
    out
        The file to write; its ending says what.
    title
        Text above the picture.
    legend
        What two planes are.
    """
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.figure import Figure

    from gemsnn import plot
    from gemsnn.plot.axes import two_colours

    file, suffix = _check_ending(out)
    frames = (planes if preprocessing is None else preprocessing.upright(planes)).astype(np.float64)
    if frames.shape[1] != 2:
        merged = frames.max(axis=1)
        frames, legend = np.stack([np.zeros_like(merged), merged], axis=1), "orange: spikes"
    time = _steps if preprocessing is None else _milliseconds(preprocessing.bin_us / 1000)
    with writing(file):
        if suffix == ".gif":
            figure = Figure(figsize=(4, 4.4), layout="constrained")
            axes = figure.add_subplot()
            plot.picture(frames[0], axes=axes, title=title)
            (image,), caption = axes.images, axes.title

            def draw(step: int) -> list[object]:
                image.set_data(two_colours(*frames[step]))
                caption.set_text(f"{title}\n{time(step)} ({legend})")
                return [image, caption]

            animation = FuncAnimation(figure, draw, frames=len(frames), blit=False)  # type: ignore[arg-type]
            bin_ms = 40 if preprocessing is None else preprocessing.bin_us / 1000
            animation.save(file, writer=PillowWriter(fps=max(1, min(25, round(1000 / bin_ms)))), dpi=80)
            return
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        whole, *parts = figure.subplots(1, 4, width_ratios=[1.6, 1, 1, 1])
        plot.picture(frames.sum(axis=0), axes=whole, title=f"all {time(len(frames))}")
        for axes, start in zip(parts, np.linspace(0, len(frames), 4)[:3].astype(int), strict=True):
            window = frames[start : start + max(1, len(frames) // 20)].max(axis=0)
            plot.picture(window, axes=axes, title=f"from {time(start)}")
        figure.suptitle(f"{title}   {legend}" if title else legend, fontsize=10, parse_math=False)
        figure.savefig(file, dpi=110)


def save_raster(spikes: NDArray[np.bool_], out: str | PathLike[str], *, title: str = "") -> None:
    """Draw an example whose inputs lie on no grid, (T, n_inputs), as a raster: `.png`, `.svg` or `.pdf`."""
    from matplotlib.figure import Figure

    from gemsnn import plot

    file, suffix = _check_ending(out)
    if suffix == ".gif":
        raise ConfigError(
            f"{file}: an animation needs a grid; write the data with grid=(rows, columns), or draw a .png"
        )
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    plot.raster(spikes, ylabel="input", axes=figure.add_subplot(), title=title)
    with writing(file):
        figure.savefig(file, dpi=110)


def _check_ending(out: str | PathLike[str]) -> tuple[Path, str]:
    file = Path(out)
    suffix = file.suffix.lower()
    if suffix not in (".gif", ".png", ".svg", ".pdf"):
        raise ConfigError(f"{file}: pictures end in .png, .svg or .pdf, animations in .gif")
    return file, suffix


def _milliseconds(bin_ms: float) -> Callable[[int], str]:
    return lambda step: f"{step * bin_ms:.0f} ms"


def _steps(step: int) -> str:
    return f"{step} steps"


def half_blocks(picture: NDArray[np.bool_]) -> list[str]:
    """A (height, width) picture of 0 and 1 as lines of text, two rows of it in each.

    Examples
    --------
    >>> half_blocks(np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0]], dtype=bool))
    ['█▄▀', ' ▀ ']
    """
    padded = np.pad(picture, [(0, len(picture) % 2), (0, 0)])
    return [
        "".join(" ▀▄█"[top + 2 * bottom] for top, bottom in zip(*rows, strict=True))
        for rows in padded.reshape(-1, 2, padded.shape[1]).astype(int)
    ]
