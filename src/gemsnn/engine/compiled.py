"""The fast engine: learning in the form that suits network and rule, and running without learning."""

from __future__ import annotations

import math
from typing import Literal

from gemsnn.engine import event, protocol, recordings, resting, sparse
from gemsnn.engine.event import BLOCK
from gemsnn.engine.event_plan import event_plan
from gemsnn.engine.horizon import horizon
from gemsnn.engine.objective_functions import memory_of_eligibility
from gemsnn.engine.protocol import Rested, State
from gemsnn.model import Network, Parameters
from gemsnn.objectives import LIKELIHOOD, Objective
from gemsnn.rules import Rule

__all__ = ["batches", "learner", "running", "suitable_form"]

Form = Literal["event", "sparse"]

LONGEST_WINDOW = 1024  # steps that the event form may have to look back
SLOWER = 12  # times as long takes a multiplication synapse by synapse, which waits for memory

FORM: Form | None = None  # one for all, in tests and benchmarks; None lets the network and the rule choose


def learner(
    network: Network,
    parameters: Parameters,
    rule: Rule,
    n_compartments: int,
    *,
    state: State | None = None,
    free: bool = False,
    steps: int | None = None,
    objective: Objective = LIKELIHOOD,
) -> protocol.Learner:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    K, form = n_compartments, FORM or suitable_form(network, parameters, rule, n_compartments, free, steps, objective)
    if state is not None and not isinstance(state.kept, Rested):  # a form goes on with what it has begun
        form = "event" if isinstance(state.kept, event.Kept) else "sparse"

    def wake(rule: Rule, weights: Parameters, state: State | None) -> protocol.Learner:
        if form == "sparse":
            return sparse.Learner(network, weights, rule, K, objective, state=state)
        own = event.Weights.of(weights)
        return event.Learner(network, own, rule, K, objective, state=state, free=free, steps=steps)

    if free and state is None and not objective.rewarded:
        return resting.Learner(network, parameters, rule, n_compartments, objective, wake)
    return wake(rule, parameters, state)


def batches(
    network: Network,
    parameters: Parameters,
    rule: Rule,
    n_compartments: int,
    *,
    steps: int,
    threads: int,
    objective: Objective = LIKELIHOOD,
) -> protocol.Batches:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    form = FORM or suitable_form(network, parameters, rule, n_compartments, False, steps, objective)
    made = event.Batches if form == "event" else sparse.Batches
    return made(network, parameters, rule, n_compartments, steps, threads, objective)


def running(network: Network, parameters: Parameters) -> protocol.Running:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    return recordings.Running(network, parameters)


def suitable_form(
    network: Network,
    parameters: Parameters,
    rule: Rule,
    n_compartments: int,
    free: bool,
    steps: int | None,
    objective: Objective = LIKELIHOOD,
) -> Form:
    """The event form, where the graph has it and it takes less time; else the sparse form. The results are the same."""
    if objective.rewarded:  # each compartment has inputs of its own, and rewards come after the step
        return "sparse"
    plan = event_plan(network, free or objective.free, parameters.dtype)
    reach = horizon(memory_of_eligibility(objective, rule), parameters.dtype) or math.inf
    if plan is None or min(steps or math.inf, reach) > LONGEST_WINDOW:
        return "sparse"
    # Multiplications of one step and compartment. By events: products with the steps of the window, on average, in all
    # compartments. Synapse by synapse: each has an eligibility and a weight, if its source has a trace.
    n_basis, duration = plan.synapses.taps.shape
    lags = 1 if plan.synapses.recursive else duration
    window = min((steps or math.inf) / 2, reach + BLOCK / 2)
    by_events = n_compartments * window * (network.n_neurons + 4 * n_basis * lags)
    by_synapses = network.topology.n_synapses * n_basis
    return "event" if by_events <= SLOWER * by_synapses else "sparse"
