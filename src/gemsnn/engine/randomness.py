"""Random draws as counter-based streams, so that a draw depends on what it is for and on nothing else.

Every compartment of every example has its own Philox stream, keyed by (seed, example, compartment). Hidden and visible
neurons draw from separate streams, so clamping the visible neurons does not shift the draws of the hidden ones:
learning, free running and a live stream see the same hidden draws for the same seed.

A uniform is (n + 1/2) / 2^32, where n is the next half of NumPy's 64-bit Philox output, low half first. A spike's
probability is therefore met to 1.2e-10.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.barrier import run_team
from gemsnn.engine.firing import LEAST_POTENTIAL
from gemsnn.engine.jit import jit
from gemsnn.engine.philox import write_numbers

HIDDEN, VISIBLE = 0, 1
_MASK = (1 << 64) - 1


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
    threads
        Each draws for its own compartments.
    """

    def __init__(
        self,
        seed: int,
        example: int,
        n_compartments: int,
        n_hidden: int,
        n_visible: int = 0,
        start: int = 0,
        threads: int = 1,
    ) -> None:
        self.shape = (n_compartments, n_hidden + n_visible)
        self._position, self._n_hidden, self._threads = start, n_hidden, min(threads, n_compartments)
        self._key = np.array([seed & _MASK, example & _MASK], dtype=np.uint64)

    def draw(self, n_steps: int) -> NDArray[np.float64]:
        """The next (n_steps, K, n) uniforms in (0, 1)."""
        uniforms = np.empty((n_steps, *self.shape))
        self._write_next(uniforms, as_uniforms=True)
        return uniforms

    def draw_logits(self, out: NDArray[Any]) -> None:
        """Write log(u / (1 - u)) of the next uniforms to the contiguous (n_steps, K, n) ``out``."""
        numbers = np.empty((len(out), *self.shape), dtype=np.uint32)
        self._write_next(numbers, as_uniforms=False)
        write_odds(numbers, out)
        np.log(out, out=out)

    def _write_next(self, out: NDArray[Any], as_uniforms: bool) -> None:
        K, team, hidden, visible = (
            self.shape[0],
            self._threads,
            out[:, :, : self._n_hidden],
            out[:, :, self._n_hidden :],
        )

        def write(thread: int, counter: Any) -> None:
            first, last = K * thread // team, K * (thread + 1) // team
            for population, part in ((HIDDEN, hidden), (VISIBLE, visible)):
                if part.size:
                    write_numbers(self._key, population, self._position, first, last, as_uniforms, part)

        run_team(write, team)
        self._position += len(out)


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
def write_odds(numbers: Any, out: Any) -> None:
    """u / (1 - u) = (n + 1/2) / (2^32 - n - 1/2) of (T, K, n) numbers."""
    half = out.dtype.type(0.5)
    for t in range(numbers.shape[0]):
        for k in range(numbers.shape[1]):
            for i in range(numbers.shape[2]):
                n = numbers[t, k, i]
                complement = np.uint32(~n)  # 2^32 - 1 - n: what is near 1 keeps its digits
                out[t, k, i] = (out.dtype.type(n) + half) / (out.dtype.type(complement) + half)
