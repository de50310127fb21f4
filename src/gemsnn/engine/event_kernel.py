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
   ``add_own_drive``, ``learn_own``): that synapse is learned virtually, directly, from 0, and its drive is taken off.
5. Writing back (``event_writing.py``): when the window is full, spike by spike, each with its filtered a.

This file goes through them step by step.

Sources that have the same targets form a population: the inputs, and clamped visible neurons, spike alike in all
compartments (K_p = 1); hidden neurons, and visible ones that may run freely, do not (K_p = K). Neurons with the same
sources form a segment of neighbouring rows.
"""

from __future__ import annotations

from typing import Any

from gemsnn.engine.bits import pack
from gemsnn.engine.direct_learning import advance_trace, remember
from gemsnn.engine.event_drive import drive, recur, take_in, take_in_ahead
from gemsnn.engine.event_learning import add_learned, add_own_drive, add_signals, learn_own
from gemsnn.engine.event_products import finite_products, recursive_products, turn
from gemsnn.engine.event_window import Steps, Window
from gemsnn.engine.firing import fire, weigh
from gemsnn.engine.jit import FASTMATH, kernel


@kernel(fastmath=FASTMATH, error_model="numpy")
def advance(
    w: Window, populations: Any, steps: Steps, post_factor: Any, broadcast: Any, local: Any, first: int, last: int
) -> None:
    """Steps ``first`` to ``last`` - 1 of what is given; there is room for them in the window."""
    synapses, recursive, taps, bias, potentials = (
        w.synapses,
        w.synapses.recursive,
        w.synapses.taps,
        w.bias,
        w.potentials,
    )
    log_weights, importance = w.log_weights, w.importance
    n, K = w.fired.shape
    D = taps.shape[1]

    for p in populations:
        if p.of_inputs and p.size:
            take_in_ahead(p, synapses, steps.inputs, first, last, w.time[0], D + w.place[0], w.active, w.left)
    for step in range(first, last):
        time, t, begin, clamped = w.time[0], w.place[0], w.place[1], steps.clamped[step]
        for k in range(K):
            for i in range(bias.shape[0]):
                potentials[k, i] = bias[i]

        # 1. and 2.: what the weights of the window's beginning make of the spikes so far, and the scalar products.
        if not recursive:
            turn(taps, time, w.turned)
        for p in populations:
            if p.size:
                if time > 0 and not recursive:
                    if not p.of_inputs:
                        take_in(p, synapses, time, D + t - 1, w.active, w.left)
                    finite_products(
                        p, taps, time, t, begin, w.whole, w.counts, w.turned, w.sums, w.offsets, w.lag_factors
                    )
                drive(p, synapses, time, t, potentials, w.offsets, w.lag_factors, w.of_neuron)
        # 3. and 4.: what was learned since then.
        if begin < t:
            add_learned(w, populations, t, begin)
        add_own_drive(w)

        for k in range(K):
            fire(
                potentials[k, :n], steps.uniforms[step, k], steps.targets[step], clamped, w.circuits, w.shares,
                steps.spikes[step, k], w.log_probability[k],
            )  # fmt: skip
            for i in range(n):
                w.fired[i, k] = steps.spikes[step, k, i]
                w.probabilities[i, k] = w.shares[i]
        weigh(w.kappa, clamped, w.log_probability, steps.log_likelihood[step], log_weights, importance)
        for k in range(K):
            steps.log_weights[step, k], steps.importance[step, k] = log_weights[k], importance[k]

        _make_signals(w, t, clamped, post_factor, broadcast, local)
        if begin == t and not clamped:
            w.place[1] = t + 1  # nothing in the window to learn from yet
        add_signals(w, t, begin, clamped)
        learn_own(w, t)

        # Remember the spikes: in the traces that the next step sees, and as bits; exponentials go on from there.
        remember(w.fired, w.history, w.history_bits)
        for k in range(K):
            row = steps.spikes[step, k]
            advance_trace(w.soma, w.somatic_table, w.history, w.past, k, time, row, w.somatic_trace[k])
            advance_trace(synapses, w.synaptic_table, w.history, w.past, k, time, row, w.own_trace[k])
            for i in range(n):
                w.past[time % len(w.past), k, i] = row[i]
        for p in populations:
            for k in range(0 if p.of_inputs or not p.size else 1 if p.shared else K):
                column = D + t if p.shared else (D + t) * K + k
                pack(steps.spikes[step, k, p.first : p.first + p.size], p.bits, column)
            if recursive and p.size:
                if not p.of_inputs:
                    take_in(p, synapses, time + 1, D + t, w.active, w.left)
                recur(p, synapses.recursion, time + 1)
                recursive_products(
                    p, synapses, time + 1, t + 1, w.whole, w.counts, w.left_counts, w.active, w.starts, w.ends, w.pairs
                )
        w.time[0] = time + 1
        w.place[0] = t + 1


@kernel(fastmath=FASTMATH, error_model="numpy")
def _make_signals(w: Window, t: int, clamped: bool, post_factor: Any, broadcast: Any, local: Any) -> None:
    """Post factors and learning signals of step t, by the rule's functions; all 0 where it runs freely."""
    fired, probabilities, factors, post, signal = w.fired, w.probabilities, w.factors, w.post, w.signal
    n, K = fired.shape
    n_hidden = signal.shape[0]
    if clamped:
        post_factor(fired[:n_hidden], probabilities[:n_hidden], factors[:n_hidden])
        for i in range(n_hidden, n):
            for k in range(K):
                factors[i, k] = (1.0 if fired[i, k] else 0.0) - probabilities[i, k]
                w.errors[k, i - n_hidden] = factors[i, k]
        broadcast(w.settings, w.log_weights, w.importance, w.processor_memory, w.visible_signal, w.hidden_signal)
        if w.has_local:
            for x in range(n - n_hidden):
                for h in range(n_hidden):
                    w.reached[h, x] = w.reach[x, h]
            local(w.settings, w.hidden_signal, w.errors, w.reached, fired[:n_hidden], w.neuron_memory, signal)
        for k in range(K):
            for i in range(n):
                post[t * K + k, i] = factors[i, k]
    else:
        for k in range(K):
            w.visible_signal[k] = 0.0
            w.hidden_signal[k] = 0.0
            for i in range(n):
                post[t * K + k, i] = 0
        if w.has_local:
            for h in range(n_hidden):
                for k in range(K):
                    signal[h, k] = 0
