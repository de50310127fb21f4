"""Predictions: probabilities of one answer, reliability of many, and confusion between classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike

from gemsnn.errors import DataError, ShapeError
from gemsnn.plot.axes import BLUE, ORANGE, finish, ink, name, on

MOST_NUMBERS = 16  # classes up to which cells have room for a number


def reliability(table: Any, *, axes: Axes | None = None, title: str | None = None) -> Axes:
    """Draw accuracy against confidence in bins; calibrated predictions lie on the dotted line.

    Parameters
    ----------
    table
        A :class:`gemsnn.metrics.Reliability`, or the table ``reliability`` of an evaluation: counts, mean confidence
        and accuracy of bins of equal width.

    Examples
    --------
    >>> import gemsnn
    >>> axes = reliability(gemsnn.metrics.reliability([0, 1, 1], [[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]))
    """
    counts, confidence, accuracy = (
        np.array(table[key] if isinstance(table, Mapping) else getattr(table, key), dtype=np.float64)
        for key in ("counts", "confidence", "accuracy")
    )
    axes = on(axes, (4.4, 4.2))
    width, used = 1 / len(counts), counts > 0
    edges = width * np.arange(len(counts))
    axes.bar(edges[used], accuracy[used], width=width, align="edge", color=BLUE, alpha=0.45, lw=0, label="accuracy")
    fractions = counts / max(1, counts.sum())
    axes.bar(edges + width / 2, fractions, width=width / 4, color=ink(axes), alpha=0.55, lw=0, label="share of answers")
    axes.plot([0, 1], [0, 1], color=ink(axes), lw=1, ls=":", alpha=0.8)
    # Markers at the ends are not clipped by the frame.
    axes.plot(
        confidence[used], accuracy[used], "o", color=ORANGE, ms=4.5, label="at mean confidence", clip_on=False,
        zorder=5,
    )  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="accuracy")
    return finish(axes, title)


def probabilities(
    p: ArrayLike,
    classes: Sequence[object],
    *,
    truth: object | None = None,
    axes: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw one answer: a bar for the probability of each class, the most probable class in orange.

    Parameters
    ----------
    p
        (C,) probabilities.
    classes
        C names.
    truth
        The true one of ``classes``, which is marked, if it is known.
    """
    values = np.asarray(p, dtype=np.float64)
    if values.shape != (len(classes),):
        raise ShapeError(f"p has shape {values.shape}, but there are {len(classes)} classes")
    axes = on(axes, (4.4, 0.6 + 0.32 * len(classes)))
    best = int(values.argmax())
    rows = np.arange(len(values))
    axes.barh(rows, values, color=[ORANGE if row == best else BLUE for row in rows], height=0.7)
    for row, value in enumerate(values.tolist()):
        axes.text(value + 0.015, row, f"{100 * value:.1f} %", va="center", fontsize=8, color=ink(axes))
    shown = [f"{name(label)} (true)" if truth is not None and label == truth else name(label) for label in classes]
    axes.set_yticks(rows, shown, parse_math=False)
    axes.set(xlim=(0, 1.18), ylim=(len(values) - 0.5, -0.5), xlabel="probability")
    axes.set_xticks([0, 0.5, 1])
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.grid(False)
    return finish(axes, title)


def confusion(
    labels: ArrayLike,
    predicted: ArrayLike,
    classes: Sequence[object] | None = None,
    *,
    axes: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a confusion matrix, true classes as rows and predictions as columns: blue if correct, orange if wrong.

    The intensity is the fraction of the row, the number is the number of examples.

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
    truth, answer = np.asarray(labels), np.asarray(predicted)
    if truth.shape != answer.shape or truth.ndim != 1 or not len(truth):
        raise ShapeError(
            f"labels have shape {truth.shape} and predicted {answer.shape}: both must be (N,), N at least 1"
        )
    if classes is None:
        known = np.unique(np.concatenate([truth, answer]))
        names: Sequence[object] = known.tolist()
        truth, answer = np.searchsorted(known, truth), np.searchsorted(known, answer)
    else:
        names = list(classes)
        for what, given in (("labels", truth), ("predicted", answer)):
            if given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= len(names):
                raise DataError(f"{what} must be indices from 0 to {len(names) - 1}, since classes are given")
    C = len(names)
    counts = np.bincount(truth * C + answer, minlength=C * C).reshape(C, C)
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
