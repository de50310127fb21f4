"""The arrays that a state holds; what its form keeps is a tuple of them, of numbers and of tuples."""

import numpy as np


def arrays_of(state) -> list[np.ndarray]:
    return [state.log_weights, state.processor_memory, state.neuron_memory, state.means, *_within(state.kept)]


def _within(kept):
    for value in kept:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _within(value)
