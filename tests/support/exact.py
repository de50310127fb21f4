"""The model in plain Python, one number at a time: written from the definitions, shares nothing with the engines.

Spikes are nested lists indexed ``[t][source]``, over inputs, hidden, visible; sources of one compartment.
"""

from __future__ import annotations

import itertools
import math

from gemsnn import Network, Parameters


def sigmoid(u: float) -> float:
    return 1 / (1 + math.exp(-u)) if u >= 0 else math.exp(u) / (1 + math.exp(u))


def potential(network: Network, parameters: Parameters, spikes: list[list[int]], i: int, t: int) -> float:
    """u_i at step t (from 0), from the spikes of steps 0 to t - 1."""
    u = float(parameters.bias[i])
    synaptic, somatic = network.synaptic_filter.taps, network.somatic_filter.taps
    for j in range(network.n_sources):
        if network.topology.mask[i, j]:
            for b in range(len(synaptic)):
                u += float(parameters.synaptic[i, j, b]) * trace(synaptic[b], spikes, j, t)
    if i < network.n_hidden or network.visible_memory:
        for b in range(len(somatic)):
            u += float(parameters.somatic[i, b]) * trace(somatic[b], spikes, network.n_inputs + i, t)
    return u


def trace(taps: list[float], spikes: list[list[int]], j: int, t: int) -> float:
    """sum over lags 1, 2, ... of taps[lag - 1] s_j(t - lag); nothing spiked before step 0."""
    return sum(float(taps[lag - 1]) * spikes[t - lag][j] for lag in range(1, len(taps) + 1) if t - lag >= 0)


def log_bernoulli(spike: int, u: float) -> float:
    return math.log(sigmoid(u) if spike else sigmoid(-u))


def sources(inputs: list, hidden: list, visible: list) -> list[list[int]]:
    """The three populations side by side, for each step."""
    return [[int(s) for s in (*a, *b, *c)] for a, b, c in zip(inputs, hidden, visible, strict=True)]


def step_log_probabilities(network: Network, parameters: Parameters, spikes: list[list[int]]) -> list[list[float]]:
    """[t][i]: log p(s_i at t | u_i at t), for every neuron."""
    return [
        [
            log_bernoulli(spikes[t][network.n_inputs + i], potential(network, parameters, spikes, i, t))
            for i in range(network.n_neurons)
        ]
        for t in range(len(spikes))
    ]


def causal_log_probabilities(
    network: Network, parameters: Parameters, inputs: list, hidden: list, visible: list
) -> tuple[float, float]:
    """log p(h || x) and log p(x || h): the hidden neurons' and the visible neurons' factors of the joint."""
    steps = step_log_probabilities(network, parameters, sources(inputs, hidden, visible))
    return sum(sum(row[: network.n_hidden]) for row in steps), sum(sum(row[network.n_hidden :]) for row in steps)


def all_spike_trains(n_steps: int, n_neurons: int) -> list[list[tuple[int, ...]]]:
    """Every (T, n) pattern of zeros and ones."""
    rows = list(itertools.product((0, 1), repeat=n_neurons))
    return [list(train) for train in itertools.product(rows, repeat=n_steps)]


def log_likelihood(network: Network, parameters: Parameters, inputs: list, visible: list) -> float:
    """log p(x) = log sum over all hidden spike trains of p(h || x) p(x || h)."""
    total = math.fsum(
        math.exp(sum(causal_log_probabilities(network, parameters, inputs, hidden, visible)))
        for hidden in all_spike_trains(len(inputs), network.n_hidden)
    )
    return math.log(total)
