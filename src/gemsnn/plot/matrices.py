"""Which class is taken for which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import ArrayLike

from gemsnn.errors import DataError, ShapeError
from gemsnn.plot.axes import BLUE, ORANGE, finish, ink, name, on

MOST_NUMBERS = 16  # classes, up to which there is room for a number in each cell


def confusion(
    labels: ArrayLike,
    predicted: ArrayLike,
    classes: Sequence[object] | None = None,
    *,
    axes: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw how often each class (a row) was taken for each other (a column): blue where right, orange where wrong.

    The colour says which share of its row a cell is, the number how many examples.

    Parameters
    ----------
    labels, predicted
        (N,) the true classes and those chosen: of any kind, or indices if ``classes`` are given.
    classes
        Names that the indices stand for.

    Examples
    --------
    >>> axes = confusion(["cat", "cat", "dog"], ["cat", "dog", "dog"])
    >>> [tick.get_text() for tick in axes.get_yticklabels()]
    ['cat', 'dog']
    """
    truth, said = np.asarray(labels), np.asarray(predicted)
    if truth.shape != said.shape or truth.ndim != 1 or not len(truth):
        raise ShapeError(f"labels have shape {truth.shape} and predicted {said.shape}: both must be (N,), N at least 1")
    if classes is None:
        known = np.unique(np.concatenate([truth, said]))
        names: Sequence[object] = known.tolist()
        truth, said = np.searchsorted(known, truth), np.searchsorted(known, said)
    else:
        names = list(classes)
        for what, given in (("labels", truth), ("predicted", said)):
            if given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= len(names):
                raise DataError(f"{what} must be indices from 0 to {len(names) - 1}, since classes are given")
    C = len(names)
    counts = np.bincount(truth * C + said, minlength=C * C).reshape(C, C)
    axes = on(axes, (2.2 + 0.42 * min(C, 16), 1.8 + 0.42 * min(C, 16)))
    image = np.zeros((C, C, 4))
    image[..., :3] = np.where(np.eye(C, dtype=bool)[..., None], to_rgb(BLUE), to_rgb(ORANGE))
    image[..., 3] = 0.75 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(image, interpolation="none")
    if C <= MOST_NUMBERS:
        for row, column in np.argwhere(counts):
            axes.text(
                column, row, str(counts[row, column]), ha="center", va="center", fontsize=8 if C <= 10 else 6.5,
                color=ink(axes),
            )  # fmt: skip
    every = -(-C // 40)
    shown = [name(text, 16) for text in names[::every]]
    longest = max(map(len, shown))
    axes.set_xticks(range(0, C, every), shown, rotation=90 if longest > 3 else 0, parse_math=False)
    axes.set_yticks(range(0, C, every), shown, parse_math=False)
    axes.grid(False)
    axes.spines[:].set_visible(True)
    axes.set(xlabel="answer", ylabel="truth")
    return finish(axes, title)
