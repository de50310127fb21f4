"""Random draws as counter-based streams, so that a draw depends on what it is for and on nothing else.

Every compartment of every example has its own Philox stream, keyed by (seed, example, compartment). Hidden and visible
neurons draw from separate streams, so clamping the visible neurons does not shift the draws of the hidden ones:
learning, free running and a live stream see the same hidden draws for the same seed.

A uniform is (n + 1/2) / 2^32, where n is the next half of NumPy's 64-bit Philox output, low half first. A spike's
probability is therefore met to 1.2e-10.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HIDDEN, VISIBLE = 0, 1
_MASK = (1 << 64) - 1
_PER_COUNT = 8  # uniforms a step of Philox's counter


class _Stream:
    """The uniforms of one compartment of one example, for hidden (0) or visible (1) neurons."""

    def __init__(self, seed: int, example: int, compartment: int, population: int, start: int) -> None:
        key = np.array([seed & _MASK, example & _MASK], dtype=np.uint64)
        # The two low words of the 256-bit counter advance with the draws; the two high words tell the streams apart.
        counter = np.array([start // _PER_COUNT, 0, population, compartment], dtype=np.uint64)
        self._bits = np.random.Philox(key=key, counter=counter)
        self._left = np.empty(0, dtype=np.uint32)
        if start % _PER_COUNT:
            self.next(start % _PER_COUNT)

    def next(self, size: int) -> NDArray[np.uint32]:
        """The next ``size`` numbers."""
        missing = size - len(self._left)
        if missing <= 0:
            numbers, self._left = self._left[:size], self._left[size:]
            return numbers
        fresh = self._bits.random_raw((missing + 1) // 2).astype("<u8", copy=False).view("<u4")
        numbers = np.concatenate([self._left, fresh[:missing]]) if len(self._left) else fresh[:missing]
        self._left = fresh[missing:]
        return numbers


class Uniforms:
    """The draws of one example, handed out step after step.

    Parameters
    ----------
    seed, example
        Which example's draws.
    n_compartments, n_hidden, n_visible
        Sizes; ``n_visible=0`` when the visible neurons are clamped.
    start
        Number of steps already drawn, to go on where an earlier call stopped.
    """

    def __init__(
        self, seed: int, example: int, n_compartments: int, n_hidden: int, n_visible: int = 0, start: int = 0
    ) -> None:
        self.shape = (n_compartments, n_hidden + n_visible)
        self._parts = [
            (compartment, slice(first, first + size), _Stream(seed, example, compartment, population, start * size))
            for population, first, size in ((HIDDEN, 0, n_hidden), (VISIBLE, n_hidden, n_visible))
            for compartment in range(n_compartments)
            if size
        ]

    def draw(self, n_steps: int) -> NDArray[np.float64]:
        """The next (n_steps, K, n) uniforms in (0, 1)."""
        uniforms = np.empty((n_steps, *self.shape))
        for compartment, columns, stream in self._parts:
            size = columns.stop - columns.start
            uniforms[:, compartment, columns] = stream.next(n_steps * size).reshape(n_steps, size)
        uniforms += 0.5
        uniforms *= 2.0**-32
        return uniforms
