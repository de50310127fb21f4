"""Point 5 of the event form, writing back: spike by spike, each with its filtered a."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.engine.bits import list_active
from gemsnn.engine.event_window import Population, Share, Window
from gemsnn.engine.jit import FASTMATH, jit, kernel
from gemsnn.engine.recursion import Bank, Recursion
from gemsnn.engine.rows import mix


@jit(fastmath=FASTMATH)
def changes(w: Window, n_hidden: int, a: Any) -> None:
    """Write eta a of all steps of the window to (M * K, n_neurons); the factors begin anew."""
    post, accumulated, signal, fading = w.post, w.accumulated, w.signal, w.fading[0]
    visible_factor, hidden_factor, has_local, eta = (
        w.visible_factor[0],
        w.hidden_factor[0],
        w.has_local,
        w.learning_rate,
    )
    n, K = w.fired.shape
    zero = post.dtype.type(0)
    for k in range(K):
        own = signal[:, k].copy()
        for s in range(w.place[1], w.place[0]):
            m, fade = s * K + k, fading[s]
            row, result = post[m], a[m]
            if has_local:
                so_far = accumulated[m]
                for i in range(n_hidden):
                    result[i] = eta * (so_far[i] + fade * own[i] * row[i])
                    so_far[i] = zero
            else:
                factor = eta * hidden_factor[m]
                for i in range(n_hidden):
                    result[i] = factor * row[i]
            factor = eta * visible_factor[m]
            for i in range(n_hidden, n):
                result[i] = factor * row[i]
            w.visible_factor[:, m] = zero
            w.hidden_factor[:, m] = zero
    signal[:] = zero


@jit(fastmath=FASTMATH)
def write_back(w: Window, populations: Any, changes: Any, share: Share) -> None:
    """Write to the weights of all populations what was learned, from what :func:`changes` gives, for each its own.

    Each thread writes the weights of its own sources.
    """
    for index in range(len(populations)):
        if populations[index].size:
            _write(
                populations[index], w.synapses, w.place[0], w.place[1], changes[index], w.segment,
                w.active[share.thread], share.thread, share.n_threads,
            )  # fmt: skip


@jit(fastmath=FASTMATH)
def _write(
    p: Population, synapses: Bank, t: int, begin: int, a: Any, segment: Any, active: Any, thread: int, n_threads: int
) -> None:
    """weights += sum_s a_s (R_s - mean), from a (M * K_p, n_neurons) of the population's own compartments.

    Spike by spike; what the mean makes of it is one product of two vectors.
    """
    taps = synapses.taps
    n_basis, D = taps.shape
    K, n = len(p.products), a.shape[1]
    first_j, last_j = p.size * thread // n_threads, p.size * (thread + 1) // n_threads
    first, last = begin, D + t - 1  # positions of the spikes that traces of the window contain
    change = np.empty((max(last - first, 1), n_basis * n), dtype=taps.dtype)
    feeds_all, weights = p.feeds.all(), p.weights
    start, place = np.empty(p.size + 1, dtype=np.intp), np.empty(p.size, dtype=np.intp)
    for k in range(K):
        if synapses.recursive:
            _filter_backwards(synapses.recursion, begin, t, D, K, k, a, change)
        else:
            _filter_finite(taps, begin, t, K, k, a, change)
        # The spikes source by source, so that each row of the weights is worked on once.
        start[:] = 0
        total = 0
        for position in range(first, last):
            n_active = list_active(p.bits, position * K + k, active)
            total += n_active
            for source in range(n_active):
                start[active[source] + 1] += 1
        for j in range(p.size):
            start[j + 1] += start[j]
            place[j] = start[j]
        when = np.empty(total, dtype=np.intp)
        for position in range(first, last):
            for source in range(list_active(p.bits, position * K + k, active)):
                j = active[source]
                when[place[j]] = position - first
                place[j] += 1
        for j in range(first_j, last_j):
            if start[j] < start[j + 1]:
                if feeds_all:
                    _add_rows(weights, j, change, when, start[j], start[j + 1], 0, n_basis * n)
                    continue
                for g in range(segment.shape[0]):
                    if p.feeds[segment[g, 2]]:
                        for basis in range(n_basis):
                            left, right = basis * n + segment[g, 0], basis * n + segment[g, 1]
                            _add_rows(weights, j, change, when, start[j], start[j + 1], left, right)
    if p.mean.shape[0]:
        _take_off_mean(p, t, begin, a, segment, first_j, last_j)
    if not p.of_inputs:
        for j in range(first_j, last_j):
            for basis in range(n_basis):
                p.weights[j, basis * n + p.first + j] = 0


@jit(fastmath=FASTMATH)
def _take_off_mean(p: Population, t: int, begin: int, a: Any, segment: Any, first_j: int, last_j: int) -> None:
    """weights -= (sum_s a_s) mean; sources that never spiked have none."""
    mean, weights, n = p.mean, p.weights, a.shape[1]
    total = np.zeros(n, dtype=a.dtype)
    for s in range(begin, t):
        for i in range(n):
            total[i] += a[s, i]
    for g in range(segment.shape[0]):
        if not p.feeds[segment[g, 2]]:
            for i in range(segment[g, 0], segment[g, 1]):
                total[i] = 0
    for j in range(first_j, last_j):
        for basis in range(mean.shape[1]):
            if mean[j, basis] != 0:
                row = weights[j, basis * n : (basis + 1) * n]
                for i in range(n):
                    row[i] -= mean[j, basis] * total[i]


@kernel(fastmath=FASTMATH)
def _add_rows(weights: Any, j: int, change: Any, when: Any, first: int, last: int, left: int, right: int) -> None:
    """Add the rows when[first : last] of the change to row j of the weights, four at a time, between two columns."""
    start, end = np.uint64(left), np.uint64(right)
    four = first + (last - first) // 4 * 4
    for a in range(first, four, 4):
        p0, p1, p2, p3 = when[a], when[a + 1], when[a + 2], when[a + 3]
        for i in range(start, end):
            weights[j, i] += (change[p0, i] + change[p1, i]) + (change[p2, i] + change[p3, i])
    for a in range(four, last):
        p0 = when[a]
        for i in range(start, end):
            weights[j, i] += change[p0, i]


@jit(fastmath=FASTMATH)
def _filter_finite(taps: Any, begin: int, t: int, K: int, k: int, a: Any, change: Any) -> None:
    """What a spike at each position, from ``begin`` on, adds to its weights: the sum over lags of taps a_{p + lag}."""
    n_basis, D = taps.shape
    n, rows = a.shape[1], a.reshape(-1)
    offsets, factors = np.empty(D, dtype=np.intp), np.empty(D, dtype=taps.dtype)
    for basis in range(n_basis):
        lags = np.flatnonzero(taps[basis]) + 1
        for position in range(begin, D + t - 1):
            number = 0
            for lag in lags:
                s = position - D + lag  # the step that sees the spike
                if begin <= s < t:
                    offsets[number], factors[number] = (s * K + k) * n, taps[basis, lag - 1]
                    number += 1
            mix(rows, offsets, factors, number, 0, n, change[position - begin, basis * n : (basis + 1) * n])


@kernel(fastmath=FASTMATH)
def _filter_backwards(recursion: Recursion, begin: int, t: int, D: int, K: int, k: int, a: Any, change: Any) -> None:
    """The same for exponentials, a recursion from the newest spike back: c_p = decay c_{p+1} + gain a - leaving a'.

    The step after that of the spike is the first that sees it; D steps later it has left.
    """
    n_basis, n = len(recursion.decay), a.shape[1]
    for basis in range(n_basis):
        decay, gain, leaving = recursion.decay[basis], recursion.gain[basis], recursion.leaving[basis]
        left, right = np.uint64(basis * n), np.uint64((basis + 1) * n)
        for place in range(len(change) - 1, -1, -1):
            row = change[place]
            if place == len(change) - 1:
                row[left:right] = 0
            else:
                after = change[place + 1]
                for i in range(left, right):
                    row[i] = decay * after[i]
            comes = begin + place - D + 1
            if comes >= begin:
                come = a[comes * K + k]
                for i in range(np.uint64(n)):
                    row[left + i] += gain * come[i]
            if comes + D < t:
                gone = a[(comes + D) * K + k]
                for i in range(np.uint64(n)):
                    row[left + i] -= leaving * gone[i]
