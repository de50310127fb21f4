r"""The sparse form of the learning kernel: each synapse is learned by itself, while its source has a trace.

Where every neuron has sources of its own, as in a random graph, neurons share no scalar products, and the event form
has nothing to gain. Synapses that exist keep an eligibility for each compartment; one pass over the synapses of a
source applies the update of step t - 1 and adds the drive of step t,

    eligibility <- gamma eligibility + post R_{t-1},    weight <- weight + eta sum_k signal_k eligibility_k,
    potential <- potential + weight R_t .                                                     (``_learn``, ``_drive``)

A source that has not spiked for as long as the filters remember has no trace: nothing is added to its eligibility,
which only fades, and its weights drive nobody. Its synapses are left alone until it spikes again, and then settled:
with e the eligibility after step s, the steps from s + 1 to t have changed the weight by

    eta sum_k e_k sum_{r = s + 1}^{t} gamma^(r - s) signal_{k,r} ,                                        (``_settle``)

which needs only the signals of these steps. So cost follows the synapses whose sources have spiked. Every ``SWEEP``
steps all are settled, so that few signals have to be remembered.

Where means m are taken off the traces (``reference.py``), all weights of the inputs move at every step, each by its
mean times what their neuron's bias would learn by itself: that is kept for each neuron, and written with the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gemsnn.compiling.jit import FASTMATH, jit
from gemsnn.engine.eligibility import (
    learn_at_once,
    learn_by_eligibility,
    learn_reach,
    look_up,
    reach_at_once,
    remember,
)
from gemsnn.engine.event_arrays import Steps
from gemsnn.engine.firing import add_up, fire, weigh

SWEEP = 32  # steps
REMEMBERED = 64  # signals: at least SWEEP + 1, a power of two
NEVER = -(1 << 40)


class Synapses(NamedTuple):
    """Lists of them (see ``synapses.py``), and what is known of their sources. f is the precision of the weights."""

    start: Any  # (n_sources + 1,)
    neuron: Any  # (n_synapses,) int32
    weight: Any  # (n_basis, n_synapses) f
    eligibility: Any  # (K, n_basis, n_synapses) f
    traces: Any  # (2, K, n_basis, n_sources) f: slot t % 2 is step t's
    spoke: Any  # (n_sources,): the last step at which it spiked, in any compartment
    settled: Any  # (n_sources,): the last step whose update its synapses have; NEVER if nothing is eligible


class Neurons(NamedTuple):
    """Everything else that the kernel reads and writes."""

    # the rule and the network
    learning_rate: Any  # f
    gamma: Any  # f
    kappa: float
    beta: float
    settings: Any  # the rule's own numbers
    has_local: bool
    horizon: int  # steps after which gamma^age is below the precision
    duration: int  # of the synaptic filter
    synaptic_table: Any  # (words, 2 ** bits, n_basis) f
    somatic_table: Any
    history_bits: int
    circuits: Any  # CircuitTable
    reaches: Any  # (n_visible, n_hidden) bool
    has_memory: Any  # (n_neurons,) bool
    mean: Any  # (n_inputs, n_basis) f: taken off the traces while learning; (0, n_basis) where nothing is
    mean_square: Any  # (n_neurons,) f: |m|^2 of a neuron's own inputs
    # what goes on from step to step
    time: Any  # (1,): steps so far
    bias: Any  # (n_neurons,) f
    bias_eligibility: Any  # (K, n_neurons) f
    mean_eligibility: Any  # (K, n_neurons) f: m . eligibility of a neuron's own inputs
    centre: Any  # (n_neurons,) f: the weights of the inputs lack so many times their means
    somatic: Any  # (n_basis, n_neurons) f
    somatic_eligibility: Any  # (K, n_basis, n_neurons) f
    somatic_trace: Any  # (K, n_basis, n_neurons) f
    history: Any  # (n_neurons, K, words) uint16
    input_history: Any  # (n_inputs, 1 or, where each compartment has inputs of its own, K, words) uint16
    reach: Any  # (n_visible, n_hidden) f
    reach_eligibility: Any  # (K, n_visible, n_hidden) f
    log_weights: Any  # (K,)
    processor_memory: Any
    neuron_memory: Any  # (n_hidden, m)
    post: Any  # (K, n_neurons) f: of the last step
    rate: Any  # (K, n_neurons) f: eta times the signal of the last step
    once: Any  # (K, n_neurons) f: what is added once to the weights for each unit of trace at the last step
    rates: Any  # (K, n_neurons, REMEMBERED) f: of the last steps; slot t % REMEMBERED is step t's
    # scratch
    of_synapses: Any  # (3, most synapses of a source) f
    mean_trace: Any  # (n_neurons,) f: m . R of this step, of a neuron's own inputs
    potentials: Any  # (K, n_neurons) f
    fired: Any  # (n_neurons, K) bool
    fired_inputs: Any  # (n_inputs, 1 or K) bool
    probabilities: Any  # (n_neurons, K)
    factors: Any  # (n_neurons, K)
    objective: Any  # ObjectiveArrays


@jit(fastmath=FASTMATH, error_model="numpy")
def advance(
    y: Synapses,
    w: Neurons,
    steps: Steps,
    post_factor: Any,
    broadcast: Any,
    local: Any,
    report: Any,
    slopes: Any,
    first: int,
    last: int,
) -> None:
    """Steps ``first`` to ``last`` - 1 of what is given."""
    o = w.objective
    learning_steps, targets, uniforms, spikes = steps.learns, steps.targets, steps.uniforms, steps.spikes
    n, K = w.fired.shape
    n_inputs, n_visible = w.input_history.shape[0], targets.shape[1]
    n_hidden = n - n_visible
    gamma, eta, dtype, one = w.gamma, w.learning_rate, w.bias.dtype, w.bias.dtype.type(1)
    post, rate, fired, signal = w.post, w.rate, w.fired, np.zeros((n_hidden, K), dtype=dtype)
    importance, visible_signal, hidden_signal = np.empty(K), np.empty(K), np.empty(K)
    errors, shares = np.empty((K, n_visible), dtype=dtype), np.empty(n)
    log_probability, reached = np.empty((K, n_visible)), np.empty((n_hidden, n_visible), dtype=dtype)
    total = np.empty(n_hidden, dtype=dtype)

    for step in range(first, last):
        time, learns = w.time[0], learning_steps[step]
        if time % SWEEP == 0:
            settle_all(y, w, time - 2)
        for k in range(K):
            potential = w.potentials[k]
            for i in range(n):
                potential[i] = w.bias[i]
            for basis in range(w.somatic.shape[0]):
                for i in range(n):
                    potential[i] += w.somatic[basis, i] * w.somatic_trace[k, basis, i]
        learn_and_drive(y, w, time)
        for k in range(K):
            fire(
                w.potentials[k], uniforms[step, k], targets[step], learns and not o.free, w.circuits, shares,
                spikes[step, k], log_probability[k],
            )  # fmt: skip
            for i in range(n):
                fired[i, k] = spikes[step, k, i]
                w.probabilities[i, k] = shares[i]
        add_up(log_probability, steps.log_likelihood[step])
        if learns and o.reports:
            report(o.settings, spikes[step], targets[step], log_probability, o.memory, o.of_visible, steps.report[step])
        else:
            steps.report[step] = steps.log_likelihood[step]
        weigh(w.kappa, w.beta, learns, steps.report[step], w.log_weights, importance)
        steps.log_weights[step], steps.importance[step] = w.log_weights, importance

        # Post factors and learning signals.
        if learns or o.rewarded:
            post_factor(fired[:n_hidden], w.probabilities[:n_hidden], w.factors[:n_hidden])
            for k in range(K):
                for i in range(n_hidden):
                    post[k, i] = w.factors[i, k]
                for i in range(n_hidden, n):
                    p = w.probabilities[i, k]
                    post[k, i] = p * (1 - p) if o.sends_back else (1.0 if fired[i, k] else 0.0) - p
        else:
            post[:] = 0
        if learns:
            if o.sends_back:
                importance[:] = 1 / K
            broadcast(w.settings, w.log_weights, importance, w.processor_memory, visible_signal, hidden_signal)
            if o.free:
                visible_signal[:] = hidden_signal
            if o.sends_back:
                slopes(o.settings, spikes[step], o.memory, o.slope, o.at_once)
            for k in range(K):
                for x in range(n_visible):
                    errors[k, x] = post[k, n_hidden + x] * (dtype.type(o.slope[k, x]) if o.sends_back else one)
            if w.has_local:
                reached[:] = w.reach.T
                local(w.settings, hidden_signal, errors, reached, fired[:n_hidden], w.neuron_memory, signal)
            for k in range(K):
                to_hidden = dtype.type(hidden_signal[k])
                for i in range(n_hidden):
                    rate[k, i] = eta * (signal[i, k] if w.has_local else to_hidden)
                for i in range(n_hidden, n):
                    rate[k, i] = eta * dtype.type(visible_signal[k])
                    if o.sends_back:
                        rate[k, i] *= dtype.type(o.slope[k, i - n_hidden])
                        w.once[k, i] = eta * dtype.type(o.at_once[k, i - n_hidden] / K) * post[k, i]
        else:
            rate[:] = 0
            w.once[:] = 0
        w.rates[:, :, time % REMEMBERED] = rate

        # What is learned without synapses: bias and self-memory; and how hidden neurons reach visible ones.
        for k in range(K):
            for i in range(n):
                w.bias_eligibility[k, i] = gamma * w.bias_eligibility[k, i] + post[k, i]
                w.bias[i] += rate[k, i] * w.bias_eligibility[k, i]
            if w.mean.shape[0]:
                for i in range(n):
                    e = gamma * w.mean_eligibility[k, i] + post[k, i] * w.mean_trace[i]
                    w.mean_eligibility[k, i] = e
                    w.bias[i] += rate[k, i] * (w.mean_square[i] * w.bias_eligibility[k, i] - e)
                    w.centre[i] += rate[k, i] * w.bias_eligibility[k, i]
            for basis in range(w.somatic.shape[0]):
                learn_by_eligibility(
                    gamma, post[k], w.somatic_trace[k, basis], rate[k], w.has_memory, w.somatic_eligibility[k, basis],
                    w.somatic[basis],
                )  # fmt: skip
            if w.has_local:
                learn_reach(
                    gamma, post[k, n_hidden:], y.traces[time % 2, k, :, n_inputs : n_inputs + n_hidden],
                    rate[k, n_hidden:], w.reaches, w.reach_eligibility[k], w.reach, total,
                )  # fmt: skip
        if o.sends_back:
            _learn_alone_at_once(y, w, n_hidden, time % 2)

        # Remember the spikes, in the traces that the next step sees.
        remember(fired, w.history, w.history_bits)
        inputs = steps.source[steps.start[step] : steps.start[step + 1]]
        of_compartments = w.fired_inputs.shape[1]
        for j in inputs:
            w.fired_inputs[j // of_compartments, j % of_compartments] = True
        remember(w.fired_inputs, w.input_history, w.history_bits)
        make_traces(y, w, time + 1)
        for j in inputs:
            w.fired_inputs[j // of_compartments, j % of_compartments] = False
            y.spoke[j // of_compartments] = time
        for k in range(K):
            for i in range(n):
                if fired[i, k]:
                    y.spoke[n_inputs + i] = time
        w.time[0] = time + 1


@jit()
def make_traces(y: Synapses, w: Neurons, time: int) -> None:
    """Traces that step ``time`` sees, from the histories."""
    traces, n_inputs = y.traces[time % 2], w.input_history.shape[0]
    K, n_basis = traces.shape[:2]
    for k in range(K):
        for basis in range(n_basis):
            look_up(w.input_history, k % w.input_history.shape[1], w.synaptic_table, basis, traces[k, basis, :n_inputs])
            look_up(w.history, k, w.synaptic_table, basis, traces[k, basis, n_inputs:])
        for basis in range(w.somatic.shape[0]):
            look_up(w.history, k, w.somatic_table, basis, w.somatic_trace[k, basis])


@jit(fastmath=FASTMATH)
def learn_and_drive(y: Synapses, w: Neurons, time: int) -> None:
    """For every source with a trace: the update of the step before, and the drive of this one."""
    # Local names and plain indices: sources are many and their synapses few, so that views of arrays would cost more.
    start, neuron, weight, eligibility, traces, spoke, settled = y
    post, rate, potentials, scratch, gamma, earliest = (
        w.post,
        w.rate,
        w.potentials,
        w.of_synapses,
        w.gamma,
        time - 1 - w.duration,
    )
    before, now, n_means, sends_back = (time + 1) % 2, time % 2, w.mean.shape[0], w.objective.sends_back
    w.mean_trace[:] = 0
    for j in range(spoke.shape[0]):
        if spoke[j] >= earliest:  # a trace now, or at the step before
            first, last = np.uint64(start[j]), np.uint64(start[j + 1])
            if settled[j] != NEVER and settled[j] < time - 2:
                _settle(y, w, j, time - 2)
            if settled[j] < time - 1:
                _learn(first, last, j, neuron, weight, eligibility, traces, before, post, rate, gamma, scratch)
                if sends_back:
                    _learn_at_once(first, last, j, neuron, weight, traces, before, w.once)
                settled[j] = time - 1
            _drive(first, last, j, neuron, weight, traces, now, potentials, scratch)
            if j < n_means:
                _drive_means(y, w, j, traces[now, 0])


@jit(fastmath=FASTMATH)
def _learn(
    first: Any,
    last: Any,
    j: int,
    neuron: Any,
    weight: Any,
    eligibility: Any,
    traces: Any,
    slot: int,
    post: Any,
    rate: Any,
    gamma: Any,
    scratch: Any,
) -> None:
    """The update of one step, at which source j had the traces of that slot, for its synapses ``first`` to ``last``."""
    for k in range(post.shape[0]):
        for s in range(first, last):
            scratch[0, s - first], scratch[1, s - first] = post[k, neuron[s]], rate[k, neuron[s]]
        for basis in range(weight.shape[0]):
            trace = traces[slot, k, basis, j]
            for s in range(first, last):
                e = gamma * eligibility[k, basis, s] + scratch[0, s - first] * trace
                eligibility[k, basis, s] = e
                weight[basis, s] += scratch[1, s - first] * e


@jit(fastmath=FASTMATH)
def _learn_at_once(first: Any, last: Any, j: int, neuron: Any, weight: Any, traces: Any, slot: int, once: Any) -> None:
    """What needs no eligibility, for the same synapses."""
    for k in range(once.shape[0]):
        for basis in range(weight.shape[0]):
            trace = traces[slot, k, basis, j]
            for s in range(first, last):
                weight[basis, s] += once[k, neuron[s]] * trace


@jit(fastmath=FASTMATH)
def _learn_alone_at_once(y: Synapses, w: Neurons, n_hidden: int, slot: int) -> None:
    """The same for bias, self-memory and reach."""
    n, K = w.fired.shape
    n_inputs = w.input_history.shape[0]
    for k in range(K):
        once = w.once[k]
        for i in range(n):
            w.bias[i] += once[i]
        if w.mean.shape[0]:
            for i in range(n):
                w.bias[i] += once[i] * (w.mean_square[i] - w.mean_trace[i])
                w.centre[i] += once[i]
        for basis in range(w.somatic.shape[0]):
            learn_at_once(once, w.somatic_trace[k, basis], w.has_memory, w.somatic[basis])
        reach_at_once(
            once[n_hidden:], y.traces[slot, k, :, n_inputs : n_inputs + n_hidden], w.reaches, w.reach
        )  # fmt: skip


@jit(fastmath=FASTMATH, error_model="numpy")
def reward(y: Synapses, w: Neurons, rewards: Any, broadcast: Any, importance: Any) -> None:
    """Learn from the rewards (K,) of the last step, with the eligibility as it stands; writes the importance (K,)."""
    time, dtype, (n, K) = w.time[0] - 1, w.bias.dtype, w.fired.shape
    weigh(1.0, w.beta, True, rewards, w.log_weights, importance)
    visible_signal, hidden_signal = np.empty(K), np.empty(K)
    broadcast(w.settings, w.log_weights, importance, w.processor_memory, visible_signal, hidden_signal)
    for k in range(K):
        rate = w.learning_rate * dtype.type(hidden_signal[k])  # visible neurons draw, and learn as the others do
        for i in range(n):
            w.rate[k, i] = w.rates[k, i, time % REMEMBERED] = rate
            w.bias[i] += rate * w.bias_eligibility[k, i]
            for basis in range(w.somatic.shape[0]):
                w.somatic[basis, i] += rate * w.somatic_eligibility[k, basis, i] * w.has_memory[i]
        for j in range(y.settled.shape[0]):
            if y.settled[j] == time:  # all others learn when they are brought up to date
                for basis in range(y.weight.shape[0]):
                    for s in range(y.start[j], y.start[j + 1]):
                        y.weight[basis, s] += rate * y.eligibility[k, basis, s]


@jit(fastmath=FASTMATH)
def _drive(
    first: Any, last: Any, j: int, neuron: Any, weight: Any, traces: Any, slot: int, potentials: Any, scratch: Any
) -> None:
    """Add the weights of source j, times its traces of that slot, to the potentials."""
    for k in range(potentials.shape[0]):
        for s in range(first, last):
            scratch[2, s - first] = weight[0, s] * traces[slot, k, 0, j]
        for basis in range(1, weight.shape[0]):
            trace = traces[slot, k, basis, j]
            for s in range(first, last):
                scratch[2, s - first] += weight[basis, s] * trace
        for s in range(first, last):
            potentials[k, neuron[s]] += scratch[2, s - first]


@jit(fastmath=FASTMATH)
def _drive_means(y: Synapses, w: Neurons, j: int, traces: Any) -> None:
    """What an input's weights lack, times its traces (n_basis, n_sources), which are alike in all compartments."""
    total = w.bias.dtype.type(0)
    for basis in range(traces.shape[0]):
        total += w.mean[j, basis] * traces[basis, j]
    for s in range(y.start[j], y.start[j + 1]):
        i = y.neuron[s]
        w.mean_trace[i] += total
        for k in range(w.potentials.shape[0]):
            w.potentials[k, i] -= total * w.centre[i]


@jit(fastmath=FASTMATH)
def _settle(y: Synapses, w: Neurons, j: int, time: int) -> None:
    """Bring one source's synapses up to date with the updates of steps at which it had no trace, up to ``time``."""
    since = y.settled[j]
    if since == NEVER or since >= time:
        return
    first, last, gamma = np.uint64(y.start[j]), np.uint64(y.start[j + 1]), w.gamma
    neuron, weight, eligibility, rates, scratch = y.neuron, y.weight, y.eligibility, w.rates, w.of_synapses
    faded = time - y.spoke[j] - w.duration > w.horizon
    left = w.bias.dtype.type(0) if faded else gamma ** (time - since)
    for k in range(rates.shape[0]):
        for s in range(first, last):
            i, total, fade = neuron[s], w.bias.dtype.type(0), gamma
            for r in range(since + 1, time + 1):
                total += fade * rates[k, i, r & (REMEMBERED - 1)]
                fade *= gamma
            scratch[0, s - first] = total
        for basis in range(weight.shape[0]):
            for s in range(first, last):
                weight[basis, s] += scratch[0, s - first] * eligibility[k, basis, s]
                eligibility[k, basis, s] *= left
    y.settled[j] = NEVER if faded else time


@jit(fastmath=FASTMATH)
def settle_all(y: Synapses, w: Neurons, time: int) -> None:
    """The same for all sources."""
    for j in range(y.settled.shape[0]):
        _settle(y, w, j, time)


@jit(fastmath=FASTMATH)
def finish(y: Synapses, w: Neurons) -> None:
    """Apply the update of the last step to all synapses, so that weights and eligibility can be taken out."""
    time = w.time[0]
    for j in range(y.settled.shape[0]):
        if y.spoke[j] >= time - 1 - w.duration and y.settled[j] < time - 1:
            _settle(y, w, j, time - 2)
            _learn(
                np.uint64(y.start[j]), np.uint64(y.start[j + 1]), j, y.neuron, y.weight, y.eligibility, y.traces,
                (time + 1) % 2, w.post, w.rate, w.gamma, w.of_synapses,
            )  # fmt: skip
            if w.objective.sends_back:
                _learn_at_once(
                    np.uint64(y.start[j]), np.uint64(y.start[j + 1]), j, y.neuron, y.weight, y.traces, (time + 1) % 2,
                    w.once,
                )  # fmt: skip
            y.settled[j] = time - 1
        else:
            _settle(y, w, j, time - 1)
    for j in range(w.mean.shape[0]):
        for s in range(y.start[j], y.start[j + 1]):
            for basis in range(y.weight.shape[0]):
                y.weight[basis, s] -= w.mean[j, basis] * w.centre[y.neuron[s]]
    w.centre[:] = 0


@jit(fastmath=FASTMATH)
def take_off(y: Synapses, w: Neurons) -> None:
    """What neurons know of their own inputs' means, where these are new and everything is settled."""
    w.mean_square[:] = 0
    w.mean_eligibility[:] = 0
    for j in range(w.mean.shape[0]):
        for s in range(y.start[j], y.start[j + 1]):
            i = y.neuron[s]
            for basis in range(y.weight.shape[0]):
                m = w.mean[j, basis]
                w.mean_square[i] += m * m
                for k in range(w.mean_eligibility.shape[0]):
                    w.mean_eligibility[k, i] += m * y.eligibility[k, basis, s]
