"""Networks with winner-take-all circuits: the exact model in plain Python, and random ones for differential tests.

The exact part is written from the definitions and shares nothing with the engines. A *unit* is a list of neurons and
whether they can all be silent: a Bernoulli neuron is one neuron that can, a circuit is several that may or may not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import replace

import exact
import numpy as np
from hypothesis import strategies as st
from problems import Problem, filters, make_problem, topologies

import gemsnn
from gemsnn.engine import reference
from gemsnn.engine.task import Task
from gemsnn.model import spikes as spiking

Unit = tuple[tuple[int, ...], bool]

# ---- the exact model


def units(network: gemsnn.Network) -> list[Unit]:
    """All neurons, each in one unit."""
    circuits = [(circuit.neurons, circuit.silent) for circuit in network.circuits.competing]
    taken = {neuron for neurons, _ in circuits for neuron in neurons}
    return circuits + [((neuron,), True) for neuron in range(network.n_neurons) if neuron not in taken]


def hidden_units(network: gemsnn.Network) -> list[Unit]:
    return [unit for unit in units(network) if unit[0][0] < network.n_hidden]


def visible_units(network: gemsnn.Network) -> list[Unit]:
    return [unit for unit in units(network) if unit[0][0] >= network.n_hidden]


def patterns(of: Iterable[Unit], neurons: range) -> list[tuple[int, ...]]:
    """Every pattern of zeros and ones over the neurons that the units can emit in one step."""
    choices = [[*members, None] if silent else list(members) for members, silent in of]
    found = []
    for winners in itertools.product(*choices):
        found.append(tuple(int(neuron in winners) for neuron in neurons))
    return found


def trains(of: Iterable[Unit], neurons: range, n_steps: int) -> list[list[tuple[int, ...]]]:
    """Every (T, n) pattern."""
    return [list(train) for train in itertools.product(patterns(of, neurons), repeat=n_steps)]


def unit_probabilities(unit: Unit, u: list[float]) -> list[float]:
    """Of each neuron of the unit to spike, from the potentials of all neurons."""
    members, silent = unit
    total = sum(math.exp(u[i]) for i in members) + (1.0 if silent else 0.0)
    return [math.exp(u[i]) / total for i in members]


def log_unit(unit: Unit, u: list[float], spikes: list[int]) -> float:
    """log-probability of what a unit did."""
    p = unit_probabilities(unit, u)
    fired = [spikes[i] for i in unit[0]]
    return math.log(p[fired.index(1)] if any(fired) else 1 - sum(p))


def step_log_probabilities(network, parameters, spikes: list[list[int]]) -> list[tuple[float, float]]:
    """[t]: log-probabilities of the hidden and of the visible spikes, of [t][source] spikes of one compartment."""
    hidden, visible, steps = hidden_units(network), visible_units(network), []
    for t in range(len(spikes)):
        u = [exact.potential(network, parameters, spikes, i, t) for i in range(network.n_neurons)]
        own = spikes[t][network.n_inputs :]
        steps.append((sum(log_unit(x, u, own) for x in hidden), sum(log_unit(x, u, own) for x in visible)))
    return steps


def hidden_trains(network, parameters, inputs, visible) -> tuple[list, np.ndarray, np.ndarray]:
    """All hidden trains; (n, T) log-probabilities of their steps, and of the visible spikes given them."""
    found = trains(hidden_units(network), range(network.n_hidden), len(inputs))
    steps = np.array(
        [step_log_probabilities(network, parameters, exact.sources(inputs, train, visible)) for train in found]
    )
    return found, steps[:, :, 0], steps[:, :, 1]


def forcing_uniforms(network, parameters, inputs, hidden, visible) -> np.ndarray:
    """(T, n_hidden) draws that make the hidden neurons spike as given."""
    spikes = exact.sources(inputs, hidden, visible)
    draws = np.full((len(inputs), network.n_hidden), 0.5)
    for t in range(len(inputs)):
        u = [exact.potential(network, parameters, spikes, i, t) for i in range(network.n_neurons)]
        for unit in hidden_units(network):
            edges = [0.0, *itertools.accumulate(unit_probabilities(unit, u)), 1.0]
            fired = [hidden[t][i] for i in unit[0]]
            place = fired.index(1) if any(fired) else len(fired)
            draws[t, unit[0][0]] = (edges[place] + edges[place + 1]) / 2
    return draws


# ---- random ones

RULES = {
    "gem": gemsnn.GEM(),
    "gem, centred": gemsnn.GEM(centred=True),
    "mb": gemsnn.MB(),
    "mb, no baseline": gemsnn.MB(baseline=None),
    "iw": gemsnn.IW(),
    "iw, running mean": gemsnn.IW(baseline=0.8),
    "iw, no baseline": gemsnn.IW(baseline=None),
    "feedback": gemsnn.Feedback(1e-3, gain=3.0),
}
"""Every rule, in each of its forms."""


@st.composite
def rules(draw: st.DrawFn) -> gemsnn.rules.Rule:
    rule = RULES[draw(st.sampled_from(sorted(RULES)))]
    # Signals of MB and IW are log-probabilities, which grow with the sequence; with large steps, rounding grows, too.
    largest = 5e-4 if isinstance(rule, gemsnn.MB | gemsnn.IW) else 0.01
    return replace(
        rule,
        learning_rate=draw(st.sampled_from([0.0, largest / 10, largest])),
        kappa=draw(st.sampled_from([0.5, 0.9, 1.0])),
        gamma=draw(st.sampled_from([0.5, 0.9, 1.0])),
    )


@st.composite
def circuits(draw: st.DrawFn, first: int, last: int) -> list[gemsnn.Circuit]:
    """A random partition of some of the neurons ``first`` to ``last`` - 1, in any order."""
    order = draw(st.permutations(range(first, last)))
    found, start = [], 0
    while start < len(order):
        size = draw(st.integers(1, 4))
        members = tuple(order[start : start + size])
        if len(members) > 1:
            found.append(gemsnn.Circuit(members, silent=draw(st.booleans())))
        start += size
    return found


SHORT = st.integers(1, 30)


@st.composite
def circuit_problems(draw: st.DrawFn, lengths: st.SearchStrategy[int] = SHORT, most_compartments: int = 5) -> Problem:
    """Random graphs, filters, circuits and rules; targets that the visible circuits can emit."""
    n_inputs, n_hidden, n_visible = draw(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(1, 5)))
    network = gemsnn.Network(
        draw(topologies(n_inputs, n_hidden, n_visible)),
        draw(filters()),
        draw(filters()),
        visible_memory=draw(st.booleans()),
        circuits=[*draw(circuits(0, n_hidden)), *draw(circuits(n_hidden, n_hidden + n_visible))],
    )
    T, K, seed = draw(lengths), draw(st.integers(1, most_compartments)), draw(st.integers(0, 2**32 - 1))
    problem = make_problem(network, draw(rules()), T, K, seed, scale=draw(st.sampled_from([0.3, 1.0, 3.0])))
    return Problem(**{**vars(problem), "targets": random_targets(network, T, np.random.default_rng(seed))})


def random_targets(network: gemsnn.Network, T: int, rng: np.random.Generator) -> np.ndarray:
    """(T, n_visible) that the visible circuits can emit, each pattern of a unit as likely as another."""
    silent_potentials = np.zeros((T, network.n_visible))
    p = spiking.probability(network.circuits.visible, silent_potentials)
    return spiking.sample(network.circuits.visible, p, rng.random(p.shape)).astype(np.uint8)


def draws_off_threshold(problem: Problem, margin: float, free: bool = False) -> np.ndarray:
    """Draws that a run of the reference engine never meets closer than ``margin`` to where a spike is decided."""
    network = problem.network
    uniforms = problem.uniforms(network.n_neurons if free else network.n_hidden)
    learner = reference.learner(Task(network, problem.rule, problem.K), problem.parameters)
    for t in range(problem.T):
        u = reference.potentials(network, learner.weights, learner.history)[0]
        for members, _ in units(network) if free else hidden_units(network):
            edges = np.cumsum(spiking.probability(network.circuits, u)[:, list(members)], axis=1)
            for k in range(problem.K):
                if np.abs(edges[k] - uniforms[t, k, members[0]]).min() < margin:
                    borders = np.concatenate([[0], edges[k], [1]])
                    widest = int(np.argmax(np.diff(borders)))
                    uniforms[t, k, members[0]] = (borders[widest] + borders[widest + 1]) / 2
        learner.step(problem.inputs[t], None if free else problem.targets[t], uniforms[t])
    return uniforms
