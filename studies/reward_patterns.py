"""Spike patterns in answer to frozen input patterns: by likelihood, or by likelihood first and van Rossum reward then.

The desired spikes are jittered in time, or partly noise, or too many to be learned, or can be learned. Figures are
squared van Rossum distances of freely running networks over those of silence: 0 is perfect, 1 no better than silence.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gemsnn
from gemsnn.learning import Lesson, Lessons
from gemsnn.metrics import van_rossum_distance
from gemsnn.objectives import LIKELIHOOD

T, N_INPUTS, N_HIDDEN, N_VISIBLE = 100, 100, 20, 5
INPUT_RATE, TARGET_RATE = 0.05, 0.04
TAU, TAUS = 5.0, (2.0, 5.0, 20.0)
REWARD = gemsnn.VanRossum(TAU)
BY_LIKELIHOOD = gemsnn.Feedback(gain=1.0, target_rate=1.0)
LIKELIHOOD_RATE, FIRST = 0.2, 1000  # patterns learned in every method's first part
GAINS = (1.0, 1.5, 2.0, 3.0)  # of sharpened weights
PRESENTATIONS, RUNS = 4, 10  # that figures are means of


@dataclass(frozen=True)
class Task:
    """Patterns, and how the desired spikes differ from one presentation to the next."""

    n_patterns: int = 5
    jitter: float = 0.0
    """Standard deviation of the times, in steps."""
    noise: float = 0.0
    """Share of the spikes that are missing; as many appear at random times."""


TASKS = {
    "jittered": Task(jitter=3.0),
    "noisy": Task(noise=0.4),
    "too many": Task(n_patterns=20),
    "can be learned": Task(),
}


@dataclass(frozen=True)
class Method:
    """How the second part is learned, and from how many patterns: as many as take about the same time."""

    rule: gemsnn.rules.Rule
    K: int
    examples: int
    objective: gemsnn.Objective = REWARD


MB = gemsnn.MB(kappa=0.0, baseline="leave-one-out")
METHODS = {
    "likelihood": Method(BY_LIKELIHOOD, 1, 3000, LIKELIHOOD),
    "MB, K = 2": Method(MB, 2, 2000),
    "MB, K = 10": Method(MB, 10, 400),
    "GEM, K = 10": Method(gemsnn.GEM(kappa=0.0, centred=True), 10, 400),
    "Feedback, K = 1": Method(gemsnn.Feedback(gain=1.0, target_rate=1.0), 1, 3000),
}


class Patterns:
    """The patterns of a seed, and their presentations."""

    def __init__(self, task: Task, seed: int) -> None:
        self.task, rng = task, np.random.default_rng([seed, 27])
        self.inputs = (rng.random((task.n_patterns, T, N_INPUTS)) < INPUT_RATE).astype(np.uint8)
        self.targets = rng.random((task.n_patterns, T, N_VISIBLE)) < TARGET_RATE
        self.targets[:, :5] = False  # nothing can be known of the first steps

    def desired(self, rng: np.random.Generator) -> NDArray[np.uint8]:
        """(n_patterns, T, N_VISIBLE): of one presentation."""
        task, x = self.task, self.targets
        if task.noise:
            kept = rng.random(x.shape) > task.noise
            x = (x & kept) | (rng.random(x.shape) < task.noise * x.mean())
        if task.jitter:
            pattern, step, neuron = np.nonzero(x)
            moved = np.clip(step + np.rint(rng.normal(0, task.jitter, len(step))).astype(int), 0, T - 1)
            x = np.zeros_like(x)
            x[pattern, moved, neuron] = True
        return x.astype(np.uint8)


def measured(task: str, method: str, rate: float, seed: int) -> dict[str, Any]:
    """Figures after the first part, for likelihood, and at the end."""
    patterns, how = Patterns(TASKS[task], seed), METHODS[method]
    topology = gemsnn.Topology.fully_connected(N_INPUTS, N_HIDDEN, N_VISIBLE)
    synapses = gemsnn.Exponential((2.0, 8.0), duration=24)
    network = gemsnn.Network(topology, synapses, visible_memory=False)
    parameters = network.init(seed=seed, visible_bias=-2.5)
    first = Method(BY_LIKELIHOOD, 1, FIRST, LIKELIHOOD)
    rng = np.random.default_rng([seed, 28])
    parameters, _ = taught(network, parameters, patterns, first, LIKELIHOOD_RATE, rng, seed)
    before = figures(network, parameters, patterns, seed)
    sharpened = None
    if method == "likelihood":
        each = [figures(network, scaled(parameters, gain), patterns, seed) for gain in GAINS]
        sharpened = min(each, key=lambda found: found["over_silence"]["5"])
    parameters, seconds = taught(network, parameters, patterns, how, rate, rng, seed + 1)
    after = figures(network, parameters, patterns, seed)
    return {"score": -after["over_silence"]["5"], "first": before, "sharpened": sharpened, **after, "seconds": seconds}


def taught(
    network: gemsnn.Network,
    parameters: gemsnn.Parameters,
    patterns: Patterns,
    how: Method,
    rate: float,
    rng: np.random.Generator,
    seed: int,
) -> tuple[gemsnn.Parameters, float]:
    """Parameters after all presentations, and processor seconds; the step size falls to 0 as half a cosine."""
    n = patterns.task.n_patterns
    lessons, begin = Lessons(network, how.K, T, seed=seed, objective=how.objective), time.process_time()
    presentations = how.examples // n
    for place in range(presentations):
        size = rate / n * (1 + np.cos(np.pi * place / presentations)) / 2
        rule = replace(how.rule, learning_rate=float(size))
        desired = patterns.desired(rng)
        batch = [Lesson(patterns.inputs[i], desired[i], rule, place * n + i) for i in range(n)]
        parameters, _ = lessons.learn(parameters, batch)
    return parameters.copy(), time.process_time() - begin


def scaled(parameters: gemsnn.Parameters, gain: float) -> gemsnn.Parameters:
    return gemsnn.Parameters(*(gain * array for array in (parameters.synaptic, parameters.somatic, parameters.bias)))


def figures(network: gemsnn.Network, parameters: gemsnn.Parameters, patterns: Patterns, seed: int) -> dict[str, Any]:
    """Distances over that of silence, and visible spikes over the desired ones, on presentations of their own."""
    rng = np.random.default_rng([seed, 29])
    found = gemsnn.sample(network, parameters, patterns.inputs, RUNS * PRESENTATIONS, seed=seed + 2)
    spikes = found[..., N_HIDDEN:].swapaxes(1, 2)  # (n, K, T, n_visible)
    near, far, desired_spikes = np.zeros(len(TAUS)), np.zeros(len(TAUS)), 0
    for place in range(PRESENTATIONS):
        desired = patterns.desired(rng)
        desired_spikes += int(desired.sum())
        shown = spikes[:, place * RUNS : (place + 1) * RUNS]
        for n, tau in enumerate(TAUS):
            near[n] += (van_rossum_distance(shown, desired[:, None], tau) ** 2).sum() / RUNS
            far[n] += (van_rossum_distance(np.zeros_like(desired), desired, tau) ** 2).sum()
    return {
        "over_silence": {f"{tau:g}": float(a / b) for tau, a, b in zip(TAUS, near, far, strict=True)},
        "spikes": float(spikes.sum() / RUNS / desired_spikes),
    }
