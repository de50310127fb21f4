"""Input spikes as lists, step by step: the cost of a recording depends on its events, not on the size of its sensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.compiling.jit import jit
from gemsnn.engine.arrays import Integers
from gemsnn.model.spike_list import SpikeList


class InputSpikes(NamedTuple):
    """At step t the inputs ``source[start[t] : start[t + 1]]`` spike, listed once each in ascending order."""

    start: Integers  # (T + 1,)
    source: Integers  # (n,)


Inputs = NDArray[Any] | SpikeList
"""(T, n_inputs) of 0/1, or a list, which may contain inputs beyond ``n_inputs``: see :class:`SpikeList`."""


def input_spikes(inputs: Inputs, n_inputs: int) -> InputSpikes:
    """The spikes step by step."""
    if isinstance(inputs, SpikeList):
        n_steps = inputs.n_steps
        cells = inputs.spikes["step"].astype(np.intp) * n_inputs + inputs.spikes["index"] % max(n_inputs, 1)
        if (cells[1:] <= cells[:-1]).any():
            cells = np.unique(cells)
    else:
        spikes = np.ascontiguousarray(inputs).view(np.uint8)
        found = InputSpikes(np.zeros(len(inputs) + 1, np.intp), np.empty(np.count_nonzero(spikes), np.intp))
        _list(spikes.reshape(-1), n_inputs, found.start, found.source)
        return found
    starts = np.searchsorted(cells, np.arange(n_steps + 1) * n_inputs)
    return InputSpikes(starts, cells - np.repeat(np.arange(n_steps) * n_inputs, np.diff(starts)))


@jit()
def _list(spikes: Any, n_inputs: int, start: Any, source: Any) -> None:
    """List which of (T * n_inputs,) bytes are not 0, step by step; eight bytes that are all 0 are skipped at once."""
    number, t, row, whole = 0, 0, 0, spikes.size // 8
    words = spikes[: 8 * whole].view(np.uint64)
    for word in range(whole + 1):
        if word == whole or words[word] != 0:
            for cell in range(8 * word, min(8 * word + 8, spikes.size)):
                if spikes[cell] != 0:
                    while cell >= row + n_inputs:
                        t, row = t + 1, row + n_inputs
                        start[t] = number
                    source[number] = cell - row
                    number += 1
    for later in range(t + 1, len(start)):
        start[later] = number


def n_steps(inputs: Sequence[Inputs] | NDArray[Any]) -> int:
    """T, the common length of the inputs."""
    if isinstance(inputs, np.ndarray):
        return int(inputs.shape[1])
    if not inputs:
        return 0
    return inputs[0].n_steps if isinstance(inputs[0], SpikeList) else len(inputs[0])


def as_array(inputs: Inputs, n_inputs: int) -> NDArray[Any]:
    """(T, n_inputs)"""
    return inputs.to_array(n_inputs) if isinstance(inputs, SpikeList) else inputs
