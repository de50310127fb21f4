"""The compiled kernel of ``online.py``: puts events into the steps that are open."""

from typing import Any, NamedTuple

import numpy as np

from gemsnn.engine.jit import jit

FAR = 1 << 62  # microseconds that no recording lasts

ALL_PLACED, STEP_COMPLETE, ENDED, OUTSIDE, NO_POLARITY, JUMP = range(6)
"""Why the kernel stopped."""


class Geometry(NamedTuple):
    """What the kernel needs to know of the preprocessing."""

    width: int
    height: int
    first_column: int
    first_row: int
    n_columns: int
    n_rows: int
    downsample: int
    n_planes: int
    bin_us: int
    patience_us: int
    longest_gap_us: int
    n_steps: int  # -1: no end
    own_start: bool  # whether the first event's time is where the first step begins


STATE = np.dtype(
    [
        ("begun", np.bool_),
        ("start", np.int64),  # where the first step begins
        ("next", np.int64),  # the step that is given next
        ("newest", np.int64),  # time up to which the source has come
        ("last", np.int64),  # time of the latest event
        ("late", np.int64),
    ],
    align=True,
)


@jit(error_model="numpy")
def place(events: Any, geometry: Geometry, state: Any, open_steps: Any) -> tuple[int, int]:
    """Place events in the open steps; returns how many, and why it stopped.

    A step is complete before the event that makes it so is placed.
    """
    g, s = geometry, state[0]
    i = 0
    while True:
        if s["begun"] and s["next"] != g.n_steps and s["next"] < (s["newest"] - g.patience_us - s["start"]) // g.bin_us:
            return i, STEP_COMPLETE
        if i == len(events):
            return i, ALL_PLACED
        if s["begun"] and s["next"] == g.n_steps:
            return i, ENDED
        e = events[i]
        t = e["t"]
        x = np.int64(e["x"])
        y = np.int64(e["y"])
        p = np.int64(e["p"])
        if x < 0 or x >= g.width or y < 0 or y >= g.height:
            return i, OUTSIDE
        if p != 0 and p != 1:
            return i, NO_POLARITY
        if not s["begun"]:
            s["begun"] = True
            s["start"] = s["newest"] = s["last"] = t
        if abs(np.float64(t) - np.float64(s["start"])) >= FAR:
            return i, JUMP
        if g.n_steps < 0 and t - s["newest"] > g.longest_gap_us:
            return i, JUMP
        if t > s["newest"]:
            s["newest"] = t
            continue  # to see whether a step is complete now
        if t > s["last"]:
            s["last"] = t
        step = (t - s["start"]) // g.bin_us
        if step < s["next"]:
            s["late"] += step >= 0 or g.own_start
        else:
            column = (x - g.first_column) // g.downsample
            row = (y - g.first_row) // g.downsample
            if 0 <= column < g.n_columns and 0 <= row < g.n_rows:
                plane = p % g.n_planes
                open_steps[step % len(open_steps), (plane * g.n_rows + row) * g.n_columns + column] = True
        i += 1
