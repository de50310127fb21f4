"""The fast engine: learning in the form that suits the sizes, and running without learning."""

from __future__ import annotations

from gemsnn.engine import direct, protocol
from gemsnn.engine.protocol import State
from gemsnn.engine.simulate import simulate
from gemsnn.model import Network, Parameters
from gemsnn.rules import Rule

__all__ = ["learner", "simulate"]


def learner(
    network: Network,
    parameters: Parameters,
    rule: Rule,
    n_compartments: int,
    *,
    state: State | None = None,
    free: bool = False,
    threads: int = 1,
) -> protocol.Learner:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    return direct.Learner(network, parameters, rule, n_compartments, state=state, free=free, threads=threads)
