"""What all drawings share: colours, new axes, a legend that stands above, names as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from gemsnn.common.words import printable

# Middle tones, readable on white and on near-black; the first two are also OFF and ON, negative and positive.
BLUE, ORANGE, GREEN, VIOLET, RED, TEAL = "#3b82f6", "#f0761b", "#17a673", "#a05be0", "#e0455e", "#1b9aaa"
COLOURS = (BLUE, ORANGE, GREEN, VIOLET, RED, TEAL)
MARKERS = "osd^vP"
LONGEST = 20  # letters of a name that there is room for


def on(axes: Axes | None, size: tuple[float, float] = (5.6, 4.0)) -> Axes:
    """The axes given, or those of a new figure, which a notebook shows by itself."""
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def ink(axes: Axes) -> Any:
    """The colour that these axes write in."""
    return axes.xaxis.label.get_color()


def name(text: object, longest: int = LONGEST) -> str:
    """A name from outside, short enough to be drawn."""
    words = printable(text)
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def finish(axes: Axes, title: str | None = None, handles: Sequence[Any] | None = None) -> Axes:
    """Explain what was labelled, above the axes, and put the title above that."""
    shown = axes.get_legend_handles_labels()[0] if handles is None else list(handles)
    rows = 0
    size = 8.0
    if shown:
        # Texts are set afterwards: Matplotlib leaves out those that begin with an underscore.
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
    """Ticks of an axis for numbers from 0 to 1, which may reach a little beyond for the sake of dots at its ends."""

    def __init__(self) -> None:
        super().__init__(6, steps=[1, 2, 5, 10])

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        return [tick for tick in super().tick_values(vmin, vmax) if -1e-9 < tick < 1 + 1e-9]


def as_shares(axes: Axes) -> None:
    """Show the vertical axis in percent, and no more of it than there can be."""
    low, high = axes.get_ylim()
    low, high = max(low, 0.0), min(high, 1.0)
    axes.set_ylim(low - 0.03 * (high - low) * (low == 0), high + 0.03 * (high - low))
    axes.yaxis.set_major_locator(Shares())
    axes.yaxis.set_major_formatter(PercentFormatter(1))


def two_colours(blue: NDArray[np.floating], orange: NDArray[np.floating]) -> NDArray[np.float64]:
    """Two intensities in 0..1, (..., height, width), as one RGBA picture that shines through where there is nothing."""
    total = np.maximum(blue + orange, 1e-9)[..., None]
    rgb = (blue[..., None] * np.array(to_rgb(BLUE)) + orange[..., None] * np.array(to_rgb(ORANGE))) / total
    return np.concatenate([rgb, np.maximum(blue, orange)[..., None]], axis=-1)
