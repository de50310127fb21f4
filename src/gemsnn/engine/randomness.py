"""Random draws as counter-based streams, so that a draw depends on what it is for and on nothing else.

Every compartment of every example has its own Philox stream, keyed by (seed, example, compartment). Hidden and visible
neurons draw from separate streams, so clamping the visible neurons does not shift the draws of the hidden ones:
learning, free running and a live stream see the same hidden draws for the same seed.

A uniform is (n + 1/2) / 2^32, where n is the next half of NumPy's 64-bit Philox output, low half first. A spike's
probability is therefore met to 1.2e-10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.firing import LEAST_POTENTIAL
from gemsnn.engine.jit import jit

HIDDEN, VISIBLE = 0, 1
_MASK = (1 << 64) - 1
_PER_COUNT = 8  # uniforms a step of Philox's counter
_EMPTY_BUFFER = np.zeros(4, dtype=np.uint64)


class Draws(Protocol):
    """The uniforms of one example."""

    def draw(self, n_steps: int) -> NDArray[np.float64]:
        """The next (n_steps, K, n) uniforms."""

    def draw_logits(self, out: NDArray[Any]) -> None:
        """Write log(u / (1 - u)) of the next uniforms to the contiguous (n_steps, K, n) ``out``."""


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
        self._position = start
        self._key = np.array([seed & _MASK, example & _MASK], dtype=np.uint64)
        self._populations = [(HIDDEN, slice(0, n_hidden)), (VISIBLE, slice(n_hidden, n_hidden + n_visible))]
        self._philox = np.random.Philox(key=self._key)  # one for all streams: it is moved to where they are

    def draw(self, n_steps: int) -> NDArray[np.float64]:
        """The next (n_steps, K, n) uniforms in (0, 1)."""
        uniforms = np.empty((n_steps, *self.shape))
        for compartment, columns, numbers in self._next_numbers(n_steps):
            np.add(numbers, 0.5, out=uniforms[:, compartment, columns])
        uniforms *= 2.0**-32
        return uniforms

    def draw_logits(self, out: NDArray[Any]) -> None:
        """Write log(u / (1 - u)) of the next uniforms to the contiguous (n_steps, K, n) ``out``."""
        for compartment, columns, numbers in self._next_numbers(len(out)):
            _write_odds(numbers, out, compartment, columns.start)
        np.log(out, out=out)

    def _next_numbers(self, n_steps: int) -> Iterator[tuple[int, slice, NDArray[np.uint32]]]:
        """Compartment by compartment, the next (n_steps, size) numbers of a slice of the neurons."""
        for population, columns in self._populations:
            size = columns.stop - columns.start
            if size:
                for compartment in range(self.shape[0]):
                    numbers = self._numbers(compartment, population, self._position * size, n_steps * size)
                    yield compartment, columns, numbers.reshape(n_steps, size)
        self._position += n_steps

    def _numbers(self, compartment: int, population: int, first: int, size: int) -> NDArray[np.uint32]:
        """32-bit numbers ``first`` to ``first + size - 1`` of a stream."""
        count, skip = divmod(first, _PER_COUNT)
        # The two low words of the 256-bit counter advance with the draws; the two high words tell the streams apart.
        counter = np.array([count, 0, population, compartment], dtype=np.uint64)
        self._philox.state = {
            "bit_generator": "Philox",
            "state": {"counter": counter, "key": self._key},
            "buffer": _EMPTY_BUFFER,
            "buffer_pos": len(_EMPTY_BUFFER),
            "has_uint32": 0,
            "uinteger": 0,
        }
        numbers = self._philox.random_raw((skip + size + 1) // 2).astype("<u8", copy=False).view("<u4")
        return numbers[skip : skip + size]


class Given:
    """Uniforms in [0, 1] that somebody chose, (T, K, n), handed out step after step."""

    def __init__(self, uniforms: NDArray[np.float64]) -> None:
        self._uniforms, self._position = uniforms, 0

    def draw(self, n_steps: int) -> NDArray[np.float64]:
        """The next ``n_steps`` of them, or as many as are left."""
        self._position += n_steps
        return self._uniforms[self._position - n_steps : self._position]

    def draw_logits(self, out: NDArray[Any]) -> None:
        """Write log(u / (1 - u)) to the first steps of the (n_steps, K, n) ``out``, as many as are left."""
        uniforms = self.draw(len(out))
        out = out[: len(uniforms)]
        with np.errstate(divide="ignore"):
            np.divide(uniforms, 1 - uniforms, out=out, casting="same_kind")
            np.log(out, out=out)
        # A uniform of 0 is below every sigmoid that is not itself 0 in double precision.
        np.maximum(out, LEAST_POTENTIAL, out=out)


@jit(error_model="numpy")
def _write_odds(numbers: Any, out: Any, compartment: int, first: int) -> None:
    """u / (1 - u) = (n + 1/2) / (2^32 - n - 1/2) of numbers (T, size), to neurons from ``first``."""
    half = out.dtype.type(0.5)
    for t in range(numbers.shape[0]):
        for i in range(numbers.shape[1]):
            n = numbers[t, i]
            complement = np.uint32(~n)  # 2^32 - 1 - n: what is near 1 keeps its digits
            out[t, compartment, first + i] = (out.dtype.type(n) + half) / (out.dtype.type(complement) + half)
