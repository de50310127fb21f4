"""What visible neurons shall do while an example is learned: the pattern of its class, of its labels, or its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.model.spike_list import SpikeList
from gemsnn.training.data import Examples


def are_classes(examples: Examples) -> bool:
    """Whether each example has exactly one class, and no spike pattern of its own."""
    return examples.labels is not None and examples.labels.ndim == 1 and examples.load(0)[1] is None


def desired(
    labels: NDArray[Any] | None, index: int, own: SpikeList | None, n_steps: int, n_visible: int
) -> NDArray[np.uint8]:
    """(T, n_visible) desired spikes of an example of T = ``n_steps``.

    A class's neuron spikes at every step and the others never; so do the neurons of several labels; and an example that
    has a spike pattern of its own is to be answered by that.
    """
    if own is not None:
        return own.to_array(n_visible).view(np.uint8)
    assert labels is not None  # an example without a pattern has labels
    spiking = np.arange(n_visible) == labels[index] if labels.ndim == 1 else labels[index]
    return np.repeat(np.asarray(spiking, dtype=np.uint8)[None], n_steps, axis=0)
