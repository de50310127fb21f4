"""An objective's functions, compiled: kernels get them as arguments, as they get a rule's (``rule_functions.py``).

An objective's functions see one compartment, or one neuron of it; those of a kernel see all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from gemsnn.compiling.jit import inlined
from gemsnn.compiling.pointers import pointer, unpacking
from gemsnn.engine.arrays import Doubles
from gemsnn.model import Network
from gemsnn.objectives import LIKELIHOOD, Objective
from gemsnn.rules import Rule


class ObjectiveFunctions(NamedTuple):
    """Of one objective; see :class:`gemsnn.objectives.Objective`."""

    report: Any
    slopes: Any


class ObjectiveArrays(NamedTuple):
    """An objective, as kernels read it."""

    free: bool  # visible neurons draw their own spikes
    reports: bool  # something else than the log-probability of the visible spikes
    rewarded: bool  # the reports come from outside
    sends_back: bool  # learning follows slopes, and what is learned at once
    settings: Doubles
    memory: Doubles  # (K, n_visible, unit_memory)
    # scratch
    report: Doubles  # (K,)
    of_visible: Doubles  # (2, n_visible): spikes and targets
    slope: Doubles  # (K, n_visible)
    at_once: Doubles  # (K, n_visible)


_compiled: dict[tuple[Any, ...], ObjectiveFunctions] = {}


def objective_functions(objective: Objective) -> ObjectiveFunctions:
    """An objective's functions, compiled when first asked for, whatever the settings' values."""
    settings = objective.settings()
    layout = tuple((name, type(value).__name__) for name, value in settings._asdict().items())
    if (type(objective), layout) not in _compiled:
        _compiled[type(objective), layout] = _compile(objective, settings, layout)
    return _compiled[type(objective), layout]


def _compile(objective: Objective, settings: Any, layout: tuple[Any, ...]) -> ObjectiveFunctions:
    numbers, table, memories = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
    spikes, targets = types.boolean[:, ::1], types.uint8[::1]
    unpack, report_of = unpacking(settings), inlined(objective.report)
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
    made_from = objective.slope or _no_slope
    return ObjectiveFunctions(
        report=pointer(of_report, report, objective.report, layout),
        slopes=pointer(types.void(numbers, spikes, memories, table, table), slopes, made_from, layout),
    )


def _no_slope(settings: Any, memory: Any) -> float:
    """In place of ``slope`` where an objective has none; never called."""
    return 0.0


def _nothing_at_once(settings: Any, spike: float) -> float:
    """In place of ``at_once`` where an objective has none; never called."""
    return 0.0


def objective_arrays(objective: Objective, rule: Rule, network: Network, n_compartments: int) -> ObjectiveArrays:
    """What kernels read and write of an objective, before the first step."""
    K, n_visible = n_compartments, network.n_visible
    return ObjectiveArrays(
        free=objective.free,
        reports=type(objective).report is not type(LIKELIHOOD).report,
        rewarded=objective.rewarded,
        sends_back=objective.sends_errors_back(rule),
        settings=np.array(objective.settings(), dtype=np.float64),
        memory=np.zeros((K, n_visible, objective.unit_memory)),
        report=np.zeros(K),
        of_visible=np.zeros((2, n_visible)),
        slope=np.zeros((K, n_visible)),
        at_once=np.zeros((K, n_visible)),
    )


def memory_of_eligibility(objective: Objective, rule: Rule) -> float:
    """What a step keeps of the eligibility."""
    return objective.eligibility_memory(rule.gamma) if objective.sends_errors_back(rule) else rule.gamma
