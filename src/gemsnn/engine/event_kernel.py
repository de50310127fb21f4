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

This file goes through them step by step.

Sources that have the same targets form a population: the inputs, and clamped visible neurons, spike alike in all
compartments (K_p = 1); hidden neurons, and visible ones that may run freely, do not (K_p = K). Neurons with the same
sources form a rows of neighbouring rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.by_number import laid_out, member
from gemsnn.compiling.jit import FASTMATH, kernel, part
from gemsnn.engine.bits import pack, pack_listed
from gemsnn.engine.eligibility import advance_traces
from gemsnn.engine.event_arrays import Arrays, Steps
from gemsnn.engine.event_drive import drive, recur, take_in
from gemsnn.engine.event_learning import add_learned, add_signals, learn_own, own_drive
from gemsnn.engine.event_products import finite_products, recursive_products, recursive_squares, turn
from gemsnn.engine.firing import add_up, fire, weigh


@kernel(fastmath=FASTMATH, error_model="numpy")
def advance(
    w: Arrays,
    all_populations: Any,
    n_populations: int,
    steps: Steps,
    post_factor: Any,
    broadcast: Any,
    local: Any,
    report: Any,
    slopes: Any,
    first: int,
    last: int,
) -> None:
    """Steps ``first`` to ``last`` - 1 of what is given; there is room for them in the window."""
    scratch, synapses, bias, spikes = w.scratch, w.graph.synapses, w.carried.bias, steps.spikes
    log_weights, importance, likelihood = w.carried.log_weights, scratch.importance, scratch.likelihood
    potentials, active, offsets, factors = scratch.potentials, scratch.active, scratch.offsets, scratch.lag_factors
    recursive, D = synapses.recursive, synapses.taps.shape[1]
    n, K = scratch.fired.shape
    populations = laid_out(all_populations)
    time, t, begin = w.carried.time[0], w.window.now[0], w.window.begin[0]

    # Inputs are known ahead, and taken in at once.
    for number in range(n_populations):
        p = member(populations, number)
        if p.of_inputs:
            for ahead in range(last - first):
                position = D + t + ahead
                listed = steps.source[steps.start[first + ahead] : steps.start[first + ahead + 1]]
                pack_listed(listed, p.first, p.size, p.bits, position)
                take_in(p, synapses, time + ahead + 1, position, active, scratch.leaving_rows)
    own_drive(w)

    for step in range(first, last):
        learns = steps.learns[step]
        # 1. to 4.: the potentials.
        for k in range(K):
            for i in range(bias.shape[0]):
                potentials[k, i] = bias[i] + scratch.own_drive[k, i]
        for number in range(n_populations):
            p = member(populations, number)
            drive(p, synapses, time, t, potentials, offsets, factors, scratch.of_neuron)
        if begin < t:
            add_learned(w, populations, n_populations, t, begin)
        for k in range(K):
            fire(
                potentials[k], steps.uniforms[step, k], steps.targets[step], learns and not w.objective.free,
                w.graph.circuits, scratch.probabilities[k], spikes[step, k], scratch.log_probability[k],
            )  # fmt: skip
        _make_post_factors(w, spikes[step], t, learns, post_factor)

        # The central processor, and what the neurons learn from it.
        add_up(scratch.log_probability, likelihood)
        _make_reports(w, spikes[step], steps.targets[step], learns, report)
        weigh(w.rule.kappa, w.rule.beta, learns, w.objective.report, log_weights, importance)
        for k in range(K):
            steps.log_likelihood[step, k], steps.report[step, k] = likelihood[k], w.objective.report[k]
            steps.log_weights[step, k], steps.importance[step, k] = log_weights[k], importance[k]
        _make_signals(w, spikes[step], t, learns, broadcast, local, slopes)
        add_signals(w, t, begin, learns)
        learn_own(w, t, learns)
        # Their own traces and, if a step follows, what these drive.
        advance_traces(w.graph.soma, w.carried.past, time, spikes[step], w.carried.somatic_trace, offsets, factors)
        if not w.graph.one_filter:
            advance_traces(synapses, w.carried.past, time, spikes[step], w.carried.own_trace, offsets, factors)
        if step + 1 < last:
            own_drive(w)
        if begin == t and not learns:
            begin = t + 1  # nothing in the window to learn from yet
        # 1. and 2. of the next step.
        if not recursive:
            turn(synapses.taps, time + 1, scratch.turned)
        for number in range(n_populations):
            p = member(populations, number)
            if not p.of_inputs:
                for k in range(len(p.products)):
                    pack(spikes[step, k, p.first : p.first + p.size], p.bits, (D + t) * len(p.products) + k)
                take_in(p, synapses, time + 1, D + t, active, scratch.leaving_rows)
            if recursive:
                recur(p, synapses.recursion, time + 1)
                recursive_products(
                    p, synapses, time + 1, t + 1, scratch.whole, scratch.counts, scratch.leaving_counts, active,
                    scratch.starts,
                )  # fmt: skip
                recursive_squares(p, synapses.recursion, t + 1)
            else:
                finite_products(
                    p, synapses.taps, time + 1, t + 1, begin, scratch.whole, scratch.counts, scratch.turned,
                    scratch.sums, offsets, factors,
                )  # fmt: skip
        for k in range(K):
            past, row = w.carried.past[time % len(w.carried.past), k], spikes[step, k]
            for i in range(np.uint64(n)):
                past[i] = row[i]
        time += 1
        t += 1
    w.carried.time[0], w.window.now[0], w.window.begin[0] = time, t, begin


@part(fastmath=FASTMATH, error_model="numpy")
def _make_post_factors(w: Arrays, spikes: Any, t: int, learns: bool, post_factor: Any) -> None:
    """Post factors of step t, by the rule's function; all 0 where it runs freely."""
    fired, probabilities, factors = w.scratch.fired_rows, w.scratch.probabilities, w.scratch.factors
    post = w.window.post
    n, K = w.scratch.fired.shape
    n_hidden = w.scratch.reached.shape[0]
    if learns:
        for k in range(K):
            for i in range(n):
                fired[k, i] = spikes[k, i]
        post_factor(fired, probabilities, factors)
    for k in range(K):
        row = post[t * K + k]
        for i in range(n_hidden):
            row[i] = factors[k, i] if learns else 0.0
        for i in range(n_hidden, n):
            row[i] = (1.0 if spikes[k, i] else 0.0) - probabilities[k, i] if learns else 0.0
        if learns and w.objective.sends_back:
            for i in range(n_hidden, n):
                row[i] = probabilities[k, i] * (1 - probabilities[k, i])


@part(fastmath=FASTMATH, error_model="numpy")
def _make_reports(w: Arrays, spikes: Any, targets: Any, learns: bool, report: Any) -> None:
    """What the visible neurons report; the log-probability of their spikes, if the objective says nothing else."""
    o = w.objective
    if learns and o.reports:
        report(o.settings, spikes, targets, w.scratch.log_probability, o.memory, o.of_visible, o.report)
    else:
        for k in range(o.report.shape[0]):
            o.report[k] = w.scratch.likelihood[k]


@part(fastmath=FASTMATH, error_model="numpy")
def _make_signals(w: Arrays, spikes: Any, t: int, learns: bool, broadcast: Any, local: Any, slopes: Any) -> None:
    """Learning signals of step t, by the rule's functions; all 0 where it runs freely."""
    fired, signal = w.scratch.fired, w.window.signal
    visible_signal, hidden_signal, errors = w.scratch.visible_signal, w.scratch.hidden_signal, w.scratch.errors
    n, K = fired.shape
    n_hidden, o = w.scratch.reached.shape[0], w.objective
    sends_back, importance = learns and o.sends_back, w.scratch.importance
    if sends_back:
        slopes(o.settings, spikes, o.memory, o.slope, o.at_once)
        for k in range(K):
            importance[k] = 1 / K
    if w.rule.has_local:
        for k in range(K):  # from compartment by compartment to neuron by neuron
            for i in range(np.uint64(n)):
                fired[i, k] = spikes[k, i]
            for x in range(n - n_hidden):
                errors[k, x] = w.window.post[t * K + k, n_hidden + x]
                if sends_back:
                    errors[k, x] *= o.slope[k, x]
    if learns:
        broadcast(
            w.rule.settings, w.carried.log_weights, importance, w.carried.processor_memory, visible_signal,
            hidden_signal,
        )  # fmt: skip
        if o.free:
            for k in range(K):
                visible_signal[k] = hidden_signal[k]
        if w.rule.has_local:
            for x in range(n - n_hidden):
                for h in range(n_hidden):
                    w.scratch.reached[h, x] = w.carried.reach[x, h]
            local(
                w.rule.settings, hidden_signal, errors, w.scratch.reached, fired[:n_hidden], w.carried.neuron_memory,
                signal[:n_hidden],
            )  # fmt: skip
            if sends_back:
                for x in range(n - n_hidden):
                    for k in range(K):
                        signal[n_hidden + x, k] = visible_signal[k] * o.slope[k, x]
    else:
        for k in range(K):
            visible_signal[k] = 0.0
            hidden_signal[k] = 0.0
        if w.rule.has_local:
            for i in range(signal.shape[0]):
                for k in range(K):
                    signal[i, k] = 0
