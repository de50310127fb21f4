"""Pictures on the grid of inputs: events, and the weights of neurons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ConfigError, ShapeError
from gemsnn.plot.axes import BLUE, ORANGE, finish, ink, on, two_colours

ACROSS = 6  # neurons in a row of the mosaic


def picture(
    planes: ArrayLike, *, largest: float | None = None, axes: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw events on their grid: orange for brighter (ON), blue for darker (OFF).

    Parameters
    ----------
    planes
        (2, height, width) counts of OFF and ON events; or (height, width), if polarities are merged.
    largest
        The count with full colour; default: the 99.5th percentile.
    """
    counts = np.asarray(planes, dtype=np.float64)
    if counts.ndim == 2:
        counts = np.stack([np.zeros_like(counts), counts])
    if counts.ndim != 3 or len(counts) != 2:
        raise ShapeError(f"planes have shape {counts.shape}, but (2, height, width) or (height, width) is needed")
    axes = on(axes)
    full = largest or float(np.percentile(counts, 99.5)) or float(counts.max()) or 1.0
    axes.imshow(two_colours(*np.clip(counts / full, 0, 1)), interpolation="none")
    _only_the_image(axes)
    return finish(axes, title)


def weights(
    model: Any,
    grid: tuple[int, int] | None = None,
    neurons: Sequence[int] | None = None,
    basis: int | None = None,
    *,
    axes: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the input weights of neurons, each as a picture on the grid, all on the same scale.

    Parameters
    ----------
    model
        A :class:`gemsnn.training.Model`, or :class:`gemsnn.Parameters`.
    grid
        (rows, columns) of the inputs; default: that of the recordings the model was trained on. Several planes, such as
        separate polarities, are drawn side by side (OFF on the left, ON on the right).
    neurons
        Indices of neurons, hidden before visible; default: the first 24.
    basis
        Index of a filter's basis; default: the sum of all, which is the weight of a constant input.
    """
    parameters = getattr(model, "parameters", model)
    preprocessing = getattr(model, "preprocessing", None)
    if grid is None:
        if preprocessing is None:
            raise ConfigError("weights need a grid=(rows, columns): the model does not contain one")
        grid = preprocessing.grid
    synaptic = np.asarray(parameters.synaptic, dtype=np.float64)
    n_inputs, (rows, columns) = synaptic.shape[1] - len(synaptic), grid
    if n_inputs % (rows * columns) or not n_inputs:
        raise ShapeError(f"{n_inputs} inputs do not form a grid of {rows} x {columns}")
    shown = list(range(min(24, len(synaptic))) if neurons is None else neurons)
    if not shown or not all(0 <= neuron < len(synaptic) for neuron in shown):
        raise ConfigError(f"neurons = {shown}: at least one is needed, from 0 to {len(synaptic) - 1}")
    if basis is not None and not 0 <= basis < synaptic.shape[2]:
        raise ConfigError(f"basis = {basis}: there are only 0 to {synaptic.shape[2] - 1}")
    chosen = synaptic[shown, :n_inputs]
    values = (chosen.sum(axis=2) if basis is None else chosen[..., basis]).reshape(len(shown), -1, rows, columns)
    if preprocessing is not None:
        values = preprocessing.upright(values)
    tiles = np.concatenate(list(values.swapaxes(0, 1)), axis=2)  # planes side by side
    scale = float(np.percentile(np.abs(tiles), 99.5)) or float(np.abs(tiles).max()) or 1.0
    axes = on(axes)
    image, centres = _mosaic(two_colours(*np.clip([-tiles / scale, tiles / scale], 0, 1)), ink(axes))
    axes.imshow(image, interpolation="none")
    _only_the_image(axes)
    axes.set_yticks(centres, [_row_name(shown[i : i + ACROSS]) for i in range(0, len(shown), ACROSS)])
    axes.tick_params("y", length=0)
    if preprocessing is not None and values.shape[1] == 2:
        axes.set_xlabel("each neuron: OFF on the left, ON on the right")
    handles = [Patch(color=ORANGE, label=f"{scale:+.2g}"), Patch(color=BLUE, label=f"{-scale:+.2g}")]
    return finish(axes, title, handles)


def _mosaic(tiles: NDArray[np.float64], colour: Any) -> tuple[NDArray[np.float64], list[float]]:
    """(n, height, width, 4) pictures in rows with thin frames, and the centre of each row."""
    from matplotlib.colors import to_rgba

    n, height, width, _ = tiles.shape
    across = min(ACROSS, n)
    down = -(-n // across)
    image = np.zeros((down * (height + 1) + 1, across * (width + 1) + 1, 4))
    for i, tile in enumerate(tiles):
        top, left = (i // across) * (height + 1), (i % across) * (width + 1)
        image[top : top + height + 2, left : left + width + 2] = to_rgba(colour, 0.3)
        image[top + 1 : top + height + 1, left + 1 : left + width + 1] = tile
    return image, [row * (height + 1) + height / 2 + 0.5 for row in range(down)]


def _row_name(neurons: Sequence[int]) -> str:
    if len(neurons) > 2 and list(neurons) == list(range(neurons[0], neurons[-1] + 1)):
        return f"{neurons[0]} … {neurons[-1]}"
    return ", ".join(map(str, neurons))


def _only_the_image(axes: Axes) -> None:
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    axes.spines[:].set_visible(False)
