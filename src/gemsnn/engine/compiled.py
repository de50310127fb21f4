"""The fast engine: learning in the form that suits the sizes, and running without learning."""

from __future__ import annotations

from gemsnn.engine import direct, event, protocol
from gemsnn.engine.event_plan import event_plan
from gemsnn.engine.protocol import State
from gemsnn.engine.simulate import simulate
from gemsnn.model import Network, Parameters
from gemsnn.rules import Rule

__all__ = ["learner", "simulate"]

LONGEST_WINDOW = 1024  # steps; with a longer memory of the eligibility, the direct form takes less memory and time
FORM: str | None = None  # "event" or "direct": for tests and benchmarks; None chooses


def learner(
    network: Network,
    parameters: Parameters,
    rule: Rule,
    n_compartments: int,
    *,
    state: State | None = None,
    free: bool = False,
    steps: int | None = None,
    threads: int = 1,
) -> protocol.Learner:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    if _suits_events(network, parameters, rule, n_compartments, state, free, steps):
        return event.Learner(network, parameters, rule, n_compartments, state=state, free=free, steps=steps)
    return direct.Learner(network, parameters, rule, n_compartments, state=state, free=free, threads=threads)


def _suits_events(
    network: Network,
    parameters: Parameters,
    rule: Rule,
    n_compartments: int,
    state: State | None,
    free: bool,
    steps: int | None,
) -> bool:
    if state is not None:  # a form goes on with what it has begun
        return "fading" in state.kept
    if FORM is not None:
        return FORM == "event"
    keeps = event.horizon(rule.gamma, parameters.dtype)  # steps in its window, which would grow without end
    short = keeps is not None and keeps <= LONGEST_WINDOW
    return short and n_compartments <= 8 and event_plan(network, free, parameters.dtype) is not None
