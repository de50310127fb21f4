r"""The event form of the learning kernel: cost follows spikes. Exact, without eligibility or traces of synapses.

Every rule has the form weights += eta sum_k signal_{i,k,t} <post_{i,k} pre_{j,k}>_gamma. Unrolled over a window of
steps, with W_0 the weights when they were last written, R_t^k the traces of a population of sources, and post the
factors of the rule, the drive of neuron i at step t through weights that change at every step is

    W_t . R_t^k = W_0 . R_t^k + eta sum_{k'} sum_{s<t} a_{i,s,t}^{k'} (R_s^{k'} . R_t^k),
    a_{i,s,t}^k = post_{i,s}^k sum_{r=s}^{t-1} gamma^(r-s) signal_{i,k,r}.

What is needed, follows from spikes; the five points below are functions of this file, in this order:

1. Drive (``rows.gather``, ``drive``). W_0 . R_t is a short filter over q_t, the sum of weight rows of the sources that
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

from gemsnn.engine.firing import compete, log_sigmoid, sigmoids, weigh, winner
from gemsnn.engine.jit import FASTMATH, jit
from gemsnn.engine.rows import gather

TILE = 32  # rows of post factors that fit into the processor's inner cache

# A loop that begins elsewhere than at 0 counts in uint64: an index that could be negative would not be vectorised.


class Population(NamedTuple):
    """Sources with the same targets. The window has room for M steps; D is the filter's duration; f the precision.

    Step m of the window stands at position D + m; the D positions before it are the past that its filters still see.
    """

    first: int  # its first source, among the inputs or among the neurons
    size: int  # 0 for one that only fills up the list of them
    of_inputs: bool
    shared: bool  # spikes alike in all compartments
    feeds: Any  # (n_classes,) bool: which neurons
    weights: Any  # (n_sources, n_basis * n_neurons) f: one row for each source
    bits: Any  # (words, (D + M) * K_p) uint64: spikes, position by position
    impulse: Any  # (D or more, K_p, n_basis, n_neurons) f: q of the last steps; slot time % its length
    filtered: Any  # (K_p, n_basis, n_neurons) f: the same, filtered by the recursion
    recent: Any  # (D + 1, D + 1, K_p * K_p) f: sources that spike at both of two recent steps; slots time % (D + 1)
    half: Any  # (D, K_p, n_basis, M * K_p) f: R_s . x_t for the last D steps t; slot time % D
    by_basis: Any  # (K_p, n_basis, M * K_p) f: R_s . R_t of each basis, by the recursion
    squares: Any  # (n_basis, K_p, K_p) f: R_t . R_t of each basis, by the recursion
    products: Any  # (K_p, M * K_p) f: R_s . R_t at the present step t
    mean: Any  # (n_sources, n_basis) f: taken off the traces while learning; (0, n_basis) where nothing is
    mean_impulse: Any  # (as impulse, n_basis) f
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
    scaled: Any  # (K, M * K) f
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
def drive(p: Population, taps: Any, recursive: bool, time: int, t: int, potentials: Any) -> None:
    """Add W_0 . R_t to the potentials (K, n_neurons)."""
    filtered, impulse, shared = p.filtered, p.impulse, p.shared
    n_basis, n = filtered.shape[1:]
    D = taps.shape[1]
    for k in range(potentials.shape[0]):
        own = 0 if shared else k
        if recursive:
            for basis in range(n_basis):
                for i in range(n):
                    potentials[k, i] += filtered[own, basis, i]
        else:
            for lag in range(1, min(D, time) + 1):
                slot = (time - lag) % impulse.shape[0]
                for basis in range(n_basis):
                    tap = taps[basis, lag - 1]
                    for i in range(n):
                        potentials[k, i] += tap * impulse[slot, own, basis, i]
    if p.mean.shape[0]:
        mean_impulse, total = p.mean_impulse, taps.dtype.type(0)
        for lag in range(1, min(D, time) + 1):
            for basis in range(n_basis):
                total += taps[basis, lag - 1] * mean_impulse[(time - lag) % mean_impulse.shape[0], basis]
        p.mean_trace[t] = total


@jit(fastmath=FASTMATH)
def take_in(p: Population, taps: Any, decay: Any, recursive: bool, time: int, column: int, active: Any) -> None:
    """The spikes of the step before ``time``, of all compartments: their rows, into the filters."""
    weights, bits, impulse, filtered = p.weights, p.bits, p.impulse, p.filtered
    K = impulse.shape[1]
    slot = (time - 1) % impulse.shape[0]
    for k in range(K):
        n_active = list_active(bits, column * K + k, active)
        gather(weights, active, n_active, impulse[slot, k].reshape(-1))
    if p.mean.shape[0]:
        n_active = list_active(bits, column, active)
        _gather_mean(p.mean, active, n_active, p.mean_impulse[(time - 1) % p.mean_impulse.shape[0]])
    if recursive:
        _recur(taps, decay, impulse[slot], filtered)


@jit(fastmath=FASTMATH)
def take_in_ahead(p: Population, inputs: Any, first: int, last: int, time: int, position: int, active: Any) -> None:
    """Inputs are known ahead: pack and gather those of the steps to come."""
    weights, bits, impulse = p.weights, p.bits, p.impulse
    for step in range(first, last):
        column, slot = position + step - first, (time + step - first) % len(impulse)
        pack(inputs[step, p.first : p.first + p.size], bits, column)
        gather(weights, active, list_active(bits, column, active), impulse[slot, 0].reshape(-1))
    if p.mean.shape[0]:
        for step in range(first, last):
            n_active = list_active(bits, position + step - first, active)
            _gather_mean(p.mean, active, n_active, p.mean_impulse[(time + step - first) % p.mean_impulse.shape[0]])


@jit(fastmath=FASTMATH)
def _recur(taps: Any, decay: Any, impulse: Any, filtered: Any) -> None:
    """One step of the recursion z <- decay z + tap q, (K_p, n_basis, n_neurons)."""
    K, n_basis, n = filtered.shape
    for k in range(K):
        for basis in range(n_basis):
            fade, tap = decay[basis], taps[basis, 0]
            for i in range(n):
                filtered[k, basis, i] = fade * filtered[k, basis, i] + tap * impulse[k, basis, i]


@jit(fastmath=FASTMATH)
def _gather_mean(mean: Any, active: Any, n_active: int, total: Any) -> None:
    for basis in range(mean.shape[1]):
        part = mean.dtype.type(0)
        for a in range(n_active):
            part += mean[active[a], basis]
        total[basis] = part


@jit(fastmath=FASTMATH)
def mean_traces(p: Population, taps: Any, t: int, begin: int, active: Any) -> None:
    """mean . R_s for steps s from ``begin`` to t - 1 of the window, where the means are new."""
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


# ---- 2. scalar products ----------------------------------------------------------------------------------------------


@jit(fastmath=FASTMATH)
def count_pairs(bits: Any, mine: int, first: int, last: int, whole: Any, counts: Any) -> None:
    """For columns ``first`` to ``last`` - 1: how many sources spike there and in column ``mine``; counted as int32."""
    start, end = np.uint64(first), np.uint64(last)
    for c in range(start, end):
        whole[c] = 0
    for w in range(bits.shape[0]):
        word = bits[w, mine]
        if word != np.uint64(0):
            for c in range(start, end):
                whole[c] += np.int32(_count_ones(bits[w, c] & word))  # type: ignore[call-arg]
    for c in range(start, end):
        counts[c] = whole[c]


@jit(fastmath=FASTMATH)
def finite_products(
    p: Population, taps: Any, time: int, t: int, begin: int, whole: Any, counts: Any, turned: Any
) -> None:
    """R_s . R_t for steps s from ``begin`` to t - 1 of the window, for any finite filter."""
    n_basis, D = taps.shape
    bits, recent, halves, all_products = p.bits, p.recent, p.half, p.products
    K = all_products.shape[0]
    start, end = np.uint64(begin * K), np.uint64(t * K)
    position, slot = D + t - 1, (time - 1) % D  # of the newest spikes
    for k in range(K):
        # x_{t-1} with all spikes that the traces of the window contain.
        earliest = max(min(begin, t - 2), 0)
        count_pairs(bits, position * K + k, earliest * K, (position + 1) * K, whole, counts)
        newest = (time - 1) % (D + 1)
        for back in range(min(D, time - 1) + 1):
            older = (time - 1 - back) % (D + 1)
            for other in range(K):
                together = counts[(position - back) * K + other]
                recent[newest, older, k * K + other] = together
                recent[older, newest, other * K + k] = together
        for basis in range(n_basis):
            for c in range(start, end):
                halves[slot, k, basis, c] = 0
            for lag in range(1, D + 1):
                tap, shift = taps[basis, lag - 1], np.uint64((D - lag) * K)
                for c in range(start, end):
                    halves[slot, k, basis, c] += tap * counts[c + shift]
    if begin < t:
        # The newest trace, R_{t-1}, with the spikes of the steps before.
        sums = np.empty(K * K, dtype=taps.dtype)
        for back in range(1, min(D, time)):
            before = time - 1 - back
            then, its_slot = before % (D + 1), before % D
            for basis in range(n_basis):
                if K == 1:
                    total = taps.dtype.type(0)
                    for place in range(D + 1):
                        total += turned[basis, place] * recent[then, place, 0]
                    halves[its_slot, 0, basis, t - 1] = total
                    continue
                for pair in range(K * K):
                    sums[pair] = 0
                for place in range(D + 1):
                    tap = turned[basis, place]
                    for pair in range(K * K):
                        sums[pair] += tap * recent[then, place, pair]
                for k in range(K):
                    for other in range(K):
                        halves[its_slot, k, basis, (t - 1) * K + other] = sums[k * K + other]
    for k in range(K):
        for c in range(start, end):
            all_products[k, c] = 0
        for lag in range(1, min(D, time) + 1):
            its_slot = (time - lag) % D
            for basis in range(n_basis):
                tap = taps[basis, lag - 1]
                for c in range(start, end):
                    all_products[k, c] += tap * halves[its_slot, k, basis, c]


@jit()
def _turn(taps: Any, time: int, turned: Any) -> None:
    """The taps in the order of the slots of ``recent``, for the trace of the newest spikes' step."""
    n_basis, D = taps.shape
    for basis in range(n_basis):
        slot = (time - 1) % (D + 1)
        turned[basis, slot] = 0
        for lag in range(1, D + 1):
            slot = slot - 1 if slot else D
            turned[basis, slot] = taps[basis, lag - 1] if lag < time else taps.dtype.type(0)


@jit(fastmath=FASTMATH)
def recursive_products(p: Population, taps: Any, decay: Any, time: int, t: int, whole: Any, counts: Any) -> None:
    """The same for exponentials, of all steps of the window, while nothing has left their memory."""
    n_basis, D = taps.shape
    bits, all_products, by_basis, squares = p.bits, p.products, p.by_basis, p.squares
    K = all_products.shape[0]
    newest, oldest = D + t - 1, D + t - time  # positions of spikes
    trace = np.zeros(K, dtype=taps.dtype)
    cross = np.zeros((n_basis, K, K), dtype=taps.dtype)
    for k in range(K):
        for c in range(t * K):
            all_products[k, c] = 0
        for basis in range(n_basis):
            for other in range(K):  # the newest column begins with R_{t-1} . R_{t-1}
                by_basis[k, basis, (t - 1) * K + other] = squares[basis, k, other]
    for k in range(K):
        count_pairs(bits, newest * K + k, oldest * K, (newest + 1) * K, whole, counts)
        for basis in range(n_basis):
            fade, tap = decay[basis], taps[basis, 0]
            for other in range(K):
                trace[other] = 0  # R_s . x_{t-1}, from the first spike on
            for position in range(oldest, newest):
                if position >= D:
                    for other in range(K):
                        c = (position - D) * K + other
                        by_basis[k, basis, c] = fade * by_basis[k, basis, c] + tap * trace[other]
                        all_products[k, c] += by_basis[k, basis, c]
                for other in range(K):
                    trace[other] = fade * trace[other] + tap * counts[position * K + other]
            for other in range(K):
                c = (t - 1) * K + other
                by_basis[k, basis, c] = fade * by_basis[k, basis, c] + tap * trace[other]
                all_products[k, c] += by_basis[k, basis, c]
                # |R_t|^2 = fade^2 |R_{t-1}|^2 + fade tap (R_{t-1} . x'_{t-1} + R'_{t-1} . x_{t-1}) + tap^2 x . x'
                cross[basis, k, other] += fade * tap * trace[other]
                cross[basis, other, k] += fade * tap * trace[other]
                together = tap * tap * counts[newest * K + other]
                squares[basis, k, other] = fade * fade * squares[basis, k, other] + together
    for basis in range(n_basis):
        for k in range(K):
            for other in range(K):
                squares[basis, k, other] += cross[basis, k, other]


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
                    together = counts[(D + t - 1 - other_back) * K + other]
                    p.recent[when % (D + 1), (time - 1 - other_back) % (D + 1), k * K + other] = together
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
    # Local names, so that the loops below touch plain arrays.
    taps, decay, recursive, has_local = w.taps, w.decay, w.recursive, w.has_local
    post, potentials, gram, scaled, bias = w.post, w.potentials, w.gram, w.scaled, w.bias
    own_trace, somatic_trace, somatic, virtual = w.own_trace, w.somatic_trace, w.somatic, w.virtual
    fired, probabilities, factors, segment = w.fired, w.probabilities, w.factors, w.segment
    visible_factor, hidden_factor, fading, signal = w.visible_factor, w.hidden_factor, w.fading, w.signal
    log_weights, settings, active, whole, counts, turned = (
        w.log_weights,
        w.settings,
        w.active,
        w.whole,
        w.counts,
        w.turned,
    )
    accumulated, reach, clock, place = w.accumulated, w.reach, w.time, w.place
    clamped_steps, targets, inputs, uniforms, spikes = (
        steps.clamped,
        steps.targets,
        steps.inputs,
        steps.uniforms,
        steps.spikes,
    )
    all_likelihoods, all_log_weights, all_importance = steps.log_likelihood, steps.log_weights, steps.importance
    eta, gamma, kappa, dtype = w.learning_rate, w.gamma, w.kappa, taps.dtype
    n, K = fired.shape
    n_visible = targets.shape[1]
    n_hidden = n - n_visible
    n_basis, D = taps.shape
    zero, one = dtype.type(0), dtype.type(1)
    importance, visible_signal, hidden_signal = np.empty(K), np.empty(K), np.empty(K)
    errors, shares, rates = np.empty((K, n_visible), dtype=dtype), np.empty(n), np.empty(n, dtype=dtype)
    log_probability, reached = np.empty((K, n_visible)), np.empty((n_hidden, n_visible), dtype=dtype)

    for p in populations:
        if p.of_inputs and p.size:
            take_in_ahead(p, inputs, first, last, clock[0], D + place[0], active)
    for step in range(first, last):
        time, t, begin = clock[0], place[0], place[1]
        clamped = clamped_steps[step]
        columns = t * K  # (s, k') of the window so far
        for k in range(K):
            for i in range(n):
                potentials[k, i] = bias[i]

        # What the weights of the window's beginning make of the spikes so far, and the scalar products.
        if not recursive:
            _turn(taps, time, turned)
        for p in populations:
            if p.size == 0:
                continue
            if time > 0:
                if not p.of_inputs:
                    take_in(p, taps, decay, recursive, time, D + t - 1, active)
                elif recursive:
                    _recur(taps, decay, p.impulse[(time - 1) % len(p.impulse)], p.filtered)
                if recursive:
                    recursive_products(p, taps, decay, time, t, whole, counts)
                else:
                    finite_products(p, taps, time, t, begin, whole, counts, turned)
            drive(p, taps, recursive, time, t, potentials)

        # What was learned since then: eta sum_s a_s (R_s . R_t), the bias with a trace of 1.
        if begin < t:
            start, end = np.uint64(begin * K), np.uint64(columns)
            for c in range(gram.shape[0]):
                for k in range(K):
                    for m in range(start, end):
                        gram[c, k, m] = one
                for p in populations:
                    if p.size and p.feeds[c]:
                        _add_products(p, t, begin, gram[c])
            for g in range(segment.shape[0]):
                row_first, row_last, c = segment[g, 0], segment[g, 1], segment[g, 2]
                if has_local and row_last <= n_hidden:
                    _learned_locally(
                        eta, gram[c], begin, t, row_first, row_last, fading, signal, post, accumulated, potentials
                    )
                else:
                    factor = visible_factor if row_first >= n_hidden else hidden_factor
                    for k in range(K):
                        for m in range(start, end):
                            scaled[k, m] = eta * factor[m] * gram[c, k, m]
                    _learned(post, scaled, begin * K, columns, row_first, row_last, potentials)

        # Self-memory, and the synapse to itself that the scalar products contain and the graph does not.
        for k in range(K):
            for basis in range(somatic_trace.shape[1]):
                for i in range(n):
                    potentials[k, i] += somatic[basis, i] * somatic_trace[k, basis, i]
            for basis in range(n_basis):
                for i in range(n):
                    potentials[k, i] -= virtual[basis, i] * own_trace[k, basis, i]

        for k in range(K):
            _fire(
                potentials[k], uniforms[step, k], targets[step], clamped, w.circuits, shares, spikes[step, k],
                log_probability[k],
            )  # fmt: skip
            for i in range(n):
                fired[i, k] = spikes[step, k, i]
                probabilities[i, k] = shares[i]

        weigh(kappa, clamped, log_probability, all_likelihoods[step], log_weights, importance)
        all_log_weights[step], all_importance[step] = log_weights, importance

        # Post factors and learning signals.
        if clamped:
            post_factor(fired[:n_hidden], probabilities[:n_hidden], factors[:n_hidden])
            for i in range(n_hidden, n):
                for k in range(K):
                    factors[i, k] = (1.0 if fired[i, k] else 0.0) - probabilities[i, k]
                    errors[k, i - n_hidden] = factors[i, k]
            broadcast(settings, log_weights, importance, w.processor_memory, visible_signal, hidden_signal)
            if has_local:
                for x in range(n_visible):
                    for h in range(n_hidden):
                        reached[h, x] = reach[x, h]
                local(settings, hidden_signal, errors, reached, fired[:n_hidden], w.neuron_memory, signal)
            for k in range(K):
                for i in range(n):
                    post[columns + k, i] = factors[i, k]
        else:
            visible_signal[:] = 0.0
            hidden_signal[:] = 0.0
            post[columns : columns + K] = zero
            if has_local:
                signal[:] = zero
            if begin == t:
                place[1] = t + 1  # nothing in the window to learn from yet

        # The sums over r of gamma^(r - s) signal_r.
        for s in range(t):
            fading[s] *= gamma
        fading[t] = one
        for k in range(K):
            visible_factor[columns + k] = zero
            hidden_factor[columns + k] = zero
            if has_local:
                accumulated[columns + k] = zero
        if clamped:
            for k in range(K):
                to_visible, to_hidden = dtype.type(visible_signal[k]), dtype.type(hidden_signal[k])
                for s in range(begin, t + 1):
                    visible_factor[s * K + k] += fading[s] * to_visible
                    hidden_factor[s * K + k] += fading[s] * to_hidden

        # What is learned directly: self-memory, the synapse that is not there, the reach of hidden neurons.
        for k in range(K):
            for i in range(n_hidden):
                rates[i] = eta * (signal[i, k] if has_local else dtype.type(hidden_signal[k]))
            for i in range(n_hidden, n):
                rates[i] = eta * dtype.type(visible_signal[k])
            row = post[columns + k]
            for basis in range(somatic.shape[0]):
                trace, eligibility = somatic_trace[k, basis], w.somatic_eligibility[k, basis]
                _learn_directly(gamma, row, trace, rates, w.has_memory, eligibility, somatic[basis])
            for basis in range(n_basis):
                trace, eligibility = own_trace[k, basis], w.virtual_eligibility[k, basis]
                _learn_directly(gamma, row, trace, rates, w.own_source, eligibility, virtual[basis])
            if has_local:
                _learn_reach(
                    gamma, row[n_hidden:], own_trace[k], rates[n_hidden:], w.reaches, w.reach_eligibility[k], reach
                )

        # Remember the spikes: in the traces that the next step sees, and as bits.
        _remember(fired, w.history, w.history_bits)
        for k in range(K):
            for basis in range(somatic_trace.shape[1]):
                _look_up(w.history, k, w.somatic_table, basis, somatic_trace[k, basis])
            for basis in range(n_basis):
                trace, row = own_trace[k, basis], spikes[step, k]
                if recursive:
                    fade, tap = decay[basis], taps[basis, 0]
                    for i in range(n):
                        trace[i] = fade * trace[i] + (tap if row[i] else zero)
                else:
                    _look_up(w.history, k, w.synaptic_table, basis, trace)
        for p in populations:
            for k in range(0 if p.of_inputs or not p.size else 1 if p.shared else K):
                column = D + t if p.shared else (D + t) * K + k
                pack(spikes[step, k, p.first : p.first + p.size], p.bits, column)
        clock[0] = time + 1
        place[0] = t + 1


@jit(fastmath=FASTMATH)
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


@jit(fastmath=FASTMATH)
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


@jit(fastmath=FASTMATH)
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
) -> None:
    """The same where each neuron has a signal of its own: first bring a up to date with the last step's signal."""
    K, start, end_row = potentials.shape[0], np.uint64(first), np.uint64(last)
    for other in range(K):
        own = signal[:, other].copy()
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


@jit(fastmath=FASTMATH, error_model="numpy")
def _fire(
    potential: Any,
    uniforms: Any,
    targets: Any,
    clamped: bool,
    circuits: Any,
    shares: Any,
    spikes: Any,
    log_probability: Any,
) -> None:
    """Probabilities (n,), spikes (n,) and the log-probability of the visible ones (n_visible,) of one compartment."""
    n, n_visible = potential.shape[0], targets.shape[0]
    n_hidden = n - n_visible
    sigmoids(potential, shares)
    for i in range(n_hidden if clamped else n):
        spikes[i] = uniforms[i] < shares[i]
    for i in range(n_hidden, n):
        if clamped:
            spikes[i] = targets[i - n_hidden] != 0
        u = np.float64(potential[i])
        log_probability[i - n_hidden] = log_sigmoid(u if spikes[i] else -u)
    for c in range(len(circuits.silent)):
        members = circuits.member[circuits.start[c] : circuits.start[c + 1]]
        is_visible = members[0] >= n_hidden
        log_total = compete(potential, members, circuits.silent[c], shares)
        if is_visible and clamped:
            chosen = -1
            for i in members:
                if targets[i - n_hidden] != 0:
                    chosen = i
        else:
            chosen = winner(shares, members, circuits.silent[c], uniforms[members[0]])
        for i in members:
            spikes[i] = i == chosen
            if is_visible:
                log_probability[i - n_hidden] = 0.0
        if is_visible:
            of_spike = np.float64(potential[chosen]) if chosen >= 0 else 0.0
            log_probability[circuits.column[c]] = of_spike - log_total


@jit(fastmath=FASTMATH)
def _learn_directly(gamma: Any, post: Any, trace: Any, rate: Any, learns: Any, eligibility: Any, weight: Any) -> None:
    """eligibility <- gamma eligibility + post trace; weight <- weight + rate eligibility, of neurons that learn."""
    for i in range(post.shape[0]):
        e = gamma * eligibility[i] + post[i] * trace[i]
        eligibility[i] = e
        weight[i] += rate[i] * e * learns[i]


@jit(fastmath=FASTMATH)
def _learn_reach(gamma: Any, post: Any, traces: Any, rate: Any, reaches: Any, eligibility: Any, reach: Any) -> None:
    """The same for the sums over bases of the weights from hidden to visible neurons, (n_visible, n_hidden)."""
    n_visible, n_hidden = reach.shape
    total = np.zeros(n_hidden, dtype=reach.dtype)  # the traces, summed over the bases
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


@jit()
def _remember(fired: Any, histories: Any, bits: int) -> None:
    """Shift the spikes (n, K) into the histories (n, K, words)."""
    full_word = (1 << bits) - 1
    n, K, words = histories.shape
    for i in range(n):
        for k in range(K):
            bit = np.int64(fired[i, k])
            for word in range(words):
                longer = (np.int64(histories[i, k, word]) << 1) | bit
                histories[i, k, word] = longer & full_word
                bit = longer >> bits


@jit()
def _look_up(histories: Any, k: int, table: Any, basis: int, trace: Any) -> None:
    """Traces (n,) of compartment k, by the table of ``tables.py``."""
    for i in range(trace.shape[0]):
        total = table[0, histories[i, k, 0], basis]
        for word in range(1, table.shape[0]):
            total += table[word, histories[i, k, word], basis]
        trace[i] = total


# ---- 5. writing back -------------------------------------------------------------------------------------------------


@jit(fastmath=FASTMATH)
def changes(w: Window, n_hidden: int, a: Any) -> None:
    """Write eta a of all steps of the window to (M * K, n_neurons); the factors begin anew."""
    post, accumulated, signal, fading = w.post, w.accumulated, w.signal, w.fading
    visible_factor, hidden_factor, has_local, eta = w.visible_factor, w.hidden_factor, w.has_local, w.learning_rate
    n, K = w.fired.shape
    zero = w.taps.dtype.type(0)
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
            visible_factor[m] = zero
            hidden_factor[m] = zero
    signal[:] = zero


@jit(fastmath=FASTMATH)
def write_back(
    p: Population, taps: Any, decay: Any, recursive: bool, t: int, begin: int, a: Any, segment: Any, active: Any
) -> None:
    """weights += sum_s a_s (R_s - mean), from a (M * K_p, n_neurons) of the population's own compartments.

    Spike by spike; what the mean makes of it is one product of two vectors.
    """
    n_basis, D = taps.shape
    K, n = p.impulse.shape[1], a.shape[1]
    first, last = begin, D + t - 1  # positions of the spikes that traces of the window contain
    change = np.zeros((max(last - first, 1), n_basis * n), dtype=taps.dtype)
    feeds_all, weights = p.feeds.all(), p.weights
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
                    _add_rows(weights, j, change, when, start[j], start[j + 1], 0, n_basis * n)
                    continue
                for g in range(segment.shape[0]):
                    if p.feeds[segment[g, 2]]:
                        for basis in range(n_basis):
                            left, right = basis * n + segment[g, 0], basis * n + segment[g, 1]
                            _add_rows(weights, j, change, when, start[j], start[j + 1], left, right)
    if p.mean.shape[0]:
        _take_off_mean(p, t, begin, a, segment)
    if not p.of_inputs:
        for j in range(p.size):
            for basis in range(n_basis):
                p.weights[j, basis * n + p.first + j] = 0


@jit(fastmath=FASTMATH)
def _take_off_mean(p: Population, t: int, begin: int, a: Any, segment: Any) -> None:
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
    for j in range(p.size):
        for basis in range(mean.shape[1]):
            if mean[j, basis] != 0:
                row = weights[j, basis * n : (basis + 1) * n]
                for i in range(n):
                    row[i] -= mean[j, basis] * total[i]


@jit(fastmath=FASTMATH)
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
    """What the filters hold, with the weights as they are now; the newest spikes of neurons are not yet taken in."""
    D = taps.shape[1]
    if recursive:
        p.filtered[:] = 0
    for back in range(min(D, time), 1, -1):
        take_in(p, taps, decay, recursive, time - back + 1, D + t - back, active)
    if p.of_inputs and time > 0:  # the newest inputs were taken in ahead, but for the recursion
        take_in(p, taps, decay, False, time, D + t - 1, active)
