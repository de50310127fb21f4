"""What a decoder is: it takes the evidence of one time step after another, and has an answer after each."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Answer(NamedTuple):
    """What a decoder says of evidence with shape (..., K, C)."""

    classes: NDArray[np.int64]  #: (...): index of the class
    probabilities: NDArray[np.float64]  #: (..., C)
    votes: NDArray[np.int64]  #: (..., C): how many compartments prefer each class


class Decoder(Protocol):
    """A way to read a class out of the network, step by step; leading axes of the evidence are any batch.

    Any object with these five names is a decoder, and is given in place of a decoder's name.

    Attributes
    ----------
    name
        What it is called in settings and results.
    free
        True: visible neurons run freely, and the evidence of a step is their spikes (..., K, C).
        False: the evidence of a step is the log-probability (..., K, C) of the spikes that each class desires.
    """

    @property
    def name(self) -> str: ...
    @property
    def free(self) -> bool: ...

    def start(self, shape: tuple[int, ...]) -> Any:
        """The state before the first step, for evidence of the given shape (..., K, C)."""

    def update(self, state: Any, evidence: NDArray[Any]) -> Any:
        """A new state, with the evidence of one more step; the old one is left as it is."""

    def answer(self, state: Any) -> Answer:
        """What is to be said after the steps seen so far, at least one."""
