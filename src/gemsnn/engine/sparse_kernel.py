r"""The sparse form of the learning kernel: each synapse is learned by itself, while its source has a trace.

Where every neuron has sources of its own, as in a random graph, neurons share no scalar products, and the event form
gains nothing. Synapses that exist keep an eligibility for each compartment; one pass over the synapses of a
source applies the update of step t - 1 and adds the drive of step t,

    eligibility <- gamma eligibility + post R_{t-1},    weight <- weight + eta sum_k signal_k eligibility_k,
    potential <- potential + weight R_t .                                                     (``_learn``, ``_drive``)

A source that has not spiked for as long as the filters remember has no trace: nothing is added to its eligibility,
which only decays, and its weights have no effect. Its synapses are skipped until it spikes again, and then settled:
with e the eligibility after step s, the steps from s + 1 to t have changed the weight by

    eta sum_k e_k sum_{r = s + 1}^{t} gamma^(r - s) signal_{k,r} ,                                        (``_settle``)

which needs only the signals of these steps. So the cost follows the synapses whose sources have spiked. Every ``SWEEP``
steps all synapses are settled, so that few signals have to be remembered.

Where means m are subtracted from the traces (``reference.py``), all weights of the inputs change at every step, each by
its mean times what the neuron's bias would learn by itself: that is kept for each neuron, and written with the rest.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from gemsnn.compiling.jit import FASTMATH, jit
from gemsnn.engine.arrays import Booleans, Counts, Doubles, Floats, Histories, Integers
from gemsnn.engine.eligibility import (
    learn_at_once,
    learn_by_eligibility,
    learn_reach,
    look_up,
    reach_at_once,
    remember,
)
from gemsnn.engine.firing import CircuitTable, fire, weigh
from gemsnn.engine.objective_functions import ObjectiveArrays
from gemsnn.engine.processor import make_post_factors, send_signals, weigh_compartments
from gemsnn.engine.rule_functions import RuleNumbers
from gemsnn.engine.steps import Steps

SWEEP = 32  # steps
REMEMBERED = 64  # signals: at least SWEEP + 1, a power of two
NEVER = -(1 << 40)


class Synapses(NamedTuple):
    """Lists of them (see ``synapses.py``), and what is known of their sources."""

    start: Integers  # (n_sources + 1,)
    neuron: Counts  # (n_synapses,)
    weight: Floats  # (n_basis, n_synapses)
    spoke: Integers  # (n_sources,): the last step at which it spiked, in any compartment
    settled: Integers  # (n_sources,): the last step whose update its synapses have; NEVER if nothing is eligible
    eligibility: Annotated[Floats, "K", "n_basis", "n_synapses"]
    traces: Annotated[Floats, "2", "K", "n_basis", "n_sources"]  # slot t % 2 is step t's


class Graph(NamedTuple):
    """The network."""

    horizon: int  # steps after which gamma^age is below the precision
    duration: int  # of the synaptic filter
    synaptic_table: Floats  # (words, 2 ** bits, n_basis)
    somatic_table: Floats
    history_bits: int
    circuits: CircuitTable
    reaches: Booleans  # (n_visible, n_hidden)
    has_memory: Booleans  # (n_neurons,)
    mean: Annotated[Floats, "0", "n_basis"]  # (n_inputs, n_basis), or (0, n_basis) where nothing is subtracted
    mean_square: Annotated[Floats, "n_neurons"]  # |m|^2 of a neuron's own inputs


class Carried(NamedTuple):
    """What is carried on from step to step."""

    bias: Floats  # (n_neurons,)
    somatic: Floats  # (n_somatic, n_neurons)
    reach: Floats  # (n_reached, n_hidden)
    time: Annotated[Integers, "1"]  # steps so far
    bias_eligibility: Annotated[Floats, "K", "n_neurons"]
    mean_eligibility: Annotated[Floats, "K", "n_neurons"]  # m . eligibility of a neuron's own inputs
    centre: Annotated[Floats, "n_neurons"]  # how many times the means have yet to be subtracted from the weights
    somatic_eligibility: Annotated[Floats, "K", "n_somatic", "n_neurons"]
    somatic_trace: Annotated[Floats, "K", "n_somatic", "n_neurons"]
    history: Annotated[Histories, "n_neurons", "K", "words"]
    input_history: Annotated[Histories, "n_inputs", "K_inputs", "words"]  # K where compartments have their own inputs
    reach_eligibility: Annotated[Floats, "K", "n_reached", "n_hidden"]
    log_weights: Annotated[Doubles, "K"]
    processor_memory: Annotated[Doubles, "processor_memory"]
    neuron_memory: Annotated[Doubles, "n_hidden", "neuron_memory"]
    post: Annotated[Floats, "K", "n_neurons"]  # of the last step
    rate: Annotated[Floats, "K", "n_neurons"]  # eta times the signal of the last step
    once: Annotated[Floats, "K", "n_neurons"]  # added once to the weights, for each unit of trace, at the last step
    rates: Annotated[Floats, "K", "n_neurons", "remembered"]  # of the last steps; slot t % REMEMBERED is step t's


class Scratch(NamedTuple):
    """Scratch memory of a step."""

    of_synapses: Annotated[Floats, "3", "most_synapses"]
    mean_trace: Annotated[Floats, "n_neurons"]  # m . R of this step, of a neuron's own inputs
    potentials: Annotated[Floats, "K", "n_neurons"]
    fired: Annotated[Booleans, "n_neurons", "K"]
    fired_inputs: Annotated[Booleans, "n_inputs", "K_inputs"]
    probabilities: Annotated[Doubles, "K", "n_neurons"]
    factors: Annotated[Doubles, "K", "n_neurons"]
    signal: Annotated[Floats, "n_hidden", "K"]
    importance: Annotated[Doubles, "K"]
    visible_signal: Annotated[Doubles, "K"]
    hidden_signal: Annotated[Doubles, "K"]
    errors: Annotated[Floats, "K", "n_visible"]
    log_probability: Annotated[Doubles, "K", "n_visible"]
    reached: Annotated[Floats, "n_hidden", "n_visible"]  # ``reach``, hidden neuron by hidden neuron
    total: Annotated[Floats, "n_hidden"]


class Arrays(NamedTuple):
    """Everything that the kernel reads and writes, besides the synapses and the steps."""

    rule: RuleNumbers
    graph: Graph
    carried: Carried
    scratch: Scratch
    objective: ObjectiveArrays


@jit(fastmath=FASTMATH, error_model="numpy")
def advance(
    y: Synapses,
    w: Arrays,
    steps: Steps,
    post_factor: Any,
    broadcast: Any,
    local: Any,
    report: Any,
    slopes: Any,
    first: int,
    last: int,
) -> None:
    """Steps ``first`` to ``last`` - 1 of those given."""
    c, scratch, o, graph = w.carried, w.scratch, w.objective, w.graph
    n, K = scratch.fired.shape
    n_inputs, n_visible = c.input_history.shape[0], steps.targets.shape[1]
    n_hidden = n - n_visible
    gamma, eta, dtype, one = w.rule.gamma, w.rule.learning_rate, c.bias.dtype, c.bias.dtype.type(1)
    post, rate, fired, signal, errors = c.post, c.rate, scratch.fired, scratch.signal, scratch.errors
    visible_signal, hidden_signal = scratch.visible_signal, scratch.hidden_signal

    for step in range(first, last):
        time, learns, spikes = c.time[0], steps.learns[step], steps.spikes[step]
        if time % SWEEP == 0:
            settle_all(y, w, time - 2)
        for k in range(K):
            potential = scratch.potentials[k]
            for i in range(n):
                potential[i] = c.bias[i]
            for basis in range(c.somatic.shape[0]):
                for i in range(n):
                    potential[i] += c.somatic[basis, i] * c.somatic_trace[k, basis, i]
        learn_and_drive(y, w, time)
        for k in range(K):
            fire(
                scratch.potentials[k], steps.uniforms[step, k], steps.targets[step], learns and not o.free,
                graph.circuits, scratch.probabilities[k], spikes[k], scratch.log_probability[k],
            )  # fmt: skip
            for i in range(n):
                fired[i, k] = spikes[k, i]
        weigh_compartments(
            w.rule, o, steps, step, scratch.log_probability, c.log_weights, scratch.importance, report
        )  # fmt: skip

        # Post factors and learning signals.
        if learns or o.rewarded:
            make_post_factors(
                n_hidden, o.sends_back, spikes, scratch.probabilities, scratch.factors, post, post_factor
            )  # fmt: skip
        else:
            post[:] = 0
        if learns:
            send_signals(
                w.rule, o, spikes, c.log_weights, scratch.importance, c.processor_memory, visible_signal,
                hidden_signal, broadcast, slopes,
            )  # fmt: skip
            for k in range(K):
                for x in range(n_visible):
                    errors[k, x] = post[k, n_hidden + x] * (dtype.type(o.slope[k, x]) if o.sends_back else one)
            if w.rule.has_local:
                scratch.reached[:] = c.reach.T
                local(
                    w.rule.settings, hidden_signal, errors, scratch.reached, fired[:n_hidden], c.neuron_memory, signal
                )  # fmt: skip
            for k in range(K):
                to_hidden = dtype.type(hidden_signal[k])
                for i in range(n_hidden):
                    rate[k, i] = eta * (signal[i, k] if w.rule.has_local else to_hidden)
                for i in range(n_hidden, n):
                    rate[k, i] = eta * dtype.type(visible_signal[k])
                    if o.sends_back:
                        rate[k, i] *= dtype.type(o.slope[k, i - n_hidden])
                        c.once[k, i] = eta * dtype.type(o.at_once[k, i - n_hidden] / K) * post[k, i]
        else:
            rate[:] = 0
            c.once[:] = 0
        c.rates[:, :, time % REMEMBERED] = rate

        # What is learned without synapses: bias and self-memory; and how hidden neurons reach visible ones.
        for k in range(K):
            for i in range(n):
                c.bias_eligibility[k, i] = gamma * c.bias_eligibility[k, i] + post[k, i]
                c.bias[i] += rate[k, i] * c.bias_eligibility[k, i]
            if graph.mean.shape[0]:
                for i in range(n):
                    e = gamma * c.mean_eligibility[k, i] + post[k, i] * scratch.mean_trace[i]
                    c.mean_eligibility[k, i] = e
                    c.bias[i] += rate[k, i] * (graph.mean_square[i] * c.bias_eligibility[k, i] - e)
                    c.centre[i] += rate[k, i] * c.bias_eligibility[k, i]
            for basis in range(c.somatic.shape[0]):
                learn_by_eligibility(
                    gamma, post[k], c.somatic_trace[k, basis], rate[k], graph.has_memory,
                    c.somatic_eligibility[k, basis], c.somatic[basis],
                )  # fmt: skip
            if w.rule.has_local:
                learn_reach(
                    gamma, post[k, n_hidden:], y.traces[time % 2, k, :, n_inputs : n_inputs + n_hidden],
                    rate[k, n_hidden:], graph.reaches, c.reach_eligibility[k], c.reach, scratch.total,
                )  # fmt: skip
        if o.sends_back:
            _learn_alone_at_once(y, w, n_hidden, time % 2)

        # Remember the spikes, in the traces that the next step sees.
        remember(fired, c.history, graph.history_bits)
        inputs = steps.source[steps.start[step] : steps.start[step + 1]]
        K_inputs = scratch.fired_inputs.shape[1]
        for j in inputs:
            scratch.fired_inputs[j // K_inputs, j % K_inputs] = True
        remember(scratch.fired_inputs, c.input_history, graph.history_bits)
        make_traces(y, w, time + 1)
        for j in inputs:
            scratch.fired_inputs[j // K_inputs, j % K_inputs] = False
            y.spoke[j // K_inputs] = time
        for k in range(K):
            for i in range(n):
                if fired[i, k]:
                    y.spoke[n_inputs + i] = time
        c.time[0] = time + 1


@jit()
def make_traces(y: Synapses, w: Arrays, time: int) -> None:
    """Traces that step ``time`` sees, from the histories."""
    c, graph, traces = w.carried, w.graph, y.traces[time % 2]
    n_inputs, K_inputs = c.input_history.shape[:2]
    K, n_basis = traces.shape[:2]
    for k in range(K):
        for basis in range(n_basis):
            look_up(c.input_history, k % K_inputs, graph.synaptic_table, basis, traces[k, basis, :n_inputs])
            look_up(c.history, k, graph.synaptic_table, basis, traces[k, basis, n_inputs:])
        for basis in range(c.somatic.shape[0]):
            look_up(c.history, k, graph.somatic_table, basis, c.somatic_trace[k, basis])


@jit(fastmath=FASTMATH)
def learn_and_drive(y: Synapses, w: Arrays, time: int) -> None:
    """For every source with a trace: the update of the step before, and the drive of this one."""
    # Local names and plain indices: sources are many and their synapses few, so that views of arrays would cost more.
    start, neuron, weight, spoke, settled, eligibility, traces = y
    post, rate, potentials, scratch = w.carried.post, w.carried.rate, w.scratch.potentials, w.scratch.of_synapses
    gamma, earliest = w.rule.gamma, time - 1 - w.graph.duration
    before, now, n_means, sends_back = (time + 1) % 2, time % 2, w.graph.mean.shape[0], w.objective.sends_back
    w.scratch.mean_trace[:] = 0
    for j in range(spoke.shape[0]):
        if spoke[j] >= earliest:  # a trace now, or at the step before
            first, last = np.uint64(start[j]), np.uint64(start[j + 1])
            if settled[j] != NEVER and settled[j] < time - 2:
                _settle(y, w, j, time - 2)
            if settled[j] < time - 1:
                _learn(first, last, j, neuron, weight, eligibility, traces, before, post, rate, gamma, scratch)
                if sends_back:
                    _learn_at_once(first, last, j, neuron, weight, traces, before, w.carried.once)
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
    """The part of the update without eligibility, for the same synapses."""
    for k in range(once.shape[0]):
        for basis in range(weight.shape[0]):
            trace = traces[slot, k, basis, j]
            for s in range(first, last):
                weight[basis, s] += once[k, neuron[s]] * trace


@jit(fastmath=FASTMATH)
def _learn_alone_at_once(y: Synapses, w: Arrays, n_hidden: int, slot: int) -> None:
    """The same for bias, self-memory and reach."""
    c, graph, scratch = w.carried, w.graph, w.scratch
    n, K = scratch.fired.shape
    n_inputs = c.input_history.shape[0]
    for k in range(K):
        once = c.once[k]
        for i in range(n):
            c.bias[i] += once[i]
        if graph.mean.shape[0]:
            for i in range(n):
                c.bias[i] += once[i] * (graph.mean_square[i] - scratch.mean_trace[i])
                c.centre[i] += once[i]
        for basis in range(c.somatic.shape[0]):
            learn_at_once(once, c.somatic_trace[k, basis], graph.has_memory, c.somatic[basis])
        reach_at_once(
            once[n_hidden:], y.traces[slot, k, :, n_inputs : n_inputs + n_hidden], graph.reaches, c.reach
        )  # fmt: skip


@jit(fastmath=FASTMATH, error_model="numpy")
def reward(y: Synapses, w: Arrays, rewards: Any, broadcast: Any, importance: Any) -> None:
    """Learn from the rewards (K,) of the last step, with the present eligibility; writes the importance (K,)."""
    c, (n, K) = w.carried, w.scratch.fired.shape
    time, dtype = c.time[0] - 1, c.bias.dtype
    weigh(1.0, w.rule.beta, True, rewards, c.log_weights, importance)
    visible_signal, hidden_signal = np.empty(K), np.empty(K)
    broadcast(w.rule.settings, c.log_weights, importance, c.processor_memory, visible_signal, hidden_signal)
    for k in range(K):
        rate = w.rule.learning_rate * dtype.type(hidden_signal[k])  # visible neurons learn like hidden ones
        for i in range(n):
            c.rate[k, i] = c.rates[k, i, time % REMEMBERED] = rate
            c.bias[i] += rate * c.bias_eligibility[k, i]
            for basis in range(c.somatic.shape[0]):
                c.somatic[basis, i] += rate * c.somatic_eligibility[k, basis, i] * w.graph.has_memory[i]
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
def _drive_means(y: Synapses, w: Arrays, j: int, traces: Any) -> None:
    """Drive by what is yet to be subtracted from an input's weights; its traces are alike in all compartments."""
    c, graph, scratch = w.carried, w.graph, w.scratch
    total = c.bias.dtype.type(0)
    for basis in range(traces.shape[0]):
        total += graph.mean[j, basis] * traces[basis, j]
    for s in range(y.start[j], y.start[j + 1]):
        i = y.neuron[s]
        scratch.mean_trace[i] += total
        for k in range(scratch.potentials.shape[0]):
            scratch.potentials[k, i] -= total * c.centre[i]


@jit(fastmath=FASTMATH)
def _settle(y: Synapses, w: Arrays, j: int, time: int) -> None:
    """Apply to one source's synapses the updates of the steps up to ``time`` at which it had no trace."""
    since = y.settled[j]
    if since == NEVER or since >= time:
        return
    dtype, rates, scratch = w.carried.bias.dtype, w.carried.rates, w.scratch.of_synapses
    first, last, gamma = np.uint64(y.start[j]), np.uint64(y.start[j + 1]), w.rule.gamma
    neuron, weight, eligibility = y.neuron, y.weight, y.eligibility
    faded = time - y.spoke[j] - w.graph.duration > w.graph.horizon
    remaining = dtype.type(0) if faded else gamma ** (time - since)
    for k in range(rates.shape[0]):
        for s in range(first, last):
            i, total, fade = neuron[s], dtype.type(0), gamma
            for r in range(since + 1, time + 1):
                total += fade * rates[k, i, r & (REMEMBERED - 1)]
                fade *= gamma
            scratch[0, s - first] = total
        for basis in range(weight.shape[0]):
            for s in range(first, last):
                weight[basis, s] += scratch[0, s - first] * eligibility[k, basis, s]
                eligibility[k, basis, s] *= remaining
    y.settled[j] = NEVER if faded else time


@jit(fastmath=FASTMATH)
def settle_all(y: Synapses, w: Arrays, time: int) -> None:
    """The same for all sources."""
    for j in range(y.settled.shape[0]):
        _settle(y, w, j, time)


@jit(fastmath=FASTMATH)
def finish(y: Synapses, w: Arrays) -> None:
    """Apply all updates so far to all synapses, so that weights and eligibility can be read."""
    c, graph = w.carried, w.graph
    time = c.time[0]
    for j in range(y.settled.shape[0]):
        if y.spoke[j] >= time - 1 - graph.duration and y.settled[j] < time - 1:
            _settle(y, w, j, time - 2)
            _learn(
                np.uint64(y.start[j]), np.uint64(y.start[j + 1]), j, y.neuron, y.weight, y.eligibility, y.traces,
                (time + 1) % 2, c.post, c.rate, w.rule.gamma, w.scratch.of_synapses,
            )  # fmt: skip
            if w.objective.sends_back:
                _learn_at_once(
                    np.uint64(y.start[j]), np.uint64(y.start[j + 1]), j, y.neuron, y.weight, y.traces, (time + 1) % 2,
                    c.once,
                )  # fmt: skip
            y.settled[j] = time - 1
        else:
            _settle(y, w, j, time - 1)
    for j in range(graph.mean.shape[0]):
        for s in range(y.start[j], y.start[j + 1]):
            for basis in range(y.weight.shape[0]):
                y.weight[basis, s] -= graph.mean[j, basis] * c.centre[y.neuron[s]]
    c.centre[:] = 0


@jit(fastmath=FASTMATH)
def subtract_means(y: Synapses, w: Arrays) -> None:
    """Compute what depends on the means, where these are new and everything is settled."""
    c, graph = w.carried, w.graph
    graph.mean_square[:] = 0
    c.mean_eligibility[:] = 0
    for j in range(graph.mean.shape[0]):
        for s in range(y.start[j], y.start[j + 1]):
            i = y.neuron[s]
            for basis in range(y.weight.shape[0]):
                m = graph.mean[j, basis]
                graph.mean_square[i] += m * m
                for k in range(c.mean_eligibility.shape[0]):
                    c.mean_eligibility[k, i] += m * y.eligibility[k, basis, s]
