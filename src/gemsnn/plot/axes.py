"""Common parts of all plots: colours, new axes, legends above the axes, literal names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from gemsnn.common.words import printable

# Legible on light and on dark backgrounds; the first two are also OFF and ON, negative and positive.
BLUE, ORANGE, GREEN, VIOLET, RED, TEAL = "#3b82f6", "#f0761b", "#17a673", "#a05be0", "#e0455e", "#1b9aaa"
COLOURS = (BLUE, ORANGE, GREEN, VIOLET, RED, TEAL)
MARKERS = "osd^vP"
LONGEST = 20  # characters of a name


def on(axes: Axes | None, size: tuple[float, float] = (5.6, 4.0)) -> Axes:
    """The given axes, or those of a new pyplot figure, which notebooks display."""
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def ink(axes: Axes) -> Any:
    """The text colour of the axes."""
    return axes.xaxis.label.get_color()


def name(text: object, longest: int = LONGEST) -> str:
    """An untrusted name, printable and truncated."""
    words = printable(text)
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def finish(axes: Axes, title: str | None = None, handles: Sequence[Any] | None = None) -> Axes:
    """Add a legend above the axes, and a title above the legend."""
    shown = axes.get_legend_handles_labels()[0] if handles is None else list(handles)
    rows = 0
    size = 8.0
    if shown:
        # Texts are set afterwards, since Matplotlib drops labels that begin with an underscore.
        for columns in range(min(len(shown), 4), 0, -1):
            legend = axes.legend(
                shown, ["-"] * len(shown), loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2,
                ncols=columns, frameon=False, fontsize=size, handlelength=1.6, columnspacing=1.2, handletextpad=0.5,
                labelcolor=ink(axes),
            )  # fmt: skip
            for text, handle in zip(legend.get_texts(), shown, strict=True):
                text.set_parse_math(False)
                text.set_text(name(handle.get_label()))
            if legend.get_window_extent().width <= axes.get_window_extent().width:
                break
        rows = -(-len(shown) // columns)
    if title is not None:
        axes.set_title(title, fontsize=9, pad=6 + 1.65 * size * rows, parse_math=False)
    return axes


class Shares(MaxNLocator):
    """Ticks for fractions in 0..1, on an axis that extends slightly beyond for markers at its ends."""

    def __init__(self) -> None:
        super().__init__(6, steps=[1, 2, 5, 10])

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        return [tick for tick in super().tick_values(vmin, vmax) if -1e-9 < tick < 1 + 1e-9]


def as_shares(axes: Axes) -> None:
    """Show the vertical axis in percent, limited to 0..1."""
    low, high = axes.get_ylim()
    low, high = max(low, 0.0), min(high, 1.0)
    axes.set_ylim(low - 0.03 * (high - low) * (low == 0), high + 0.03 * (high - low))
    axes.yaxis.set_major_locator(Shares())
    axes.yaxis.set_major_formatter(PercentFormatter(1))


def two_colours(blue: NDArray[np.floating], orange: NDArray[np.floating]) -> NDArray[np.float64]:
    """Two intensities in 0..1, (..., height, width), as one RGBA picture that is transparent where both are 0."""
    total = np.maximum(blue + orange, 1e-9)[..., None]
    rgb = (blue[..., None] * np.array(to_rgb(BLUE)) + orange[..., None] * np.array(to_rgb(ORANGE))) / total
    return np.concatenate([rgb, np.maximum(blue, orange)[..., None]], axis=-1)
