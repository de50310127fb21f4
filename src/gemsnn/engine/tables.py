"""Traces by table: the recent spikes of a neuron are the bits of a number, looked up instead of convolved."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

LONGEST_WORD = 12  # bits: tables of 4096 entries fit into the processor's caches


class HistoryFormat(NamedTuple):
    """The last spikes of a neuron as words: bit n of word m is the spike m * bits + n + 1 steps ago."""

    words: int
    bits: int


def history_format(memory: int) -> HistoryFormat:
    """The fewest words that hold ``memory`` spikes, all of the same length."""
    words = -(-memory // LONGEST_WORD)
    return HistoryFormat(words, -(-memory // words))


def trace_table(taps: NDArray[np.float64], history: HistoryFormat, dtype: DTypeLike) -> NDArray[Any]:
    """(words, 2 ** bits, n_basis): the trace of a spike history is the sum of one entry per word.

    Words beyond the filter's duration are left out.
    """
    n_basis, duration = taps.shape
    words = -(-duration // history.bits)
    padded = np.zeros((n_basis, words * history.bits))
    padded[:, :duration] = taps
    values = np.arange(2**history.bits)
    bits = (values[:, None] >> np.arange(history.bits)) & 1  # (2 ** bits, bits)
    table = np.einsum("vn,bmn->mvb", bits.astype(np.float64), padded.reshape(n_basis, words, history.bits))
    return np.ascontiguousarray(table.astype(dtype))


def histories(spikes: NDArray[np.bool_], history: HistoryFormat) -> NDArray[np.uint16]:
    """(n, K, words) from the spikes (memory, K, n), oldest first."""
    words = np.zeros((*spikes.shape[:0:-1], history.words), dtype=np.uint16)
    for ago, fired in enumerate(spikes[::-1]):
        word, bit = divmod(ago, history.bits)
        words[:, :, word] |= fired.T.astype(np.uint16) << bit
    return words
