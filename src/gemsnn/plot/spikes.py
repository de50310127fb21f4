"""Spike trains as rasters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ShapeError
from gemsnn.plot.axes import BLUE, COLOURS, finish, ink, name, on

MOST_ROWS, MOST_COLUMNS = 600, 1000  # of the image; beyond that, neighbours share a pixel


def raster(
    spikes: ArrayLike,
    names: Sequence[object] | None = None,
    *,
    step_ms: float | None = None,
    ylabel: str = "neuron",
    colour: str | None = None,
    axes: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a spike raster, with time to the right and the first neuron on top.

    Parameters
    ----------
    spikes
        (T, N) of 0/1; or (T, K, N): a band per neuron, with a line for each of its K compartments.
    names
        N names of the neurons.
    step_ms
        Duration of a step, to show time in ms.

    Examples
    --------
    >>> import numpy as np
    >>> axes = raster(np.random.default_rng(0).random((80, 3)) < 0.2, names=["left", "right", "up"], step_ms=25)
    >>> axes.get_xlabel()
    'time (ms)'
    """
    array = np.asarray(spikes)
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise ShapeError(
            f"spikes have shape {array.shape}, but (T, N) or (T, K, N) with at least one of each is needed"
        )
    bands = array.ndim == 3
    T, N = array.shape[0], array.shape[-1]
    K = array.shape[1] if bands else 1
    if names is not None and len(names) != N:
        raise ShapeError(f"{len(names)} names for {N} neurons")
    axes = on(axes)
    rows = (array != 0).reshape(T, K, N).transpose(2, 1, 0).reshape(N * K, T)
    single = [colour or BLUE]
    colours = single if colour or not bands or N > 12 else [COLOURS[neuron % len(COLOURS)] for neuron in range(N)]
    image = _image(rows, np.repeat([to_rgb(c) for c in colours], len(rows) // len(colours), axis=0))
    width = T if step_ms is None else T * step_ms
    left = -0.5 if step_ms is None else 0.0
    axes.imshow(image, aspect="auto", interpolation="none", extent=(left, left + width, N - 0.5, -0.5))
    axes.grid(False)
    axes.set(xlabel="time step" if step_ms is None else "time (ms)", ylabel=ylabel)
    if bands and N <= 40:
        for boundary in range(1, N):
            axes.axhline(boundary - 0.5, color=ink(axes), lw=0.6, alpha=0.5)
    if names is not None:
        every = -(-N // 40)
        axes.set_yticks(range(0, N, every), [name(text) for text in names[::every]], parse_math=False)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(8, integer=True))
    return finish(axes, title)


def _image(rows: NDArray[np.bool_], colours: NDArray[np.floating]) -> NDArray[Any]:
    """RGBA of (n_rows, T) spikes, transparent elsewhere; many rows or steps are pooled without losing spikes."""
    down, across = -(-len(rows) // MOST_ROWS), -(-rows.shape[1] // MOST_COLUMNS)
    missing = (-len(rows) % down, -rows.shape[1] % across)
    padded = np.pad(rows, [(0, missing[0]), (0, missing[1])])
    pooled = padded.reshape(len(padded) // down, down, -1, across).any(axis=(1, 3))
    image = np.zeros((*pooled.shape, 4))
    image[..., :3] = np.repeat(colours[::down], pooled.shape[1], axis=0).reshape(*pooled.shape, 3)
    image[..., 3] = pooled
    return image
