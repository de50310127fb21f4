"""Recordings as pictures: both polarities in one image, or as an animation."""

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.binning import Preprocessing

ON_COLOUR = np.array([0.80, 0.25, 0.11])
OFF_COLOUR = np.array([0.10, 0.35, 0.70])


def upright(planes: NDArray[np.generic], preprocessing: Preprocessing) -> NDArray[np.generic]:
    """Turn arrays (..., n_rows, n_columns) so that a digit stands upright, as (..., height, width)."""
    if preprocessing.orientation == "mnist-dvs":
        # Down is our x, and right is falling y: transpose, then mirror.
        return np.swapaxes(planes, -1, -2)[..., ::-1]
    return planes


def colour_image(off: NDArray[np.floating], on: NDArray[np.floating]) -> NDArray[np.float64]:
    """Two intensities in 0..1, (height, width) each, as one RGB picture on white: blue is OFF, red is ON."""
    white = np.ones(3)
    image: NDArray[np.float64] = white - on[..., None] * (white - ON_COLOUR) - off[..., None] * (white - OFF_COLOUR)
    np.clip(image, 0.0, 1.0, out=image)
    return image


def save_picture(
    planes: NDArray[np.bool_], preprocessing: Preprocessing, out: str | PathLike[str], *, title: str = ""
) -> None:
    """Draw a recording to a file: `.gif` is an animation with a frame a time bin, `.png`, `.svg` or `.pdf` a picture.

    Parameters
    ----------
    planes
        Both polarities, (T, 2, n_rows, n_columns).
    preprocessing
        How the cells were made.
    out
        The file to write; its ending says what.
    title
        Text above the picture.
    """
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.figure import Figure

    file = Path(out)
    suffix = file.suffix.lower()
    if suffix not in (".gif", ".png", ".svg", ".pdf"):
        raise ConfigError(f"{file}: pictures end in .png, .svg or .pdf, animations in .gif")
    frames = upright(planes, preprocessing).astype(np.float64)
    bin_ms = preprocessing.bin_us / 1000
    try:
        if suffix == ".gif":
            figure = Figure(figsize=(4, 4.4), layout="constrained")
            axes = figure.add_subplot()
            image = axes.imshow(colour_image(frames[0, 0], frames[0, 1]))
            axes.set(xticks=[], yticks=[])
            caption = axes.set_title(title, fontsize=9)

            def draw(step: int) -> list[object]:
                image.set_data(colour_image(frames[step, 0], frames[step, 1]))
                caption.set_text(f"{title}\n{step * bin_ms:.0f} ms (red ON, blue OFF)")
                return [image, caption]

            animation = FuncAnimation(figure, draw, frames=len(frames), blit=False)  # type: ignore[arg-type]
            animation.save(file, writer=PillowWriter(fps=max(1, min(25, round(1000 / bin_ms)))), dpi=80)
            return
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        whole, *parts = figure.subplots(1, 4, width_ratios=[1.6, 1, 1, 1])
        counts = frames.sum(axis=0)
        scale = max(1.0, float(np.percentile(counts, 99.5)))
        whole.imshow(colour_image(np.minimum(counts[0] / scale, 1), np.minimum(counts[1] / scale, 1)))
        whole.set_title(f"all {len(frames) * bin_ms:.0f} ms")
        for axes, start in zip(parts, np.linspace(0, len(frames), 4)[:3].astype(int), strict=True):
            window = frames[start : start + max(1, len(frames) // 20)].max(axis=0)
            axes.imshow(colour_image(window[0], window[1]))
            axes.set_title(f"from {start * bin_ms:.0f} ms")
        for axes in (whole, *parts):
            axes.set(xticks=[], yticks=[])
        figure.suptitle(f"{title}   red: ON, blue: OFF" if title else "red: ON, blue: OFF", fontsize=10)
        figure.savefig(file, dpi=110)
    except OSError as error:
        raise DataError(f"{file}: cannot be written: {error.strerror or error}") from None
