r"""The event form of the learning kernel: cost follows spikes. Exact, without eligibility or traces of synapses.

Every rule has the form weights += eta sum_k signal_{i,k,t} <post_{i,k} pre_{j,k}>_gamma. Unrolled over a window of
steps, with W_0 the weights when they were last written, R_t^k the traces of a population of sources, and post the
factors of the rule, the drive of neuron i at step t through weights that change at every step is

    W_t . R_t^k = W_0 . R_t^k + eta sum_{k'} sum_{s<t} a_{i,s,t}^{k'} (R_s^{k'} . R_t^k),
    a_{i,s,t}^k = post_{i,s}^k sum_{r=s}^{t-1} gamma^(r-s) signal_{i,k,r}.

What is needed, follows from spikes; the five points below are functions of this file, in this order:

1. Drive (``rows.gather``, ``drive``). W_0 . R_t is a short filter over q_t, the sum of weight rows of the sources that
   spiked at t: one row is added for each spike. For exponentials it is a recursion, whatever their duration.
2. Scalar products (``count_pairs``, ``finite_products``, ``recursive_products``). R_s . R_t is two short filters over
   the number of sources that spiked both at s and at t, which is a population count of bit-packed spikes; or two
   recursions.
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
from gemsnn.engine.recursion import Bank, Recursion
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
    recent: Any  # (D + 1, D + 1, K_p * K_p) f: sources that spike at both of two recent steps; slots time % (D + 1)
    half: Any  # (D, K_p, n_basis, M * K_p) f: R_s . x_t for the last D steps t; slot time % D
    products: Any  # (K_p, M * K_p) f: R_s . R_t at the present step t
    # by the recursion of exponentials; impulse is then what comes in less what leaves
    filtered: Any  # (K_p, n_basis, n_neurons) f: W_0 . R_t
    by_basis: Any  # (K_p, n_basis, M * K_p) f: R_s . R_t
    squares: Any  # (n_basis, K_p, K_p) f: R_t . R_t
    first_traces: Any  # (K_p, n_sources, n_basis) f: R_s of the window's first step
    # taken off the traces while learning
    mean: Any  # (n_sources, n_basis) f; (0, n_basis) where nothing is
    mean_impulse: Any  # (as impulse, n_basis) f
    mean_filtered: Any  # (n_basis,) f: by the recursion
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
    synapses: Any  # Bank
    soma: Any  # Bank
    synaptic_table: Any  # (words, 2 ** bits, n_basis) f, for filters that are no recursions
    somatic_table: Any
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
    past: Any  # (memory, K, n_neurons) bool: spikes of the last steps; slot time % memory
    history: Any  # (n_neurons, K, words) uint16: the same, for the tables; no words where both filters are recursions
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
    left_counts: Any  # the same
    left: Any  # (n_basis * n_neurons,) f
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
def drive(p: Population, synapses: Bank, time: int, t: int, potentials: Any) -> None:
    """Add W_0 . R_t to the potentials (K, n_neurons)."""
    filtered, impulse, taps, shared = p.filtered, p.impulse, synapses.taps, p.shared
    n_basis, n = impulse.shape[2:]
    D = taps.shape[1]
    for k in range(potentials.shape[0]):
        own = 0 if shared else k
        if synapses.recursive:
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
        if synapses.recursive:
            for basis in range(n_basis):
                total += p.mean_filtered[basis]
        else:
            for lag in range(1, min(D, time) + 1):
                for basis in range(n_basis):
                    total += taps[basis, lag - 1] * mean_impulse[(time - lag) % mean_impulse.shape[0], basis]
        p.mean_trace[t] = total


@jit(fastmath=FASTMATH)
def take_in(p: Population, synapses: Bank, time: int, position: int, active: Any, left: Any) -> None:
    """The spikes of the step before ``time``, of all compartments: their rows, as what the filters are driven by."""
    weights, bits, impulse, past = p.weights, p.bits, p.impulse, synapses.taps.shape[1]
    K, n_basis, n = impulse.shape[1:]
    slot = (time - 1) % impulse.shape[0]
    for k in range(K):
        total = impulse[slot, k].reshape(-1)
        n_active = list_active(bits, position * K + k, active)
        gather(weights, active, n_active, total)
        if synapses.recursive:
            n_active = list_active(bits, (position - past) * K + k, active)
            gather(weights, active, n_active, left)
            _less_what_leaves(synapses.recursion, n, total, left)
    if p.mean.shape[0]:
        total = p.mean_impulse[(time - 1) % p.mean_impulse.shape[0]]
        _gather_mean(p.mean, active, list_active(bits, position, active), total)
        if synapses.recursive:
            _gather_mean(p.mean, active, list_active(bits, position - past, active), left[:n_basis])
            _less_what_leaves(synapses.recursion, 1, total, left)


@jit(fastmath=FASTMATH)
def _less_what_leaves(recursion: Recursion, n: int, total: Any, left: Any) -> None:
    """gain q - leaving q', of (n_basis * n,) for spikes that come in and spikes that leave the filters' memory."""
    for basis in range(len(recursion.gain)):
        gain, leaving = recursion.gain[basis], recursion.leaving[basis]
        for i in range(np.uint64(basis * n), np.uint64((basis + 1) * n)):
            total[i] = gain * total[i] - leaving * left[i]


@jit(fastmath=FASTMATH)
def take_in_ahead(
    p: Population, synapses: Bank, inputs: Any, first: int, last: int, time: int, position: int, active: Any, left: Any
) -> None:
    """Inputs are known ahead: pack and gather those of the steps to come."""
    for step in range(first, last):
        ahead = step - first
        pack(inputs[step, p.first : p.first + p.size], p.bits, position + ahead)
        take_in(p, synapses, time + ahead + 1, position + ahead, active, left)


@jit(fastmath=FASTMATH)
def recur(p: Population, recursion: Recursion, time: int) -> None:
    """From W_0 . R_{time - 1} to W_0 . R_time: z <- decay z + gain q - leaving q'."""
    filtered, impulse = p.filtered, p.impulse[(time - 1) % len(p.impulse)]
    K, n_basis, n = filtered.shape
    for k in range(K):
        for basis in range(n_basis):
            decay = recursion.decay[basis]
            for i in range(n):
                filtered[k, basis, i] = decay * filtered[k, basis, i] + impulse[k, basis, i]
    if p.mean.shape[0]:
        mean_impulse = p.mean_impulse[(time - 1) % len(p.mean_impulse)]
        for basis in range(n_basis):
            p.mean_filtered[basis] = recursion.decay[basis] * p.mean_filtered[basis] + mean_impulse[basis]


@jit(fastmath=FASTMATH)
def traces_at(p: Population, taps: Any, t: int, active: Any, traces: Any) -> None:
    """The traces (K_p, n_sources, n_basis) of step t of the window."""
    n_basis, D = taps.shape
    K = traces.shape[0]
    traces[:] = 0
    for position in range(t, D + t):
        for k in range(K):
            for a in range(list_active(p.bits, position * K + k, active)):
                for basis in range(n_basis):
                    traces[k, active[a], basis] += taps[basis, D + t - 1 - position]


@jit(fastmath=FASTMATH)
def begin_drive(p: Population, taps: Any, t: int, active: Any) -> None:
    """W_0 . R_t and mean . R_t of exponentials, where weights or means are new; from then on they recur."""
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
def recursive_products(
    p: Population, synapses: Bank, time: int, t: int, whole: Any, counts: Any, left_counts: Any, active: Any
) -> None:
    """The same for exponentials, of all steps of the window: from the products with R_{t-1} to those with R_t.

    With x the spikes of step t - 1 and y those that leave, of step t - 1 - D,

        R_t = decay R_{t-1} + gain x - leaving y,      R_s . R_t = decay R_s . R_{t-1} + gain R_s . x - leaving R_s . y,

    where R_s . x and R_s . y follow from the counts by the same recursion over s, from the window's first step on.
    """
    taps, recursion = synapses.taps, synapses.recursion
    n_basis, D = taps.shape
    bits, products, by_basis, squares = p.bits, p.products, p.by_basis, p.squares
    K = products.shape[0]
    newest, leaves = D + t - 1, time > D  # the position of x; that of y is t - 1
    oldest = 0 if leaves else D + t - time  # before it there is nothing
    begins = np.zeros((2, n_basis, K), dtype=taps.dtype)  # R_s . x and R_s . y of the window's first step
    ends = np.zeros((2, n_basis, K, K), dtype=taps.dtype)  # and of step t - 1
    together = np.zeros((3, K, K), dtype=taps.dtype)  # x . x', y . x' and y . y'
    for k in range(K):
        for c in range(t * K):
            products[k, c] = 0
        count_pairs(bits, newest * K + k, oldest * K, (newest + 1) * K, whole, counts)
        _first_products(p, list_active(bits, newest * K + k, active), active, begins[0])
        if leaves:
            count_pairs(bits, (t - 1) * K + k, 0, (newest + 1) * K, whole, left_counts)
            _first_products(p, list_active(bits, (t - 1) * K + k, active), active, begins[1])
        for other in range(K):
            together[0, k, other] = counts[newest * K + other]
            if leaves:
                together[1, k, other] = left_counts[newest * K + other]
                together[2, k, other] = left_counts[(t - 1) * K + other]
        for basis in range(n_basis):
            for other in range(K):  # the newest column begins with R_{t-1} . R_{t-1}
                by_basis[k, basis, (t - 1) * K + other] = squares[basis, k, other]
            decay, gain, leaving = recursion.decay[basis], recursion.gain[basis], recursion.leaving[basis]
            _recur_products(
                decay, gain, leaving if leaves else taps.dtype.type(0), D, t, K, counts, left_counts,
                begins[0, basis], begins[1, basis], by_basis[k, basis], products[k],
            )  # fmt: skip
            ends[0, basis, k] = begins[0, basis]
            ends[1, basis, k] = begins[1, basis]
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


@jit(fastmath=FASTMATH)
def _first_products(p: Population, n_active: int, active: Any, begins: Any) -> None:
    """R_s . x of the window's first step, (n_basis, K_p), for the spikes x of the active sources."""
    first_traces = p.first_traces
    K, _, n_basis = first_traces.shape
    for basis in range(n_basis):
        for other in range(K):
            total = first_traces.dtype.type(0)
            for a in range(n_active):
                total += first_traces[other, active[a], basis]
            begins[basis, other] = total


@jit(fastmath=FASTMATH)
def _recur_products(
    decay: Any,
    gain: Any,
    leaving: Any,
    D: int,
    t: int,
    K: int,
    counts: Any,
    left_counts: Any,
    with_x: Any,
    with_y: Any,
    by_basis: Any,
    products: Any,
) -> None:
    """One basis, one compartment: with_x and with_y (K,) go from the window's first step to step t - 1."""
    if K == 1:
        x, y = with_x[0], with_y[0]
        for s in range(t - 1):
            product = decay * by_basis[s] + (gain * x - leaving * y)
            by_basis[s] = product
            products[s] += product
            x = decay * x + (gain * counts[D + s] - leaving * counts[s])
            if leaving != 0:
                y = decay * y + (gain * left_counts[D + s] - leaving * left_counts[s])
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
                    new, old = left_counts[now + other], left_counts[before + other]
                    with_y[other] = decay * with_y[other] + (gain * new - leaving * old)
    for other in range(K):
        c = (t - 1) * K + other
        by_basis[c] = decay * by_basis[c] + (gain * with_x[other] - leaving * with_y[other])
        products[c] += by_basis[c]


@jit(fastmath=FASTMATH)
def begin_recursive_products(p: Population, synapses: Bank, t: int, active: Any) -> None:
    """Make what :func:`recursive_products` keeps from step to step, for step t, from the spikes alone.

    A recursion takes off what it has put in, and what rounding makes of the difference stays. It fades as the filter
    does; where that is slowly, beginning anew with each window bounds it, whatever the length of a stream.
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
    synapses, soma, has_local = w.synapses, w.soma, w.has_local
    taps, recursive = synapses.taps, synapses.recursive
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
            take_in_ahead(p, synapses, inputs, first, last, clock[0], D + place[0], active, w.left)
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
            if time > 0 and not recursive:
                if not p.of_inputs:
                    take_in(p, synapses, time, D + t - 1, active, w.left)
                finite_products(p, taps, time, t, begin, whole, counts, turned)
            drive(p, synapses, time, t, potentials)

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
            _trace(soma, w.somatic_table, w.history, w.past, k, time, spikes[step, k], somatic_trace[k])
            _trace(synapses, w.synaptic_table, w.history, w.past, k, time, spikes[step, k], own_trace[k])
            w.past[time % len(w.past), k] = spikes[step, k]
        for p in populations:
            for k in range(0 if p.of_inputs or not p.size else 1 if p.shared else K):
                column = D + t if p.shared else (D + t) * K + k
                pack(spikes[step, k, p.first : p.first + p.size], p.bits, column)
            if recursive and p.size:
                if not p.of_inputs:
                    take_in(p, synapses, time + 1, D + t, active, w.left)
                recur(p, synapses.recursion, time + 1)
                recursive_products(p, synapses, time + 1, t + 1, whole, counts, w.left_counts, active)
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


@jit(fastmath=FASTMATH)
def _trace(bank: Bank, table: Any, histories: Any, past: Any, k: int, time: int, spikes: Any, trace: Any) -> None:
    """Traces (n_basis, n) of the neurons' own spikes for the next step: by recursion, or by the table of ``tables.py``.

    ``spikes`` (n,) are those of this step; ``past`` does not have them yet, the ``histories`` have.
    """
    n_basis, n = trace.shape
    if bank.recursive:
        left = past[(time - bank.taps.shape[1]) % len(past), k]
        for basis in range(n_basis):
            decay, gain = bank.recursion.decay[basis], bank.recursion.gain[basis]
            leaving = bank.recursion.leaving[basis]
            for i in range(n):
                trace[basis, i] = decay * trace[basis, i] + (gain * spikes[i] - leaving * left[i])
        return
    for basis in range(n_basis):
        _look_up(histories, k, table, basis, trace[basis])


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
            visible_factor[m] = zero
            hidden_factor[m] = zero
    signal[:] = zero


@jit(fastmath=FASTMATH)
def write_back(p: Population, synapses: Bank, t: int, begin: int, a: Any, segment: Any, active: Any) -> None:
    """weights += sum_s a_s (R_s - mean), from a (M * K_p, n_neurons) of the population's own compartments.

    Spike by spike; what the mean makes of it is one product of two vectors.
    """
    taps = synapses.taps
    n_basis, D = taps.shape
    K, n = p.impulse.shape[1], a.shape[1]
    first, last = begin, D + t - 1  # positions of the spikes that traces of the window contain
    change = np.zeros((max(last - first, 1), n_basis * n), dtype=taps.dtype)
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


@jit(fastmath=FASTMATH)
def take_in_again(p: Population, synapses: Bank, time: int, t: int, active: Any, left: Any) -> None:
    """What finite filters hold, with the weights as they are now; the newest spikes of neurons are not yet taken in."""
    D = synapses.taps.shape[1]
    newest = 1 if p.of_inputs else 2  # inputs were taken in ahead
    for back in range(min(D, time), newest - 1, -1):
        take_in(p, synapses, time - back + 1, D + t - back, active, left)
