r"""The event form of the learning kernel: cost follows spikes. Exact, without eligibility or traces of synapses.

Every rule has the form weights += eta sum_k signal_{i,k,t} <post_{i,k} pre_{j,k}>_gamma. Unrolled over a window of
steps, with W_0 the weights when they were last written, R_t^k the traces of a population of sources, and post the
factors of the rule, the drive of neuron i at step t through weights that change at every step is

    W_t . R_t^k = W_0 . R_t^k + eta sum_{k'} sum_{s<t} a_{i,s,t}^{k'} (R_s^{k'} . R_t^k),
    a_{i,s,t}^k = post_{i,s}^k sum_{r=s}^{t-1} gamma^(r-s) signal_{i,k,r}.

All of it follows from the spikes, in five points; each is a file or a part of one:

1. Drive (``event_drive.py``). W_0 . R_t is a short filter over q_t, the sum of weight rows of the sources that spiked
   at t: one row is added for each spike. For exponentials it is a recursion, whatever their duration.
2. Scalar products (``event_products.py``). R_s . R_t is two short filters over the number of sources that spiked both
   at s and at t, which is a population count of bit-packed spikes; or two recursions.
3. Learning (``event_learning.py``: ``add_learned``, ``add_signals``). Where all hidden neurons share a signal, the sum
   over r is one number for each (s, k) and multiplies the scalar products; else a is brought up to date neuron by
   neuron.
4. A neuron has no synapse to itself, but its scalar products contain its own trace (``event_learning.py``:
   ``own_drive``, ``learn_own``): that virtual synapse is learned directly, from 0, and its drive is subtracted.
5. Writing back (``event_writing.py``): when the window is full, spike by spike, each with its filtered a.

This file puts them together, step by step.

Sources that have the same targets form a population: the inputs, and clamped visible neurons, spike alike in all
compartments (K_p = 1); hidden neurons, and visible ones that may run freely, do not (K_p = K). Neurons with the same
sources form groups of neighbouring rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.by_number import laid_out, member
from gemsnn.compiling.jit import FASTMATH, kernel, part
from gemsnn.engine.bits import pack, pack_listed
from gemsnn.engine.eligibility import advance_traces
from gemsnn.engine.event_arrays import Arrays
from gemsnn.engine.event_drive import drive, recur, take_in
from gemsnn.engine.event_learning import add_learned, add_signals, learn_own, own_drive
from gemsnn.engine.event_products import finite_products, recursive_products, recursive_squares, turn
from gemsnn.engine.firing import fire
from gemsnn.engine.processor import make_post_factors, send_signals, weigh_compartments
from gemsnn.engine.steps import Steps


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
    """Steps ``first`` to ``last`` - 1 of those given; the window has room for them."""
    scratch, filters, synapses, bias = w.scratch, w.scratch.filters, w.graph.synapses, w.carried.bias
    potentials, post = scratch.potentials, w.window.post
    recursive, D = synapses.recursive, synapses.taps.shape[1]
    n, K = scratch.fired.shape
    n_hidden = scratch.reached.shape[0]
    populations = laid_out(all_populations)
    time, t, begin = w.carried.time[0], w.window.now[0], w.window.begin[0]

    # Inputs are known ahead, and are all taken in before the first step.
    for number in range(n_populations):
        p = member(populations, number)
        if p.of_inputs:
            for ahead in range(last - first):
                position = D + t + ahead
                listed = steps.source[steps.start[first + ahead] : steps.start[first + ahead + 1]]
                pack_listed(listed, p.first, p.size, p.bits, position)
                take_in(p, synapses, time + ahead + 1, position, filters)
    own_drive(w)

    for step in range(first, last):
        learns, spikes = steps.learns[step], steps.spikes[step]
        # 1. to 4.: the potentials.
        for k in range(K):
            for i in range(bias.shape[0]):
                potentials[k, i] = bias[i] + scratch.own_drive[k, i]
        for number in range(n_populations):
            p = member(populations, number)
            drive(p, synapses, time, t, potentials, filters)
        if begin < t:
            add_learned(w, populations, n_populations, t, begin)
        for k in range(K):
            fire(
                potentials[k], steps.uniforms[step, k], steps.targets[step], learns and not w.objective.free,
                w.graph.circuits, scratch.probabilities[k], spikes[k], scratch.log_probability[k],
            )  # fmt: skip
        if learns:
            make_post_factors(
                n_hidden, w.objective.sends_back, spikes, scratch.probabilities, scratch.factors,
                post[t * K : (t + 1) * K], post_factor,
            )  # fmt: skip
        else:
            for m in range(t * K, (t + 1) * K):
                for i in range(n):
                    post[m, i] = 0.0

        # The central processor, and the learning signals.
        weigh_compartments(
            w.rule, w.objective, steps, step, scratch.log_probability, w.carried.log_weights, scratch.importance,
            report,
        )  # fmt: skip
        _make_signals(w, spikes, t, learns, broadcast, local, slopes)
        add_signals(w, t, begin, learns)
        learn_own(w, t, learns)
        # The neurons' own traces and, if a step follows, their drive.
        advance_traces(
            w.graph.soma, w.carried.past, time, spikes, w.carried.somatic_trace, filters.offsets, filters.factors
        )
        if not w.graph.one_filter:
            advance_traces(
                synapses, w.carried.past, time, spikes, w.carried.own_trace, filters.offsets, filters.factors
            )
        if step + 1 < last:
            own_drive(w)
        if begin == t and not learns:
            begin = t + 1  # nothing in the window to learn from yet
        # 1. and 2. of the next step.
        if not recursive:
            turn(synapses.taps, time + 1, filters.turned)
        for number in range(n_populations):
            p = member(populations, number)
            if not p.of_inputs:
                for k in range(len(p.products)):
                    pack(spikes[k, p.first : p.first + p.size], p.bits, (D + t) * len(p.products) + k)
                take_in(p, synapses, time + 1, D + t, filters)
            if recursive:
                recur(p, synapses.recursion, time + 1)
                recursive_products(p, synapses, time + 1, t + 1, filters)
                recursive_squares(p, synapses.recursion, t + 1)
            else:
                finite_products(p, synapses.taps, time + 1, t + 1, begin, filters)
        for k in range(K):
            past, row = w.carried.past[time % len(w.carried.past), k], spikes[k]
            for i in range(np.uint64(n)):
                past[i] = row[i]
        time += 1
        t += 1
    w.carried.time[0], w.window.now[0], w.window.begin[0] = time, t, begin


@part(fastmath=FASTMATH, error_model="numpy")
def _make_signals(w: Arrays, spikes: Any, t: int, learns: bool, broadcast: Any, local: Any, slopes: Any) -> None:
    """Learning signals of step t, by the rule's functions; all 0 where it runs freely."""
    scratch, signal, fired = w.scratch, w.window.signal, w.scratch.fired
    visible_signal, hidden_signal, errors = scratch.visible_signal, scratch.hidden_signal, scratch.errors
    n, K = fired.shape
    n_hidden, o = scratch.reached.shape[0], w.objective
    if not learns:
        for k in range(K):
            visible_signal[k] = 0.0
            hidden_signal[k] = 0.0
            if w.rule.has_local:
                for i in range(signal.shape[0]):
                    signal[i, k] = 0
        return
    send_signals(
        w.rule, o, spikes, w.carried.log_weights, scratch.importance, w.carried.processor_memory, visible_signal,
        hidden_signal, broadcast, slopes,
    )  # fmt: skip
    if w.rule.has_local:
        for k in range(K):  # from compartment by compartment to neuron by neuron
            for i in range(np.uint64(n)):
                fired[i, k] = spikes[k, i]
            for x in range(n - n_hidden):
                errors[k, x] = w.window.post[t * K + k, n_hidden + x]
                if o.sends_back:
                    errors[k, x] *= o.slope[k, x]
        for x in range(n - n_hidden):
            for h in range(n_hidden):
                scratch.reached[h, x] = w.carried.reach[x, h]
        local(
            w.rule.settings, hidden_signal, errors, scratch.reached, fired[:n_hidden], w.carried.neuron_memory,
            signal[:n_hidden],
        )  # fmt: skip
        if o.sends_back:
            for x in range(n - n_hidden):
                for k in range(K):
                    signal[n_hidden + x, k] = visible_signal[k] * o.slope[k, x]
