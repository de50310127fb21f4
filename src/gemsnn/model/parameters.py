"""The parameters that learning changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LARGEST = 1e20
"""Largest magnitude of a weight: sums then stay within float32, and beyond 1e4 a neuron's spikes no longer change."""
LARGEST_INITIAL = 1e6
"""Largest magnitude of initial biases, and of the spread of initial weights."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Weights of a network, shared by all compartments. Their dtype (float32 or float64) is the engine's.

    Attributes
    ----------
    synaptic
        (n_neurons, n_sources, n_basis): rows hidden then visible, columns inputs, hidden, visible; exactly 0 where the
        graph has no synapse.
    somatic
        (n_neurons, n_basis): self-memory.
    bias
        (n_neurons,)
    """

    synaptic: NDArray[Any]
    somatic: NDArray[Any]
    bias: NDArray[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.synaptic.dtype

    def astype(self, dtype: DTypeLike) -> Parameters:
        """A copy in another precision."""
        return Parameters(*(array.astype(dtype) for array in (self.synaptic, self.somatic, self.bias)))

    def copy(self) -> Parameters:
        return self.astype(self.dtype)

    def __eq__(self, other: object) -> bool:
        """Bit-for-bit equal."""
        return (
            isinstance(other, Parameters)
            and self.dtype == other.dtype
            and np.array_equal(self.synaptic, other.synaptic)
            and np.array_equal(self.somatic, other.somatic)
            and np.array_equal(self.bias, other.bias)
        )

    __hash__ = None  # type: ignore[assignment]
