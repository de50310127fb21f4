"""Point 2 of the event form: scalar products of the traces of two steps, from counts of sources that spike at both."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.jit import FASTMATH, jit, kernel, part
from gemsnn.engine.bits import count_pairs, list_active
from gemsnn.engine.event_arrays import FilterScratch, Population
from gemsnn.engine.event_drive import traces_at
from gemsnn.engine.recursion import Bank, Recursion
from gemsnn.engine.rows import mix


@part(fastmath=FASTMATH)
def finite_products(p: Population, taps: Any, time: int, t: int, begin: int, scratch: FilterScratch) -> None:
    """R_s . R_t for steps s from ``begin`` to t - 1 of the window, for any finite filter."""
    n_basis, D = taps.shape
    bits, recent, halves, all_products = p.bits, p.recent, p.half, p.products
    counts, sums, offsets, factors = scratch.counts, scratch.sums, scratch.offsets, scratch.factors
    K, width = all_products.shape[0], halves.shape[2]
    position, slot, newest = D + t - 1, (time - 1) % D, (time - 1) % (D + 1)  # of the newest spikes
    for k in range(K):
        # x_{t-1} with all spikes that the traces of the window contain.
        earliest = max(min(begin, t - 2), 0)
        count_pairs(bits, position * K + k, earliest * K, (position + 1) * K, scratch.whole, counts)
        older = newest
        for back in range(min(D, time - 1) + 1):
            for other in range(K):
                together = counts[(position - back) * K + other]
                recent[((newest * (D + 1) + older) * K + k) * K + other] = together
                recent[((older * (D + 1) + newest) * K + other) * K + k] = together
            older = older - 1 if older else D
        for basis in range(n_basis):
            number = 0
            for lag in range(1, D + 1):
                offsets[number], factors[number] = (D - lag) * K, taps[basis, lag - 1]
                number += taps[basis, lag - 1] != 0  # bumps of finite width have many taps of 0
            mix(counts, offsets, factors, number, begin * K, t * K, halves[k, slot * n_basis + basis])
    if begin < t:
        # The newest trace, R_{t-1}, with the spikes of the steps before.
        size = (D + 1) * K * K  # of a step's part of ``recent``
        for basis in range(n_basis):
            number = 0
            for other_slot in range(D + 1):
                # With one compartment ``recent`` is symmetric: its rows give all those steps at once.
                offsets[number] = other_slot * (size if K == 1 else K * K)
                factors[number] = scratch.turned[basis, other_slot]
                number += scratch.turned[basis, other_slot] != 0
            if K == 1:
                mix(recent, offsets, factors, number, 0, D + 1, sums)
            then, its_slot = newest, slot
            for _ in range(1, min(D, time)):
                then, its_slot = then - 1 if then else D, its_slot - 1 if its_slot else D - 1
                half = halves[:, its_slot * n_basis + basis]
                if K == 1:
                    half[0, t - 1] = sums[then]
                    continue
                mix(recent[then * size : (then + 1) * size], offsets, factors, number, 0, K * K, sums)
                for k in range(K):
                    for other in range(K):
                        half[k, (t - 1) * K + other] = sums[k * K + other]
    number, its_slot = 0, slot
    for lag in range(1, min(D, time) + 1):
        for basis in range(n_basis):
            offsets[number], factors[number] = (its_slot * n_basis + basis) * width, taps[basis, lag - 1]
            number += taps[basis, lag - 1] != 0
        its_slot = its_slot - 1 if its_slot else D - 1
    for k in range(K):
        mix(halves[k].reshape(-1), offsets, factors, number, begin * K, t * K, all_products[k])


@kernel()
def turn(taps: Any, time: int, turned: Any) -> None:
    """The taps in the order of the slots of ``recent``, for the trace of the newest spikes' step."""
    n_basis, D = taps.shape
    for basis in range(n_basis):
        slot = (time - 1) % (D + 1)
        turned[basis, slot] = 0
        for lag in range(1, D + 1):
            slot = slot - 1 if slot else D
            turned[basis, slot] = taps[basis, lag - 1] if lag < time else taps.dtype.type(0)


@kernel(fastmath=FASTMATH)
def begin_finite_products(p: Population, taps: Any, time: int, t: int, begin: int, scratch: FilterScratch) -> None:
    """:func:`finite_products` for step t, from the spikes alone."""
    _make_halves(p, taps, time - 1, t - 1, min(begin, max(t - 1, 0)), scratch)
    turn(taps, time, scratch.turned)
    finite_products(p, taps, time, t, begin, scratch)


@part(fastmath=FASTMATH)
def _make_halves(p: Population, taps: Any, time: int, t: int, begin: int, scratch: FilterScratch) -> None:
    """Recompute what :func:`finite_products` keeps from step to step."""
    n_basis, D = taps.shape
    K, counts = len(p.products), scratch.counts
    for back in range(min(D + 1, time)):
        position, when = D + t - 1 - back, time - 1 - back
        for k in range(K):
            count_pairs(p.bits, position * K + k, 0, (D + t) * K, scratch.whole, counts)
            for other_back in range(min(D + 1, time)):
                for other in range(K):
                    together = counts[(D + t - 1 - other_back) * K + other]
                    slot = (time - 1 - other_back) % (D + 1)
                    p.recent[((when % (D + 1) * (D + 1) + slot) * K + k) * K + other] = together
            if back < D:
                for basis in range(n_basis):
                    half = p.half[k, when % D * n_basis + basis]
                    for c in range(begin * K, t * K):
                        half[c] = 0
                        for lag in range(1, D + 1):
                            half[c] += taps[basis, lag - 1] * counts[c + (D - lag) * K]


@part(fastmath=FASTMATH)
def recursive_products(p: Population, synapses: Bank, time: int, t: int, scratch: FilterScratch) -> None:
    """The same for exponentials and all steps of the window: from the products with R_{t-1} to those with R_t.

    With x the spikes of step t - 1 and y those that leave, of step t - 1 - D,

        R_t = decay R_{t-1} + gain x - leaving y,      R_s . R_t = decay R_s . R_{t-1} + gain R_s . x - leaving R_s . y,

    where R_s . x and R_s . y follow from the counts by the same recursion over s, from the window's first step on.
    """
    taps, recursion = synapses.taps, synapses.recursion
    n_basis, D = taps.shape
    bits, products, by_basis, ends, together = p.bits, p.products, p.by_basis, p.ends, p.pairs
    K = products.shape[0]
    newest, leaves = D + t - 1, time > D  # the position of x; that of y is t - 1
    oldest = 0 if leaves else D + t - time  # there are no spikes before it
    active, counts, leaving_counts = scratch.active, scratch.counts, scratch.leaving_counts
    starts = scratch.starts[:, :, :K]  # R_s . x and R_s . y of the window's first step
    for basis in range(n_basis):
        for k in range(K):
            starts[1, basis, k] = 0
    for k in range(K):
        for c in range(t * K):
            products[k, c] = 0
        count_pairs(bits, newest * K + k, oldest * K, (newest + 1) * K, scratch.whole, counts)
        _first_products(p.first_traces, list_active(bits, newest * K + k, active), active, starts[0])
        if leaves:
            count_pairs(bits, (t - 1) * K + k, 0, (newest + 1) * K, scratch.whole, leaving_counts)
            _first_products(p.first_traces, list_active(bits, (t - 1) * K + k, active), active, starts[1])
        for other in range(K):
            together[0, k, other] = counts[newest * K + other]
            together[1, k, other] = leaving_counts[newest * K + other] if leaves else 0
            together[2, k, other] = leaving_counts[(t - 1) * K + other] if leaves else 0
        for basis in range(n_basis):
            for other in range(K):  # the newest column begins with R_{t-1} . R_{t-1}
                by_basis[k, basis, (t - 1) * K + other] = p.squares[basis, k, other]
            decay, gain, leaving = recursion.decay[basis], recursion.gain[basis], recursion.leaving[basis]
            _recur_products(
                decay, gain, leaving if leaves else taps.dtype.type(0), D, t, K, counts, leaving_counts,
                starts[0, basis], starts[1, basis], by_basis[k, basis], products[k],
            )  # fmt: skip
            for other in range(K):
                ends[0, basis, k, other] = starts[0, basis, other]
                ends[1, basis, k, other] = starts[1, basis, other]


@part(fastmath=FASTMATH)
def recursive_squares(p: Population, recursion: Recursion, t: int) -> None:
    """R_t . R_t, from what :func:`recursive_products` has written."""
    by_basis, ends, together, squares = p.by_basis, p.ends, p.pairs, p.squares
    n_basis, K = squares.shape[:2]
    for basis in range(n_basis):
        decay, gain, leaving = recursion.decay[basis], recursion.gain[basis], recursion.leaving[basis]
        for k in range(K):
            for other in range(K):
                # R_t . R'_t = decay R_t . R'_{t-1} + gain R_t . x' - leaving R_t . y'
                before, with_x, with_y = by_basis[k, basis, (t - 1) * K + other], ends[0, basis], ends[1, basis]
                x_x, y_x = together[0, k, other], together[1, k, other]
                x_y, y_y = together[1, other, k], together[2, k, other]
                of_x = decay * with_x[other, k] + (gain * x_x - leaving * y_x)
                of_y = decay * with_y[other, k] + (gain * x_y - leaving * y_y)
                squares[basis, k, other] = decay * before + (gain * of_x - leaving * of_y)


@kernel(fastmath=FASTMATH)
def _first_products(first_traces: Any, n_active: int, active: Any, starts: Any) -> None:
    """R_s . x of the window's first step, (n_basis, K_p), for the spikes x of the active sources."""
    K, _, n_basis = first_traces.shape
    for basis in range(n_basis):
        for other in range(K):
            total = first_traces.dtype.type(0)
            for a in range(n_active):
                total += first_traces[other, active[a], basis]
            starts[basis, other] = total


@kernel(fastmath=FASTMATH)
def _recur_products(
    decay: Any,
    gain: Any,
    leaving: Any,
    D: int,
    t: int,
    K: int,
    counts: Any,
    leaving_counts: Any,
    with_x: Any,
    with_y: Any,
    by_basis: Any,
    products: Any,
) -> None:
    """One basis, one compartment: with_x and with_y (K,) advance from the window's first step to step t - 1."""
    if K == 1:
        x, y = with_x[0], with_y[0]
        for s in range(t - 1):
            product = decay * by_basis[s] + (gain * x - leaving * y)
            by_basis[s] = product
            products[s] += product
            x = decay * x + (gain * counts[D + s] - leaving * counts[s])
            if leaving != 0:
                y = decay * y + (gain * leaving_counts[D + s] - leaving * leaving_counts[s])
        with_x[0], with_y[0] = x, y
    else:
        for s in range(t - 1):
            before, now = np.uint64(s * K), np.uint64((D + s) * K)
            for other in range(np.uint64(K)):
                product = decay * by_basis[before + other] + (gain * with_x[other] - leaving * with_y[other])
                by_basis[before + other] = product
                products[before + other] += product
                with_x[other] = decay * with_x[other] + (gain * counts[now + other] - leaving * counts[before + other])
            if leaving != 0:
                for other in range(np.uint64(K)):
                    new, old = leaving_counts[now + other], leaving_counts[before + other]
                    with_y[other] = decay * with_y[other] + (gain * new - leaving * old)
    for other in range(K):
        c = (t - 1) * K + other
        by_basis[c] = decay * by_basis[c] + (gain * with_x[other] - leaving * with_y[other])
        products[c] += by_basis[c]


@jit(fastmath=FASTMATH)
def begin_recursive_products(p: Population, synapses: Bank, t: int, active: Any) -> None:
    """Recompute what :func:`recursive_products` keeps from step to step, for step t, from the spikes alone.

    A recursion subtracts what it has added, and a rounding error remains, which decays as the filter does. Where that
    is slow, recomputing with each window bounds the error, whatever the length of a stream.
    """
    taps, recursion = synapses.taps, synapses.recursion
    n_basis, D = taps.shape
    bits, products, by_basis = p.bits, p.products, p.by_basis
    K = products.shape[0]
    traces_at(p, taps, 0, active, p.first_traces)
    present = np.empty_like(p.first_traces)
    traces_at(p, taps, t, active, present)
    products[:] = 0
    product = np.empty((K, n_basis), dtype=taps.dtype)
    for other in range(K):
        for k in range(K):
            for basis in range(n_basis):
                first = square = taps.dtype.type(0)
                for j in range(p.size):
                    first += present[k, j, basis] * p.first_traces[other, j, basis]
                    square += present[k, j, basis] * present[other, j, basis]
                product[k, basis], p.squares[basis, k, other] = first, square
        for s in range(t):
            for k in range(K):
                for basis in range(n_basis):
                    by_basis[k, basis, s * K + other] = product[k, basis]
                    products[k, s * K + other] += product[k, basis]
                    product[k, basis] *= recursion.decay[basis]
            for sign, position, factor in ((1, D + s, recursion.gain), (-1, s, recursion.leaving)):
                n_active = list_active(bits, position * K + other, active)
                for k in range(K):
                    for basis in range(n_basis):
                        together = taps.dtype.type(0)
                        for a in range(n_active):
                            together += present[k, active[a], basis]
                        product[k, basis] += sign * factor[basis] * together
