"""Learning by an eligibility of its own: self-memory, the synapse that is not there, the reach; own traces."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.jit import FASTMATH, kernel
from gemsnn.engine.recursion import Bank
from gemsnn.engine.rows import mix


@kernel(fastmath=FASTMATH)
def learn_by_eligibility(
    gamma: Any, post: Any, trace: Any, rate: Any, learns: Any, eligibility: Any, weight: Any
) -> None:
    """eligibility <- gamma eligibility + post trace; weight <- weight + rate eligibility, for neurons that learn."""
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
) -> None:
    """The same for the sums over bases of the weights from hidden to visible neurons, (n_visible, n_hidden).

    ``total`` (n_hidden,) is scratch: the traces of hidden neurons, summed over the bases.
    """
    n_visible, n_hidden = reach.shape[0], np.uint64(reach.shape[1])
    for h in range(n_hidden):
        total[h] = 0
    for basis in range(traces.shape[0]):
        trace = traces[basis]
        for h in range(n_hidden):
            total[h] += trace[h]
    for x in range(n_visible):
        error, step_size = post[x], rate[x]
        own_eligibility, own_reach, there = eligibility[x], reach[x], reaches[x]
        for h in range(n_hidden):
            e = gamma * own_eligibility[h] + error * total[h]
            own_eligibility[h] = e
            own_reach[h] += step_size * e * there[h]


@kernel(fastmath=FASTMATH)
def learn_at_once(change: Any, trace: Any, learns: Any, weight: Any) -> None:
    """weight <- weight + change trace, for neurons that learn."""
    for i in range(change.shape[0]):
        weight[i] += change[i] * trace[i] * learns[i]


@kernel(fastmath=FASTMATH)
def reach_at_once(change: Any, traces: Any, reaches: Any, reach: Any) -> None:
    """The same for the reach (n_visible, n_hidden), whose traces are summed over the bases."""
    for x in range(reach.shape[0]):
        for h in range(reach.shape[1]):
            if reaches[x, h]:
                for basis in range(traces.shape[0]):
                    reach[x, h] += change[x] * traces[basis, h]


@kernel()
def remember(fired: Any, histories: Any, bits: int) -> None:
    """Shift the spikes (n, K) into the histories (n, K, words)."""
    full_word = (1 << bits) - 1
    n, K, words = histories.shape
    for i in range(np.uint64(n)):
        for k in range(np.uint64(K)):
            bit = np.int64(fired[i, k])
            for word in range(words):
                longer = (np.int64(histories[i, k, word]) << 1) | bit
                histories[i, k, word] = longer & full_word
                bit = longer >> bits


@kernel(fastmath=FASTMATH)
def advance_traces(bank: Bank, past: Any, time: int, spikes: Any, traces: Any, offsets: Any, factors: Any) -> None:
    """Traces (K, n_basis, n) of the neurons' own spikes for the next step.

    ``spikes`` (K, n) are those of this step; ``past`` (memory, K, n) does not yet contain them.
    """
    memory, K, n = past.shape
    taps = bank.taps
    for basis in range(taps.shape[0]):
        decay, gain, leaving = bank.recursion.decay[basis], bank.recursion.gain[basis], bank.recursion.leaving[basis]
        number, slot, leaving_spikes = 0, time % memory, past[(time - taps.shape[1]) % memory]
        if not bank.recursive:
            for lag in range(2, min(taps.shape[1], memory) + 1):
                slot = slot - 1 if slot else memory - 1
                offsets[number], factors[number] = slot * K * n, taps[basis, lag - 1]
                number += taps[basis, lag - 1] != 0
        for k in range(K):
            trace, newest, leaves = traces[k, basis], spikes[k], leaving_spikes[k]
            if bank.recursive:
                for i in range(np.uint64(n)):
                    trace[i] = decay * trace[i] + (gain * newest[i] - leaving * leaves[i])
            else:
                mix(past.reshape(-1)[k * n :], offsets, factors, number, 0, n, trace)
                tap = taps[basis, 0]
                for i in range(np.uint64(n)):
                    trace[i] += tap * newest[i]


@kernel()
def look_up(histories: Any, k: int, table: Any, basis: int, trace: Any) -> None:
    """Write the traces (n,) of compartment k, from the table of ``tables.py``."""
    for i in range(np.uint64(len(histories))):
        total = table[0, histories[i, k, 0], basis]
        for word in range(1, table.shape[0]):
            total += table[word, histories[i, k, word], basis]
        trace[i] = total
