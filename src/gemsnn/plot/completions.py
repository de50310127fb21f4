"""Pictures of which a part was given and the rest is made up, side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ShapeError
from gemsnn.plot.axes import BLUE, ORANGE, finish, ink, name, on, two_colours

GAP = 2  # cells between two pictures


def completion(
    pictures: Mapping[str, ArrayLike],
    *,
    largest: float | None = None,
    other: str = "completed",
    axes: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw pictures side by side, each under its name: blue what was given, orange what was not.

    Parameters
    ----------
    pictures
        For each name (2, height, width): how many spikes, given and other ones.
    largest
        What has the full colour; if not given, the largest half percent of all.
    other
        What the legend calls the spikes that were not given.

    Examples
    --------
    >>> import numpy as np
    >>> half = np.zeros((2, 4, 6))
    >>> half[0, :, :3] = half[1, :, 3:] = 1
    >>> axes = completion({"truth": half, "sample 1": half})
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['truth', 'sample 1']
    """
    arrays = [np.asarray(picture, dtype=np.float64) for picture in pictures.values()]
    if not arrays or any(array.ndim != 3 or len(array) != 2 or array.shape != arrays[0].shape for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays) or "none"
        raise ShapeError(f"pictures have the shapes {shapes}, but each must have the same (2, height, width)")
    axes = on(axes, (1.6 * len(arrays), 2.2))
    full = largest or float(np.percentile(arrays, 99.5)) or float(np.max(arrays)) or 1.0
    image, centres = row_of(arrays, full)
    axes.imshow(image, interpolation="none")
    height, width = arrays[0].shape[1:]
    for centre in centres:  # where one picture ends
        left = centre - width / 2
        axes.plot([left, left, left + width, left + width, left], [-0.5, height - 0.5, height - 0.5, -0.5, -0.5],
                  color=ink(axes), lw=0.6, alpha=0.4)  # fmt: skip
    axes.set_xticks(centres, [name(text) for text in pictures], fontsize=8, parse_math=False)
    axes.set_yticks([])
    axes.tick_params("x", length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    return finish(axes, title, [Patch(color=BLUE, label="given"), Patch(color=ORANGE, label=other)])


def row_of(pictures: list[NDArray[np.float64]], full: float) -> tuple[NDArray[np.float64], list[float]]:
    """(2, height, width) counts as one RGBA image, and the middle of each."""
    _, height, width = pictures[0].shape
    row = np.zeros((2, height, len(pictures) * (width + GAP) - GAP))
    for i, picture in enumerate(pictures):
        row[:, :, i * (width + GAP) : i * (width + GAP) + width] = np.clip(picture / full, 0, 1)
    return two_colours(*row), [i * (width + GAP) + (width - 1) / 2 for i in range(len(pictures))]
