"""An objective's functions, compiled: kernels take them as arguments, as they take a rule's (``rule_functions.py``).

An objective's functions see one compartment, or one neuron of it; those of a kernel see all.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from numba import types

from gemsnn.compiling.jit import inlined
from gemsnn.compiling.pointers import Layout, layout_of, pointer, unpacking
from gemsnn.engine.arrays import Doubles, allocate
from gemsnn.engine.task import Task
from gemsnn.objectives import LIKELIHOOD, Objective


class ObjectiveArrays(NamedTuple):
    """An objective, as kernels read it."""

    free: bool  # visible neurons draw their own spikes
    reports: bool  # something other than the log-probability of the visible spikes
    rewarded: bool  # the reports come from outside
    sends_back: bool  # learning follows slopes, and what is learned at once
    settings: Doubles
    memory: Annotated[Doubles, "K", "n_visible", "unit_memory"]
    # scratch
    of_visible: Annotated[Doubles, "2", "n_visible"]  # spikes and targets
    slope: Annotated[Doubles, "K", "n_visible"]
    at_once: Annotated[Doubles, "K", "n_visible"]


def objective_arrays(task: Task) -> ObjectiveArrays:
    """What kernels read and write of an objective, before the first step."""
    network, _, K, objective = task
    return allocate(
        ObjectiveArrays,
        {"K": K, "n_visible": network.n_visible, "unit_memory": objective.unit_memory},
        np.dtype(np.float64),
        free=objective.free,
        reports=type(objective).report is not type(LIKELIHOOD).report,
        rewarded=objective.rewarded,
        sends_back=task.sends_back,
        settings=np.array(objective.settings(), dtype=np.float64),
    )


class ObjectiveFunctions(NamedTuple):
    """Those of one objective; see :class:`gemsnn.objectives.Objective`."""

    report: Any
    slopes: Any


def objective_functions(objective: Objective) -> ObjectiveFunctions:
    """An objective's functions: compiled once, whatever the values of the settings."""
    kind: Any = type(objective)
    return _compile(kind, layout_of(objective.settings()))


@cache
def _compile(objective: Any, layout: Layout) -> ObjectiveFunctions:
    numbers, table, memories = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
    spikes, targets = types.boolean[:, ::1], types.uint8[::1]
    unpack, report_of = unpacking(layout), inlined(objective.report)
    slope_of, at_once_of = inlined(objective.slope or _no_slope), inlined(objective.at_once or _nothing_at_once)

    def report(
        settings: Any, spikes: Any, targets: Any, log_probability: Any, memory: Any, of_visible: Any, reports: Any
    ) -> None:
        by_name, n_visible = unpack(settings), targets.shape[0]
        n_hidden = spikes.shape[1] - n_visible
        for k in range(spikes.shape[0]):
            hidden_spikes = 0.0
            for i in range(n_hidden):
                hidden_spikes += 1.0 if spikes[k, i] else 0.0
            for x in range(n_visible):
                of_visible[0, x] = 1.0 if spikes[k, n_hidden + x] else 0.0
                of_visible[1, x] = 1.0 if targets[x] else 0.0
            reports[k] = report_of(by_name, of_visible[0], of_visible[1], log_probability[k], hidden_spikes, memory[k])

    def slopes(settings: Any, spikes: Any, memory: Any, slope: Any, at_once: Any) -> None:
        by_name, K, n_visible = unpack(settings), slope.shape[0], slope.shape[1]
        for k in range(K):
            for x in range(n_visible):
                slope[k, x] = slope_of(by_name, memory[k, x])
                spike = 1.0 if spikes[k, spikes.shape[1] - n_visible + x] else 0.0
                at_once[k, x] = at_once_of(by_name, spike)

    of_report = types.void(numbers, spikes, targets, table, memories, table, numbers)
    of_slopes = types.void(numbers, spikes, memories, table, table)
    return ObjectiveFunctions(
        report=pointer(of_report, report, objective.report, layout),
        slopes=pointer(of_slopes, slopes, objective.slope or _no_slope, layout),
    )


def _no_slope(settings: Any, memory: Any) -> float:
    """In place of ``slope`` where an objective has none; never called."""
    return 0.0


def _nothing_at_once(settings: Any, spike: float) -> float:
    """In place of ``at_once`` where an objective has none; never called."""
    return 0.0
