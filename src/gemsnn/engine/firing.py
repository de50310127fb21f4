"""Spikes for the compiled engines: the same dynamics as ``model/spikes.py``, which explains them, in Numba."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.jit import jit
from gemsnn.model.spikes import Circuits


class CircuitTable(NamedTuple):
    """Winner-take-all circuits as arrays; circuit c has the neurons ``member[start[c] : start[c + 1]]``."""

    alone: NDArray[np.bool_]  # (n_neurons,): Bernoulli neurons
    start: NDArray[np.intp]  # (n_circuits + 1,)
    member: NDArray[np.intp]
    silent: NDArray[np.bool_]  # (n_circuits,)
    column: NDArray[np.intp]  # (n_circuits,): where a visible circuit's log-probability goes; -1 for hidden ones


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


@jit(error_model="numpy")
def sigmoid(potential: float) -> float:
    """Without overflow."""
    tail = np.exp(-abs(potential))
    return float((1.0 if potential >= 0 else tail) / (1.0 + tail))


@jit(error_model="numpy")
def log_sigmoid(potential: float) -> float:
    """log sigmoid(u), without overflow."""
    return float(min(potential, 0.0) - np.log1p(np.exp(-abs(potential))))


@jit(error_model="numpy")
def compete(potentials: Any, members: Any, silent: bool, probabilities: Any) -> float:
    """Write the members' probabilities of a spike; returns log of the sum of exp(potential), silence included."""
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


@jit(error_model="numpy")
def winner(probabilities: Any, members: Any, silent: bool, uniform: float) -> int:
    """The first member whose cumulated probability exceeds the uniform; -1 for silence."""
    cumulated = 0.0
    for i in members:
        cumulated += probabilities[i]
        if uniform < cumulated:
            return int(i)
    return -1 if silent else int(members[len(members) - 1])
