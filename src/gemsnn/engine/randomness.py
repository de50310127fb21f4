"""Random draws as counter-based streams, so that a draw depends on what it is for and on nothing else.

Every compartment of every example has its own Philox stream, keyed by (seed, example, compartment). Hidden and visible
neurons draw from separate streams, so clamping the visible neurons does not shift the draws of the hidden ones:
learning, free running and a live stream see the same hidden draws for the same seed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HIDDEN, VISIBLE = 0, 1
_MASK = (1 << 64) - 1


def generator(seed: int, example: int, compartment: int, population: int) -> np.random.Generator:
    """The stream of one compartment of one example, for hidden (0) or visible (1) neurons."""
    key = np.array([seed & _MASK, example & _MASK], dtype=np.uint64)
    # The two low words of the 256-bit counter advance with the draws; the two high words tell the streams apart.
    counter = np.array([0, 0, population, compartment], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


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
            (compartment, slice(first, first + size), generator(seed, example, compartment, population))
            for population, first, size in ((HIDDEN, 0, n_hidden), (VISIBLE, n_hidden, n_visible))
            for compartment in range(n_compartments)
            if size
        ]
        if start:
            for _, columns, stream in self._parts:
                skip = start * (columns.stop - columns.start)
                stream.bit_generator.advance(skip // 4)  # type: ignore[attr-defined]  # four doubles a counter step
                stream.random(skip % 4)

    def draw(self, n_steps: int) -> NDArray[np.float64]:
        """The next (n_steps, K, n) uniforms in [0, 1)."""
        uniforms = np.empty((n_steps, *self.shape))
        for compartment, columns, stream in self._parts:
            uniforms[:, compartment, columns] = stream.random((n_steps, columns.stop - columns.start))
        return uniforms
