"""The contract of a decoder: it receives the evidence of each time step and can answer after every step."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Answer(NamedTuple):
    """A decoder's answer to evidence of shape (..., K, C)."""

    classes: NDArray[np.int64]  #: (...): index of the class
    probabilities: NDArray[np.float64]  #: (..., C)
    votes: NDArray[np.int64]  #: (..., C): how many compartments prefer each class


class Decoder(Protocol):
    """Reads a class out of the network, step by step; leading axes of the evidence are batch dimensions.

    Any object with these five names is a decoder and can be passed in place of a decoder's name.

    Attributes
    ----------
    name
        Its name in settings and results.
    free
        True: visible neurons run freely, and the evidence of a step is their spikes (..., K, C).
        False: the evidence of a step is the log-probability (..., K, C) of the desired spikes of each class.
    """

    @property
    def name(self) -> str: ...
    @property
    def free(self) -> bool: ...

    def start(self, shape: tuple[int, ...]) -> Any:
        """The state before the first step, for evidence of the given shape (..., K, C)."""

    def update(self, state: Any, evidence: NDArray[Any]) -> Any:
        """A new state that includes the evidence of one more step; the old state stays unchanged."""

    def answer(self, state: Any) -> Answer:
        """The answer after the steps so far, at least one."""
