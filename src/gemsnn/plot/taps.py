"""Filters: how long, and how strongly, a neuron remembers a spike."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gemsnn.plot.axes import COLOURS, finish, on


def filters(filter_: Any, *, axes: Axes | None = None, title: str | None = None, **style: Any) -> Axes:
    """Draw each basis of a :class:`gemsnn.Filter` against the lag in steps; ``style`` is Matplotlib's, of lines."""
    axes = on(axes)
    lags = np.arange(1, filter_.duration + 1)
    for index, basis in enumerate(filter_.taps):
        usual = {"color": COLOURS[index % len(COLOURS)], "marker": "o" if filter_.duration <= 40 else None, "ms": 4}
        axes.plot(lags, basis, label=f"basis {index + 1}", **usual | style)
    axes.set(xlabel="lag (steps since the spike)", ylabel="weight of the spike")
    return finish(axes, repr(filter_) if title is None else title)
