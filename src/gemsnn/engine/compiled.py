"""The fast engine: learning in the form that suits network and rule, and running without learning."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from gemsnn.engine import event, event_batches, protocol, resting, sparse
from gemsnn.engine.event import BLOCK
from gemsnn.engine.event_plan import event_plan
from gemsnn.engine.protocol import Rested, State
from gemsnn.engine.recordings import Running as running
from gemsnn.engine.task import Task
from gemsnn.model import Parameters

__all__ = ["batches", "learner", "running", "suitable_form"]

Form = Literal["event", "sparse"]

LONGEST_WINDOW = 1024  # steps that the event form may have to look back
SLOWER = 12  # how much slower a multiplication is synapse by synapse, which waits for memory

FORM: Form | None = None  # set in tests and benchmarks to use one form for all; None lets network and rule choose


def learner(
    task: Task, parameters: Parameters, *, state: State | None = None, free: bool = False, steps: int | None = None
) -> protocol.Learner:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    form = FORM or suitable_form(task, parameters.dtype, free, steps)
    if state is not None and not isinstance(state.kept, Rested):  # a form continues its own states
        form = "event" if isinstance(state.kept, event.Kept) else "sparse"

    def wake(weights: Parameters, state: State) -> protocol.Learner:
        if form == "sparse":
            return sparse.Learner(task, weights, state)
        return event.Learner(task, event.Weights.of(weights), state, free=free, steps=steps)

    if free and state is None and not task.objective.rewarded:
        return resting.Learner(task, parameters, wake)
    return wake(parameters, state or State.initial("compiled", task, parameters.dtype))


def batches(task: Task, parameters: Parameters, *, steps: int, threads: int) -> protocol.Batches:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    form = FORM or suitable_form(task, parameters.dtype, False, steps)
    form_batches = event_batches.Batches if form == "event" else sparse.Batches
    return form_batches(task, parameters, steps, threads)


def suitable_form(task: Task, dtype: np.dtype[Any], free: bool, steps: int | None) -> Form:
    """The event form, where the graph has it and it takes less time; else the sparse form. The results are the same."""
    network, _, K, objective = task
    if objective.rewarded:  # each compartment has inputs of its own, and rewards come after the step
        return "sparse"
    plan = event_plan(network, free or objective.free, dtype)
    horizon = task.horizon(dtype) or math.inf
    if plan is None or min(steps or math.inf, horizon) > LONGEST_WINDOW:
        return "sparse"
    # Multiplications per step and compartment. By events: products with the steps of the window, on average, in all
    # compartments. Synapse by synapse: each has an eligibility and a weight, if its source has a trace.
    n_basis, duration = plan.graph.synapses.taps.shape
    lags = 1 if plan.graph.synapses.recursive else duration
    window = min((steps or math.inf) / 2, horizon + BLOCK / 2)
    by_events = K * window * (network.n_neurons + 4 * n_basis * lags)
    by_synapses = network.topology.n_synapses * n_basis
    return "event" if by_events <= SLOWER * by_synapses else "sparse"
