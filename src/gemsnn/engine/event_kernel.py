r"""The event form of the learning kernel: cost follows spikes. Exact, without eligibility or traces of synapses.

Every rule has the form weights += eta sum_k signal_{i,k,t} <post_{i,k} pre_{j,k}>_gamma. Unrolled over a window of
steps, with W_0 the weights when they were last written, R_t^k the traces of a population of sources, and post the
factors of the rule, the drive of neuron i at step t through weights that change at every step is

    W_t . R_t^k = W_0 . R_t^k + eta sum_{k'} sum_{s<t} a_{i,s,t}^{k'} (R_s^{k'} . R_t^k),
    a_{i,s,t}^k = post_{i,s}^k sum_{r=s}^{t-1} gamma^(r-s) signal_{i,k,r}.

What is needed, follows from spikes; the five points below are functions of this file, in this order:

1. Drive (``gather``, ``drive``). W_0 . R_t is a short filter over q_t, the sum of the weight rows of the sources that
   spiked at t: one row is added for each spike. For exponentials whose memory nothing has left yet it is a recursion.
2. Scalar products (``count_pairs``, ``finite_products``, ``recursive_products``). R_s . R_t is two short filters over
   the number of sources that spiked both at s and at t, which is a population count of bit-packed spikes.
3. Learning (``advance``). Where all hidden neurons share a signal, the sum over r is one number for each (s, k) and
   multiplies the scalar products; else a is brought up to date neuron by neuron.
4. A neuron has no synapse to itself, but its scalar products contain its own trace: that synapse is learned virtually,
   directly, from 0, and its drive is taken off.
5. Writing back (``write_back``): when the window is full, spike by spike, each with its filtered a.

Sources that have the same targets form a population: the inputs, and clamped visible neurons, spike alike in all
compartments (K_p = 1); hidden neurons, and visible ones that may run freely, do not (K_p = K). Neurons with the same
sources form a segment of neighbouring rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from gemsnn.engine.firing import compete, log_sigmoid, sigmoids, winner
from gemsnn.engine.jit import FASTMATH, jit


class Population(NamedTuple):
    """Sources with the same targets. The window has room for M steps; D is the filter's duration; f the precision.

    Step m of the window stands at position D + m; the D positions before it are the past that its filters still see.
    """

    first: int  # its first source, among the inputs or among the neurons
    size: int
    of_inputs: bool
    shared: bool  # spikes alike in all compartments
    feeds: Any  # (n_classes,) bool: which neurons
    weights: Any  # (n_sources, n_basis * n_neurons) f: one row for each source
    bits: Any  # (words, (D + M) * K_p) uint64: spikes, position by position
    impulse: Any  # (D, K_p, n_basis, n_neurons) f: q of the last D steps; slot time % D
    filtered: Any  # (K_p, n_basis, n_neurons) f: the same, filtered by the recursion
    recent: Any  # (D + 1, K_p, D + 1, K_p) f: sources that spike at both of two recent steps; slots time % (D + 1)
    half: Any  # (D, K_p, n_basis, M * K_p) f: R_s . x_t for the last D steps t; slot time % D
    by_basis: Any  # (K_p, n_basis, M * K_p) f: R_s . R_t of each basis, by the recursion
    squares: Any  # (n_basis, K_p, K_p) f: R_t . R_t of each basis, by the recursion
    products: Any  # (K_p, M * K_p) f: R_s . R_t at the present step t
    mean: Any  # (n_sources, n_basis) f: taken off the traces while learning; (0, n_basis) where nothing is
    mean_impulse: Any  # (D, n_basis) f
    mean_trace: Any  # (M + 1,) f: mean . R of each step of the window
    mean_square: Any  # (1,) f: mean . mean


class Window(NamedTuple):
    """Everything else that the kernel reads and writes."""

    # the rule and the network
    learning_rate: Any  # f
    gamma: Any  # f
    kappa: float
    settings: Any  # the rule's own numbers
    has_local: bool
    recursive: bool  # exponentials whose memory nothing has left yet
    taps: Any  # (n_basis, D) f: of the synapses
    decay: Any  # (n_basis,) f: of the recursion
    somatic_table: Any  # (words, 2 ** bits, n_basis) f
    synaptic_table: Any  # the same for the synapses
    history_bits: int
    circuits: Any  # CircuitTable
    segment: Any  # (n_segments, 3): first row, last row, class; no segment has both hidden and visible neurons
    own_source: Any  # (n_neurons,) bool: its own spikes are among its scalar products
    reaches: Any  # (n_visible, n_hidden) bool: synapses from hidden to visible
    has_memory: Any  # (n_neurons,) bool
    # what goes on from step to step
    time: Any  # (1,): steps so far
    place: Any  # (2,): the present step of the window, and the first one whose post factors are not all 0
    bias: Any  # (n_neurons,) f
    somatic: Any  # (n_basis, n_neurons) f
    somatic_eligibility: Any  # (K, n_basis, n_neurons) f
    somatic_trace: Any  # (K, n_basis, n_neurons) f
    history: Any  # (n_neurons, K, words) uint16
    own_trace: Any  # (K, n_basis, n_neurons) f: of a neuron's spikes through the synaptic filter
    virtual: Any  # (n_basis, n_neurons) f: the synapse that is not there
    virtual_eligibility: Any  # (K, n_basis, n_neurons) f
    reach: Any  # (n_visible, n_hidden) f
    reach_eligibility: Any  # (K, n_visible, n_hidden) f
    log_weights: Any  # (K,)
    processor_memory: Any
    neuron_memory: Any  # (n_hidden, m)
    # the window
    post: Any  # (M * K, n_neurons) f
    visible_factor: Any  # (M * K,) f: sum over r of gamma^(r - s) signal_r, since the weights were written
    hidden_factor: Any  # (M * K,) f
    fading: Any  # (M,) f: gamma^(age), step by step
    accumulated: Any  # (M * K, n_hidden) f: a, where each neuron has a signal of its own
    signal: Any  # (n_hidden, K) f: of the last step
    # scratch
    gram: Any  # (n_classes, K, M * K) f
    scaled: Any  # (M * K, K) f
    potentials: Any  # (K, n_neurons) f
    whole: Any  # ((D + M) * K,) int32
    counts: Any  # ((D + M) * K,) f
    turned: Any  # (n_basis, D + 1) f: the taps, in the order of the slots of ``recent``
    active: Any  # (most sources,) intp
    fired: Any  # (n_neurons, K) bool
    probabilities: Any  # (n_neurons, K)
    factors: Any  # (n_neurons, K)


class Steps(NamedTuple):
    """What goes into a call, and what comes out."""

    inputs: Any  # (T, n_inputs) uint8
    targets: Any  # (T, n_visible) uint8
    clamped: Any  # (T,) bool: learn from the target, or run freely
    uniforms: Any  # (T, K, n_hidden or n_neurons)
    spikes: Any  # (T, K, n_neurons) bool
    log_likelihood: Any  # (T, K)
    log_weights: Any  # (T, K)
    importance: Any  # (T, K)


@intrinsic
def _count_ones(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


# ---- 1. drive --------------------------------------------------------------------------------------------------------


@jit()
def pack(spikes: Any, bits: Any, column: int) -> None:
    """Write the spikes (n,) as bits into a column of (words, ...)."""
    n = spikes.shape[0]
    for w in range(bits.shape[0]):
        word = np.uint64(0)
        for j in range(64 * w, min(64 * w + 64, n)):
            word |= np.uint64(spikes[j] != 0) << np.uint64(j - 64 * w)
        bits[w, column] = word


@jit()
def list_active(bits: Any, column: int, active: Any) -> int:
    """Write down which sources spike in a column of (words, ...); returns how many."""
    n = 0
    for w in range(bits.shape[0]):
        word = bits[w, column]
        while word != np.uint64(0):
            active[n] = 64 * w + np.int64(_trailing_zeros(word))  # type: ignore[call-arg]
            n += 1
            word &= word - np.uint64(1)
    return n


@jit(fastmath=FASTMATH)
def gather(weights: Any, active: Any, n_active: int, total: Any) -> None:
    """Sum the rows of the active sources, four at a time."""
    width = weights.shape[1]
    for c in range(width):
        total[c] = 0
    four = n_active // 4 * 4
    for a in range(0, four, 4):
        row0, row1, row2, row3 = (
            weights[active[a]], weights[active[a + 1]], weights[active[a + 2]], weights[active[a + 3]],
        )  # fmt: skip
        for c in range(width):
            total[c] += (row0[c] + row1[c]) + (row2[c] + row3[c])
    for a in range(four, n_active):
        row0 = weights[active[a]]
        for c in range(width):
            total[c] += row0[c]


@jit(fastmath=FASTMATH)
def drive(p: Population, taps: Any, decay: Any, recursive: bool, time: int, k: int, potential: Any) -> None:
    """Add W_0 . R_t to the potentials (n_neurons,)."""
    n_basis, n = p.filtered.shape[1:]
    if recursive:
        for basis in range(n_basis):
            row = p.filtered[k, basis]
            for i in range(n):
                potential[i] += row[i]
        return
    D = taps.shape[1]
    for lag in range(1, min(D, time) + 1):
        slot = p.impulse[(time - lag) % D, k]
        for basis in range(n_basis):
            tap, row = taps[basis, lag - 1], slot[basis]
            for i in range(n):
                potential[i] += tap * row[i]


@jit(fastmath=FASTMATH)
def take_in(p: Population, taps: Any, decay: Any, recursive: bool, time: int, column: int, active: Any) -> None:
    """The spikes of the step before ``time``, of all compartments: their rows, into the filters."""
    D, K = p.impulse.shape[:2]
    n_basis, n = p.filtered.shape[1:]
    slot = (time - 1) % D
    for k in range(K):
        n_active = list_active(p.bits, column * K + k, active)
        q = p.impulse[slot, k]
        gather(p.weights, active, n_active, q.reshape(-1))
        if recursive:
            for basis in range(n_basis):
                fade, tap, z = decay[basis], taps[basis, 0], p.filtered[k, basis]
                for i in range(n):
                    z[i] = fade * z[i] + tap * q[basis, i]
    if p.mean.shape[0]:
        n_active = list_active(p.bits, column, active)
        for basis in range(n_basis):
            total = p.mean_square.dtype.type(0)
            for a in range(n_active):
                total += p.mean[active[a], basis]
            p.mean_impulse[slot, basis] = total


# ---- 2. scalar products ----------------------------------------------------------------------------------------------


@jit(fastmath=FASTMATH)
def count_pairs(bits: Any, mine: int, first: int, last: int, whole: Any, counts: Any) -> None:
    """For columns ``first`` to ``last`` - 1: how many sources spike there and in column ``mine``; counted as int32."""
    for c in range(first, last):
        whole[c] = 0
    for w in range(bits.shape[0]):
        row, word = bits[w], bits[w, mine]
        if word != np.uint64(0):
            for c in range(first, last):
                whole[c] += np.int32(_count_ones(row[c] & word))  # type: ignore[call-arg]
    for c in range(first, last):
        counts[c] = whole[c]


@jit(fastmath=FASTMATH)
def finite_products(
    p: Population, taps: Any, time: int, t: int, begin: int, whole: Any, counts: Any, turned: Any
) -> None:
    """R_s . R_t for steps s from ``begin`` to t - 1 of the window, for any finite filter."""
    n_basis, D = taps.shape
    K = p.impulse.shape[1]
    position, slot = D + t - 1, (time - 1) % D  # of the newest spikes
    for k in range(K):
        # x_{t-1} with all spikes that the traces of the window contain.
        earliest = max(min(begin, t - 2), 0)
        count_pairs(p.bits, position * K + k, earliest * K, (position + 1) * K, whole, counts)
        newest = (time - 1) % (D + 1)
        for back in range(min(D, time - 1) + 1):
            older = (time - 1 - back) % (D + 1)
            for other in range(K):
                together = counts[(position - back) * K + other]
                p.recent[newest, k, older, other] = together
                p.recent[older, other, newest, k] = together
        for basis in range(n_basis):
            half = p.half[slot, k, basis]
            for c in range(begin * K, t * K):
                half[c] = 0
            for lag in range(1, D + 1):
                tap, shift = taps[basis, lag - 1], (D - lag) * K
                for c in range(begin * K, t * K):
                    half[c] += tap * counts[c + shift]
    if begin < t:
        # The newest trace, R_{t-1}, with the spikes of the steps before.
        for basis in range(n_basis):
            turned[basis, (time - 1) % (D + 1)] = 0
            for lag in range(1, D + 1):
                turned[basis, (time - 1 - lag) % (D + 1)] = taps[basis, lag - 1] if lag < time else taps.dtype.type(0)
        for back in range(1, min(D, time)):
            before = time - 1 - back
            for k in range(K):
                together_k, halves = p.recent[before % (D + 1), k], p.half[before % D, k]
                for basis in range(n_basis):
                    tap_row = turned[basis]
                    for other in range(K):
                        half_sum = taps.dtype.type(0)
                        for place in range(D + 1):
                            half_sum += tap_row[place] * together_k[place, other]
                        halves[basis, (t - 1) * K + other] = half_sum
    for k in range(K):
        products = p.products[k]
        for c in range(begin * K, t * K):
            products[c] = 0
        for lag in range(1, min(D, time) + 1):
            for basis in range(n_basis):
                tap, half = taps[basis, lag - 1], p.half[(time - lag) % D, k, basis]
                for c in range(begin * K, t * K):
                    products[c] += tap * half[c]


@jit(fastmath=FASTMATH)
def recursive_products(p: Population, taps: Any, decay: Any, time: int, t: int, whole: Any, counts: Any) -> None:
    """The same for exponentials, of all steps of the window, while nothing has left their memory."""
    n_basis, D = taps.shape
    K = p.impulse.shape[1]
    newest, oldest = D + t - 1, D + t - time  # positions of spikes
    trace = np.zeros(K, dtype=taps.dtype)
    cross = np.zeros((n_basis, K, K), dtype=taps.dtype)
    for k in range(K):
        for c in range(t * K):
            p.products[k, c] = 0
        for basis in range(n_basis):
            for other in range(K):  # the newest column begins with R_{t-1} . R_{t-1}
                p.by_basis[k, basis, (t - 1) * K + other] = p.squares[basis, k, other]
    for k in range(K):
        count_pairs(p.bits, newest * K + k, oldest * K, (newest + 1) * K, whole, counts)
        for basis in range(n_basis):
            fade, tap, product = decay[basis], taps[basis, 0], p.by_basis[k, basis]
            for other in range(K):
                trace[other] = 0  # R_s . x_{t-1}, from the first spike on
            for position in range(oldest, newest):
                if position >= D:
                    for other in range(K):
                        c = (position - D) * K + other
                        product[c] = fade * product[c] + tap * trace[other]
                        p.products[k, c] += product[c]
                for other in range(K):
                    trace[other] = fade * trace[other] + tap * counts[position * K + other]
            for other in range(K):
                c = (t - 1) * K + other
                product[c] = fade * product[c] + tap * trace[other]
                p.products[k, c] += product[c]
                # |R_t|^2 = fade^2 |R_{t-1}|^2 + fade tap (R_{t-1} . x'_{t-1} + R'_{t-1} . x_{t-1}) + tap^2 x . x'
                cross[basis, k, other] += fade * tap * trace[other]
                cross[basis, other, k] += fade * tap * trace[other]
                together = tap * tap * counts[newest * K + other]
                p.squares[basis, k, other] = fade * fade * p.squares[basis, k, other] + together
    for basis in range(n_basis):
        for k in range(K):
            for other in range(K):
                p.squares[basis, k, other] += cross[basis, k, other]


@jit(fastmath=FASTMATH)
def begin_finite_products(p: Population, taps: Any, time: int, t: int, begin: int, whole: Any, counts: Any) -> None:
    """Make what :func:`finite_products` keeps from step to step, where the recursion was used before."""
    n_basis, D = taps.shape
    K = p.impulse.shape[1]
    for back in range(min(D + 1, time)):
        position, when = D + t - 1 - back, time - 1 - back
        for k in range(K):
            count_pairs(p.bits, position * K + k, 0, (D + t) * K, whole, counts)
            for other_back in range(min(D + 1, time)):
                for other in range(K):
                    p.recent[when % (D + 1), k, (time - 1 - other_back) % (D + 1), other] = counts[
                        (D + t - 1 - other_back) * K + other
                    ]
            if back < D:
                for basis in range(n_basis):
                    half = p.half[when % D, k, basis]
                    for c in range(begin * K, t * K):
                        half[c] = 0
                        for lag in range(1, D + 1):
                            half[c] += taps[basis, lag - 1] * counts[c + (D - lag) * K]


# ---- 3. and 4. learning, and the synapse that is not there ----------------------------------------------------------


@jit(fastmath=FASTMATH, error_model="numpy")
def advance(
    w: Window, populations: Any, steps: Steps, post_factor: Any, broadcast: Any, local: Any, first: int, last: int
) -> None:
    """Steps ``first`` to ``last`` - 1 of what is given; there is room for them in the window."""
    n, K = w.fired.shape
    n_visible = steps.targets.shape[1]
    n_hidden = n - n_visible
    n_basis, D = w.taps.shape
    eta, zero, one = w.learning_rate, w.taps.dtype.type(0), w.taps.dtype.type(1)
    taps, decay, recursive = w.taps, w.decay, w.recursive
    post, potentials, gram, scaled = w.post, w.potentials, w.gram, w.scaled
    own_trace, somatic_trace = w.own_trace, w.somatic_trace
    log_weights = w.log_weights
    importance, visible_signal, hidden_signal = np.empty(K), np.empty(K), np.empty(K)
    errors, shares = np.empty((K, n_visible), dtype=taps.dtype), np.empty(n)
    log_probability, reach = np.empty((K, n_visible)), np.empty((n_hidden, n_visible), dtype=taps.dtype)
    n_segments = w.segment.shape[0]

    for step in range(first, last):
        time, t, begin = w.time[0], w.place[0], w.place[1]
        clamped = steps.clamped[step]
        columns = t * K  # (s, k') of the window so far
        for k in range(K):
            for i in range(n):
                potentials[k, i] = w.bias[i]

        # What the weights of the window's beginning make of the spikes so far, and the scalar products.
        for p in populations:
            if time > 0:
                take_in(p, taps, decay, recursive, time, D + t - 1, w.active)
                if recursive:
                    recursive_products(p, taps, decay, time, t, w.whole, w.counts)
                else:
                    finite_products(p, taps, time, t, begin, w.whole, w.counts, w.turned)
            if p.mean.shape[0]:
                total = zero
                for lag in range(1, min(D, time) + 1):
                    for basis in range(n_basis):
                        total += taps[basis, lag - 1] * p.mean_impulse[(time - lag) % D, basis]
                p.mean_trace[t] = total
            for k in range(K):
                drive(p, taps, decay, recursive, time, 0 if p.shared else k, potentials[k])

        # What was learned since then: eta sum_s a_s (R_s . R_t), the bias with a trace of 1.
        if begin < t:
            for c in range(gram.shape[0]):
                for k in range(K):
                    row = gram[c, k]
                    for m in range(begin * K, columns):
                        row[m] = one
                    for p in populations:
                        if p.feeds[c]:
                            if p.shared:
                                shared = p.products[0]
                                for s in range(begin, t):
                                    product = shared[s]
                                    if p.mean.shape[0]:
                                        product += p.mean_square[0] - p.mean_trace[s] - p.mean_trace[t]
                                    for other in range(K):
                                        row[s * K + other] += product
                            else:
                                private = p.products[k]
                                for m in range(begin * K, columns):
                                    row[m] += private[m]
            for g in range(n_segments):
                row_first, row_last, c = w.segment[g, 0], w.segment[g, 1], w.segment[g, 2]
                if w.has_local and row_last <= n_hidden:
                    _learned_locally(w, gram[c], t, begin, row_first, row_last)
                else:
                    factor = w.visible_factor if row_first >= n_hidden else w.hidden_factor
                    for k in range(K):
                        row = gram[c, k]
                        for m in range(begin * K, columns):
                            scaled[m, k] = eta * factor[m] * row[m]
                    _learned(post, scaled, begin * K, columns, row_first, row_last, potentials)

        # Self-memory, and the synapse to itself that the scalar products contain and the graph does not.
        for k in range(K):
            potential = potentials[k]
            for basis in range(somatic_trace.shape[1]):
                weight, trace = w.somatic[basis], somatic_trace[k, basis]
                for i in range(n):
                    potential[i] += weight[i] * trace[i]
            for basis in range(n_basis):
                weight, trace = w.virtual[basis], own_trace[k, basis]
                for i in range(n):
                    potential[i] -= weight[i] * trace[i]

        _fire(w, steps, step, n_hidden, shares, log_probability)

        # The central processor.
        highest = -np.inf
        for k in range(K):
            likelihood = 0.0
            for x in range(n_visible):
                likelihood += log_probability[k, x]
            steps.log_likelihood[step, k] = likelihood
            log_weights[k] = w.kappa * log_weights[k] + (likelihood if clamped else 0.0)
            steps.log_weights[step, k] = log_weights[k]
            highest = max(highest, log_weights[k])
        total_importance = 0.0
        for k in range(K):
            importance[k] = np.exp(log_weights[k] - highest)
            total_importance += importance[k]
        for k in range(K):
            importance[k] /= total_importance
            steps.importance[step, k] = importance[k]
            visible_signal[k] = 0.0
            hidden_signal[k] = 0.0

        # Post factors and learning signals.
        if clamped:
            post_factor(w.fired[:n_hidden], w.probabilities[:n_hidden], w.factors[:n_hidden])
            for i in range(n_hidden, n):
                for k in range(K):
                    w.factors[i, k] = (1.0 if w.fired[i, k] else 0.0) - w.probabilities[i, k]
                    errors[k, i - n_hidden] = w.factors[i, k]
            broadcast(w.settings, log_weights, importance, w.processor_memory, visible_signal, hidden_signal)
            if w.has_local:
                for x in range(n_visible):
                    row = w.reach[x]
                    for h in range(n_hidden):
                        reach[h, x] = row[h]
                local(w.settings, hidden_signal, errors, reach, w.fired[:n_hidden], w.neuron_memory, w.signal)
        elif w.has_local:
            for i in range(n_hidden):
                for k in range(K):
                    w.signal[i, k] = zero
        if begin == t and not clamped:
            w.place[1] = t + 1  # nothing in the window to learn from yet
        for k in range(K):
            row = post[columns + k]
            for i in range(n):
                row[i] = w.factors[i, k] if clamped else zero

        # The sums over r of gamma^(r - s) signal_r.
        w.visible_factor[columns : columns + K] = zero
        w.hidden_factor[columns : columns + K] = zero
        if w.has_local:
            w.accumulated[columns : columns + K] = zero
        for s in range(t):
            w.fading[s] *= w.gamma
        w.fading[t] = one
        if clamped:
            for s in range(begin, t + 1):
                for k in range(K):
                    w.visible_factor[s * K + k] += w.fading[s] * taps.dtype.type(visible_signal[k])
                    w.hidden_factor[s * K + k] += w.fading[s] * taps.dtype.type(hidden_signal[k])
        _learn_directly(w, clamped, columns, n_hidden, visible_signal, hidden_signal)

        # Remember the spikes: in the traces that the next step sees, and as bits.
        _remember(w, steps.spikes[step])
        for p in populations:
            if p.of_inputs:
                pack(steps.inputs[step, p.first : p.first + p.size], p.bits, D + t)
            else:
                for k in range(1 if p.shared else K):
                    column = D + t if p.shared else (D + t) * K + k
                    pack(steps.spikes[step, k, p.first : p.first + p.size], p.bits, column)
        w.time[0] = time + 1
        w.place[0] = t + 1


@jit(fastmath=FASTMATH)
def _learned(post: Any, scaled: Any, begin: int, end: int, first: int, last: int, potentials: Any) -> None:
    """Add sum_m scaled[m, k] post[m, i] to the potentials of rows ``first`` to ``last`` - 1."""
    K = potentials.shape[0]
    four = begin + (end - begin) // 4 * 4
    for k in range(0, K - 1, 2):
        left, right = potentials[k], potentials[k + 1]
        for m in range(begin, four, 4):
            f0, f1, f2, f3 = scaled[m, k], scaled[m + 1, k], scaled[m + 2, k], scaled[m + 3, k]
            g0, g1, g2, g3 = scaled[m, k + 1], scaled[m + 1, k + 1], scaled[m + 2, k + 1], scaled[m + 3, k + 1]
            p0, p1, p2, p3 = post[m], post[m + 1], post[m + 2], post[m + 3]
            for i in range(first, last):
                left[i] += f0 * p0[i] + f1 * p1[i] + f2 * p2[i] + f3 * p3[i]
                right[i] += g0 * p0[i] + g1 * p1[i] + g2 * p2[i] + g3 * p3[i]
        for m in range(four, end):
            f0, g0, p0 = scaled[m, k], scaled[m, k + 1], post[m]
            for i in range(first, last):
                left[i] += f0 * p0[i]
                right[i] += g0 * p0[i]
    if K % 2:
        left = potentials[K - 1]
        for m in range(begin, four, 4):
            f0, f1, f2, f3 = scaled[m, K - 1], scaled[m + 1, K - 1], scaled[m + 2, K - 1], scaled[m + 3, K - 1]
            p0, p1, p2, p3 = post[m], post[m + 1], post[m + 2], post[m + 3]
            for i in range(first, last):
                left[i] += f0 * p0[i] + f1 * p1[i] + f2 * p2[i] + f3 * p3[i]
        for m in range(four, end):
            f0, p0 = scaled[m, K - 1], post[m]
            for i in range(first, last):
                left[i] += f0 * p0[i]


@jit(fastmath=FASTMATH)
def _learned_locally(w: Window, gram: Any, t: int, begin: int, first: int, last: int) -> None:
    """The same where each neuron has a signal of its own: first bring a up to date with the last step's signal."""
    K = w.potentials.shape[0]
    for s in range(begin, t):
        fading = w.fading[s]
        for other in range(K):
            m = s * K + other
            a, post = w.accumulated[m], w.post[m]
            for i in range(first, last):
                a[i] += fading * w.signal[i, other] * post[i]
            for k in range(K):
                rate, potential = w.learning_rate * gram[k, m], w.potentials[k]
                for i in range(first, last):
                    potential[i] += rate * a[i]


@jit(fastmath=FASTMATH, error_model="numpy")
def _fire(w: Window, steps: Steps, step: int, n_hidden: int, shares: Any, log_probability: Any) -> None:
    """Spikes and probabilities of all neurons, and the log-probability of the visible ones."""
    n, K = w.fired.shape
    clamped, circuits = steps.clamped[step], w.circuits
    for k in range(K):
        potential, spikes = w.potentials[k], steps.spikes[step, k]
        sigmoids(potential, shares)
        uniforms = steps.uniforms[step, k]
        for i in range(n_hidden if clamped else n):
            spikes[i] = uniforms[i] < shares[i]
        for i in range(n_hidden, n):
            if clamped:
                spikes[i] = steps.targets[step, i - n_hidden] != 0
            u = np.float64(potential[i])
            log_probability[k, i - n_hidden] = log_sigmoid(u if spikes[i] else -u)
        for i in range(n):
            w.fired[i, k] = spikes[i]
            w.probabilities[i, k] = shares[i]
        for c in range(len(circuits.silent)):
            members = circuits.member[circuits.start[c] : circuits.start[c + 1]]
            is_visible = members[0] >= n_hidden
            log_total = compete(potential, members, circuits.silent[c], shares)
            if is_visible and clamped:
                chosen = -1
                for i in members:
                    if steps.targets[step, i - n_hidden] != 0:
                        chosen = i
            else:
                chosen = winner(shares, members, circuits.silent[c], steps.uniforms[step, k, members[0]])
            for i in members:
                w.fired[i, k] = i == chosen
                spikes[i] = i == chosen
                w.probabilities[i, k] = shares[i]
                if is_visible:
                    log_probability[k, i - n_hidden] = 0.0
            if is_visible:
                of_spike = np.float64(potential[chosen]) if chosen >= 0 else 0.0
                log_probability[k, circuits.column[c]] = of_spike - log_total


@jit(fastmath=FASTMATH)
def _learn_directly(
    w: Window, clamped: bool, columns: int, n_hidden: int, visible_signal: Any, hidden_signal: Any
) -> None:
    """Self-memory, the synapse that is not there, and the reach of hidden neurons: eligibility as the paper has it."""
    n, K = w.fired.shape
    gamma, eta, dtype = w.gamma, w.learning_rate, w.taps.dtype
    rate = np.empty(n, dtype=dtype)
    for k in range(K):
        post = w.post[columns + k]
        for i in range(n):
            if not clamped:
                rate[i] = 0
            elif i >= n_hidden:
                rate[i] = eta * dtype.type(visible_signal[k])
            elif w.has_local:
                rate[i] = eta * w.signal[i, k]
            else:
                rate[i] = eta * dtype.type(hidden_signal[k])
        for basis in range(w.somatic.shape[0]):
            eligibility, trace, weight = w.somatic_eligibility[k, basis], w.somatic_trace[k, basis], w.somatic[basis]
            for i in range(n):
                e = gamma * eligibility[i] + post[i] * trace[i]
                eligibility[i] = e
                weight[i] += rate[i] * e * w.has_memory[i]
        for basis in range(w.virtual.shape[0]):
            eligibility, trace, weight = w.virtual_eligibility[k, basis], w.own_trace[k, basis], w.virtual[basis]
            for i in range(n):
                e = gamma * eligibility[i] + post[i] * trace[i]
                eligibility[i] = e
                weight[i] += rate[i] * e * w.own_source[i]
        if w.has_local:
            traces = np.zeros(n_hidden, dtype=dtype)  # summed over the bases
            for basis in range(w.own_trace.shape[1]):
                trace = w.own_trace[k, basis]
                for h in range(n_hidden):
                    traces[h] += trace[h]
            for x in range(n - n_hidden):
                error, step_size = post[n_hidden + x], rate[n_hidden + x]
                eligibility, reach, reaches = w.reach_eligibility[k, x], w.reach[x], w.reaches[x]
                for h in range(n_hidden):
                    e = gamma * eligibility[h] + error * traces[h]
                    eligibility[h] = e
                    reach[h] += step_size * e * reaches[h]


@jit(fastmath=FASTMATH)
def _remember(w: Window, spikes: Any) -> None:
    """Traces of the neurons' own spikes, as the next step sees them."""
    n, K = w.fired.shape
    bits = w.history_bits
    full_word = (1 << bits) - 1
    for i in range(n):
        for k in range(K):
            history = w.history[i, k]
            bit = np.int64(w.fired[i, k])
            for word in range(history.shape[0]):
                longer = (np.int64(history[word]) << 1) | bit
                history[word] = longer & full_word
                bit = longer >> bits
    for k in range(K):
        for basis in range(w.somatic_trace.shape[1]):
            _look_up(w.history, k, w.somatic_table, basis, w.somatic_trace[k, basis])
        for basis in range(w.own_trace.shape[1]):
            trace = w.own_trace[k, basis]
            if w.recursive:
                fade, tap = w.decay[basis], w.taps[basis, 0]
                for i in range(n):
                    trace[i] = fade * trace[i] + (tap if spikes[k, i] else 0)
            else:
                _look_up(w.history, k, w.synaptic_table, basis, trace)


@jit()
def _look_up(history: Any, k: int, table: Any, basis: int, trace: Any) -> None:
    for i in range(trace.shape[0]):
        total = table[0, history[i, k, 0], basis]
        for word in range(1, table.shape[0]):
            total += table[word, history[i, k, word], basis]
        trace[i] = total


# ---- 5. writing back -------------------------------------------------------------------------------------------------


@jit(fastmath=FASTMATH)
def changes(w: Window, n_hidden: int, a: Any) -> None:
    """Write eta a of all steps of the window to (M * K, n_neurons); the factors begin anew."""
    n, K = w.fired.shape
    t, begin = w.place[0], w.place[1]
    eta, zero = w.learning_rate, w.taps.dtype.type(0)
    for s in range(begin, t):
        fading = w.fading[s]
        for k in range(K):
            m = s * K + k
            post, row = w.post[m], a[m]
            if w.has_local:
                accumulated = w.accumulated[m]
                for i in range(n_hidden):
                    row[i] = eta * (accumulated[i] + fading * w.signal[i, k] * post[i])
                    accumulated[i] = zero
            else:
                factor = eta * w.hidden_factor[m]
                for i in range(n_hidden):
                    row[i] = factor * post[i]
            factor = eta * w.visible_factor[m]
            for i in range(n_hidden, n):
                row[i] = factor * post[i]
            w.visible_factor[m] = zero
            w.hidden_factor[m] = zero
    for i in range(n_hidden if w.has_local else 0):
        for k in range(K):
            w.signal[i, k] = zero


@jit(fastmath=FASTMATH)
def write_back(
    p: Population, taps: Any, decay: Any, recursive: bool, t: int, begin: int, a: Any, segment: Any, active: Any
) -> None:
    """weights += sum_s a_s R_s, spike by spike, from a (M * K_p, n_neurons) of the population's own compartments."""
    n_basis, D = taps.shape
    K, n = p.impulse.shape[1], a.shape[1]
    first, last = begin, D + t - 1  # positions of the spikes that traces of the window contain
    change = np.zeros((max(last - first, 1), n_basis * n), dtype=taps.dtype)
    feeds_all = p.feeds.all()
    start, place = np.empty(p.size + 1, dtype=np.intp), np.empty(p.size, dtype=np.intp)
    for k in range(K):
        if recursive:
            _filter_backwards(taps, decay, begin, D, K, k, a, change)
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
        for j in range(p.size):
            if start[j] < start[j + 1]:
                if feeds_all:
                    _add_rows(p.weights[j], change, when, start[j], start[j + 1], 0, n_basis * n)
                    continue
                for g in range(segment.shape[0]):
                    if p.feeds[segment[g, 2]]:
                        for basis in range(n_basis):
                            left, right = basis * n + segment[g, 0], basis * n + segment[g, 1]
                            _add_rows(p.weights[j], change, when, start[j], start[j + 1], left, right)
    if not p.of_inputs:
        for j in range(p.size):
            for basis in range(n_basis):
                p.weights[j, basis * n + p.first + j] = 0


@jit(fastmath=FASTMATH)
def _add_rows(weights: Any, change: Any, when: Any, first: int, last: int, left: int, right: int) -> None:
    """Add the rows when[first : last] of the change to the weights, four at a time, between two columns."""
    four = first + (last - first) // 4 * 4
    for a in range(first, four, 4):
        row0, row1, row2, row3 = change[when[a]], change[when[a + 1]], change[when[a + 2]], change[when[a + 3]]
        for i in range(left, right):
            weights[i] += (row0[i] + row1[i]) + (row2[i] + row3[i])
    for a in range(four, last):
        row0 = change[when[a]]
        for i in range(left, right):
            weights[i] += row0[i]


@jit(fastmath=FASTMATH)
def _filter_finite(taps: Any, begin: int, t: int, K: int, k: int, a: Any, change: Any) -> None:
    """What a spike at each position, from ``begin`` on, adds to its weights: the sum over lags of taps a_{p + lag}."""
    n_basis, D = taps.shape
    n = a.shape[1]
    for position in range(begin, D + t - 1):
        total = change[position - begin]
        total[:] = 0
        for lag in range(max(1, begin + D - position), min(D, t - 1 + D - position) + 1):
            row = a[(position - D + lag) * K + k]
            for basis in range(n_basis):
                tap, part = taps[basis, lag - 1], total[basis * n : (basis + 1) * n]
                for i in range(n):
                    part[i] += tap * row[i]


@jit(fastmath=FASTMATH)
def _filter_backwards(taps: Any, decay: Any, begin: int, D: int, K: int, k: int, a: Any, change: Any) -> None:
    """The same for exponentials, while nothing has left their memory: a recursion from the newest spike back."""
    n_basis, n = taps.shape[0], a.shape[1]
    for position in range(begin + len(change) - 1, begin - 1, -1):
        total = change[position - begin]
        newest = position == begin + len(change) - 1
        after = total if newest else change[position - begin + 1]
        m = position - D + 1
        row = a[max(m, 0) * K + k]
        for basis in range(n_basis):
            tap = taps[basis, 0] if m >= begin else taps.dtype.type(0)
            fade = taps.dtype.type(0) if newest else decay[basis]
            for i in range(n):
                total[basis * n + i] = fade * after[basis * n + i] + tap * row[i]


@jit(fastmath=FASTMATH)
def take_in_again(p: Population, taps: Any, decay: Any, recursive: bool, time: int, t: int, active: Any) -> None:
    """What the filters hold, with the weights as they are now: the spikes of all steps but the newest."""
    D = p.impulse.shape[0]
    if recursive:
        p.filtered[:] = 0
    for back in range(min(D, time), 1, -1):
        take_in(p, taps, decay, recursive, time - back + 1, D + t - back, active)
