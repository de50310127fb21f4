"""Points 3 and 4 of the event form: what was learned in the window, where it acts, in the potentials."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.engine.direct_learning import learn_directly, learn_reach
from gemsnn.engine.event_window import Population, Window
from gemsnn.engine.jit import FASTMATH, kernel

TILE = 32  # rows of post factors that fit into the processor's inner cache


@kernel(fastmath=FASTMATH)
def add_learned(w: Window, populations: Any, t: int, begin: int) -> None:
    """Add eta sum_s a_s (R_s . R_t) to the potentials; the bias is a source with a trace of 1."""
    post, potentials, gram, scaled, segment = w.post, w.potentials, w.gram, w.scaled, w.segment
    eta, has_local, n_hidden, K = w.learning_rate, w.has_local, w.signal.shape[0], w.potentials.shape[0]
    start, end, one = np.uint64(begin * K), np.uint64(t * K), post.dtype.type(1)
    for c in range(gram.shape[0]):
        for k in range(K):
            for m in range(start, end):
                gram[c, k, m] = one
        for p in populations:
            if p.size and p.feeds[c]:
                _add_products(p, t, begin, gram[c])
    for g in range(segment.shape[0]):
        first, last, c = segment[g, 0], segment[g, 1], segment[g, 2]
        if has_local and last <= n_hidden:
            _learned_locally(
                eta, gram[c], begin, t, first, last, w.fading, w.signal, post, w.accumulated, potentials, w.of_neuron
            )
        else:
            factor = w.visible_factor if first >= n_hidden else w.hidden_factor
            for k in range(K):
                for m in range(start, end):
                    scaled[k, m] = eta * factor[m] * gram[c, k, m]
            _learned(post, scaled, begin * K, t * K, first, last, potentials)


@kernel(fastmath=FASTMATH)
def _add_products(p: Population, t: int, begin: int, gram: Any) -> None:
    """Add the population's scalar products to those of a class of neurons, (K, M * K)."""
    K, products = gram.shape[0], p.products
    mean_trace, mean_square, is_mean_free = p.mean_trace, p.mean_square, p.mean.shape[0] > 0
    for k in range(K):
        if p.shared:
            for s in range(begin, t):
                product = products[0, s]
                if is_mean_free:  # (R_s - mean) . (R_t - mean)
                    product += mean_square[0] - mean_trace[s] - mean_trace[t]
                for other in range(K):
                    gram[k, s * K + other] += product
        else:
            for m in range(np.uint64(begin * K), np.uint64(t * K)):
                gram[k, m] += products[k, m]


@kernel(fastmath=FASTMATH)
def _learned(post: Any, scaled: Any, begin: int, end: int, first: int, last: int, potentials: Any) -> None:
    """Add sum_m scaled[k, m] post[m, i] to the potentials of rows ``first`` to ``last`` - 1.

    A matrix product by tiles: few rows of the post factors at a time, so that they stay in the inner cache for all
    compartments; four of them and four compartments a pass.
    """
    K, start, end_row = potentials.shape[0], np.uint64(first), np.uint64(last)
    for block in range(begin, end, TILE):
        stop = min(block + TILE, end)
        four = block + (stop - block) // 4 * 4
        for k in range(0, K - 3, 4):
            u0, u1, u2, u3 = potentials[k], potentials[k + 1], potentials[k + 2], potentials[k + 3]
            for m in range(block, four, 4):
                p0, p1, p2, p3 = post[m], post[m + 1], post[m + 2], post[m + 3]
                a0, a1, a2, a3 = scaled[k, m], scaled[k, m + 1], scaled[k, m + 2], scaled[k, m + 3]
                b0, b1, b2, b3 = scaled[k + 1, m], scaled[k + 1, m + 1], scaled[k + 1, m + 2], scaled[k + 1, m + 3]
                c0, c1, c2, c3 = scaled[k + 2, m], scaled[k + 2, m + 1], scaled[k + 2, m + 2], scaled[k + 2, m + 3]
                d0, d1, d2, d3 = scaled[k + 3, m], scaled[k + 3, m + 1], scaled[k + 3, m + 2], scaled[k + 3, m + 3]
                for i in range(start, end_row):
                    u0[i] += a0 * p0[i] + a1 * p1[i] + a2 * p2[i] + a3 * p3[i]
                    u1[i] += b0 * p0[i] + b1 * p1[i] + b2 * p2[i] + b3 * p3[i]
                    u2[i] += c0 * p0[i] + c1 * p1[i] + c2 * p2[i] + c3 * p3[i]
                    u3[i] += d0 * p0[i] + d1 * p1[i] + d2 * p2[i] + d3 * p3[i]
            for m in range(four, stop):
                row = post[m]
                a0, b0, c0, d0 = scaled[k, m], scaled[k + 1, m], scaled[k + 2, m], scaled[k + 3, m]
                for i in range(start, end_row):
                    u0[i] += a0 * row[i]
                    u1[i] += b0 * row[i]
                    u2[i] += c0 * row[i]
                    u3[i] += d0 * row[i]
        for k in range(K // 4 * 4, K):
            u0 = potentials[k]
            for m in range(block, four, 4):
                p0, p1, p2, p3 = post[m], post[m + 1], post[m + 2], post[m + 3]
                a0, a1, a2, a3 = scaled[k, m], scaled[k, m + 1], scaled[k, m + 2], scaled[k, m + 3]
                for i in range(start, end_row):
                    u0[i] += a0 * p0[i] + a1 * p1[i] + a2 * p2[i] + a3 * p3[i]
            for m in range(four, stop):
                row, a0 = post[m], scaled[k, m]
                for i in range(start, end_row):
                    u0[i] += a0 * row[i]


@kernel(fastmath=FASTMATH)
def _learned_locally(
    eta: Any,
    gram: Any,
    begin: int,
    t: int,
    first: int,
    last: int,
    fading: Any,
    signal: Any,
    post: Any,
    accumulated: Any,
    potentials: Any,
    own: Any,
) -> None:
    """The same where each neuron has a signal of its own: first bring a up to date with the last step's signal."""
    K, start, end_row = potentials.shape[0], np.uint64(first), np.uint64(last)
    for other in range(K):
        for i in range(start, end_row):
            own[i] = signal[i, other]
        for s in range(begin, t):
            m, fade = s * K + other, fading[s]
            rate = eta * gram[0, m]
            for i in range(start, end_row):
                accumulated[m, i] += fade * own[i] * post[m, i]
                potentials[0, i] += rate * accumulated[m, i]
            for k in range(1, K):
                rate = eta * gram[k, m]
                for i in range(start, end_row):
                    potentials[k, i] += rate * accumulated[m, i]


@kernel(fastmath=FASTMATH)
def add_signals(w: Window, t: int, begin: int, clamped: bool) -> None:
    """Bring the sums over r of gamma^(r - s) signal_r up to date with step t's signals, one number for each (s, k)."""
    fading, visible_factor, hidden_factor, has_local = w.fading, w.visible_factor, w.hidden_factor, w.has_local
    K, zero = w.potentials.shape[0], fading.dtype.type(0)
    for s in range(t):
        fading[s] *= w.gamma
    fading[t] = 1
    for m in range(t * K, (t + 1) * K):
        visible_factor[m] = zero
        hidden_factor[m] = zero
        if has_local:
            w.accumulated[m] = zero
    if clamped:
        for k in range(K):
            to_visible, to_hidden = fading.dtype.type(w.visible_signal[k]), fading.dtype.type(w.hidden_signal[k])
            for s in range(begin, t + 1):
                visible_factor[s * K + k] += fading[s] * to_visible
                hidden_factor[s * K + k] += fading[s] * to_hidden


@kernel(fastmath=FASTMATH)
def add_own_drive(w: Window) -> None:
    """Add self-memory; take off the synapse to itself, which the scalar products contain and the graph does not."""
    potentials, somatic, somatic_trace = w.potentials, w.somatic, w.somatic_trace
    virtual, own_trace = w.virtual, w.own_trace
    n, K = w.fired.shape
    for k in range(K):
        for basis in range(somatic.shape[0]):
            for i in range(n):
                potentials[k, i] += somatic[basis, i] * somatic_trace[k, basis, i]
        for basis in range(virtual.shape[0]):
            for i in range(n):
                potentials[k, i] -= virtual[basis, i] * own_trace[k, basis, i]


@kernel(fastmath=FASTMATH)
def learn_own(w: Window, t: int) -> None:
    """What is learned directly at step t: self-memory, the synapse that is not there, the reach of hidden neurons."""
    gamma, eta, has_local, rates, dtype = w.gamma, w.learning_rate, w.has_local, w.rates, w.post.dtype
    n, K = w.fired.shape
    n_hidden = w.signal.shape[0]
    for k in range(K):
        for i in range(n_hidden):
            rates[i] = eta * (w.signal[i, k] if has_local else dtype.type(w.hidden_signal[k]))
        for i in range(n_hidden, n):
            rates[i] = eta * dtype.type(w.visible_signal[k])
        row = w.post[t * K + k, :n]
        for basis in range(w.somatic.shape[0]):
            trace, eligibility = w.somatic_trace[k, basis], w.somatic_eligibility[k, basis]
            learn_directly(gamma, row, trace, rates, w.has_memory, eligibility, w.somatic[basis])
        for basis in range(w.virtual.shape[0]):
            trace, eligibility = w.own_trace[k, basis], w.virtual_eligibility[k, basis]
            learn_directly(gamma, row, trace, rates, w.own_source, eligibility, w.virtual[basis])
        if has_local:
            learn_reach(
                gamma, row[n_hidden:], w.own_trace[k], rates[n_hidden:], w.reaches, w.reach_eligibility[k], w.reach,
                w.of_neuron,
            )  # fmt: skip
