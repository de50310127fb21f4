r"""The direct form of the learning kernel: a block of time steps, all compartments, compiled.

Sources are of two kinds. *Shared* sources (exogenous inputs, the bias, visible neurons while they are clamped) spike
alike in every compartment. With R_s their traces at step s, e_s^k a neuron's post factor (GEM: spike - sigmoid(u)) and
signal_{k,r} its learning signal (GEM: the importance weight), the drive of step t through weights that change at every
step is

    W_t . R_t = W_0 . R_t + eta sum_{s<t} (R_s . R_t) a_{s,t},
    a_{s,t+1} = a_{s,t} + gamma^(t-s) sum_k signal_{k,t} e_s^k,

so the caller passes ``drive`` = W_0 . R_t and ``gram`` = R_s . R_t (two matrix products), and gets ``accumulated`` = a
back to write the weights once. Steps from before the block reach into it through ``carry``, which is their part of
the eligibility times R_t; it decays like all eligibility and is weighed by sum_{r<t} gamma^r signal_{k,r}.

*Private* sources (hidden neurons, and visible ones when they run freely) spike differently in each compartment: their
synapses keep an eligibility a compartment. For each neuron, one pass applies the update of step t - 1 and computes the
drive of step t.

What the factors are, the rule's functions say (``post``, ``broadcast``, ``local``; see ``rules/rule.py``).

A team of threads runs the kernel, each on its own rows (neurons), with one barrier a step. What a row computes does
not depend on the rows beside it, so the result is the same to the bit for any number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gemsnn.engine.barrier import wait_for_all
from gemsnn.engine.firing import compete, log_sigmoid, sigmoids, weigh, winner
from gemsnn.engine.jit import FASTMATH, REORDERED, jit


class Block(NamedTuple):
    """Everything that the kernel reads and writes; L steps, f is float32 or float64."""

    # the rule and the network
    learning_rate: Any  # f
    gamma: Any  # f
    kappa: float
    settings: Any  # the rule's own numbers
    has_local: bool  # whether hidden neurons make signals of their own
    circuits: Any  # CircuitTable
    history_bits: int  # of a word
    synaptic_table: Any  # (words, 2 ** bits, n_basis) f: a word of spike history -> its part of the trace
    somatic_table: Any  # (words, 2 ** bits, n_basis) f
    filters_agree: bool  # the two filters are the same, so that one trace serves both
    private_index: Any  # (n_neurons,): the neuron's place among the private sources, or -1
    absent_start: Any  # (n_neurons + 1,): row i has no synapse at private columns
    absent_column: Any  # absent_column[absent_start[i] : absent_start[i + 1]]
    has_memory: Any  # (n_neurons,) bool: self-memory
    group: Any  # (n_neurons,): which Gram matrix is the neuron's (neurons with the same shared sources have the same)
    # the steps
    drive: Any  # (L, n_neurons) f, bias included
    gram: Any  # (n_groups, L, L) f, bias included
    carry: Any  # (n_neurons, K, L) f, or (n_neurons, K, 0) at the start of an example
    uniforms: Any  # (L, K, n_hidden or n_neurons)
    targets: Any  # (L, n_visible) uint8
    clamped: Any  # (L,) bool: learn from the target, or run freely
    # what goes on from step to step
    synaptic: Any  # (n_neurons, P) f: weights of the private sources, P = n_private * n_basis
    eligibility: Any  # (n_neurons, K, P) f
    somatic: Any  # (n_neurons, n_basis) f
    somatic_eligibility: Any  # (n_neurons, K, n_basis) f
    history: Any  # (n_neurons, K, words) uint16: past spikes, bit 0 of word 0 is the most recent
    traces: Any  # (3, K, P) f: of private sources; slot t % 3 is step t's
    somatic_traces: Any  # (n_neurons, K, n_basis) f: of the last step fired
    log_weights: Any  # (K,)
    processor_memory: Any  # (n_threads, m): the rule's; all rows alike
    neuron_memory: Any  # (n_hidden, m): the rule's
    # what the steps produce
    post: Any  # (n_neurons, K, L) f: post factors
    accumulated: Any  # (n_neurons, L) f
    reach: Any  # (2, n_hidden, n_visible) f: weights from hidden to visible, summed over bases; slot t % 2 is step t's
    potentials: Any  # (K, n_neurons): of this step
    fired: Any  # (2, n_neurons, K) bool: spikes; slot t % 2 is step t's, since a faster thread may be a step ahead
    probabilities: Any  # (2, n_neurons, K): of a spike; slots as above
    signal: Any  # (L, n_neurons, K) f: learning signals; 0 where running freely
    carry_weights: Any  # (n_neurons, K) f: sum over the steps r so far of gamma^r signal_r
    spikes: Any  # (L, K, n_neurons) bool
    visible_log_probability: Any  # (L, K, n_visible): of a circuit, at its first neuron
    log_likelihood: Any  # (L, K)
    log_weights_out: Any  # (L, K)
    importance: Any  # (L, K)


@jit(fastmath=FASTMATH, error_model="numpy")
def advance(
    b: Block,
    post_factor: Any,
    broadcast: Any,
    local: Any,
    first: int,
    last: int,
    settle: bool,
    thread: int,
    n_threads: int,
    counter: Any,
) -> None:
    """Run steps ``first`` to ``last`` - 1 of the block; with ``settle``, also apply the last step's update."""
    # Local names, so that the loops below touch plain arrays.
    synaptic, eligibility, traces, post, signals = b.synaptic, b.eligibility, b.traces, b.post, b.signal
    somatic, somatic_eligibility, somatic_traces = b.somatic, b.somatic_eligibility, b.somatic_traces
    history, gram, carry, accumulated, drive = b.history, b.gram, b.carry, b.accumulated, b.drive
    synaptic_table, somatic_table, uniforms = b.synaptic_table, b.somatic_table, b.uniforms
    targets, clamped, visible_log_probability = b.targets, b.clamped, b.visible_log_probability
    circuits, potentials = b.circuits, b.potentials
    absent_start, absent_column, private_index = b.absent_start, b.absent_column, b.private_index
    group, has_memory, filters_agree = b.group, b.has_memory, b.filters_agree
    reach, carry_weights = b.reach, b.carry_weights
    eta, gamma, kappa = b.learning_rate, b.gamma, b.kappa
    n_neurons, K, P = eligibility.shape
    L = drive.shape[0]
    n_visible = targets.shape[1]
    n_hidden = n_neurons - n_visible
    n_basis, n_basis_somatic = synaptic_table.shape[2], somatic.shape[1]
    n_circuits, history_bits = len(circuits.silent), b.history_bits
    K2, K4 = K // 2 * 2, K // 4 * 4
    zero, one = gram.dtype.type(0), gram.dtype.type(1)

    row_first, row_last = n_neurons * thread // n_threads, n_neurons * (thread + 1) // n_threads
    log_weights = b.log_weights.copy()
    likelihood, importance = np.empty(K), np.empty(K)
    visible_signal, hidden_signal = np.empty(K), np.empty(K)
    memory = b.processor_memory[thread]
    shares, errors = np.empty(n_neurons), np.empty((K, n_visible), dtype=gram.dtype)
    factors = np.zeros((row_last - row_first, K))
    n_own_hidden = max(0, min(row_last, n_hidden) - row_first)
    gamma_power = one  # gamma^t at step t
    for _ in range(first):
        gamma_power *= gamma
    fading = np.empty(L, dtype=gram.dtype)  # gamma^(L - 1 - s)
    fading[L - 1] = one
    for s in range(L - 2, -1, -1):
        fading[s] = gamma * fading[s + 1]
    mixed = np.empty(L, dtype=gram.dtype)
    u, own_probability = np.empty(K, dtype=gram.dtype), np.empty(K)

    for t in range(first, last + (1 if settle else 0)):
        now, before, after = t % 3, (t + 2) % 3, (t + 1) % 3
        fired, probabilities = b.fired[t % 2], b.probabilities[t % 2]
        for i in range(row_first, row_last):
            if t > 0:
                signal = signals[t - 1, i]
                # Update of step t - 1, private synapses: eligibility <- gamma eligibility + post trace,
                # weights <- weights + eta sum_k signal_k eligibility_k. Two compartments a pass.
                for k in range(0, K2, 2):
                    post0, post1 = post[i, k, t - 1], post[i, k + 1, t - 1]
                    rate0, rate1 = eta * signal[k], eta * signal[k + 1]
                    for c in range(P):
                        e0 = gamma * eligibility[i, k, c] + post0 * traces[before, k, c]
                        e1 = gamma * eligibility[i, k + 1, c] + post1 * traces[before, k + 1, c]
                        eligibility[i, k, c] = e0
                        eligibility[i, k + 1, c] = e1
                        synaptic[i, c] += rate0 * e0 + rate1 * e1
                for k in range(K2, K):
                    post0, rate0 = post[i, k, t - 1], eta * signal[k]
                    for c in range(P):
                        e0 = gamma * eligibility[i, k, c] + post0 * traces[before, k, c]
                        eligibility[i, k, c] = e0
                        synaptic[i, c] += rate0 * e0
                for c in range(absent_start[i], absent_start[i + 1]):
                    synaptic[i, absent_column[c]] = zero
                # Self-memory.
                for k in range(K):
                    for c in range(n_basis_somatic):
                        e0 = gamma * somatic_eligibility[i, k, c] + post[i, k, t - 1] * somatic_traces[i, k, c]
                        somatic_eligibility[i, k, c] = e0
                        if has_memory[i]:
                            somatic[i, c] += eta * signal[k] * e0
                # Shared synapses: a_{s,t} = a_{s,t-1} + gamma^(t-1-s) sum_k signal_{k,t-1} e_s^k.
                for s in range(t):
                    mixed[s] = zero
                for k in range(0, K2, 2):
                    signal0, signal1 = signal[k], signal[k + 1]
                    for s in range(t):
                        mixed[s] += signal0 * post[i, k, s] + signal1 * post[i, k + 1, s]
                for k in range(K2, K):
                    for s in range(t):
                        mixed[s] += signal[k] * post[i, k, s]
                for s in range(t):
                    accumulated[i, s] += fading[L - t + s] * mixed[s]
            if t == last:
                continue

            # Potential: shared drive ...
            shared = zero
            if t > 0:
                shared = dot(gram[group[i], t, :t], accumulated[i, :t])
                if carry.shape[2]:
                    for k in range(K):
                        shared += carry_weights[i, k] * carry[i, k, t]
            shared = drive[t, i] + eta * shared
            # ... private drive, four compartments a pass ...
            for k in range(0, K4, 4):
                u[k], u[k + 1], u[k + 2], u[k + 3] = _four_drives(synaptic, i, traces, now, k)
            for k in range(K4, K):
                u[k] = _drive(synaptic, i, traces, now, k)
            source = private_index[i]
            for k in range(K):
                # ... and self-memory.
                own = zero
                for c in range(n_basis_somatic):
                    if filters_agree and source >= 0:
                        trace = traces[now, k, source * n_basis + c]
                    else:
                        trace = zero
                        for word in range(somatic_table.shape[0]):
                            trace += somatic_table[word, history[i, k, word], c]
                    somatic_traces[i, k, c] = trace
                    own += somatic[i, c] * trace
                u[k] += shared + own
            if circuits.alone[i]:
                sigmoids(u, own_probability)
                for k in range(K):
                    if i >= n_hidden and clamped[t]:
                        spike = targets[t, i - n_hidden] != 0
                    else:
                        spike = uniforms[t, k, i] < own_probability[k]
                    if i >= n_hidden:
                        agreement = np.float64(u[k] if spike else -u[k])
                        visible_log_probability[t, k, i - n_hidden] = log_sigmoid(agreement)
                    fired[i, k], probabilities[i, k] = spike, own_probability[k]
                    _remember(spike, i, k, history, history_bits, synaptic_table, traces, after, source)
            else:
                for k in range(K):
                    potentials[k, i] = u[k]
            if b.has_local and i >= n_hidden:
                for h in range(n_hidden):
                    total_weight = zero
                    for c in range(h * n_basis, (h + 1) * n_basis):
                        total_weight += synaptic[i, c]
                    reach[t % 2, h, i - n_hidden] = total_weight
        if t == last:
            break
        if n_circuits:
            # Winner-take-all circuits need the potentials of all their neurons; each is one thread's.
            if n_threads > 1:
                wait_for_all(counter, n_threads * (2 * (t - first) + 1))
            for c in range(thread, n_circuits, n_threads):
                members = circuits.member[circuits.start[c] : circuits.start[c + 1]]
                is_visible = members[0] >= n_hidden
                for k in range(K):
                    log_total = compete(potentials[k], members, circuits.silent[c], shares)
                    if is_visible and clamped[t]:
                        chosen = -1
                        for i in members:
                            if targets[t, i - n_hidden] != 0:
                                chosen = i
                    else:
                        chosen = winner(shares, members, circuits.silent[c], uniforms[t, k, members[0]])
                    if is_visible:
                        of_spike = potentials[k, chosen] if chosen >= 0 else 0.0
                        visible_log_probability[t, k, circuits.column[c]] = of_spike - log_total
                    for i in members:
                        spike = i == chosen
                        fired[i, k], probabilities[i, k] = spike, shares[i]
                        _remember(spike, i, k, history, history_bits, synaptic_table, traces, after, private_index[i])
        if n_threads > 1:
            wait_for_all(counter, n_threads * ((2 if n_circuits else 1) * (t - first + 1)))

        # The central processor. Every thread computes the same numbers; thread 0 writes them down.
        weigh(kappa, clamped[t], visible_log_probability[t], likelihood, log_weights, importance)
        if thread == 0:
            b.log_likelihood[t], b.log_weights_out[t], b.importance[t] = likelihood, log_weights, importance
        # Post factors and learning signals, each thread for its own neurons.
        for i in range(row_first, row_last):
            for k in range(K):
                b.spikes[t, k, i] = fired[i, k]
        if clamped[t]:
            hidden_rows = slice(row_first, row_first + n_own_hidden)
            post_factor(fired[hidden_rows], probabilities[hidden_rows], factors[:n_own_hidden])
            for i in range(row_first + n_own_hidden, row_last):
                for k in range(K):
                    factors[i - row_first, k] = (1.0 if fired[i, k] else 0.0) - probabilities[i, k]
            broadcast(b.settings, log_weights, importance, memory, visible_signal, hidden_signal)
            for i in range(row_first, row_last):
                for k in range(K):
                    post[i, k, t] = factors[i - row_first, k]
                    signals[t, i, k] = visible_signal[k] if i >= n_hidden else hidden_signal[k]
            if b.has_local and n_own_hidden > 0:
                for x in range(n_visible):
                    for k in range(K):
                        errors[k, x] = (1.0 if fired[n_hidden + x, k] else 0.0) - probabilities[n_hidden + x, k]
                local(
                    b.settings, hidden_signal, errors, reach[t % 2, hidden_rows], fired[hidden_rows],
                    b.neuron_memory[hidden_rows], signals[t, hidden_rows],
                )  # fmt: skip
            for i in range(row_first, row_last):
                for k in range(K):
                    carry_weights[i, k] += gamma_power * signals[t, i, k]
        gamma_power *= gamma
    if thread == 0 and last > first:
        for k in range(K):
            b.log_weights[k] = log_weights[k]


@jit(fastmath=FASTMATH, error_model="numpy")
def _remember(
    spike: bool, i: int, k: int, history: Any, bits: int, table: Any, traces: Any, after: int, source: int
) -> None:
    """Shift a spike or its absence into neuron i's history; its traces, in slot ``after``, are the next step's."""
    bit, full_word = np.int64(spike), (1 << bits) - 1
    for word in range(history.shape[2]):
        longer = (np.int64(history[i, k, word]) << 1) | bit
        history[i, k, word] = longer & full_word
        bit = longer >> bits
    if source >= 0:
        n_basis = table.shape[2]
        for c in range(n_basis):
            trace = table[0, history[i, k, 0], c]
            for word in range(1, table.shape[0]):
                trace += table[word, history[i, k, word], c]
            traces[after, k, source * n_basis + c] = trace


@jit(fastmath=REORDERED)
def dot(a: Any, b: Any) -> Any:
    """Of two (n,) arrays."""
    total = a.dtype.type(0)
    for c in range(a.shape[0]):
        total += a[c] * b[c]
    return total


# Whole arrays and places in them: making a view for each of so many products would take longer than the product.


@jit(fastmath=REORDERED)
def _drive(synaptic: Any, i: int, traces: Any, slot: int, k: int) -> Any:
    """Neuron i's weights times the traces of compartment k."""
    total = synaptic.dtype.type(0)
    for c in range(synaptic.shape[1]):
        total += synaptic[i, c] * traces[slot, k, c]
    return total


@jit(fastmath=REORDERED)
def _four_drives(synaptic: Any, i: int, traces: Any, slot: int, k: int) -> Any:
    """The same of four compartments, in one pass."""
    t0 = t1 = t2 = t3 = synaptic.dtype.type(0)
    for c in range(synaptic.shape[1]):
        w = synaptic[i, c]
        t0 += w * traces[slot, k, c]
        t1 += w * traces[slot, k + 1, c]
        t2 += w * traces[slot, k + 2, c]
        t3 += w * traces[slot, k + 3, c]
    return t0, t1, t2, t3


@jit()
def filter_spikes(spikes: Any, taps: Any, skip: int) -> Any:
    """Traces (T - skip, n * n_basis + 1) of the spikes (T, n): row t sees the spikes before row t + skip.

    The last column is 1, the trace of the bias. Works from spike to trace, so silence costs nothing.
    """
    T, n = spikes.shape
    n_basis, duration = taps.shape
    traces = np.zeros((T - skip, n * n_basis + 1), dtype=taps.dtype)
    traces[:, n * n_basis] = 1
    for t in range(T):
        for j in range(n):
            if spikes[t, j]:
                for lag in range(max(1, skip - t), min(duration, T - 1 - t) + 1):
                    for basis in range(n_basis):
                        traces[t + lag - skip, j * n_basis + basis] += taps[basis, lag - 1]
    return traces
