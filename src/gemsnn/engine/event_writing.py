"""Point 5 of the event form, writing back: spike by spike, each with its filtered a.

Threads divide it by rows, which are sources: the order of the sums of a weight does not depend on the threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.by_number import laid_out, member
from gemsnn.compiling.jit import FASTMATH, jit, kernel, part
from gemsnn.engine.bits import list_active
from gemsnn.engine.event_arrays import Arrays, Population
from gemsnn.engine.recursion import Bank, Recursion
from gemsnn.engine.rows import mix


@kernel(fastmath=FASTMATH)
def close_window(w: Arrays, all_populations: Any, n_populations: int) -> None:
    """Write eta a of all steps to ``changes``, and their sums over compartments; learn the biases; reset the sums."""
    window, eta, own = w.window, w.rule.learning_rate, w.scratch.filters.of_neuron
    post, accumulated, signal, fading, changes = (
        window.post, window.accumulated, window.signal, window.fading, window.changes,
    )  # fmt: skip
    n, K = w.scratch.fired.shape
    n_hidden, n_local, zero = w.scratch.reached.shape[0], signal.shape[0], post.dtype.type(0)
    for k in range(K):
        for i in range(n_local):
            own[i] = signal[i, k]
        for s in range(window.begin[0], window.now[0]):
            m, fade = s * K + k, fading[s]
            row, result = post[m], changes[m]
            if w.rule.has_local:
                so_far = accumulated[m]
                for i in range(n_local):
                    result[i] = eta * (so_far[i] + fade * own[i] * row[i])
                    so_far[i] = zero
            else:
                factor = eta * window.hidden_factor[m]
                for i in range(n_hidden):
                    result[i] = factor * row[i]
            factor = eta * window.visible_factor[m]
            for i in range(max(n_hidden, n_local), n):
                result[i] = factor * row[i]
            window.visible_factor[m] = zero
            window.hidden_factor[m] = zero
    signal[:] = zero
    if K > 1:
        for s in range(window.begin[0], window.now[0]):
            total = window.shared_changes[s]
            total[:] = zero
            for m in range(s * K, (s + 1) * K):
                for i in range(n):
                    total[i] += changes[m, i]
    _write_biases(w, all_populations, n_populations)


@part(fastmath=FASTMATH)
def _write_biases(w: Arrays, all_populations: Any, n_populations: int) -> None:
    """bias += sum_s a_s (1 - mean . (R_s - mean)), for each neuron with the means of its own inputs.

    How many times the means are to be subtracted from the weights, ``centre``, is kept until they are written.
    """
    bias, changes, rows, begin, now = (
        w.carried.bias, w.window.shared_changes, w.graph.rows, w.window.begin[0], w.window.now[0],
    )  # fmt: skip
    for s in range(begin, now):
        for i in range(bias.shape[0]):
            bias[i] += changes[s, i]
    populations = laid_out(all_populations)
    for number in range(n_populations):
        p = member(populations, number)
        if p.mean.shape[0]:
            for g in range(rows.shape[0]):
                if p.feeds[rows[g, 2]]:
                    for s in range(begin, now):
                        factor = p.mean_square[0] - p.mean_trace[s]
                        for i in range(np.uint64(rows[g, 0]), np.uint64(rows[g, 1])):
                            bias[i] += factor * changes[s, i]
                            p.centre[i] += changes[s, i]


@jit()
def count_spikes(bits: Any, first: int, last: int, active: Any, start: Any) -> int:
    """Where the spikes of each source begin in a list source by source, in ``start`` (K, size + 1), which holds zeros.

    Of the positions from ``first`` to ``last`` - 1; returns how many spikes there are.
    """
    K, total = start.shape[0], 0
    for k in range(K):
        for position in range(first, last):
            for source in range(list_active(bits, position * K + k, active)):
                start[k, active[source] + 1] += 1
        for j in range(start.shape[1]):
            total += start[k, j]
            start[k, j] = total
    return total


@jit()
def list_spikes(bits: Any, first: int, last: int, active: Any, start: Any, when: Any) -> None:
    """The positions at which sources spike, counted from ``first``: when[start[k, j] : start[k, j + 1]] of source j."""
    K, following = start.shape[0], start.copy()
    for k in range(K):
        for position in range(first, last):
            for source in range(list_active(bits, position * K + k, active)):
                j = active[source]
                when[following[k, j]] = position - first
                following[k, j] += 1


def spikes_by_source(bits: Any, size: int, K: int, first: int, last: int, active: Any) -> tuple[Any, Any]:
    """The positions from ``first`` to ``last`` - 1 at which sources spike, source by source, counted from ``first``.

    Those of source j in compartment k are when[start[k, j] : start[k, j + 1]]. The arrays are made here, because Numba
    calls Python to return an array, and Ctrl-C during that call becomes a SystemError.
    """
    start = np.zeros((K, size + 1), dtype=np.intp)
    when = np.empty(count_spikes(bits, first, last, active, start), dtype=np.int32)
    list_spikes(bits, first, last, active, start, when)
    return start, when


@jit(fastmath=FASTMATH)
def write_back(
    p: Population,
    weights: Any,
    synapses: Bank,
    rows: Any,
    begin: int,
    now: int,
    changes: Any,
    start: Any,
    when: Any,
    first: int,
    last: int,
) -> None:
    """weights += sum_s a_s R_s, for the rows of the sources ``first`` to ``last`` - 1.

    ``changes`` (M * K_p, columns) are eta a of the population's own compartments; the spikes are those of
    :func:`spikes_by_source`, so that each row of the weights is worked on once.
    """
    taps = synapses.taps
    n_basis, D = taps.shape
    K, n = len(p.products), changes.shape[1]
    change = np.empty((max(D + now - 1 - begin, 1), n_basis * n), dtype=taps.dtype)
    whole = p.feeds.all()
    for k in range(K):
        if synapses.recursive:
            _filter_backwards(synapses.recursion, begin, now, D, K, k, changes, change)
        else:
            _filter_finite(taps, begin, now, K, k, changes, change)
        for j in range(first, last):
            a, b = start[k, j], start[k, j + 1]
            if a < b and whole:
                _add_rows(weights, j, change, when, a, b, 0, n_basis * n)
            elif a < b:
                for g in range(rows.shape[0]):
                    if p.feeds[rows[g, 2]]:
                        for basis in range(n_basis):
                            begin_row, end_row = basis * n + rows[g, 0], basis * n + rows[g, 1]
                            _add_rows(weights, j, change, when, a, b, begin_row, end_row)
    if not p.of_inputs:  # no neuron has a synapse to itself
        for j in range(first, last):
            for basis in range(n_basis):
                weights[j, basis * n + p.first + j] = 0


@kernel(fastmath=FASTMATH)
def write_means(weights: Any, mean: Any, centre: Any, first: int, last: int) -> None:
    """weights -= mean centre, for the rows ``first`` to ``last`` - 1."""
    n = centre.shape[0]
    for j in range(first, min(last, mean.shape[0])):
        for basis in range(mean.shape[1]):
            if mean[j, basis] != 0:
                row = weights[j, basis * n : (basis + 1) * n]
                for i in range(np.uint64(n)):
                    row[i] -= mean[j, basis] * centre[i]


@kernel()
def add_to_rows(weights: Any, index: Any, change: Any, first: int, last: int) -> None:
    """Add a change to the rows ``index`` of the weights, if they are ``first`` to ``last`` - 1."""
    for j in range(len(index)):
        if first <= index[j] < last:
            row = weights[index[j]]
            for i in range(np.uint64(row.shape[0])):
                row[i] += change[j, i]


@kernel(fastmath=FASTMATH)
def _add_rows(weights: Any, j: int, change: Any, when: Any, first: int, last: int, begin: int, end: int) -> None:
    """Add the rows when[first : last] of the change to row j of the weights, four at a time, between two columns."""
    start, stop = np.uint64(begin), np.uint64(end)
    four = first + (last - first) // 4 * 4
    for a in range(first, four, 4):
        p0, p1, p2, p3 = when[a], when[a + 1], when[a + 2], when[a + 3]
        for i in range(start, stop):
            weights[j, i] += (change[p0, i] + change[p1, i]) + (change[p2, i] + change[p3, i])
    for a in range(four, last):
        p0 = when[a]
        for i in range(start, stop):
            weights[j, i] += change[p0, i]


@jit(fastmath=FASTMATH)
def _filter_finite(taps: Any, begin: int, now: int, K: int, k: int, a: Any, change: Any) -> None:
    """What a spike at each position from ``begin`` on adds to its weights: the sum over lags of taps a_{p + lag}."""
    n_basis, D = taps.shape
    n, rows = a.shape[1], a.reshape(-1)
    offsets, factors = np.empty(D, dtype=np.intp), np.empty(D, dtype=taps.dtype)
    for basis in range(n_basis):
        lags = np.flatnonzero(taps[basis]) + 1
        for position in range(begin, D + now - 1):
            number = 0
            for lag in lags:
                s = position - D + lag  # the step that sees the spike
                if begin <= s < now:
                    offsets[number], factors[number] = (s * K + k) * n, taps[basis, lag - 1]
                    number += 1
            mix(rows, offsets, factors, number, 0, n, change[position - begin, basis * n : (basis + 1) * n])


@kernel(fastmath=FASTMATH)
def _filter_backwards(recursion: Recursion, begin: int, now: int, D: int, K: int, k: int, a: Any, change: Any) -> None:
    """The same for exponentials, a recursion from the newest spike back: c_p = decay c_{p+1} + gain a - leaving a'.

    The step after the spike's is the first that sees it; D steps later the spike has left the filter's memory.
    """
    n_basis, n = len(recursion.decay), a.shape[1]
    columns = np.uint64(n)
    for basis in range(n_basis):
        decay, gain, leaving = recursion.decay[basis], recursion.gain[basis], recursion.leaving[basis]
        start = np.uint64(basis * n)
        for offset in range(len(change) - 1, -1, -1):
            row = change[offset]
            if offset == len(change) - 1:
                for i in range(columns):
                    row[start + i] = 0
            else:
                after = change[offset + 1]
                for i in range(columns):
                    row[start + i] = decay * after[start + i]
            first_step = begin + offset - D + 1  # that sees the spike
            if first_step >= begin:
                entering = a[first_step * K + k]
                for i in range(columns):
                    row[start + i] += gain * entering[i]
            if begin <= first_step + D < now:
                left = a[(first_step + D) * K + k]
                for i in range(columns):
                    row[start + i] -= leaving * left[i]
