"""Examples as image files: both polarities in one picture, or a raster if the inputs are not on a grid."""

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
    """Draw an example to a `.png`, `.svg` or `.pdf` file: the whole recording, and three short moments.

    Parameters
    ----------
    planes
        (T, n_planes, n_rows, n_columns); two planes are the polarities, OFF and ON; otherwise planes are merged.
    preprocessing
        How the cells were made, if they come from events.
    out
        The file to write.
    title
        Text above the picture.
    legend
        Meaning of the two planes.
    """
    from matplotlib.figure import Figure

    from gemsnn import plot

    file = _check_ending(out)
    frames = (planes if preprocessing is None else preprocessing.upright(planes)).astype(np.float64)
    if frames.shape[1] != 2:
        merged = frames.max(axis=1)
        frames, legend = np.stack([np.zeros_like(merged), merged], axis=1), "orange: spikes"

    def time(step: int) -> str:
        return f"{step} steps" if preprocessing is None else f"{step * preprocessing.width_us / 1000:.0f} ms"

    with writing(file):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        whole, *parts = figure.subplots(1, 4, width_ratios=[1.6, 1, 1, 1])
        plot.picture(frames.sum(axis=0), axes=whole, title=f"all {time(len(frames))}")
        for axes, start in zip(parts, np.linspace(0, len(frames), 4)[:3].astype(int), strict=True):
            window = frames[start : start + max(1, len(frames) // 20)].max(axis=0)
            plot.picture(window, axes=axes, title=f"from {time(start)}")
        figure.suptitle(f"{title}   {legend}" if title else legend, fontsize=10, parse_math=False)
        figure.savefig(file, dpi=110)


def save_raster(spikes: NDArray[np.bool_], out: str | PathLike[str], *, title: str = "") -> None:
    """Draw an example without a grid, (T, n_inputs), as a raster: `.png`, `.svg` or `.pdf`."""
    from matplotlib.figure import Figure

    from gemsnn import plot

    file = _check_ending(out)
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    plot.raster(spikes, ylabel="input", axes=figure.add_subplot(), title=title)
    with writing(file):
        figure.savefig(file, dpi=110)


def _check_ending(out: str | PathLike[str]) -> Path:
    file = Path(out)
    if file.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"{file}: pictures must end in .png, .svg or .pdf")
    return file
