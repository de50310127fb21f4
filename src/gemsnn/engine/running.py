"""The kernel for running without learning: cost follows spikes; memory does not grow with a recording's length.

The weights stay as they are, so that only the first of the five points of ``event_kernel.py`` remains. When a source
spikes, its row of weights is added to q, one number for each neuron and basis function; the drive of a neuron is the
filtered q. Inputs spike alike in all compartments, so that their drive is computed once.

A recording, and each of its compartments, is computed in the same order whatever else is computed: it is bit-for-bit
the same alone, among others, step by step, and on any number of threads. No product is fused with a sum, so every
machine rounds alike; the exported C (``gemsnn/export``) computes the same, line by line.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from gemsnn.compiling.jit import jit
from gemsnn.engine.arrays import Booleans, Counts, Doubles, Floats, Integers, allocate
from gemsnn.engine.firing import CircuitTable, circuit_table, compete, sigmoid, winner
from gemsnn.engine.recursion import Bank, Recursion, bank
from gemsnn.engine.rows import gather as gather_rows
from gemsnn.engine.synapses import is_sparse, synapse_lists
from gemsnn.model import Network, Parameters


class Listed(NamedTuple):
    """The weights of a sparse graph, listed (see ``synapses.py``); empty where there are rows."""

    start: Integers  # (n_sources + 1,)
    neuron: Counts  # (n_synapses,)
    weight: Floats  # (n_synapses, n_basis)


class Weights(NamedTuple):
    """A network and its parameters, as the kernel reads them; f is the precision of the parameters."""

    rows: Floats  # (n_inputs + n_feeding, n_basis * n_neurons) f: one for each source; none if they are listed
    listed: Listed
    n_inputs: int
    n_feeding: int  # neurons that may feed others
    bias: Floats  # (n_neurons,) f
    synapses: Bank
    soma: Bank
    # Self-memory: where both filters are the same it is in the rows, and these two are empty.
    somatic: Floats  # (n_basis, n_neurons) f, for a recursion
    somatic_lags: Floats  # (D, n_neurons) f, for other filters: what a spike so many steps ago adds
    memory: int  # steps that the longer filter sees
    circuits: CircuitTable


class Past(NamedTuple):
    """What is carried on from step to step, of one recording with K compartments; 0 before its first step."""

    time: Annotated[Integers, "1"]
    spikes: Annotated[Booleans, "memory", "K", "n"]
    input_rows: Annotated[Floats, "D", "n_basis", "n"]  # q of the last D steps; slot time % D
    input_drive: Annotated[Floats, "n_basis", "n"]  # q, filtered by the recursion
    rows: Annotated[Floats, "K", "D", "n_basis", "n"]  # the same for the spikes of neurons
    drive: Annotated[Floats, "K", "n_basis", "n"]
    own_trace: Annotated[Floats, "K", "n_somatic", "n"]  # of a neuron's own spikes, by the recursion of self-memory
    # scratch
    turned: Annotated[Floats, "D * n_basis"]  # the taps, in the order of the slots
    fresh: Annotated[Floats, "n_basis", "n"]
    shared: Annotated[Floats, "n"]  # the drive that all compartments have in common
    potential: Annotated[Floats, "n"]
    probabilities: Annotated[Doubles, "n"]
    active: Annotated[Integers, "max(n_inputs, n)"]


def arrange(network: Network, parameters: Parameters) -> Weights:
    """The weights source by source, as a copy."""
    dtype, n, n_basis = parameters.dtype, network.n_neurons, network.synaptic_filter.n_basis
    one_filter = network.synaptic_filter == network.somatic_filter
    feeds = bool(network.topology.mask[:, network.n_inputs + network.n_hidden :].any())
    n_feeding = n if feeds or one_filter else network.n_hidden
    n_sources = network.n_inputs + n_feeding
    in_rows = one_filter  # self-memory is then a synapse from a neuron to itself
    if is_sparse(network.topology):
        lists, in_rows = synapse_lists(network.topology), False
        rows = np.zeros((0, n_basis * n), dtype=dtype)
        listed = Listed(lists.start, lists.neuron, lists.weights(parameters.synaptic))
    else:
        by_source = np.array(parameters.synaptic[:, :n_sources].transpose(1, 2, 0), order="C")
        if one_filter:
            own = np.arange(n)
            by_source[network.n_inputs + own, :, own] += parameters.somatic
        rows = by_source.reshape(n_sources, n_basis * n)
        listed = Listed(np.zeros(0, np.intp), np.zeros(0, np.int32), np.zeros((0, n_basis), dtype))
    soma = bank(network.somatic_filter, dtype)
    n_recursive = 0 if in_rows or not soma.recursive else len(soma.taps)
    n_lags = 0 if in_rows or soma.recursive else soma.taps.shape[1]
    of_lags = network.somatic_filter.taps.T @ parameters.somatic.T.astype(np.float64)  # (D, n)
    return Weights(
        rows=rows,
        listed=listed,
        n_inputs=network.n_inputs,
        n_feeding=n_feeding,
        bias=parameters.bias.copy(),
        synapses=bank(network.synaptic_filter, dtype),
        soma=soma,
        somatic=np.array(parameters.somatic.T[:n_recursive], order="C"),
        somatic_lags=of_lags[:n_lags].astype(dtype),
        memory=network.memory,
        circuits=circuit_table(network.circuits),
    )


def silence(weights: Weights, n_compartments: int) -> Past:
    """The past of a recording that has not begun."""
    n_basis, D = weights.synapses.taps.shape
    sizes = {
        "K": n_compartments, "n": weights.bias.size, "D": D, "n_basis": n_basis, "n_somatic": len(weights.somatic),
        "memory": weights.memory, "n_inputs": weights.n_inputs,
    }  # fmt: skip
    return allocate(Past, sizes, weights.bias.dtype)


def forget(past: Past) -> None:
    """Reset to silence."""
    for array in past:
        array[:] = 0


@jit(error_model="numpy")
def run(
    w: Weights, past: Past, start: Any, source: Any, targets: Any, thresholds: Any, spikes: Any, visible_potential: Any
) -> None:
    """Run T steps of ``InputSpikes``; writes spikes (T, K, n_neurons) and potentials (T, K, n_visible).

    A neuron spikes, uniform < sigmoid(u), where u exceeds the uniform's logit: ``thresholds`` (T, K, n). Visible ones
    are clamped to (T, n_visible) targets, and run freely if the targets have no steps.
    """
    T, K, n = spikes.shape
    n_visible = visible_potential.shape[2]
    n_hidden, clamped = n - n_visible, targets.shape[0] > 0
    n_free = n_hidden if clamped else n
    memory = past.spikes.shape[0]
    shared, potential, circuits = past.shared, past.potential, w.circuits
    for t in range(T):
        time = past.time[0]
        if not w.synapses.recursive:
            _turn(w.synapses.taps, time, past.turned)
        for i in range(n):
            shared[i] = w.bias[i]
        _add_drive(w.synapses, past.turned, past.input_rows, past.input_drive, shared)
        for k in range(K):
            for i in range(n):
                potential[i] = shared[i]
            _add_drive(w.synapses, past.turned, past.rows[k], past.drive[k], potential)
            for basis in range(w.somatic.shape[0]):
                for i in range(n):
                    potential[i] += w.somatic[basis, i] * past.own_trace[k, basis, i]
            for lag in range(1, min(w.somatic_lags.shape[0], time) + 1):
                before = past.spikes[(time - lag) % memory, k]
                for i in range(n):
                    potential[i] += w.somatic_lags[lag - 1, i] * before[i]
            for x in range(n_visible):
                visible_potential[t, k, x] = potential[n_hidden + x]
            for i in range(n_free):
                spikes[t, k, i] = potential[i] > thresholds[t, k, i]
            for i in range(n_free, n):
                spikes[t, k, i] = targets[t, i - n_hidden] != 0
            for c in range(len(circuits.silent)):
                members = circuits.member[circuits.start[c] : circuits.start[c + 1]]
                if members[0] < n_free:
                    compete(potential, members, circuits.silent[c], past.probabilities)
                    uniform = sigmoid(np.float64(thresholds[t, k, members[0]]))
                    chosen = winner(past.probabilities, members, circuits.silent[c], uniform)
                    for i in members:
                        spikes[t, k, i] = i == chosen
            left = past.spikes[(time - w.soma.taps.shape[1]) % memory, k]
            _remember(w, past, k, time, spikes[t, k], left)
            past.spikes[time % memory, k] = spikes[t, k]
        _remember_inputs(w, past, time, source[start[t] : start[t + 1]])
        past.time[0] = time + 1


@jit()
def recall(w: Weights, past: Past, inputs: Any) -> None:
    """Recompute what the filters hold from the spikes of the past and (memory, n_inputs) inputs, in the same slots."""
    memory, K = past.spikes.shape[:2]
    end = past.time[0]
    begin = max(0, end - memory)
    past.input_rows[:] = 0
    past.input_drive[:] = 0
    past.rows[:] = 0
    past.drive[:] = 0
    past.own_trace[:] = 0
    nothing = np.zeros(past.spikes.shape[2], dtype=np.bool_)
    for time in range(begin, end):
        before = time - w.soma.taps.shape[1]
        for k in range(K):
            left = past.spikes[before % memory, k] if before >= begin else nothing
            _remember(w, past, k, time, past.spikes[time % memory, k], left)
        n_active = list_active(inputs[time % memory], past.active)
        _remember_inputs(w, past, time, past.active[:n_active])


@jit()
def _remember(w: Weights, past: Past, k: int, time: int, spikes: Any, leaving: Any) -> None:
    """Add the spikes (n_neurons,) of a compartment to its filters; ``leaving`` are those that leave self-memory."""
    n_active = list_active(spikes[: w.n_feeding], past.active)
    gather(w, w.n_inputs, past.active, n_active, past.fresh)
    _take_in(w.synapses, time, past.fresh, past.rows[k], past.drive[k])
    _remember_own(w.soma.recursion, spikes, leaving, past.own_trace[k])


@jit()
def _remember_inputs(w: Weights, past: Past, time: int, source: Any) -> None:
    gather(w, 0, source, len(source), past.fresh)
    _take_in(w.synapses, time, past.fresh, past.input_rows, past.input_drive)


@jit()
def list_active(spikes: Any, active: Any) -> int:
    """List which of (n,) sources spike; returns how many."""
    n = 0
    for j in range(spikes.shape[0]):
        active[n] = j
        n += spikes[j] != 0
    return n


@jit()
def gather(w: Weights, first: int, active: Any, n_active: int, fresh: Any) -> None:
    """Sum the rows of the active sources, counted from ``first``, to (n_basis, n_neurons)."""
    if w.rows.shape[0]:
        gather_rows(w.rows[first:], active, n_active, fresh.reshape(-1))
    else:
        _gather_listed(w.listed, first, active, n_active, fresh)


@jit()
def _gather_listed(listed: Listed, first: int, active: Any, n_active: int, total: Any) -> None:
    start, neuron, weight = listed.start, listed.neuron, listed.weight
    total[:] = 0
    for a in range(n_active):
        j = first + active[a]
        for s in range(start[j], start[j + 1]):
            for basis in range(weight.shape[1]):
                total[basis, neuron[s]] += weight[s, basis]


@jit()
def _take_in(synapses: Bank, time: int, fresh: Any, rows: Any, drive: Any) -> None:
    """Store q of this step, (n_basis, n_neurons), in place of the one that leaves the filters' memory."""
    n_basis, n = fresh.shape
    oldest = rows[time % rows.shape[0]]
    for basis in range(n_basis):
        if synapses.recursive:
            decay, gain = synapses.recursion.decay[basis], synapses.recursion.gain[basis]
            leaving = synapses.recursion.leaving[basis]
            for i in range(n):
                drive[basis, i] = decay * drive[basis, i] + gain * fresh[basis, i] - leaving * oldest[basis, i]
        for i in range(n):
            oldest[basis, i] = fresh[basis, i]


@jit()
def _add_drive(synapses: Bank, turned: Any, rows: Any, drive: Any, potential: Any) -> None:
    """Add the filtered q to the potential (n_neurons,)."""
    n = potential.shape[0]
    if synapses.recursive:
        for basis in range(drive.shape[0]):
            for i in range(n):
                potential[i] += drive[basis, i]
        return
    lagged = rows.reshape(-1, n)
    four = lagged.shape[0] // 4 * 4
    for m in range(0, four, 4):
        f0, f1, f2, f3 = turned[m], turned[m + 1], turned[m + 2], turned[m + 3]
        for i in range(n):
            potential[i] += (f0 * lagged[m, i] + f1 * lagged[m + 1, i]) + (
                f2 * lagged[m + 2, i] + f3 * lagged[m + 3, i]
            )
    for m in range(four, lagged.shape[0]):
        f0 = turned[m]
        for i in range(n):
            potential[i] += f0 * lagged[m, i]


@jit()
def _turn(taps: Any, time: int, turned: Any) -> None:
    """Write the taps in the order of the slots: q of ``lag`` steps ago is in slot (time - lag) % D."""
    n_basis, D = taps.shape
    for lag in range(1, D + 1):
        slot = (time - lag) % D
        for basis in range(n_basis):
            turned[slot * n_basis + basis] = taps[basis, lag - 1]


@jit()
def _remember_own(soma: Recursion, spikes: Any, left: Any, trace: Any) -> None:
    """The recursion of self-memory; ``left`` are the spikes that leave the filter's memory."""
    for basis in range(trace.shape[0]):
        decay, gain, leaving = soma.decay[basis], soma.gain[basis], soma.leaving[basis]
        for i in range(spikes.shape[0]):
            trace[basis, i] = decay * trace[basis, i] + gain * spikes[i] - leaving * left[i]
