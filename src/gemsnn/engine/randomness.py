"""Random draws as counter-based streams, so that a draw depends on its purpose and on nothing else.

Every compartment of every example has its own Philox stream, keyed by (seed, example, compartment). Hidden and visible
neurons draw from separate streams, so clamping the visible neurons does not shift the draws of the hidden ones:
learning, free running and a live stream see the same hidden draws for the same seed.

A uniform is (n + 1/2) / 2^32, where n is the next half of NumPy's 64-bit Philox output, low half first. A spike's
probability is therefore exact to 1.2e-10.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.compiling.instructions import bits_of, float_of
from gemsnn.compiling.jit import jit
from gemsnn.engine.firing import LEAST_POTENTIAL
from gemsnn.engine.philox import write_numbers

HIDDEN, VISIBLE = 0, 1
_MASK = (1 << 64) - 1


class Draws(Protocol):
    """The random numbers of one example."""

    def draw(self, n_steps: int) -> NDArray[np.float64]:
        """The next (n_steps, K, n) uniforms."""

    def draw_logits(self, out: NDArray[Any]) -> None:
        """Write log(u / (1 - u)) of the next uniforms to the contiguous (n_steps, K, n) ``out``."""


class Uniforms:
    """The draws of one example, step after step.

    Parameters
    ----------
    seed, example
        Key of the draws.
    n_compartments, n_hidden, n_visible
        Sizes; ``n_visible=0`` when the visible neurons are clamped.
    start
        Number of steps already drawn, to continue where an earlier call stopped.
    """

    def __init__(
        self,
        seed: int,
        example: int,
        n_compartments: int,
        n_hidden: int,
        n_visible: int = 0,
        start: int = 0,
    ) -> None:
        self.shape = (n_compartments, n_hidden + n_visible)
        self._position, self._n_hidden = start, n_hidden
        self._key = np.array([seed & _MASK, example & _MASK], dtype=np.uint64)

    @property
    def position(self) -> int:
        """Steps drawn so far."""
        return self._position

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
        if out.dtype == np.float32:
            take_logs(out.reshape(-1))
        else:
            np.log(out, out=out)

    def _write_next(self, out: NDArray[Any], as_uniforms: bool) -> None:
        hidden, visible = out[:, :, : self._n_hidden], out[:, :, self._n_hidden :]
        for population, part in ((HIDDEN, hidden), (VISIBLE, visible)):
            if part.size:
                write_numbers(self._key, population, self._position, as_uniforms, part)
        self._position += len(out)


class Given:
    """Given uniforms in [0, 1], (T, K, n), step after step."""

    def __init__(self, uniforms: NDArray[np.float64]) -> None:
        self._uniforms, self._position = uniforms, 0

    def draw(self, n_steps: int) -> NDArray[np.float64]:
        """The next ``n_steps`` of them, or as many as remain."""
        self._position += n_steps
        return self._uniforms[self._position - n_steps : self._position]

    def draw_logits(self, out: NDArray[Any]) -> None:
        """Write log(u / (1 - u)) to the first steps of the (n_steps, K, n) ``out``, as many as remain."""
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
                complement = np.uint32(~n)  # 2^32 - 1 - n: uniforms near 1 keep their precision
                out[t, k, i] = (out.dtype.type(n) + half) / (out.dtype.type(complement) + half)


_HALF_ROOT = np.int32(0x3F3504F3)  # the bits of sqrt(1/2)
_EXPONENT, _MANTISSA = np.int32(23), np.int32(0x007FFFFF)
_LOG_2 = np.float32(0.693359375), np.float32(-2.12194440e-4)
_TERMS = tuple(
    np.float32(term)
    for term in (
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
        2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )
)  # fmt: skip
_ONE, _HALF = np.float32(1), np.float32(0.5)


@jit(error_model="numpy")
def take_logs(values: Any) -> None:
    """Logarithms of (n,) positive float32, in place, to within one unit in the last place.

    NumPy's differ in their last bits from processor to processor, which sometimes changes a spike. These are the same
    everywhere, also in the exported C. The polynomial is that of Cephes' logf.
    """
    for i in range(values.shape[0]):
        above = bits_of(values[i]) - _HALF_ROOT
        exponent = np.float32(np.int32(above) >> _EXPONENT)
        x = float_of(np.int32((above & _MANTISSA) + _HALF_ROOT)) - _ONE  # of a number from sqrt(1/2) to sqrt(2)
        square = x * x
        series = _TERMS[0]
        for n in range(1, 9):
            series = series * x + _TERMS[n]
        y = x * square * series
        y = y + exponent * _LOG_2[1]
        y = y - _HALF * square
        values[i] = (x + y) + exponent * _LOG_2[0]
