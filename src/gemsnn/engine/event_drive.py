"""Point 1 of the event form, the drive: the spikes through the weights W_0 of the window's beginning.

One row of weights is added for each spike; the sums are filtered, by taps or by the recursion of exponentials.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.jit import FASTMATH, jit, kernel, part
from gemsnn.engine.bits import list_active
from gemsnn.engine.event_arrays import FilterScratch, Population
from gemsnn.engine.recursion import Bank, Recursion
from gemsnn.engine.rows import gather, mix


@part(fastmath=FASTMATH)
def drive(p: Population, synapses: Bank, time: int, t: int, potentials: Any, scratch: FilterScratch) -> None:
    """Add W_0 . R_t to the potentials (K, columns)."""
    filtered, impulse, taps = p.filtered, p.impulse, synapses.taps
    offsets, factors, filtered_here = scratch.offsets, scratch.factors, scratch.of_neuron
    K, n_basis, n = filtered.shape
    D, ring, number = taps.shape[1], impulse.shape[1] // (n_basis * n), 0
    if not synapses.recursive:
        slot = time % ring
        for lag in range(1, min(D, time) + 1):
            slot = slot - 1 if slot else ring - 1  # faster than a modulo for each
            for basis in range(n_basis):
                offsets[number], factors[number] = (slot * n_basis + basis) * n, taps[basis, lag - 1]
                number += taps[basis, lag - 1] != 0
    for k in range(potentials.shape[0]):
        own = k if K > 1 else 0
        if synapses.recursive:
            for basis in range(n_basis):
                for i in range(n):
                    potentials[k, i] += filtered[own, basis, i]
        else:
            if K > 1 or k == 0:
                mix(impulse[own], offsets, factors, number, 0, n, filtered_here)
            for i in range(n):
                potentials[k, i] += filtered_here[i]
    if p.mean.shape[0]:
        mean_impulse, total = p.mean_impulse, taps.dtype.type(0)
        if synapses.recursive:
            for basis in range(n_basis):
                total += p.mean_filtered[basis]
        else:
            for lag in range(1, min(D, time) + 1):
                for basis in range(n_basis):
                    total += taps[basis, lag - 1] * mean_impulse[(time - lag) % mean_impulse.shape[0], basis]
        p.mean_trace[t] = total
        centre = p.centre
        for k in range(potentials.shape[0]):
            for i in range(n):
                potentials[k, i] -= total * centre[i]


@part(fastmath=FASTMATH)
def take_in(p: Population, synapses: Bank, time: int, position: int, scratch: FilterScratch) -> None:
    """Drive the filters by the weight rows of the sources that spiked at the step before ``time``."""
    weights, bits, impulse, past = p.weights, p.bits, p.impulse, synapses.taps.shape[1]
    active, leaving_rows = scratch.active, scratch.leaving_rows
    K, n_basis, n = p.filtered.shape
    width = n_basis * n
    start = (time - 1) % (impulse.shape[1] // width) * width
    for k in range(K):
        total = impulse[k, start : start + width]
        n_active = list_active(bits, position * K + k, active)
        gather(weights, active, n_active, total)
        if synapses.recursive:
            n_active = list_active(bits, (position - past) * K + k, active)
            gather(weights, active, n_active, leaving_rows)
            _less_what_leaves(synapses.recursion, n, total, leaving_rows)
    if p.mean.shape[0]:
        total = p.mean_impulse[(time - 1) % p.mean_impulse.shape[0]]
        _gather_mean(p.mean, active, list_active(bits, position, active), total)
        if synapses.recursive:
            _gather_mean(p.mean, active, list_active(bits, position - past, active), leaving_rows[:n_basis])
            _less_what_leaves(synapses.recursion, 1, total, leaving_rows)


@kernel(fastmath=FASTMATH)
def _less_what_leaves(recursion: Recursion, n: int, total: Any, leaving_rows: Any) -> None:
    """total <- gain total - leaving leaving_rows, (n_basis * n,): of spikes that enter and leave the memory."""
    for basis in range(len(recursion.gain)):
        gain, leaving = recursion.gain[basis], recursion.leaving[basis]
        for i in range(np.uint64(basis * n), np.uint64((basis + 1) * n)):
            total[i] = gain * total[i] - leaving * leaving_rows[i]


@kernel(fastmath=FASTMATH)
def take_in_again(p: Population, synapses: Bank, time: int, t: int, scratch: FilterScratch) -> None:
    """Recompute what finite filters hold, with the weights as they are now."""
    D = synapses.taps.shape[1]
    for back in range(min(D, time), 0, -1):
        take_in(p, synapses, time - back + 1, D + t - back, scratch)


@part(fastmath=FASTMATH)
def recur(p: Population, recursion: Recursion, time: int) -> None:
    """From W_0 . R_{time - 1} to W_0 . R_time: z <- decay z + gain q - leaving q'."""
    filtered, impulse = p.filtered, p.impulse
    K, n_basis, n = filtered.shape
    newest = np.uint64((time - 1) % (impulse.shape[1] // (n_basis * n)) * n_basis * n)
    for k in range(K):
        for basis in range(n_basis):
            decay, start = recursion.decay[basis], newest + np.uint64(basis * n)
            for i in range(np.uint64(n)):
                filtered[k, basis, i] = decay * filtered[k, basis, i] + impulse[k, start + i]
    if p.mean.shape[0]:
        mean_impulse = p.mean_impulse[(time - 1) % len(p.mean_impulse)]
        for basis in range(n_basis):
            p.mean_filtered[basis] = recursion.decay[basis] * p.mean_filtered[basis] + mean_impulse[basis]


@jit(fastmath=FASTMATH)
def begin_drive(p: Population, taps: Any, t: int, active: Any) -> None:
    """W_0 . R_t and mean . R_t of exponentials where weights or means are new; later steps use the recursion."""
    filtered, weights = p.filtered, p.weights
    K, n_basis, n = filtered.shape
    traces = np.empty((K, p.size, n_basis), dtype=taps.dtype)
    traces_at(p, taps, t, active, traces)
    filtered[:] = 0
    for k in range(K):
        for j in range(p.size):
            for basis in range(n_basis):
                trace, start = traces[k, j, basis], np.uint64(basis * n)
                if trace != 0:
                    for i in range(np.uint64(n)):
                        filtered[k, basis, i] += trace * weights[j, start + i]
    if p.mean.shape[0]:
        p.mean_filtered[:] = 0
        for j in range(p.size):
            for basis in range(n_basis):
                p.mean_filtered[basis] += p.mean[j, basis] * traces[0, j, basis]


@kernel(fastmath=FASTMATH)
def traces_at(p: Population, taps: Any, t: int, active: Any, traces: Any) -> None:
    """Write the traces (K_p, n_sources, n_basis) of step t of the window."""
    n_basis, D = taps.shape
    K = traces.shape[0]
    traces[:] = 0
    for position in range(t, D + t):
        for k in range(K):
            for a in range(list_active(p.bits, position * K + k, active)):
                for basis in range(n_basis):
                    traces[k, active[a], basis] += taps[basis, D + t - 1 - position]


@kernel(fastmath=FASTMATH)
def _gather_mean(mean: Any, active: Any, n_active: int, total: Any) -> None:
    for basis in range(mean.shape[1]):
        part = mean.dtype.type(0)
        for a in range(n_active):
            part += mean[active[a], basis]
        total[basis] = part


@jit(fastmath=FASTMATH)
def mean_traces(p: Population, taps: Any, t: int, begin: int, active: Any) -> None:
    """Compute mean . R_s for steps s from ``begin`` to t - 1 of the window, where the means are new."""
    if not p.mean.shape[0]:
        return
    n_basis, D = taps.shape
    impulse = np.zeros((D + t, n_basis), dtype=taps.dtype)
    for position in range(begin, D + t - 1):
        _gather_mean(p.mean, active, list_active(p.bits, position, active), impulse[position])
    for s in range(begin, t):
        total = taps.dtype.type(0)
        for lag in range(1, D + 1):
            for basis in range(n_basis):
                total += taps[basis, lag - 1] * impulse[D + s - lag, basis]
        p.mean_trace[s] = total
