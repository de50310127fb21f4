"""What a model answers about recordings: labels, and how probable they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.inference.usual import UNUSUAL


class Answers(NamedTuple):
    """Of N recordings and C classes. Of a single recording, every field is without its N."""

    label: Any  #: (N,): of the class chosen
    confidence: Any  #: (N,): the probability of the class chosen
    probabilities: NDArray[np.float64]  #: (N, C), in the order of the model's classes
    votes: NDArray[np.int64]  #: (N, C): how many compartments prefer each class
    hidden_spikes_per_step: Any  #: (N,): summed over compartments
    usual: Any  #: (N,): p-value, the share of held-out recordings that are at least as unusual; NaN if not known

    @property
    def unusual(self) -> Any:
        """(N,): whether a recording is unlike anything that the model was trained on."""
        return self.usual < UNUSUAL
