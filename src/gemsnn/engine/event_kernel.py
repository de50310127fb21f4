r"""The event form of the learning kernel: cost follows spikes. Exact, without eligibility or traces of synapses.

Every rule has the form weights += eta sum_k signal_{i,k,t} <post_{i,k} pre_{j,k}>_gamma. Unrolled over a window of
steps, with W_0 the weights when they were last written, R_t^k the traces of a population of sources, and post the
factors of the rule, the drive of neuron i at step t through weights that change at every step is

    W_t . R_t^k = W_0 . R_t^k + eta sum_{k'} sum_{s<t} a_{i,s,t}^{k'} (R_s^{k'} . R_t^k),
    a_{i,s,t}^k = post_{i,s}^k sum_{r=s}^{t-1} gamma^(r-s) signal_{i,k,r}.

What is needed, follows from spikes, in five points; each is a file or a part of one:

1. Drive (``event_drive.py``). W_0 . R_t is a short filter over q_t, the sum of weight rows of the sources that spiked
   at t: one row is added for each spike. For exponentials it is a recursion, whatever their duration.
2. Scalar products (``event_products.py``). R_s . R_t is two short filters over the number of sources that spiked both
   at s and at t, which is a population count of bit-packed spikes; or two recursions.
3. Learning (``event_learning.py``: ``add_learned``, ``add_signals``). Where all hidden neurons share a signal, the sum
   over r is one number for each (s, k) and multiplies the scalar products; else a is brought up to date neuron by
   neuron.
4. A neuron has no synapse to itself, but its scalar products contain its own trace (``event_learning.py``:
   ``own_drive``, ``learn_own``): that synapse is learned virtually, directly, from 0, and its drive is taken off.
5. Writing back (``event_writing.py``): when the window is full, spike by spike, each with its filtered a.

This file goes through them step by step. A team of threads shares the work of a step: up to the spikes, each has its
own compartments; then, where the compartments' signals are added up, its own neurons. A barrier stands after each part.
What is computed for a compartment or a neuron does not depend on who does it, so that the result is the same to the bit
for any number of threads.

Sources that have the same targets form a population: the inputs, and clamped visible neurons, spike alike in all
compartments (K_p = 1); hidden neurons, and visible ones that may run freely, do not (K_p = K). Neurons with the same
sources form a segment of neighbouring rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.engine.barrier import wait_for_all
from gemsnn.engine.bits import pack
from gemsnn.engine.by_number import laid_out, member
from gemsnn.engine.direct_learning import advance_traces
from gemsnn.engine.event_drive import drive, recur, take_in
from gemsnn.engine.event_learning import add_learned, add_signals, learn_own, own_drive
from gemsnn.engine.event_products import finite_products, recursive_products, recursive_squares, turn, turn_pairs
from gemsnn.engine.event_window import Share, Steps, Window
from gemsnn.engine.firing import fire, weigh
from gemsnn.engine.jit import FASTMATH, kernel, part


@kernel(fastmath=FASTMATH, error_model="numpy")
def advance(
    w: Window,
    all_populations: Any,
    n_populations: int,
    steps: Steps,
    post_factor: Any,
    broadcast: Any,
    local: Any,
    first: int,
    last: int,
    share: Share,
    counter: Any,
) -> None:
    """Steps ``first`` to ``last`` - 1 of what is given; there is room for them in the window."""
    thread, n_threads, first_k, last_k = share.thread, share.n_threads, share.first_k, share.last_k
    synapses, bias, potentials, spikes = w.synapses, w.bias, w.potentials[thread], steps.spikes
    log_weights, importance, likelihood = w.log_weights[thread], w.importance[thread], w.likelihood[thread]
    active, left, of_neuron = w.active[thread], w.left[thread], w.of_neuron[thread]
    offsets, lag_factors, turned, sums = w.offsets[thread], w.lag_factors[thread], w.turned[thread], w.sums[thread]
    whole, counts, left_counts, starts = w.whole[thread], w.counts[thread], w.left_counts[thread], w.starts[thread]
    recursive, D = synapses.recursive, synapses.taps.shape[1]
    n, K = w.fired.shape
    populations = laid_out(all_populations)
    time, t, begin, barriers = w.time[0], w.place[0], w.place[1], 0

    # Inputs are known ahead: each thread packs, and takes in, those of its own steps.
    many = last - first
    ahead_first, ahead_last = many * thread // n_threads, many * (thread + 1) // n_threads
    for number in range(n_populations):
        p = member(populations, number)
        if p.of_inputs:
            for ahead in range(ahead_first, ahead_last):
                pack(steps.inputs[first + ahead, p.first : p.first + p.size], p.bits, D + t + ahead)
    own_drive(w, share)
    if n_threads > 1:
        barriers += 1
        wait_for_all(counter, n_threads * barriers)
    for number in range(n_populations):
        p = member(populations, number)
        if p.of_inputs:
            for ahead in range(ahead_first, ahead_last):
                take_in(p, synapses, time + ahead + 1, D + t + ahead, 0, 1, active, left)

    for step in range(first, last):
        clamped = steps.clamped[step]
        # 1. to 4.: the potentials, of this thread's compartments.
        for k in range(first_k, last_k):
            for i in range(bias.shape[0]):
                potentials[k, i] = bias[i] + w.own_drive[k, i]
        for number in range(n_populations):
            p = member(populations, number)
            drive(p, synapses, time, t, first_k, last_k, potentials, offsets, lag_factors, of_neuron)
        if begin < t:
            add_learned(w, populations, n_populations, t, begin, share)
        for k in range(first_k, last_k):
            fire(
                potentials[k], steps.uniforms[step, k], steps.targets[step], clamped, w.circuits, w.shares[k],
                spikes[step, k], w.log_probability[k],
            )  # fmt: skip
        _make_post_factors(w, spikes[step], t, clamped, post_factor, share)
        for number in range(n_populations):
            p = member(populations, number)
            if not p.of_inputs:
                for k in range(first_k, min(last_k, 1) if p.shared else last_k):
                    column = D + t if p.shared else (D + t) * K + k
                    pack(spikes[step, k, p.first : p.first + p.size], p.bits, column)
        if n_threads > 1:
            barriers += 1
            wait_for_all(counter, n_threads * barriers)

        # The central processor. Every thread computes the same numbers; the first writes them down.
        weigh(w.kappa, clamped, w.log_probability, likelihood, log_weights, importance)
        if thread == 0:
            for k in range(K):
                steps.log_likelihood[step, k] = likelihood[k]
                steps.log_weights[step, k], steps.importance[step, k] = log_weights[k], importance[k]
        # What this thread's neurons learn.
        _make_signals(w, spikes[step], t, clamped, broadcast, local, share)
        add_signals(w, t, begin, clamped, share)
        learn_own(w, t, share)
        # Their own traces and, if a step follows, what these drive.
        own = share.first, share.last, offsets, lag_factors
        advance_traces(w.soma, w.past, time, spikes[step], w.somatic_trace[thread], *own)
        if not w.one_filter:
            advance_traces(synapses, w.past, time, spikes[step], w.own_trace[thread], *own)
        if step + 1 < last:
            own_drive(w, share)
        if begin == t and not clamped:
            begin = t + 1  # nothing in the window to learn from yet
        # 1. and 2. of the next step.
        if not recursive:
            turn(synapses.taps, time + 1, turned)
        for number in range(n_populations):
            p = member(populations, number)
            if p.shared and thread:  # one thread does what all compartments share
                continue
            p_first, p_last = (0, 1) if p.shared else (first_k, last_k)
            if not p.of_inputs:
                take_in(p, synapses, time + 1, D + t, p_first, p_last, active, left)
            if recursive:
                recur(p, synapses.recursion, time + 1, p_first, p_last)
                recursive_products(
                    p, synapses, time + 1, t + 1, p_first, p_last, whole, counts, left_counts, active, starts
                )
            else:
                finite_products(
                    p, synapses.taps, time + 1, t + 1, begin, p_first, p_last, whole, counts, turned, sums,
                    offsets, lag_factors,
                )  # fmt: skip
        if n_threads > 1:
            barriers += 1
            wait_for_all(counter, n_threads * barriers)

        # What no thread needs any more as it was.
        for k in range(first_k, last_k):
            past, row = w.past[time % len(w.past), k], spikes[step, k]
            for i in range(np.uint64(n)):
                past[i] = row[i]
        for number in range(n_populations):
            p = member(populations, number)
            if not (p.shared and thread):
                p_first, p_last = (0, 1) if p.shared else (first_k, last_k)
                if recursive:
                    recursive_squares(p, synapses.recursion, t + 1, p_first, p_last)
                elif n_threads > 1 and not p.shared:
                    turn_pairs(p, D, time + 1, p_first, p_last)
        time += 1
        t += 1
    if thread == 0:
        w.time[0], w.place[0], w.place[1] = time, t, begin


@part(fastmath=FASTMATH, error_model="numpy")
def _make_post_factors(w: Window, spikes: Any, t: int, clamped: bool, post_factor: Any, share: Share) -> None:
    """Post factors of step t, by the rule's function, of a thread's compartments; all 0 where it runs freely."""
    fired, shares, factors, post = w.fired_rows, w.shares, w.factors, w.post
    n, K = w.fired.shape
    n_hidden, first, last = w.signal.shape[0], share.first_k, share.last_k
    if clamped:
        for k in range(first, last):
            for i in range(n):
                fired[k, i] = spikes[k, i]
        post_factor(fired[first:last], shares[first:last], factors[first:last])
    for k in range(first, last):
        row = post[t * K + k]
        for i in range(n_hidden):
            row[i] = factors[k, i] if clamped else 0.0
        for i in range(n_hidden, n):
            row[i] = (1.0 if spikes[k, i] else 0.0) - shares[k, i] if clamped else 0.0


@part(fastmath=FASTMATH, error_model="numpy")
def _make_signals(w: Window, spikes: Any, t: int, clamped: bool, broadcast: Any, local: Any, share: Share) -> None:
    """Learning signals of step t, by the rule's functions; all 0 where it runs freely.

    Those of a thread's own neurons; signals that are alike for all neurons, each thread computes for itself.
    """
    fired, signal, thread = w.fired, w.signal, share.thread
    visible_signal, hidden_signal, errors = w.visible_signal[thread], w.hidden_signal[thread], w.errors[thread]
    n, K = fired.shape
    n_hidden = signal.shape[0]
    hidden = slice(min(share.first, n_hidden), min(share.last, n_hidden))
    if w.has_local:
        for k in range(K):  # from compartment by compartment to neuron by neuron
            for i in range(np.uint64(share.first), np.uint64(share.last)):
                fired[i, k] = spikes[k, i]
            for x in range(n - n_hidden):
                errors[k, x] = w.post[t * K + k, n_hidden + x]
    if clamped:
        broadcast(
            w.settings, w.log_weights[thread], w.importance[thread], w.processor_memory[thread], visible_signal,
            hidden_signal,
        )  # fmt: skip
        if w.has_local and hidden.start < hidden.stop:
            for x in range(n - n_hidden):
                for h in range(hidden.start, hidden.stop):
                    w.reached[h, x] = w.reach[x, h]
            local(
                w.settings, hidden_signal, errors, w.reached[hidden], fired[hidden], w.neuron_memory[hidden],
                signal[hidden],
            )  # fmt: skip
    else:
        for k in range(K):
            visible_signal[k] = 0.0
            hidden_signal[k] = 0.0
        if w.has_local:
            for h in range(hidden.start, hidden.stop):
                for k in range(K):
                    signal[h, k] = 0
