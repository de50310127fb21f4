"""When to stop listening: after every step a rule looks at the probabilities, and may have enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.described import described
from gemsnn.errors import ConfigError
from gemsnn.model.checks import number, whole_number


@described
class Verdict(NamedTuple):
    """What a stopping rule says after a step."""

    stop: bool
    classes: tuple[int, ...] | None = None  #: indices of the classes that are still possible; None: gives no such set


class StoppingRule(Protocol):
    """Says after every step whether the answer will do; state goes in and out, as in a decoder."""

    def start(self, n_classes: int) -> Any:
        """The state before the first step."""

    def update(
        self, state: Any, step: int, probabilities: NDArray[np.float64], ended: bool = False
    ) -> tuple[Any, Verdict]:
        """The new state, and what is to be said after step 1, 2, ..., from the (C,) probabilities.

        When a recording ends, its last step may be asked about a second time, with ``ended``.
        """


@dataclass(frozen=True)
class Confident:
    """Stop as soon as the most probable class is probable enough, though not before ``min_steps``.

    Examples
    --------
    >>> rule = Confident(0.8, min_steps=2)
    >>> state = rule.start(2)
    >>> for step, p in enumerate(([0.1, 0.9], [0.3, 0.7], [0.1, 0.9]), start=1):
    ...     state, verdict = rule.update(state, step, np.array(p))
    ...     print(step, verdict.stop)
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

    def start(self, n_classes: int) -> None:
        return None

    def update(
        self, state: None, step: int, probabilities: NDArray[np.float64], ended: bool = False
    ) -> tuple[None, Verdict]:
        return None, Verdict(step >= self.min_steps and bool(probabilities.max() >= self.confidence))


def as_stopping_rule(stop: float | StoppingRule | None) -> StoppingRule | None:
    """A rule as it is; a number is the confidence at which to stop."""
    if stop is None or (hasattr(stop, "start") and hasattr(stop, "update")):
        return stop
    return Confident(stop)
