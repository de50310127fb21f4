"""Signals and their encoding as spikes; receptive fields and filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from gemsnn.errors import ShapeError
from gemsnn.plot.axes import BLUE, COLOURS, ORANGE, finish, ink, name, on


def encoding(
    signals: ArrayLike,
    spikes: ArrayLike,
    back: ArrayLike | None = None,
    names: Sequence[object] | None = None,
    *,
    step_ms: float | None = None,
    axes: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw signals one above the other, each with the spikes of its delta modulation.

    Parameters
    ----------
    signals
        (T, n).
    spikes
        (T, 2 n), OFF channels first, from :func:`gemsnn.encode.delta_modulation`.
    back
        (T, n): the signals reconstructed from the spikes, drawn in green.
    names
        Names of the n signals.
    step_ms
        Duration of a step, to show time in ms.

    Examples
    --------
    >>> from gemsnn.encode import delta_modulation
    >>> signal = np.sin(np.linspace(0, 6, 100))[:, None]
    >>> axes = encoding(signal, delta_modulation(signal, 0.1), step_ms=10)
    >>> axes.get_xlabel()
    'time (ms)'
    """
    x, events = np.asarray(signals, dtype=np.float64), np.asarray(spikes)
    if x.ndim != 2 or 0 in x.shape or events.shape != (len(x), 2 * x.shape[1]):
        raise ShapeError(f"signals {x.shape} and spikes {events.shape} must be (T, n) and (T, 2 n)")
    decoded = None if back is None else np.asarray(back, dtype=np.float64)
    if decoded is not None and decoded.shape != x.shape:
        raise ShapeError(f"back has shape {decoded.shape}, the signals have {x.shape}")
    n = x.shape[1]
    if names is not None and len(names) != n:
        raise ShapeError(f"{len(names)} names for {n} signals")
    axes = on(axes)
    time = np.arange(len(x)) * (1.0 if step_ms is None else step_ms)
    span = np.ptp(x, axis=0)
    span[span == 0] = 1.0
    for i in range(n):
        floor = n - 1 - i

        def placed(values: Any, low: float = x[:, i].min(), width: float = span[i], floor: int = floor) -> Any:
            return floor + 0.3 + 0.6 * (values - low) / width

        axes.plot(time, placed(x[:, i]), color=ink(axes), lw=1.0)
        if decoded is not None:
            axes.plot(time, placed(decoded[:, i]), color=COLOURS[2], lw=1.0, drawstyle="steps-post")
        for plane, colour, kind in ((0, BLUE, "OFF"), (1, ORANGE, "ON")):
            when = time[events[:, plane * n + i] != 0]
            first: dict[str, Any] = {"label": kind} if i == 0 else {}
            axes.plot(when, np.full(len(when), floor + 0.1 + 0.08 * plane), "|", color=colour, ms=4, **first)
    axes.set(xlabel="time step" if step_ms is None else "time (ms)")
    axes.set_yticks(np.arange(n)[::-1] + 0.5, [name(text) for text in names or range(n)], parse_math=False)
    axes.grid(False)
    return finish(axes, title)


def receptive_fields(
    centres: ArrayLike, deviation: float, *, axes: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw the activity of each neuron of a population for every value: a bell curve around each centre.

    Examples
    --------
    >>> from gemsnn.encode import ReceptiveFields
    >>> fields = ReceptiveFields(low=0.0, high=10.0, n_fields=5)
    >>> axes = receptive_fields(fields.centres, fields.deviation)
    >>> len(axes.lines)
    5
    """
    middle = np.asarray(centres, dtype=np.float64)
    if middle.ndim != 1 or not len(middle):
        raise ShapeError(f"centres have shape {middle.shape}, but (n_fields,) is needed")
    axes = on(axes)
    values = np.linspace(middle.min(), middle.max(), 400)
    for i, centre in enumerate(middle):
        axes.plot(values, np.exp(-((values - centre) ** 2) / (2 * deviation**2)), color=COLOURS[i % len(COLOURS)])
    axes.set(xlabel="value", ylabel="activity", ylim=(0, 1.05))
    return finish(axes, title)


def filters(filter_: Any, *, axes: Axes | None = None, title: str | None = None, **style: Any) -> Axes:
    """Draw each basis of a :class:`gemsnn.Filter` against the lag in steps; ``style`` is passed to Matplotlib."""
    axes = on(axes)
    lags = np.arange(1, filter_.duration + 1)
    for index, basis in enumerate(filter_.taps):
        usual = {"color": COLOURS[index % len(COLOURS)], "marker": "o" if filter_.duration <= 40 else None, "ms": 4}
        axes.plot(lags, basis, label=f"basis {index + 1}", **usual | style)
    axes.set(xlabel="lag (steps since the spike)", ylabel="weight of the spike")
    return finish(axes, repr(filter_) if title is None else title)
