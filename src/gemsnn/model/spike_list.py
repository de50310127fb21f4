"""Spikes as a list of (step, index) pairs, whose size depends on the number of spikes, not on sensor and steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import DataError, ShapeError

SPIKE_DTYPE = np.dtype([("step", "<u4"), ("index", "<u4")])
"""One spike: the time step, and which input (or cell of the planes, or visible neuron) spiked."""

MOST_STEPS = 1 << 31
MOST_CELLS = 1 << 32
"""Limits of one example as an array (T, n_inputs): larger ones are mistakes, and would not fit in memory."""

SILENT_STEPS, SILENT_CELLS = 100_000, 1 << 28
"""Limits of an example without spikes."""


class SpikeList(NamedTuple):
    """The spikes of one example, ordered by step and then by index."""

    spikes: NDArray[np.void]
    """(n,) of `SPIKE_DTYPE`."""
    n_steps: int
    """T"""

    @classmethod
    def from_array(cls, array: NDArray[Any], what: str) -> SpikeList:
        """From a (T, width) array of 0 and 1; `what` is its name in error messages."""
        if array.ndim != 2 or not array.shape[0]:
            raise ShapeError(f"{what} must have shape (T, n) with at least one time step, got {array.shape}")
        if array.dtype != np.bool_ and (array.dtype.kind not in "iuf" or not np.isin(array, (0, 1)).all()):
            raise DataError(f"{what} holds values other than 0 and 1")
        step, index = np.nonzero(array)
        return cls.from_pairs(step, index, array.shape[0])

    @classmethod
    def from_pairs(cls, step: NDArray[np.integer], index: NDArray[np.integer], n_steps: int) -> SpikeList:
        """From ordered steps and indices."""
        spikes = np.empty(len(step), dtype=SPIKE_DTYPE)
        spikes["step"], spikes["index"] = step, index
        return cls(spikes, n_steps)

    def fits(self, width: int) -> bool:
        """Whether all steps are below T, and all indices below the width."""
        steps, indices = self.spikes["step"], self.spikes["index"]
        return not len(self.spikes) or bool(steps.max() < self.n_steps and indices.max() < width)

    def folded(self, width: int) -> SpikeList:
        """The list with indices modulo the width, which merges planes, as in `to_array(width)`."""
        if not len(self.spikes) or self.spikes["index"].max() < width:
            return self
        return SpikeList.from_pairs(*np.divmod(np.unique(self._cells(width)), width), self.n_steps)

    def count(self, width: int) -> int:
        """The number of spikes of `to_array(width)`."""
        return len(np.unique(self._cells(width)))

    def to_array(self, width: int) -> NDArray[np.bool_]:
        """(T, width), with indices modulo the width, which merges planes that are stored one after another."""
        try:
            array = np.zeros((self.n_steps, width), dtype=np.bool_)
        except MemoryError:
            raise DataError(f"{self.n_steps:,} steps of {width:,} inputs do not fit in memory as an array") from None
        self.write_to(array)
        return array

    def write_to(self, array: NDArray[Any]) -> None:
        """Set the spikes in a contiguous array (T, width) of zeros."""
        array.reshape(-1)[self._cells(array.shape[1])] = True

    def _cells(self, width: int) -> NDArray[np.intp]:
        """Indices into the flat array; one index instead of two is three times as fast."""
        cells = self.spikes["step"].astype(np.intp)
        cells *= width
        cells += self.spikes["index"] % width
        return cells


def check_size(n_steps: int, width: int, what: str, n_spikes: int | None = None) -> None:
    """Refuse an example that is too large for memory as an array, or, given its number of spikes, nearly all silence.

    A list of spikes can describe hours in a few bytes. So its length is limited to 1,000 steps and 10,000 cells per
    spike, beyond what is always allowed.
    """
    if n_steps >= MOST_STEPS or n_steps * width > MOST_CELLS:
        raise DataError(
            f"{what}: {n_steps:,} steps of {width:,} inputs would take {n_steps * width / 2**30:,.0f} GB as an array; "
            "use wider time bins, or fewer inputs (crop, downsample)"
        )
    if n_spikes is not None and (
        n_steps > SILENT_STEPS + 1_000 * n_spikes or n_steps * width > SILENT_CELLS + 10_000 * n_spikes
    ):
        raise DataError(
            f"{what}: {n_steps:,} steps of {width:,} inputs with {n_spikes:,} spikes are nearly all silence: a time "
            "that is wrong, or a damaged file? If not, use wider time bins, or cut the recording"
        )
