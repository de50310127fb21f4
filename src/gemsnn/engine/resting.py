"""A learner that rests while there are no targets: with nothing eligible and nothing to learn, it only runs.

A step without a target learns nothing; log-weights and eligibility decay. Once gamma^age is below the precision of the
numbers, the weights no longer change and only spikes matter: such steps are those of ``running.py``. The next target
wakes the learner, which begins with the spikes that its filters still see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.compiling.jit import jit
from gemsnn.engine import protocol, running
from gemsnn.engine.firing import LEAST_POTENTIAL, add_up, visible_log_probability, weigh
from gemsnn.engine.input_spikes import Inputs, as_array, input_spikes
from gemsnn.engine.protocol import Info, Rested, State
from gemsnn.engine.running import run
from gemsnn.engine.steps import Steps, new_steps
from gemsnn.engine.task import Task
from gemsnn.model import Parameters

Array = NDArray[Any]
Wake = Callable[[Parameters, State], protocol.Learner]


class Learner:
    """Learns in place; see :class:`gemsnn.engine.protocol.Learner`.

    Parameters
    ----------
    wake
        Makes the learner that does the learning, from parameters that it may write to and from a state.
    """

    messages = None

    def __init__(self, task: Task, parameters: Parameters, wake: Wake) -> None:
        network, _, K, _ = task
        self._task, self._wake = task, wake
        V, f = network.n_visible, parameters.dtype
        self._horizon = task.horizon(f)
        self._parameters = parameters.copy()
        self._awake: protocol.Learner | None = None
        self._weights = running.arrange(network, parameters)
        self._past = running.silence(self._weights, K)
        self._since_target = 0
        self._state = State.initial("compiled", task, f)
        self._inputs = np.zeros((network.memory, network.n_inputs), dtype=np.uint8)  # slot time % memory
        self._thresholds = np.zeros((1, K, network.n_neurons), dtype=f)
        self._potential, self._log_probability = np.zeros((1, K, V), dtype=f), np.zeros((K, V))
        self._no_targets, self._learns = np.zeros((0, V), dtype=np.uint8), np.zeros(1, dtype=np.bool_)

    def step(self, inputs_t: Array, target_t: Array | None, uniforms_t: NDArray[np.float64]) -> Info:
        if target_t is None and self._awake is None:
            return self._rest(inputs_t, uniforms_t)
        if self._awake is None:
            self._wake_up()
        assert self._awake is not None
        info = self._awake.step(inputs_t, target_t, uniforms_t)
        self._potential[0] = self._awake.visible_potential
        past = self._past
        slot = past.time[0] % len(past.spikes)
        self._inputs[slot], past.spikes[slot] = inputs_t, info.spikes
        past.time[0] += 1
        self._since_target = self._since_target + 1 if target_t is None else 0
        if self._horizon is not None and self._since_target > self._horizon:
            self._fall_asleep()
        return info

    def run(self, inputs: Inputs, targets: Array, uniforms: NDArray[np.float64]) -> Info:
        given = as_array(inputs, self._task.network.n_inputs)
        infos = [self.step(*step) for step in zip(given, targets, uniforms, strict=True)]
        return Info(*(np.stack(values) for values in zip(*infos, strict=True)))

    @property
    def visible_potential(self) -> Array:
        found: Array = self._potential[0]
        return found

    def subtract_means(self, means: NDArray[np.float64]) -> None:
        if self._awake is None:
            self._state = replace(self._state, means=means)
        else:
            self._awake.subtract_means(means)

    def take(self) -> tuple[Parameters, State]:
        return (self._parameters, self._rested()) if self._awake is None else self._awake.take()

    def parameters(self) -> Parameters:
        return self._parameters.copy() if self._awake is None else self._awake.parameters()

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _rest(self, inputs_t: Array, uniforms_t: NDArray[np.float64]) -> Info:
        self._inputs[self._past.time[0] % len(self._inputs)] = inputs_t
        listed, n = input_spikes(inputs_t[None], len(inputs_t)), uniforms_t.shape[1]
        steps, info = new_steps(listed, self._no_targets, self._learns, uniforms_t[None], n)
        _rest(
            self._weights, self._past, self._task.rule.kappa, self._task.rule.sharpness, steps, self._thresholds,
            self._potential, self._log_probability, self._state.log_weights,
        )  # fmt: skip
        return Info(*(values[0] for values in info))

    def _rested(self) -> State:
        """The state that a learner begins with: the spikes that the filters see, the oldest first."""
        past = self._past
        order = (past.time[0] + np.arange(len(past.spikes))) % len(past.spikes)
        return replace(self._state, time=int(past.time[0]), kept=Rested(self._inputs[order], past.spikes[order]))

    def _wake_up(self) -> None:
        self._awake = self._wake(self._parameters, self._rested())

    def _fall_asleep(self) -> None:
        assert self._awake is not None
        self._parameters, self._state = self._awake.take()
        self._awake = None
        self._weights = running.arrange(self._task.network, self._parameters)
        running.recall(self._weights, self._past, self._inputs)


@jit(error_model="numpy")
def _rest(
    w: Any,
    past: Any,
    kappa: float,
    beta: float,
    steps: Steps,
    thresholds: Any,
    potential: Any,
    log_probability: Any,
    log_weights: Any,
) -> None:
    """One step without a target."""
    K, n = steps.uniforms.shape[1:]
    for k in range(K):
        for i in range(n):
            uniform = steps.uniforms[0, k, i]
            thresholds[0, k, i] = max(np.log(uniform / (1 - uniform)), LEAST_POTENTIAL)
    run(w, past, steps.start, steps.source, steps.targets, thresholds, steps.spikes, potential)
    for k in range(K):
        visible_log_probability(w.circuits, potential[0, k], steps.spikes[0, k], log_probability[k])
    likelihood = steps.log_likelihood[0]
    add_up(log_probability, likelihood)
    weigh(kappa, beta, False, likelihood, log_weights, steps.importance[0])
    for k in range(K):
        steps.report[0, k], steps.log_weights[0, k] = likelihood[k], log_weights[k]
