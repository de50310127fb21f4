"""Probabilities: of one answer, and whether those of many mean what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike

from gemsnn.errors import ShapeError
from gemsnn.plot.axes import BLUE, ORANGE, finish, ink, name, on


def reliability(table: Any, *, axes: Axes | None = None, title: str | None = None) -> Axes:
    """Draw accuracy against confidence, bin by bin; what is calibrated lies on the dotted line.

    Parameters
    ----------
    table
        A :class:`gemsnn.metrics.Reliability`, or the table ``reliability`` of an evaluation: counts, mean confidence
        and accuracy of equally wide bins.

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
    width, there = 1 / len(counts), counts > 0
    edges = width * np.arange(len(counts))
    axes.bar(edges[there], accuracy[there], width=width, align="edge", color=BLUE, alpha=0.45, lw=0, label="accuracy")
    shares = counts / max(1, counts.sum())
    axes.bar(edges + width / 2, shares, width=width / 4, color=ink(axes), alpha=0.55, lw=0, label="share of answers")
    axes.plot([0, 1], [0, 1], color=ink(axes), lw=1, ls=":", alpha=0.8)
    # Dots at the ends are drawn whole, over the frame.
    axes.plot(
        confidence[there], accuracy[there], "o", color=ORANGE, ms=4.5, label="at mean confidence", clip_on=False,
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
    """Draw one answer: a bar for the probability of each class, the most probable one in orange.

    Parameters
    ----------
    p
        (C,) probabilities.
    classes
        C names.
    truth
        The right one among ``classes``, if it is known; it is marked.
    """
    shares = np.asarray(p, dtype=np.float64)
    if shares.shape != (len(classes),):
        raise ShapeError(f"p has shape {shares.shape}, but there are {len(classes)} classes")
    axes = on(axes, (4.4, 0.6 + 0.32 * len(classes)))
    best = int(shares.argmax())
    places = np.arange(len(shares))
    axes.barh(places, shares, color=[ORANGE if place == best else BLUE for place in places], height=0.7)
    for place, share in enumerate(shares.tolist()):
        axes.text(share + 0.015, place, f"{100 * share:.1f} %", va="center", fontsize=8, color=ink(axes))
    shown = [f"{name(label)} (true)" if truth is not None and label == truth else name(label) for label in classes]
    axes.set_yticks(places, shown, parse_math=False)
    axes.set(xlim=(0, 1.18), ylim=(len(shares) - 0.5, -0.5), xlabel="probability")
    axes.set_xticks([0, 0.5, 1])
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.grid(False)
    return finish(axes, title)
