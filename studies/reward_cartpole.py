"""CartPole of gymnasium, learned from rewards alone: K environments, one for each compartment.

Position, speed, angle and angular speed become spikes of 48 place cells. Two visible neurons form a winner-take-all
circuit; the one with most spikes in four network steps is the action. The reward is -1 when the pole has fallen.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import gemsnn

STEPS = 4  # of the network per action: a trace sees spikes up to the step before
CELLS = 12  # place cells for each of the four numbers
LIMITS = np.array([2.4, 3.0, 0.21, 3.0])
PLACES = np.linspace(-1, 1, CELLS)
GAMMA = 0.98  # of an action
CRITIC_RATE = 0.01
ENVIRONMENT_STEPS, BINS = 80_000, 20
TESTS = 20  # episodes of the learned policy

COMMON: dict[str, Any] = {"kappa": 0.0, "gamma": GAMMA ** (1 / STEPS)}
METHODS: dict[str, tuple[type[gemsnn.rules.Rule], int, dict[str, Any]]] = {  # rule, K, settings
    "running mean, K = 1": (gemsnn.MB, 1, {"baseline": 0.999}),
    "running mean, K = 5": (gemsnn.MB, 5, {"baseline": 0.995}),
    "running mean, K = 20": (gemsnn.MB, 20, {"baseline": 0.995}),
    "no baseline, K = 20": (gemsnn.MB, 20, {"baseline": None}),
    "leave-one-out, K = 20": (gemsnn.MB, 20, {"baseline": "leave-one-out"}),
    "GEM, K = 20": (gemsnn.GEM, 20, {"centred": True, "beta": 4.0}),
    "critic, K = 5": (gemsnn.MB, 5, {"baseline": None}),
    "critic, K = 20": (gemsnn.MB, 20, {"baseline": None}),
}


def network() -> gemsnn.Network:
    topology, synapses = gemsnn.Topology.fully_connected(4 * CELLS, 0, 2), gemsnn.Exponential((1.5,), duration=12)
    return gemsnn.Network(topology, synapses, visible_memory=False, circuits=[[0, 1]])


def cells(states: NDArray[Any]) -> NDArray[np.float64]:
    """(K, 4 * CELLS): how probable a spike of each place cell is."""
    at = np.clip(states / LIMITS, -1, 1)[:, :, None]
    nearness: NDArray[np.float64] = np.exp(-0.5 * ((at - PLACES) / (PLACES[1] - PLACES[0])) ** 2)
    return 0.8 * nearness.reshape(len(states), -1)


def act(stream: gemsnn.Stream, probability: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """(K,) actions: the visible neuron with most spikes; the last one's where both have as many."""
    counts = np.zeros((len(probability), 2), dtype=np.int64)
    for _ in range(STEPS):
        fired = stream.step(rng.random(probability.shape) < probability).spikes[:, -2:]
        counts += fired
    return np.where(counts[:, 0] == counts[:, 1], fired[:, 1], counts.argmax(axis=1)).astype(np.int64)


class Environments:
    """K environments side by side."""

    def __init__(self, K: int, seed: int) -> None:
        self.each = [gymnasium.make("CartPole-v1") for _ in range(K)]
        self.states = np.array([one.reset(seed=1000 * seed + k)[0] for k, one in enumerate(self.each)])
        self.lengths = np.zeros(K, dtype=np.int64)

    def step(self, actions: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Where the pole has fallen, and where the episode is over."""
        fallen, over = np.zeros((2, len(self.each)), dtype=bool)
        for k, environment in enumerate(self.each):
            self.states[k], _, fallen[k], late, _ = environment.step(actions[k])
            over[k] = fallen[k] or late
        self.lengths += 1
        return fallen, over

    def begin(self, over: NDArray[np.bool_]) -> list[int]:
        """New episodes where the old ones are over; the lengths of these."""
        lengths = self.lengths[over].tolist()
        self.lengths[over] = 0
        for k in np.flatnonzero(over):
            self.states[k] = self.each[k].reset()[0]
        return [int(length) for length in lengths]


def measured(method: str, rate: float, seed: int, steps: int = ENVIRONMENT_STEPS) -> dict[str, Any]:
    """Returns while learning, and of the learned policy."""
    kind, K, settings = METHODS[method]
    of, has_critic = network(), method.startswith("critic")
    rule = kind(learning_rate=rate, **COMMON, **settings)
    stream = gemsnn.Stream(of, of.init(seed=seed), rule, n_compartments=K, seed=seed, objective=gemsnn.Reward())
    rng, environments = np.random.default_rng(seed), Environments(K, seed)
    value, traces = np.zeros(4 * CELLS), np.zeros((K, 4 * CELLS))
    ended: list[tuple[int, int]] = []
    begin, probability = time.process_time(), cells(environments.states)
    for step in range(steps // K):
        fallen, over = environments.step(act(stream, probability, rng))
        rewards, following = np.where(fallen, -1.0, 0.0), cells(environments.states)
        if has_critic:
            traces = GAMMA * traces + probability
            rewards += np.where(fallen, 0.0, GAMMA * (following @ value)) - probability @ value
            value += CRITIC_RATE * rewards @ traces / K
        stream.reward(rewards)
        if over.any():
            stream.end(over)
            traces[over] = 0
            ended += [(step * K, length) for length in environments.begin(over)]
            following = cells(environments.states)
        probability = following
    seconds = time.process_time() - begin
    policy = tested(of, stream.parameters, rule, seed)
    at = np.array([where * BINS // steps for where, _ in ended])
    lengths = np.array([length for _, length in ended])
    return {
        "score": float(np.mean(policy)),
        "return": float(np.mean(policy)),
        "curve": [float(lengths[at == n].mean()) if (at == n).any() else None for n in range(BINS)],
        "episodes": len(ended),
        "seconds": seconds,
        "weights": (stream.parameters.synaptic[1] - stream.parameters.synaptic[0]).ravel().tolist(),
    }


def tested(of: gemsnn.Network, parameters: gemsnn.Parameters, rule: gemsnn.rules.Rule, seed: int) -> NDArray[np.int64]:
    """(TESTS,): lengths of new episodes of a policy that no longer learns; it still draws its actions."""
    rule = gemsnn.MB(0.0, kappa=0.0, gamma=rule.gamma)
    player = gemsnn.Stream(of, parameters, rule, n_compartments=TESTS, seed=seed + 500, objective=gemsnn.Reward())
    environments, rng = Environments(TESTS, seed + 500), np.random.default_rng(seed + 500)
    lengths = np.zeros(TESTS, dtype=np.int64)
    while not lengths.all():
        _, over = environments.step(act(player, cells(environments.states), rng))
        if over.any():
            first = over & (lengths == 0)
            lengths[first] = environments.lengths[first]
            environments.begin(over)
            player.end(over)
    return lengths
