"""Points 3 and 4 of the event form: learning, and the effect on the potentials of what was learned in the window."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.by_number import member
from gemsnn.compiling.jit import FASTMATH, kernel, part
from gemsnn.engine.eligibility import learn_at_once, learn_by_eligibility, learn_reach, reach_at_once
from gemsnn.engine.event_arrays import Arrays

TILE = 32  # rows of post factors that fit into the processor's first-level cache


@part(fastmath=FASTMATH)
def add_learned(w: Arrays, populations: Any, n_populations: int, t: int, begin: int) -> None:
    """Add eta sum_s a_s (R_s . R_t) to the potentials; the bias is a source with a trace of 1."""
    post, rows = w.window.post, w.graph.rows
    potentials, gram, scaled = w.scratch.potentials, w.scratch.gram, w.scratch.scaled
    eta, has_local, n_local, K = w.rule.learning_rate, w.rule.has_local, w.window.signal.shape[0], potentials.shape[0]
    n_hidden = w.scratch.reached.shape[0]
    start, end = np.uint64(begin * K), np.uint64(t * K)
    for c in range(gram.shape[0]):
        _add_products(w, populations, n_populations, c, t, begin)
    for g in range(rows.shape[0]):
        first, last, c = rows[g, 0], rows[g, 1], rows[g, 2]
        if has_local and last <= n_local:
            _learned_locally(w, gram[c], begin, t, first, last)
        else:
            factor = w.window.visible_factor if first >= n_hidden else w.window.hidden_factor
            for k in range(K):
                for m in range(start, end):
                    scaled[k, m] = eta * factor[m] * gram[c, k, m]
            _learned(post, scaled, begin * K, t * K, first, last, potentials)


@part(fastmath=FASTMATH)
def _add_products(w: Arrays, populations: Any, n_populations: int, c: int, t: int, begin: int) -> None:
    """Add up the scalar products of all sources of a class of neurons, 1 for the bias included: gram[c], (K, M * K)."""
    gram, alike = w.scratch.gram[c], w.scratch.alike
    K = gram.shape[0]
    start, end = np.uint64(begin * K), np.uint64(t * K)
    for s in range(np.uint64(begin), np.uint64(t)):
        alike[s] = 1
    for number in range(n_populations):
        p = member(populations, number)
        if p.shared and p.feeds[c]:  # alike in all compartments
            products, trace = p.products, p.mean_trace
            for s in range(np.uint64(begin), np.uint64(t)):
                alike[s] += products[0, s]
            if p.mean.shape[0]:  # (R_s - mean) . (R_t - mean)
                rest = p.mean_square[0] - trace[t]
                for s in range(np.uint64(begin), np.uint64(t)):
                    alike[s] += rest - trace[s]
    for k in range(K):
        for s in range(np.uint64(begin), np.uint64(t)):
            for other in range(np.uint64(K)):
                gram[k, s * np.uint64(K) + other] = alike[s]
    for number in range(n_populations):
        p = member(populations, number)
        if not p.shared and p.feeds[c]:
            products = p.products
            for k in range(K):
                for m in range(start, end):
                    gram[k, m] += products[k, m]


@kernel(fastmath=FASTMATH)
def _learned(post: Any, scaled: Any, begin: int, end: int, first: int, last: int, potentials: Any) -> None:
    """Add sum_m scaled[k, m] post[m, i] to the potentials of neurons ``first`` to ``last`` - 1.

    A matrix product by tiles: few rows of the post factors at a time, so that they stay in the cache for all
    compartments; four of them and two compartments per pass.
    """
    start, end_row, K = np.uint64(first), np.uint64(last), potentials.shape[0]
    pairs = K // 2 * 2
    for block in range(begin, end, TILE):
        stop = min(block + TILE, end)
        four = block + (stop - block) // 4 * 4
        for k in range(0, pairs, 2):
            u0, u1 = potentials[k], potentials[k + 1]
            for m in range(block, four, 4):
                p0, p1, p2, p3 = post[m], post[m + 1], post[m + 2], post[m + 3]
                a0, a1, a2, a3 = scaled[k, m], scaled[k, m + 1], scaled[k, m + 2], scaled[k, m + 3]
                b0, b1, b2, b3 = scaled[k + 1, m], scaled[k + 1, m + 1], scaled[k + 1, m + 2], scaled[k + 1, m + 3]
                for i in range(start, end_row):
                    u0[i] += a0 * p0[i] + a1 * p1[i] + a2 * p2[i] + a3 * p3[i]
                    u1[i] += b0 * p0[i] + b1 * p1[i] + b2 * p2[i] + b3 * p3[i]
            for m in range(four, stop):
                row, a0, b0 = post[m], scaled[k, m], scaled[k + 1, m]
                for i in range(start, end_row):
                    u0[i] += a0 * row[i]
                    u1[i] += b0 * row[i]
        for k in range(pairs, K):
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


@part(fastmath=FASTMATH)
def _learned_locally(w: Arrays, gram: Any, begin: int, t: int, first: int, last: int) -> None:
    """The same where neurons have signals of their own; ``accumulated`` is first updated by the last step's signal."""
    eta, fading, signal = w.rule.learning_rate, w.window.fading, w.window.signal
    post, accumulated = w.window.post, w.window.accumulated
    potentials, own = w.scratch.potentials, w.scratch.filters.of_neuron
    K, start, end_row = potentials.shape[0], np.uint64(first), np.uint64(last)
    for other in range(K):
        for i in range(start, end_row):
            own[i] = signal[i, other]
        for s in range(begin, t):
            m, fade = s * K + other, fading[s]
            rate = eta * gram[0, m]
            for i in range(start, end_row):  # in one pass with the first compartment
                accumulated[m, i] += fade * own[i] * post[m, i]
                potentials[0, i] += rate * accumulated[m, i]
            for k in range(1, K):
                rate = eta * gram[k, m]
                for i in range(start, end_row):
                    potentials[k, i] += rate * accumulated[m, i]


@part(fastmath=FASTMATH)
def add_signals(w: Arrays, t: int, begin: int, learns: bool) -> None:
    """Update the sums over r of gamma^(r - s) signal_r by step t's signals, one number for each (s, k)."""
    fading, visible_factor, hidden_factor = w.window.fading, w.window.visible_factor, w.window.hidden_factor
    K, zero = w.scratch.own_drive.shape[0], fading.dtype.type(0)
    for s in range(t):
        fading[s] *= w.rule.gamma
    fading[t] = 1
    for m in range(t * K, (t + 1) * K):
        visible_factor[m] = zero
        hidden_factor[m] = zero
    if learns:
        for k in range(K):
            to_visible = fading.dtype.type(w.scratch.visible_signal[k])
            to_hidden = fading.dtype.type(w.scratch.hidden_signal[k])
            for s in range(begin, t + 1):
                visible_factor[s * K + k] += fading[s] * to_visible
                hidden_factor[s * K + k] += fading[s] * to_hidden
    if w.rule.has_local:
        accumulated = w.window.accumulated
        for m in range(t * K, (t + 1) * K):
            for i in range(np.uint64(w.window.signal.shape[0])):
                accumulated[m, i] = zero
        if learns and w.objective.sends_back:  # what is learned at once is a part of a
            n_hidden = w.scratch.reached.shape[0]
            for k in range(K):
                m = t * K + k
                for i in range(n_hidden, w.window.signal.shape[0]):
                    accumulated[m, i] = w.objective.at_once[k, i - n_hidden] / K * w.window.post[m, i]


@part(fastmath=FASTMATH)
def own_drive(w: Arrays) -> None:
    """Self-memory, minus the synapse to itself, which the scalar products contain and the graph does not."""
    result, total = w.scratch.own_drive, w.scratch.filters.of_neuron
    somatic, somatic_trace = w.carried.somatic, w.carried.somatic_trace
    virtual, own_trace = w.carried.virtual, w.carried.own_trace
    columns = np.uint64(total.shape[0])
    for k in range(len(result)):
        for i in range(columns):
            total[i] = 0
        for basis in range(somatic.shape[0]):
            for i in range(columns):
                total[i] += somatic[basis, i] * somatic_trace[k, basis, i]
        for basis in range(virtual.shape[0]):
            for i in range(columns):
                total[i] -= virtual[basis, i] * own_trace[k, basis, i]
        for i in range(columns):
            result[k, i] = total[i]


@part(fastmath=FASTMATH)
def learn_own(w: Arrays, t: int, learns: bool) -> None:
    """Learn directly at step t: self-memory, the synapse that is not there, the reach of hidden neurons."""
    gamma, eta, has_local, dtype = w.rule.gamma, w.rule.learning_rate, w.rule.has_local, w.window.post.dtype
    rates, somatic, virtual, own_trace = w.scratch.rates, w.carried.somatic, w.carried.virtual, w.carried.own_trace
    n, K = w.scratch.fired.shape
    n_hidden, sends_back, at_once = w.scratch.reached.shape[0], w.objective.sends_back, w.objective.at_once
    for k in range(K):
        for i in range(np.uint64(n_hidden)):
            rates[i] = eta * (w.window.signal[i, k] if has_local else dtype.type(w.scratch.hidden_signal[k]))
        for i in range(n_hidden, n):
            rates[i] = eta * dtype.type(w.scratch.visible_signal[k])
        if sends_back:
            for i in range(n_hidden, n):
                rates[i] = eta * w.window.signal[i, k]
        post = w.window.post[t * K + k]
        for basis in range(somatic.shape[0]):
            trace, eligibility = w.carried.somatic_trace[k, basis], w.carried.somatic_eligibility[k, basis]
            learn_by_eligibility(gamma, post, trace, rates, w.graph.has_memory, eligibility, somatic[basis])
        for basis in range(virtual.shape[0]):
            trace, eligibility = own_trace[k, basis], w.carried.virtual_eligibility[k, basis]
            learn_by_eligibility(gamma, post, trace, rates, w.graph.own_source, eligibility, virtual[basis])
        if has_local:
            learn_reach(
                gamma, post[n_hidden:], own_trace[k], rates[n_hidden:], w.graph.reaches,
                w.carried.reach_eligibility[k], w.carried.reach, w.scratch.filters.of_neuron,
            )  # fmt: skip
        if sends_back and learns:
            for i in range(n_hidden):
                rates[i] = 0
            for i in range(n_hidden, n):
                rates[i] = eta * dtype.type(at_once[k, i - n_hidden] / K) * post[i]
            for basis in range(somatic.shape[0]):
                learn_at_once(rates, w.carried.somatic_trace[k, basis], w.graph.has_memory, somatic[basis])
            for basis in range(virtual.shape[0]):
                learn_at_once(rates, own_trace[k, basis], w.graph.own_source, virtual[basis])
            reach_at_once(rates[n_hidden:], own_trace[k], w.graph.reaches, w.carried.reach)
