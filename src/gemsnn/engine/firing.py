"""Spikes for the compiled engines: the same dynamics as ``model/spikes.py``, which explains them, in Numba."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.compiling.instructions import power_of_two
from gemsnn.compiling.jit import FASTMATH, jit, kernel
from gemsnn.model.spikes import Circuits

LEAST_POTENTIAL = -745.2  # below it, sigmoid is 0


class CircuitTable(NamedTuple):
    """Winner-take-all circuits as arrays; circuit c has the neurons ``member[start[c] : start[c + 1]]``."""

    alone: NDArray[np.bool_]  # (n_neurons,): Bernoulli neurons
    start: NDArray[np.intp]  # (n_circuits + 1,)
    member: NDArray[np.intp]
    silent: NDArray[np.bool_]  # (n_circuits,)
    column: NDArray[np.intp]  # (n_circuits,): where a visible circuit's log-probability is written; -1 for hidden ones


def circuit_table(circuits: Circuits) -> CircuitTable:
    """The arrays that kernels read."""
    sizes = [len(circuit.neurons) for circuit in circuits.competing]
    return CircuitTable(
        alone=circuits.bernoulli.copy(),
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
        member=np.array([i for circuit in circuits.competing for i in circuit.neurons], dtype=np.intp),
        silent=np.array([circuit.silent for circuit in circuits.competing], dtype=np.bool_),
        column=np.array([max(c.neurons[0] - circuits.n_hidden, -1) for c in circuits.competing], dtype=np.intp),
    )


@kernel(fastmath=FASTMATH, error_model="numpy")
def sigmoids(potentials: Any, probabilities: Any) -> None:
    """Write sigmoid(u) of (n,) potentials, to within two units in the last place; without calls, so that it vectorises.

    exp(-|u|) = 2^m exp(r) with |r| <= log(2) / 2, where 13 terms of the series are exact to the last place.
    """
    for i in range(potentials.shape[0]):
        u = np.float64(potentials[i])
        x = max(-abs(u), -708.0)
        m = np.floor(x * 1.4426950408889634 + 0.5)
        r = (x - m * 0.693147180369123816490) - m * 1.90821492927058770002e-10  # log(2) in two parts
        series = 1.0 + r * (1 / 13)
        series = 1.0 + r * (1 / 12) * series
        series = 1.0 + r * (1 / 11) * series
        series = 1.0 + r * (1 / 10) * series
        series = 1.0 + r * (1 / 9) * series
        series = 1.0 + r * (1 / 8) * series
        series = 1.0 + r * (1 / 7) * series
        series = 1.0 + r * (1 / 6) * series
        series = 1.0 + r * (1 / 5) * series
        series = 1.0 + r * (1 / 4) * series
        series = 1.0 + r * (1 / 3) * series
        series = 1.0 + r * (1 / 2) * series
        series = 1.0 + r * series
        tail = series * power_of_two(np.int64(m))
        tail = 0.0 if u < LEAST_POTENTIAL else tail
        probabilities[i] = (1.0 if u >= 0 else tail) / (1.0 + tail)


@jit(error_model="numpy")
def sigmoid(potential: float) -> float:
    """sigmoid(u), without overflow."""
    tail = np.exp(-abs(potential))
    return float((1.0 if potential >= 0 else tail) / (1.0 + tail))


@jit(error_model="numpy")
def log_sigmoid(potential: float) -> float:
    """log sigmoid(u), without overflow."""
    return float(min(potential, 0.0) - np.log1p(np.exp(-abs(potential))))


@kernel(error_model="numpy")
def compete(potentials: Any, members: Any, silent: bool, probabilities: Any) -> float:
    """Write the members' spike probabilities; returns log of the sum of exp(potential), silence included."""
    highest = 0.0 if silent else -np.inf
    for i in members:
        highest = max(highest, potentials[i])
    total = np.exp(-highest) if silent else 0.0
    for i in members:
        probabilities[i] = np.exp(potentials[i] - highest)
        total += probabilities[i]
    for i in members:
        probabilities[i] /= total
    return float(highest + np.log(total))


@kernel(error_model="numpy")
def winner(probabilities: Any, members: Any, silent: bool, uniform: float) -> int:
    """The first member whose cumulative probability exceeds the uniform; -1 for silence."""
    cumulative = 0.0
    for i in members:
        cumulative += probabilities[i]
        if uniform < cumulative:
            return int(i)
    return -1 if silent else int(members[len(members) - 1])


@kernel(fastmath=FASTMATH, error_model="numpy")
def fire(
    potential: Any,
    uniforms: Any,
    targets: Any,
    clamped: bool,
    circuits: Any,
    probabilities: Any,
    spikes: Any,
    log_probability: Any,
) -> None:
    """Write probabilities (n,), spikes (n,) and visible log-probabilities (n_visible,) of one compartment.

    Potentials and probabilities may be padded with columns of no neuron.
    """
    n, n_visible = spikes.shape[0], targets.shape[0]
    n_hidden = n - n_visible
    sigmoids(potential, probabilities)
    for i in range(n_hidden if clamped else n):
        spikes[i] = uniforms[i] < probabilities[i]
    for i in range(n_hidden, n):
        if clamped:
            spikes[i] = targets[i - n_hidden] != 0
        u = np.float64(potential[i])
        log_probability[i - n_hidden] = log_sigmoid(u if spikes[i] else -u)
    for c in range(len(circuits.silent)):
        members = circuits.member[circuits.start[c] : circuits.start[c + 1]]
        is_visible = members[0] >= n_hidden
        log_total = compete(potential, members, circuits.silent[c], probabilities)
        if is_visible and clamped:
            chosen = -1
            for i in members:
                if targets[i - n_hidden] != 0:
                    chosen = i
        else:
            chosen = winner(probabilities, members, circuits.silent[c], uniforms[members[0]])
        for i in members:
            spikes[i] = i == chosen
            if is_visible:
                log_probability[i - n_hidden] = 0.0
        if is_visible:
            of_spike = np.float64(potential[chosen]) if chosen >= 0 else 0.0
            log_probability[circuits.column[c]] = of_spike - log_total


@kernel(error_model="numpy")
def visible_log_probability(circuits: CircuitTable, potential: Any, spikes: Any, result: Any) -> None:
    """Write the (n_visible,) log-probabilities of visible spikes, from (n_visible,) potentials and (n_neurons,) spikes.

    That of a circuit is written at its first neuron; the others get 0.
    """
    n_visible = potential.shape[0]
    n_hidden = spikes.shape[0] - n_visible
    for x in range(n_visible):
        u = np.float64(potential[x])
        result[x] = log_sigmoid(u if spikes[n_hidden + x] else -u)
    for c in range(len(circuits.silent)):
        if circuits.column[c] >= 0:
            highest, chosen = 0.0 if circuits.silent[c] else -np.inf, 0.0
            members = circuits.member[circuits.start[c] : circuits.start[c + 1]]
            for i in members:
                u = np.float64(potential[i - n_hidden])
                highest = max(highest, u)
                result[i - n_hidden] = 0.0
                if spikes[i]:
                    chosen = u
            total = np.exp(-highest) if circuits.silent[c] else 0.0
            for i in members:
                total += np.exp(np.float64(potential[i - n_hidden]) - highest)
            result[circuits.column[c]] = chosen - (highest + np.log(total))


@kernel(error_model="numpy")
def add_up(log_probability: Any, likelihood: Any) -> None:
    """Write the sums (K,) of (K, n_visible) log-probabilities."""
    for k in range(log_probability.shape[0]):
        total = 0.0
        for x in range(log_probability.shape[1]):
            total += log_probability[k, x]
        likelihood[k] = total


@kernel(error_model="numpy")
def weigh(kappa: float, beta: float, learns: bool, report: Any, log_weights: Any, importance: Any) -> None:
    """The central processor: v <- kappa v + report, and SoftMax(beta v) over compartments, (K,) each.

    In a step without a target, reports do not count.
    """
    highest = -np.inf
    for k in range(log_weights.shape[0]):
        log_weights[k] = kappa * log_weights[k] + (report[k] if learns else 0.0)
        highest = max(highest, log_weights[k])
    total = 0.0
    for k in range(log_weights.shape[0]):
        importance[k] = np.exp(beta * (log_weights[k] - highest))
        total += importance[k]
    for k in range(log_weights.shape[0]):
        importance[k] /= total
