"""The fast engine: learning in the form that suits the sizes, and running without learning."""

from __future__ import annotations

import math
from typing import Literal

from gemsnn.engine import direct, event, protocol, resting, sparse
from gemsnn.engine.event import BLOCK, horizon
from gemsnn.engine.event_plan import event_plan
from gemsnn.engine.kept import AS_IT_CAME, Declared
from gemsnn.engine.protocol import State
from gemsnn.engine.simulate import simulate
from gemsnn.engine.synapses import is_sparse
from gemsnn.errors import ConfigError
from gemsnn.model import Network, Parameters
from gemsnn.rules import Rule

__all__ = ["declared", "learner", "simulate", "suitable_form"]

LONGEST_WINDOW = 1024  # steps that the event form may have to look back
SLOWER = 3.5  # times as long takes a multiplication with an eligibility, which comes from memory, not from a cache

MARKS = {"event": "fading", "direct": "eligibility", "sparse": "settled"}  # what only a state of that form has

FORM: str | None = None  # one of them for all, in tests and benchmarks; None lets the sizes choose


def learner(
    network: Network,
    parameters: Parameters,
    rule: Rule,
    n_compartments: int,
    *,
    state: State | None = None,
    free: bool = False,
    steps: int | None = None,
    overwrite: bool = False,
    threads: int = 1,
) -> protocol.Learner:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    # A form goes on with what it has begun.
    begun = None if state is None else next((name for name, mark in MARKS.items() if mark in state.kept), None)
    form = begun or FORM or suitable_form(network, parameters, rule, n_compartments, free, steps)

    def begin(rule: Rule, weights: Parameters, past: State | None, overwrite: bool = True) -> protocol.Learner:
        if form == "sparse":
            return sparse.Learner(network, weights, rule, n_compartments, state=past, overwrite=overwrite)
        if form == "direct":
            return direct.Learner(network, weights, rule, n_compartments, state=past, free=free, threads=threads)
        return event.Learner(
            network, weights, rule, n_compartments, state=past, free=free, steps=steps, threads=threads
        )

    if free and state is None:
        return resting.Learner(network, parameters, rule, n_compartments, begin)
    return begin(rule, parameters, state, overwrite)


def declared(network: Network, rule: Rule, n_compartments: int, state: State) -> Declared:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    for name, mark in MARKS.items():
        if mark in state.kept:
            form = {"event": event.declared, "direct": direct.declared, "sparse": sparse.declared}[name]
            return form(network, rule, n_compartments, state)
    raise ConfigError(f"state lacks {', '.join(MARKS.values())}: {AS_IT_CAME}")


def suitable_form(
    network: Network, parameters: Parameters, rule: Rule, n_compartments: int, free: bool, steps: int | None
) -> Literal["event", "direct", "sparse"]:
    """The form that takes less time, by the multiplications of one step and compartment; all give the same result.

    The choice may not depend on the number of threads: the last bits of the forms differ.
    """
    if is_sparse(network.topology):
        return "sparse"
    plan = event_plan(network, free, parameters.dtype)
    reach = horizon(rule.gamma, parameters.dtype) or math.inf
    if plan is None or min(steps or math.inf, reach) > LONGEST_WINDOW:
        return "direct"
    n, (n_basis, duration) = network.n_neurons, plan.synapses.taps.shape
    lags = 1 if plan.synapses.recursive else duration
    # Products of the present step with those of the window, on average, in all compartments.
    window = min((steps or math.inf) / 2, reach + BLOCK / 2)
    by_events = n_compartments * window * (n + 4 * n_basis * lags)
    # Eligibility and drive of every synapse of a hidden neuron; those of the inputs are large matrix products.
    directly = 2 * n * network.n_hidden * n_basis + n * network.n_inputs * n_basis / (4 * n_compartments)
    return "event" if by_events <= SLOWER * directly else "direct"
