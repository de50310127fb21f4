r"""How neurons spike: probability, draw, log-probability and error of a spike, given the membrane potentials.

Neurons form *circuits*. At most one unit of a circuit spikes at a step; with a silent state none may:

    p_i = exp(u_i) / (1 + sum_j exp(u_j))  with a silent state,        p_i = exp(u_i) / sum_j exp(u_j)  without.

A Bernoulli neuron is a circuit of its own with a silent state: p = sigmoid(u). The units of a circuit share one draw,
that of its first unit: the first unit whose cumulative probability exceeds it spikes. The error of a unit, the
derivative of the log-probability with respect to its potential, is its spike minus its probability.

This file is for NumPy; ``engine/firing.py`` has the same for the compiled engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # loads its submodules on first use, so that importing this package stays fast
from numpy.typing import NDArray

from gemsnn.errors import ConfigError, DataError
from gemsnn.model.checks import whole_number

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Circuit:
    """A winner-take-all circuit: neurons of which at most one spikes at each step.

    Parameters
    ----------
    neurons
        Their rows: hidden neurons from 0, visible ones from n_hidden.
    silent
        Whether there may be steps at which none spikes.
    """

    neurons: tuple[int, ...]
    silent: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "neurons", tuple(int(whole_number("neuron", i, 0)) for i in self.neurons))
        if not self.neurons or len(set(self.neurons)) != len(self.neurons):
            raise ConfigError(f"a circuit needs neurons, each once, got {self.neurons}")
        if len(self.neurons) == 1 and not self.silent:
            raise ConfigError(f"neuron {self.neurons[0]} alone in a circuit without silent state would always spike")


class Circuits:
    """A partition of the neurons: those in no winner-take-all circuit are Bernoulli neurons.

    Attributes
    ----------
    competing
        The winner-take-all circuits, in the order of their first neuron.
    bernoulli
        (n_neurons,) bool
    """

    def __init__(self, n_hidden: int, n_neurons: int, circuits: Sequence[Circuit] = ()) -> None:
        self.n_hidden, self.n_neurons = n_hidden, n_neurons
        # A circuit of one with a silent state is a Bernoulli neuron.
        self.competing = tuple(sorted((c for c in circuits if len(c.neurons) > 1), key=lambda c: c.neurons[0]))
        self.bernoulli = np.ones(n_neurons, dtype=bool)
        for circuit in circuits:
            members = np.array(circuit.neurons)
            if members.max() >= n_neurons:
                raise ConfigError(f"circuit {circuit.neurons}: there are only {n_neurons} neurons")
            if (members < n_hidden).any() and (members >= n_hidden).any():
                raise ConfigError(f"circuit {circuit.neurons}: mixes hidden and visible neurons; use two circuits")
        for circuit in self.competing:
            members = np.array(circuit.neurons)
            if not self.bernoulli[members].all():
                raise ConfigError(f"circuit {circuit.neurons}: one of its neurons is also in another circuit")
            self.bernoulli[members] = False
        self.bernoulli.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Circuits)
            and (self.n_hidden, self.n_neurons) == (other.n_hidden, other.n_neurons)
            and self.competing == other.competing
        )

    def __hash__(self) -> int:
        return hash((self.n_hidden, self.n_neurons, self.competing))

    @property
    def visible(self) -> Circuits:
        """The circuits of the visible neurons, which are counted from 0."""
        n = self.n_neurons - self.n_hidden
        shown = (c for c in self.competing if c.neurons[0] >= self.n_hidden)
        return Circuits(0, n, [Circuit(tuple(i - self.n_hidden for i in c.neurons), c.silent) for c in shown])

    def check_targets(self, name: str, targets: NDArray[Any]) -> None:
        """Refuse desired (..., n_visible) spikes that the visible circuits cannot emit."""
        for circuit in self.visible.competing:
            count = targets[..., list(circuit.neurons)].sum(axis=-1, dtype=np.int64)
            wrong = (count > 1) | ((count == 0) & (not circuit.silent))
            if wrong.any():
                place = tuple(np.argwhere(wrong)[0].tolist())
                raise DataError(
                    f"{name}{list(place)} has {count[place]} spikes in the winner-take-all circuit {circuit.neurons}, "
                    f"which emits {'at most' if circuit.silent else 'exactly'} one per step"
                )


def probability(circuits: Circuits, u: Array) -> Array:
    """(..., n) probabilities of a spike from potentials (..., n)."""
    p: Array = scipy.special.expit(u)
    for circuit in circuits.competing:
        members = list(circuit.neurons)
        p[..., members] = scipy.special.softmax(_with_silence(circuit, u), axis=-1)[..., : len(members)]
    return p


def sample(circuits: Circuits, p: Array, uniforms: Array) -> NDArray[np.bool_]:
    """(..., n) spikes: a neuron spikes where its uniform is below p; in a circuit, the first draw selects the unit."""
    spikes = np.asarray(uniforms < p)
    for circuit in circuits.competing:
        members = list(circuit.neurons)
        above = uniforms[..., members[:1]] < np.cumsum(p[..., members], axis=-1)
        if not circuit.silent:
            above[..., -1] = True  # the probabilities sum to 1 up to rounding
        before = np.concatenate([np.zeros_like(above[..., :1]), above[..., :-1]], axis=-1)
        spikes[..., members] = above & ~before
    return spikes


def log_probability(circuits: Circuits, u: NDArray[Any], spikes: NDArray[Any]) -> Array:
    """(..., n_units) log-probabilities of spikes (..., n) under potentials (..., n); they broadcast.

    One unit for each Bernoulli neuron, then one for each winner-take-all circuit.
    """
    u, spikes = np.broadcast_arrays(np.asarray(u, dtype=np.float64), spikes)
    fired = spikes != 0
    alone = circuits.bernoulli
    # log sigmoid(u) for a spike, log(1 - sigmoid(u)) = log sigmoid(-u) for none
    parts = [scipy.special.log_expit(np.where(fired[..., alone], u[..., alone], -u[..., alone]))]
    for circuit in circuits.competing:
        members = list(circuit.neurons)
        of_spike = (u[..., members] * fired[..., members]).sum(axis=-1, keepdims=True)
        parts.append(of_spike - scipy.special.logsumexp(_with_silence(circuit, u), axis=-1, keepdims=True))
    return np.concatenate(parts, axis=-1)


def by_neuron(circuits: Circuits, of_units: Array) -> Array:
    """(..., n) from one number for each unit, as :func:`log_probability` gives it: a circuit's at its first neuron."""
    each = np.zeros((*of_units.shape[:-1], len(circuits.bernoulli)))
    n_alone = int(circuits.bernoulli.sum())
    each[..., circuits.bernoulli] = of_units[..., :n_alone]
    for number, circuit in enumerate(circuits.competing):
        each[..., circuit.neurons[0]] = of_units[..., n_alone + number]
    return each


def _with_silence(circuit: Circuit, u: Array) -> Array:
    """(..., m) potentials of the circuit's units, and of its silent state, 0, as the last."""
    potentials: Array = u[..., list(circuit.neurons)]
    if not circuit.silent:
        return potentials
    return np.concatenate([potentials, np.zeros_like(potentials[..., :1])], axis=-1)
