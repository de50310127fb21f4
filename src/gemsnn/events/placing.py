"""The compiled kernel of ``online.py``: places events in the incomplete steps."""

from typing import Any, NamedTuple

import numpy as np

from gemsnn.compiling.jit import jit
from gemsnn.events.records import FAR_US

ALL_PLACED, STEP_COMPLETE, ENDED, OUTSIDE, NO_POLARITY, JUMP, TOO_FAR = range(7)
"""Why the kernel stopped."""


class Geometry(NamedTuple):
    """The preprocessing, as the kernel needs it."""

    width: int
    height: int
    first_column: int
    first_row: int
    n_columns: int
    n_rows: int
    downsample: int
    first_cell: int  # number of the cell in the first row and column, and strides to the next row and column
    row_stride: int
    column_stride: int
    n_planes: int
    bin_us: int
    patience_us: int
    longest_gap_us: int
    n_steps: int  # -1: no end
    own_start: bool  # whether the first step begins at the first event


STATE = np.dtype(
    [
        ("begun", np.bool_),
        ("start", np.int64),  # time of the first step
        ("next", np.int64),  # the step that is yielded next
        ("newest", np.int64),  # latest time known of the source
        ("last", np.int64),  # time of the latest event
        ("late", np.int64),
    ],
    align=True,
)


@jit(error_model="numpy")
def place(events: Any, geometry: Geometry, state: Any, open_steps: Any) -> tuple[int, int]:
    """Place events in the incomplete steps; returns how many, and why it stopped.

    It stops before placing the event that completes a step.
    """
    g, s = geometry, state[0]
    begun, start, newest, last, late = s["begun"], s["start"], s["newest"], s["last"], s["late"]
    following = s["next"]
    # Step of the previous event, which most events share: its number, its begin and its end.
    step, since, until = np.int64(-1), np.int64(0), np.int64(0)
    i, reason = 0, ALL_PLACED
    while True:
        # Time at which the next step is complete.
        complete = start + (following + 1) * g.bin_us + g.patience_us
        if begun and following != g.n_steps and newest >= complete:
            reason = STEP_COMPLETE
            break
        stopped = False
        while i < len(events):  # until an event begins a newer step
            e = events[i]
            t = e["t"]
            x = np.int64(e["x"])
            y = np.int64(e["y"])
            p = np.int64(e["p"])
            if begun and following == g.n_steps:
                reason, stopped = ENDED, True
                break
            if x < 0 or x >= g.width or y < 0 or y >= g.height:
                reason, stopped = OUTSIDE, True
                break
            if p != 0 and p != 1:
                reason, stopped = NO_POLARITY, True
                break
            if t <= -FAR_US or t >= FAR_US:
                reason, stopped = TOO_FAR, True
                break
            if not begun:
                begun, start, newest, last = True, t, t, t
                complete = start + g.bin_us + g.patience_us
            if not since <= t < until or t >= complete:
                if g.n_steps < 0 and t > newest and t - newest > g.longest_gap_us:
                    reason, stopped = JUMP, True
                    break
                step = (t - start) // g.bin_us
                since = start + step * g.bin_us
                until = since + g.bin_us
                if t > newest:
                    newest = t
                    since = until  # process this event again, since a step may be complete now
                    break
            newest = max(newest, t)
            last = max(last, t)
            if step < following:
                late += step >= 0 or g.own_start
            else:
                column, row = x - g.first_column, y - g.first_row
                if g.downsample != 1:
                    column, row = column // g.downsample, row // g.downsample
                if 0 <= column < g.n_columns and 0 <= row < g.n_rows:
                    plane = p & (g.n_planes - 1)
                    place_of = step % len(open_steps) if len(open_steps) > 1 else 0
                    cell = g.first_cell + row * g.row_stride + column * g.column_stride
                    open_steps[place_of, plane * g.n_rows * g.n_columns + cell] = True
            i += 1
        else:
            stopped = True
        if stopped:
            break
    s["begun"], s["start"], s["newest"], s["last"], s["late"] = begun, start, newest, last, late
    return i, reason
