"""What is learned directly, by an eligibility of its own: self-memory, the synapse that is not there, the reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.engine.jit import FASTMATH, kernel
from gemsnn.engine.recursion import Bank


@kernel(fastmath=FASTMATH)
def learn_directly(gamma: Any, post: Any, trace: Any, rate: Any, learns: Any, eligibility: Any, weight: Any) -> None:
    """eligibility <- gamma eligibility + post trace; weight <- weight + rate eligibility, of neurons that learn."""
    for i in range(post.shape[0]):
        e = gamma * eligibility[i] + post[i] * trace[i]
        eligibility[i] = e
        weight[i] += rate[i] * e * learns[i]


@kernel(fastmath=FASTMATH)
def learn_reach(
    gamma: Any,
    post: Any,
    traces: Any,
    rate: Any,
    reaches: Any,
    eligibility: Any,
    reach: Any,
    total: Any,
    first: int,
    last: int,
) -> None:
    """The same for the sums over bases of the weights from hidden to visible neurons, (n_visible, n_hidden).

    Of hidden neurons ``first`` to ``last`` - 1; ``total`` (n_hidden,) is scratch: their traces, summed over the bases.
    """
    n_visible, start, end = reach.shape[0], np.uint64(first), np.uint64(last)
    for h in range(start, end):
        total[h] = 0
    for basis in range(traces.shape[0]):
        trace = traces[basis]
        for h in range(start, end):
            total[h] += trace[h]
    for x in range(n_visible):
        error, step_size = post[x], rate[x]
        own_eligibility, own_reach, there = eligibility[x], reach[x], reaches[x]
        for h in range(start, end):
            e = gamma * own_eligibility[h] + error * total[h]
            own_eligibility[h] = e
            own_reach[h] += step_size * e * there[h]


@kernel()
def remember(fired: Any, histories: Any, bits: int, first: int, last: int) -> None:
    """Shift the spikes (n, K) of neurons ``first`` to ``last`` - 1 into the histories (n, K, words)."""
    full_word = (1 << bits) - 1
    _, K, words = histories.shape
    for i in range(np.uint64(first), np.uint64(last)):
        for k in range(np.uint64(K)):
            bit = np.int64(fired[i, k])
            for word in range(words):
                longer = (np.int64(histories[i, k, word]) << 1) | bit
                histories[i, k, word] = longer & full_word
                bit = longer >> bits


@kernel(fastmath=FASTMATH)
def advance_trace(
    bank: Bank,
    table: Any,
    histories: Any,
    past: Any,
    k: int,
    time: int,
    spikes: Any,
    trace: Any,
    first: int,
    last: int,
) -> None:
    """Traces (n_basis, n) of the neurons' own spikes for the next step: by recursion, or by the table of ``tables.py``.

    Of neurons ``first`` to ``last`` - 1. ``spikes`` (n,) are those of this step; ``past`` does not have them yet, the
    ``histories`` have.
    """
    n_basis, start, end = trace.shape[0], np.uint64(first), np.uint64(last)
    if bank.recursive:
        left = past[(time - bank.taps.shape[1]) % len(past), k]
        for basis in range(n_basis):
            decay, gain = bank.recursion.decay[basis], bank.recursion.gain[basis]
            leaving = bank.recursion.leaving[basis]
            for i in range(start, end):
                trace[basis, i] = decay * trace[basis, i] + (gain * spikes[i] - leaving * left[i])
        return
    for basis in range(n_basis):
        look_up(histories, k, table, basis, trace[basis], first, last)


@kernel()
def look_up(histories: Any, k: int, table: Any, basis: int, trace: Any, first: int, last: int) -> None:
    """Traces (n,) of compartment k, by the table of ``tables.py``; of neurons ``first`` to ``last`` - 1."""
    for i in range(np.uint64(first), np.uint64(last)):
        total = table[0, histories[i, k, 0], basis]
        for word in range(1, table.shape[0]):
            total += table[word, histories[i, k, word], basis]
        trace[i] = total
