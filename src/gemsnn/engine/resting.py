"""A learner that rests between lessons: with nothing eligible and nothing to learn, running is all there is to do.

A step without a target learns nothing; log-weights and eligibility fade. Once gamma^age is below the precision of the
numbers for all that was learned, the weights stay as they are and only spikes matter: such steps are those of
``running.py``. The next target wakes the learner, which begins with the spikes that its filters still see.
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
from gemsnn.engine.horizon import horizon
from gemsnn.engine.input_spikes import Inputs, as_array, input_spikes
from gemsnn.engine.objective_functions import memory_of_eligibility
from gemsnn.engine.protocol import Info, Rested, State, no_means
from gemsnn.engine.running import run
from gemsnn.model import Network, Parameters
from gemsnn.objectives import Objective
from gemsnn.rules import Rule

Array = NDArray[Any]
Wake = Callable[[Rule, Parameters, State], protocol.Learner]


class Learner:
    """Learns in place; see :class:`gemsnn.engine.protocol.Learner`.

    Parameters
    ----------
    wake
        Makes the learner that does the learning, with a rule, from parameters that it may write to and from a state.
    """

    messages = None

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        rule: Rule,
        n_compartments: int,
        objective: Objective,
        wake: Wake,
    ) -> None:
        self.network, self.rule = network, rule
        self._wake = wake
        self._fades_in = horizon(memory_of_eligibility(objective, rule), parameters.dtype)
        K, V, f = n_compartments, network.n_visible, parameters.dtype
        self._parameters = parameters.copy()
        self._awake: protocol.Learner | None = None
        self._weights = running.arrange(network, parameters)
        self._past = running.silence(self._weights, K)
        self._since_lesson = 0
        memories = (
            np.zeros(rule.processor_memory(K)),
            np.zeros((network.n_hidden, rule.neuron_memory)),
            np.zeros((K, V, objective.unit_memory)),
        )
        self._state = State("compiled", network, f, 0, np.zeros(K), *memories, no_means(network), None)
        self._inputs = np.zeros((network.memory, network.n_inputs), dtype=np.uint8)  # slot time % memory
        self._thresholds = np.zeros((1, K, network.n_neurons), dtype=f)
        self._potential, self._log_probability = np.zeros((1, K, V), dtype=f), np.zeros((K, V))
        self._free = np.zeros((0, V), dtype=np.uint8)

    def step(self, inputs_t: Array, target_t: Array | None, uniforms_t: NDArray[np.float64]) -> Info:
        """One step: learn if there is a target, else run freely; ``uniforms_t`` is (K, n_neurons)."""
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
        self._since_lesson = self._since_lesson + 1 if target_t is None else 0
        if self._fades_in is not None and self._since_lesson > self._fades_in:
            self._fall_asleep()
        return info

    def run(self, inputs: Inputs, targets: Array, uniforms: NDArray[np.float64]) -> Info:
        """Learn from T steps of inputs and (T, n_visible) targets, with (T, K, n_hidden) uniforms."""
        given = as_array(inputs, self.network.n_inputs)
        infos = [self.step(*step) for step in zip(given, targets, uniforms, strict=True)]
        return Info(*(np.stack(values) for values in zip(*infos, strict=True)))

    @property
    def visible_potential(self) -> Array:
        """(K, n_visible): of the visible neurons at the latest step."""
        found: Array = self._potential[0]
        return found

    def take_off(self, means: NDArray[np.float64]) -> None:
        """From now on learn from the traces of the inputs less these means, (n_inputs, n_basis)."""
        if self._awake is None:
            self._state = replace(self._state, means=means)
        else:
            self._awake.take_off(means)

    def take(self) -> tuple[Parameters, State]:
        """Parameters and state without a copy: if the learner goes on, they change with it."""
        return (self._parameters, self._rested()) if self._awake is None else self._awake.take()

    def parameters(self) -> Parameters:
        """The weights as they are now, as a copy."""
        return self._parameters.copy() if self._awake is None else self._awake.parameters()

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _rest(self, inputs_t: Array, uniforms_t: NDArray[np.float64]) -> Info:
        state = self._state
        self._inputs[self._past.time[0] % len(self._inputs)] = inputs_t
        info = Info(np.empty(uniforms_t.shape, dtype=np.bool_), *np.empty((4, state.n_compartments)))
        _rest(
            self._weights, self._past, self.rule.kappa, self.rule.sharpness,
            *input_spikes(inputs_t[None], len(inputs_t)), self._free, uniforms_t, self._thresholds, self._potential,
            self._log_probability, state.log_weights, *info,
        )  # fmt: skip
        return info

    def _rested(self) -> State:
        """What a learner begins with: the spikes that the filters see, the oldest first."""
        past, state = self._past, self._state
        order = (past.time[0] + np.arange(len(past.spikes))) % len(past.spikes)
        kept = Rested(self._inputs[order], past.spikes[order])
        memories = state.processor_memory, state.neuron_memory, state.objective_memory
        time, means = int(past.time[0]), state.means
        return State(state.engine, state.network, state.dtype, time, state.log_weights, *memories, means, kept)

    def _wake_up(self) -> None:
        self._awake = self._wake(self.rule, self._parameters, self._rested())

    def _fall_asleep(self) -> None:
        assert self._awake is not None
        self._parameters, self._state = self._awake.take()
        self._awake = None
        self._weights = running.arrange(self.network, self._parameters)
        running.recall(self._weights, self._past, self._inputs)


@jit(error_model="numpy")
def _rest(
    w: Any,
    past: Any,
    kappa: float,
    beta: float,
    start: Any,
    source: Any,
    free: Any,
    uniforms_t: Any,
    thresholds: Any,
    potential: Any,
    log_probability: Any,
    log_weights: Any,
    spikes: Any,
    likelihood: Any,
    report: Any,
    log_weights_out: Any,
    importance: Any,
) -> None:
    """One step without a target; writes the last five, which are an ``Info``."""
    K, n = uniforms_t.shape
    for k in range(K):
        for i in range(n):
            uniform = uniforms_t[k, i]
            thresholds[0, k, i] = max(np.log(uniform / (1 - uniform)), LEAST_POTENTIAL)
    run(w, past, start, source, free, thresholds, spikes.reshape(1, K, n), potential)
    for k in range(K):
        visible_log_probability(w.circuits, potential[0, k], spikes[k], log_probability[k])
    add_up(log_probability, likelihood)
    weigh(kappa, beta, False, likelihood, log_weights, importance)
    for k in range(K):
        report[k], log_weights_out[k] = likelihood[k], log_weights[k]
