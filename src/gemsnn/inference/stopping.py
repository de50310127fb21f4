"""Stopping rules: after every step, a rule decides from the probabilities whether to stop.

The same rule stops a live stream and recorded sequences; leading axes of the probabilities are batch dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError
from gemsnn.model.checks import number, whole_number


class Verdict(NamedTuple):
    """The decision of a stopping rule after a step."""

    stop: Any  #: (...): whether to stop
    members: NDArray[np.bool_] | None = None  #: (..., C): classes that are still possible; None if the rule has no sets


class StoppingRule(Protocol):
    """Decides after every step whether to stop; the state is passed in and returned, as in a decoder."""

    def start(self, shape: tuple[int, ...]) -> Any:
        """The state before the first step, for probabilities of the given shape (..., C)."""

    def update(
        self, state: Any, step: int, probabilities: NDArray[np.float64], ended: bool = False
    ) -> tuple[Any, Verdict]:
        """The new state and the decision after step 1, 2, ..., from the (..., C) probabilities.

        When a recording ends, its last step may be passed a second time, with ``ended``.
        """


@dataclass(frozen=True)
class Confident:
    """Stop as soon as the most probable class has this probability, but not before ``min_steps``.

    Examples
    --------
    >>> rule = Confident(0.8, min_steps=2)
    >>> state = rule.start((2,))
    >>> for step, p in enumerate(([0.1, 0.9], [0.3, 0.7], [0.1, 0.9]), start=1):
    ...     state, verdict = rule.update(state, step, np.array(p))
    ...     print(step, bool(verdict.stop))
    1 False
    2 False
    3 True
    """

    confidence: float
    min_steps: int = 1

    def __post_init__(self) -> None:
        if not 0 <= number("confidence", self.confidence) <= 1:
            raise ConfigError(f"confidence must lie in [0, 1], got {self.confidence!r}")
        whole_number("min_steps", self.min_steps, 1)

    def start(self, shape: tuple[int, ...]) -> None:
        return None

    def update(
        self, state: None, step: int, probabilities: NDArray[np.float64], ended: bool = False
    ) -> tuple[None, Verdict]:
        return None, Verdict((probabilities.max(axis=-1) >= self.confidence) & (step >= self.min_steps))


def as_stopping_rule(stop: float | StoppingRule | None) -> StoppingRule | None:
    """A rule is returned unchanged; a number is the confidence at which to stop."""
    if stop is None or (hasattr(stop, "start") and hasattr(stop, "update")):
        return stop
    return Confident(stop)


class Stopped(NamedTuple):
    """Where a rule stopped recordings of T steps."""

    last: NDArray[np.int64]  # (...): index of the step
    members: NDArray[np.bool_] | None  # (..., C): classes that were still possible at that step


def stop_by(rule: StoppingRule, probabilities: NDArray[np.float64]) -> Stopped:
    """Apply a rule to recordings with probabilities (..., T, C) after each step; they stop at the end at the latest."""
    *batch, T, C = probabilities.shape
    state, members = rule.start((*batch, C)), None
    last = np.full(batch, T - 1)
    running = np.ones(batch, dtype=np.bool_)
    for t in range(T):
        state, verdict = rule.update(state, t + 1, probabilities[..., t, :], ended=t == T - 1)
        now = running & (verdict.stop if t < T - 1 else True)
        last[now] = t
        if verdict.members is not None:
            members = verdict.members.copy() if members is None else members
            members[now] = verdict.members[now]
        running &= ~now
    return Stopped(last, members)


def at(steps: NDArray[Any], last: NDArray[np.int64]) -> NDArray[Any]:
    """(...): the entries of values (..., T) at the given indices of the last axis."""
    return np.take_along_axis(steps, last[..., None], axis=-1)[..., 0]
