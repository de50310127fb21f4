"""Steps as the learning kernels read and write them, and what the forms of learning have in common."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.arrays import Booleans, Doubles, Integers
from gemsnn.engine.input_spikes import Inputs, InputSpikes, input_spikes
from gemsnn.engine.objective_functions import objective_functions
from gemsnn.engine.protocol import Info
from gemsnn.engine.rule_functions import rule_functions
from gemsnn.engine.task import Task


class Steps(NamedTuple):
    """T steps: the arguments of a call of a kernel, and what it writes."""

    start: Integers  # (T + 1,): see ``InputSpikes``
    source: Integers  # (n_spikes,)
    targets: NDArray[np.uint8]  # (T, n_visible)
    learns: Booleans  # (T,): learn from the target, or run freely
    uniforms: Doubles  # (T, K, n_hidden or n_neurons)
    # written; the fields of ``Info``
    spikes: Booleans  # (T, K, n_neurons)
    log_likelihood: Doubles  # (T, K)
    report: Doubles  # (T, K)
    log_weights: Doubles  # (T, K)
    importance: Doubles  # (T, K)


def new_steps(
    inputs: InputSpikes, targets: NDArray[Any], learns: Booleans, uniforms: Doubles, n_neurons: int
) -> tuple[Steps, Info]:
    """Steps to be computed, and the information that will then be in them."""
    T, K = uniforms.shape[:2]
    info: Any = Info(np.empty((T, K, n_neurons), dtype=np.bool_), *np.empty((4, T, K)))
    clean_targets = np.ascontiguousarray(targets).view(np.uint8)
    return Steps(inputs.start, inputs.source, clean_targets, learns, uniforms, *info), info


class FormLearner:
    """What the learners of both forms have in common; see :class:`gemsnn.engine.protocol.Learner`."""

    messages = None

    def __init__(self, task: Task, dtype: np.dtype[Any]) -> None:
        self.task, self.dtype = task, dtype
        self._functions = *rule_functions(task.rule, dtype), *objective_functions(task.objective)

    def run(self, inputs: Inputs, targets: NDArray[Any], uniforms: Doubles) -> Info:
        return self.run_listed(input_spikes(inputs, self.task.network.n_inputs), targets, uniforms)

    def run_listed(self, inputs: InputSpikes, targets: NDArray[Any], uniforms: Doubles) -> Info:
        """:meth:`run`, for inputs that are listed already."""
        return self._advance(inputs, targets, np.ones(len(targets), dtype=np.bool_), uniforms)

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None, uniforms_t: Doubles) -> Info:
        target = np.zeros(self.task.network.n_visible, dtype=np.uint8) if target_t is None else target_t
        listed = input_spikes(inputs_t[None], len(inputs_t))
        info = self._advance(listed, target[None], np.array([target_t is not None]), uniforms_t[None])
        return Info(*(values[0] for values in info))

    def _advance(self, inputs: InputSpikes, targets: NDArray[Any], learns: Booleans, uniforms: Doubles) -> Info:
        raise NotImplementedError
