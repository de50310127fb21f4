"""The first spike decides which digit an N-MNIST recording shows, 7, 8 or 9; hidden spikes until then are the cost.

Two ways to save spikes: a price on each of them, learned by reward after likelihood, and the target rate of Feedback,
by likelihood alone. The three visible neurons form a circuit that may be silent. Learned by likelihood they spike at
once; a lower bias makes them wait. So every network is judged with several shifts of this bias.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from task_data import load

import gemsnn
from gemsnn.learning import Lesson, Lessons
from gemsnn.model.spike_list import SpikeList
from gemsnn.objectives import LIKELIHOOD, Objective

SIDE, N_CLASSES, N_HIDDEN = 17, 3, 40
N_TRAIN, N_VALIDATION, N_TEST = 600, 300, 600
FIRST = 3  # epochs for likelihood, of every network
BY_LIKELIHOOD, LIKELIHOOD_RATE = gemsnn.Feedback(), 1e-3
PATIENCE = -6.0  # added to the visible bias before rewards are learned from
SHIFTS = (-2.0, -4.0, -6.0, -8.0, -10.0, -13.0)  # of the visible bias, that networks are judged with
SAMPLES, TUNED_AT = 3, 0.003
K = 5
LEVELS = {"price": (0.001, 0.003, 0.01, 0.03), "target rate": (0.005, 0.02, 0.05, 0.2)}
EPOCHS = {"price": 4, "target rate": 8}  # of the second part: of about equal time


@dataclass(frozen=True)
class FirstToSpike(Objective):
    """The first visible spike decides, right or wrong; until then hidden spikes cost."""

    price: float = 0.003

    free: ClassVar[bool] = True
    unit_memory: ClassVar[int] = 1  # of the first visible neuron: whether it is decided

    @staticmethod
    def report(
        settings: Any, spikes: Any, targets: Any, log_probability: Any, hidden_spikes: float, memory: Any
    ) -> float:
        if memory[0, 0] > 0:
            return 0.0
        total = -settings.price * hidden_spikes
        for i in range(len(spikes)):
            if spikes[i] > 0:
                memory[0, 0] = 1.0
                total += 1.0 if targets[i] > 0 else -1.0
        return total


@dataclass(frozen=True)
class Recordings:
    """(n,) lists of spikes on 17 x 17 x 2 inputs, and classes."""

    inputs: list[SpikeList]
    labels: NDArray[np.int64]

    @property
    def arrays(self) -> NDArray[np.bool_]:
        return np.stack([one.to_array(2 * SIDE * SIDE) for one in self.inputs]).astype(bool)


def split(keep: Path, seed: int) -> tuple[Recordings, Recordings, Recordings]:
    """Training, validation and test recordings."""
    task = load("n-mnist-789", keep)
    parts = task.split(seed)
    sizes = {"train": N_TRAIN, "validation": N_VALIDATION, "test": N_TEST}
    rng, found = np.random.default_rng([seed, 27]), []
    for name, size in sizes.items():
        chosen = rng.permutation(getattr(parts, name))[:size]
        found.append(Recordings([pooled(task.spikes[index]) for index in chosen], task.labels[chosen]))
    return found[0], found[1], found[2]


def pooled(spikes: SpikeList) -> SpikeList:
    """A spike where any of four pixels has one."""
    whole = spikes.to_array(8 * SIDE * SIDE).reshape(-1, 2, SIDE, 2, SIDE, 2).astype(bool)
    return SpikeList.from_pairs(*np.nonzero(whole.any(axis=(3, 5)).reshape(len(whole), -1)), len(whole))


def measured(keep: Path, method: str, level: float, rate: float, seed: int) -> dict[str, Any]:
    """Accuracy and spikes until the first visible one, on validation and test recordings, for each shift."""
    train, validation, test = split(keep, seed)
    topology = gemsnn.Topology.fully_connected(2 * SIDE * SIDE, N_HIDDEN, N_CLASSES)
    circuit = gemsnn.Circuit(tuple(range(N_HIDDEN, N_HIDDEN + N_CLASSES)), silent=True)
    synapses = gemsnn.Exponential((2.0, 10.0), duration=40)
    network = gemsnn.Network(topology, synapses, visible_memory=False, circuits=[circuit])
    rule = replace(BY_LIKELIHOOD, target_rate=level if method == "target rate" else BY_LIKELIHOOD.target_rate)
    rng = np.random.default_rng([seed, 28])
    weights, _ = taught(network, network.init(seed=seed), train, rule, LIKELIHOOD_RATE, FIRST, 1, LIKELIHOOD, rng, seed)
    if method == "price":
        weights.bias[N_HIDDEN:] += PATIENCE
        by_reward = gemsnn.MB(kappa=0.0, gamma=0.97, baseline="leave-one-out")
        objective = FirstToSpike(level)
        weights, seconds = taught(network, weights, train, by_reward, rate, EPOCHS[method], K, objective, rng, seed + 1)
        weights.bias[N_HIDDEN:] -= PATIENCE
    else:
        weights, seconds = taught(network, weights, train, rule, rate, EPOCHS[method], 1, LIKELIHOOD, rng, seed + 1)
    points = []
    for shift in SHIFTS:
        shifted = weights.copy()
        shifted.bias[N_HIDDEN:] += shift
        points.append({"shift": shift, **judged(network, shifted, validation, test, seed + 2)})
    if method == "price":
        score = max(one["validation"]["accuracy"] - level * one["validation"]["spikes"] for one in points)
    else:
        score = max(one["validation"]["accuracy"] for one in points)
    return {"score": score, "points": points, "seconds": seconds}


def taught(
    network: gemsnn.Network,
    parameters: gemsnn.Parameters,
    train: Recordings,
    rule: gemsnn.rules.Rule,
    rate: float,
    epochs: int,
    n_compartments: int,
    objective: Objective,
    rng: np.random.Generator,
    seed: int,
) -> tuple[gemsnn.Parameters, float]:
    """Parameters after all epochs, and processor seconds; the step size falls to 0 as half a cosine."""
    n_steps = train.inputs[0].n_steps
    lessons, begin = Lessons(network, n_compartments, n_steps, seed=seed, objective=objective), time.process_time()
    total, desired = epochs * len(train.inputs), np.eye(N_CLASSES, dtype=np.uint8)
    for place, index in enumerate(shuffled(len(train.inputs), epochs, rng)):
        size = float(rate * (1 + np.cos(np.pi * place / total)) / 2)
        targets = np.repeat(desired[train.labels[index]][None], n_steps, axis=0)
        one = Lesson(train.inputs[index], targets, replace(rule, learning_rate=size), place)
        parameters, _ = lessons.learn(parameters, [one])
    return parameters.copy(), time.process_time() - begin


def shuffled(n: int, epochs: int, rng: np.random.Generator) -> Iterable[int]:
    for _ in range(epochs):
        yield from rng.permutation(n).tolist()


def judged(
    network: gemsnn.Network, parameters: gemsnn.Parameters, validation: Recordings, test: Recordings, seed: int
) -> dict[str, Any]:
    """Where nothing spikes, the answer is wrong, and all hidden spikes count."""
    found = {}
    for name, part in (("validation", validation), ("test", test)):
        spikes = gemsnn.sample(network, parameters, part.arrays, SAMPLES, seed=seed)  # (n, T, K, n_neurons)
        visible, hidden = spikes[..., N_HIDDEN:], spikes[..., :N_HIDDEN].sum(axis=3)
        answered = visible.any(axis=3)
        ever, first = answered.any(axis=1), answered.argmax(axis=1)  # (n, K)
        last = np.where(ever, first, answered.shape[1] - 1)
        chosen = np.take_along_axis(visible, first[:, None, :, None], axis=1)[:, 0].argmax(axis=2)
        until = np.take_along_axis(hidden.cumsum(axis=1), last[:, None, :], axis=1)[:, 0]
        found[name] = {
            "accuracy": float((ever & (chosen == part.labels[:, None])).mean()),
            "spikes": float(until.mean()),
            "steps": float(last.mean() + 1),
            "silent": float(1 - ever.mean()),
        }
    return found
