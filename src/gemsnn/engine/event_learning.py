"""Points 3 and 4 of the event form: what was learned in the window, where it acts, in the potentials."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.engine.by_number import member
from gemsnn.engine.direct_learning import learn_directly, learn_reach
from gemsnn.engine.event_window import Share, Window
from gemsnn.engine.jit import FASTMATH, kernel, part

TILE = 32  # rows of post factors that fit into the processor's inner cache


@part(fastmath=FASTMATH)
def add_learned(w: Window, populations: Any, n_populations: int, t: int, begin: int, share: Share) -> None:
    """Add eta sum_s a_s (R_s . R_t) to the potentials; the bias is a source with a trace of 1."""
    thread, post, segment = share.thread, w.post, w.segment
    potentials, gram, scaled = w.potentials[thread], w.gram[thread], w.scaled[thread]
    eta, has_local, n_hidden, K = w.learning_rate, w.has_local, w.signal.shape[0], potentials.shape[0]
    start, end = np.uint64(begin * K), np.uint64(t * K)
    for c in range(gram.shape[0]):
        _add_products(w, populations, n_populations, c, t, begin, share)
    for g in range(segment.shape[0]):
        first, last, c = segment[g, 0], segment[g, 1], segment[g, 2]
        if has_local and last <= n_hidden:
            _learned_locally(w, gram[c], begin, t, first, last, share)
        else:
            factor = (w.visible_factor if first >= n_hidden else w.hidden_factor)[thread]
            for k in range(share.first_k, share.last_k):
                for m in range(start, end):
                    scaled[k, m] = eta * factor[m] * gram[c, k, m]
            _learned(post, scaled, begin * K, t * K, first, last, share.first_k, share.last_k, potentials)


@part(fastmath=FASTMATH)
def _add_products(w: Window, populations: Any, n_populations: int, c: int, t: int, begin: int, share: Share) -> None:
    """The scalar products of all sources of a class of neurons, 1 for the bias among them: gram[c], (K, M * K)."""
    gram, alike = w.gram[share.thread, c], w.alike[share.thread]
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
    for k in range(share.first_k, share.last_k):
        for s in range(np.uint64(begin), np.uint64(t)):
            for other in range(np.uint64(K)):
                gram[k, s * np.uint64(K) + other] = alike[s]
    for number in range(n_populations):
        p = member(populations, number)
        if not p.shared and p.feeds[c]:
            products = p.products
            for k in range(share.first_k, share.last_k):
                for m in range(start, end):
                    gram[k, m] += products[k, m]


@kernel(fastmath=FASTMATH)
def _learned(
    post: Any, scaled: Any, begin: int, end: int, first: int, last: int, first_k: int, last_k: int, potentials: Any
) -> None:
    """Add sum_m scaled[k, m] post[m, i] to the potentials of neurons ``first`` to ``last`` - 1, for some compartments.

    A matrix product by tiles: few rows of the post factors at a time, so that they stay in the inner cache for all
    compartments; four of them and two compartments a pass.
    """
    start, end_row, pairs = np.uint64(first), np.uint64(last), first_k + (last_k - first_k) // 2 * 2
    for block in range(begin, end, TILE):
        stop = min(block + TILE, end)
        four = block + (stop - block) // 4 * 4
        for k in range(first_k, pairs, 2):
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
        for k in range(pairs, last_k):
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
def _learned_locally(w: Window, gram: Any, begin: int, t: int, first: int, last: int, share: Share) -> None:
    """The same where each neuron has a signal of its own.

    A thread alone first brings a up to date with the last step's signal; in a team, each has done so for its neurons.
    """
    eta, fading, signal, post, accumulated = w.learning_rate, w.fading[share.thread], w.signal, w.post, w.accumulated
    potentials, own, alone = w.potentials[share.thread], w.of_neuron[share.thread], share.n_threads == 1
    K, start, end_row = potentials.shape[0], np.uint64(first), np.uint64(last)
    for other in range(K):
        if alone:
            for i in range(start, end_row):
                own[i] = signal[i, other]
        for s in range(begin, t):
            m, fade = s * K + other, fading[s]
            first_k = share.first_k
            if alone:  # in one pass with the first compartment
                rate, first_k = eta * gram[0, m], 1
                for i in range(start, end_row):
                    accumulated[m, i] += fade * own[i] * post[m, i]
                    potentials[0, i] += rate * accumulated[m, i]
            for k in range(first_k, share.last_k):
                rate = eta * gram[k, m]
                for i in range(start, end_row):
                    potentials[k, i] += rate * accumulated[m, i]


@part(fastmath=FASTMATH)
def add_signals(w: Window, t: int, begin: int, clamped: bool, share: Share) -> None:
    """Bring the sums over r of gamma^(r - s) signal_r up to date with step t's signals, one number for each (s, k)."""
    thread, has_local, K = share.thread, w.has_local, w.own_drive.shape[0]
    fading, visible_factor, hidden_factor = w.fading[thread], w.visible_factor[thread], w.hidden_factor[thread]
    zero = fading.dtype.type(0)
    for s in range(t):
        fading[s] *= w.gamma
    fading[t] = 1
    for m in range(t * K, (t + 1) * K):
        visible_factor[m] = zero
        hidden_factor[m] = zero
    if clamped:
        for k in range(K):
            to_visible = fading.dtype.type(w.visible_signal[thread, k])
            to_hidden = fading.dtype.type(w.hidden_signal[thread, k])
            for s in range(begin, t + 1):
                visible_factor[s * K + k] += fading[s] * to_visible
                hidden_factor[s * K + k] += fading[s] * to_hidden
    if has_local:
        signal, post, accumulated = w.signal, w.post, w.accumulated
        start, end = np.uint64(share.first), np.uint64(min(share.last, signal.shape[0]))
        for k in range(K):
            for i in range(start, end):
                accumulated[t * K + k, i] = zero
        if share.n_threads > 1:
            own = w.of_neuron[share.thread]
            for k in range(K):
                for i in range(start, end):
                    own[i] = signal[i, k]
                for s in range(begin, t + 1):
                    m, fade = s * K + k, fading[s]
                    for i in range(start, end):
                        accumulated[m, i] += fade * own[i] * post[m, i]


@part(fastmath=FASTMATH)
def own_drive(w: Window, share: Share) -> None:
    """Self-memory, less the synapse to itself, which the scalar products contain and the graph does not."""
    result, total, thread = w.own_drive, w.of_neuron[share.thread], share.thread
    somatic, somatic_trace, virtual, own_trace = (
        w.somatic[thread], w.somatic_trace[thread], w.virtual[thread], w.own_trace[thread],
    )  # fmt: skip
    first, last = np.uint64(share.first), np.uint64(share.last_column)
    for k in range(len(result)):
        for i in range(first, last):
            total[i] = 0
        for basis in range(somatic.shape[0]):
            for i in range(first, last):
                total[i] += somatic[basis, i] * somatic_trace[k, basis, i]
        for basis in range(virtual.shape[0]):
            for i in range(first, last):
                total[i] -= virtual[basis, i] * own_trace[k, basis, i]
        for i in range(first, last):
            result[k, i] = total[i]


@part(fastmath=FASTMATH)
def learn_own(w: Window, t: int, share: Share) -> None:
    """What is learned directly at step t: self-memory, the synapse that is not there, the reach of hidden neurons."""
    gamma, eta, has_local, thread, dtype = w.gamma, w.learning_rate, w.has_local, share.thread, w.post.dtype
    rates, visible_signal, hidden_signal = w.rates[thread], w.visible_signal[thread], w.hidden_signal[thread]
    somatic, somatic_trace = w.somatic[thread], w.somatic_trace[thread]
    somatic_eligibility = w.somatic_eligibility[thread]
    virtual, own_trace, virtual_eligibility = w.virtual[thread], w.own_trace[thread], w.virtual_eligibility[thread]
    n, K = w.fired.shape
    n_hidden, first, last = w.signal.shape[0], share.first, share.last
    for k in range(K):
        for i in range(np.uint64(first), np.uint64(min(last, n_hidden))):
            rates[i] = eta * (w.signal[i, k] if has_local else dtype.type(hidden_signal[k]))
        for i in range(n_hidden, n):
            rates[i] = eta * dtype.type(visible_signal[k])
        own = slice(first, share.last_column)
        post, rate = w.post[t * K + k, own], rates[own]
        for basis in range(somatic.shape[0]):
            trace, eligibility = somatic_trace[k, basis, own], somatic_eligibility[k, basis, own]
            learn_directly(gamma, post, trace, rate, w.has_memory[own], eligibility, somatic[basis, own])
        for basis in range(virtual.shape[0]):
            trace, eligibility = own_trace[k, basis, own], virtual_eligibility[k, basis, own]
            learn_directly(gamma, post, trace, rate, w.own_source[own], eligibility, virtual[basis, own])
        if has_local:
            learn_reach(
                gamma, w.errors[thread, k], own_trace[k], rates[n_hidden:], w.reaches,
                w.reach_eligibility[k], w.reach, w.of_neuron[thread], min(first, n_hidden), min(last, n_hidden),
            )  # fmt: skip
    if has_local and share.n_threads > 1:  # it has been added to a
        for i in range(min(first, n_hidden), min(last, n_hidden)):
            for k in range(K):
                w.signal[i, k] = 0
