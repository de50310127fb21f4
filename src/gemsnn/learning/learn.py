"""Learning from one sequence, and from batches of examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.engine import engine_named
from gemsnn.engine.protocol import Batches, Example, Learner, State, no_means
from gemsnn.engine.randomness import Uniforms
from gemsnn.engine.task import Task
from gemsnn.errors import ConfigError, ShapeError
from gemsnn.learning.means import TraceMeans
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import spike_array, uniform_array, whole_number
from gemsnn.model.spike_list import SpikeList
from gemsnn.objectives import LIKELIHOOD, Objective
from gemsnn.rules import Communication, Rule


@dataclass(frozen=True, eq=False)
class LearnResult:
    """The result of learning from a sequence of T steps with K compartments.

    Attributes
    ----------
    parameters
        After the last step.
    state
        Pass it as ``state`` to the next call, to continue without a break.
    log_weights, importance, log_likelihood
        (T, K): v, its SoftMax over compartments, and the log-probability of the visible spikes.
    report
        (T, K): the objective's report of the visible spikes; for the likelihood, their log-probability.
    hidden
        (T, K, n_hidden) bool.
    messages
        Real numbers sent to the central processor and to the neurons; counted only by the reference engine.
    """

    parameters: Parameters
    state: State
    log_weights: NDArray[np.float64]
    importance: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    report: NDArray[np.float64]
    hidden: NDArray[np.bool_]
    messages: Communication | None = None


def learn(
    network: Network,
    parameters: Parameters,
    rule: Rule,
    inputs: ArrayLike,
    targets: ArrayLike,
    n_compartments: int = 1,
    seed: int = 0,
    uniforms: ArrayLike | None = None,
    engine: str = "compiled",
    *,
    example: int = 0,
    state: State | None = None,
    means: TraceMeans | None = None,
    objective: Objective = LIKELIHOOD,
) -> LearnResult:
    """Learn to produce ``targets`` in response to ``inputs``; the weights change at every step.

    Parameters
    ----------
    network, parameters, rule
        The network, its initial parameters, and the learning rule. None of them is modified.
    inputs
        (T, n_inputs) of 0/1.
    targets
        (T, n_visible) of 0/1: any spike pattern.
    n_compartments
        K.
    seed, example
        Key of the random draws, together with the number of the compartment.
    uniforms
        (T, K, n_hidden) in [0, 1], instead of random draws; (T, K, n_neurons) if visible neurons draw their own spikes.
    engine
        ``"compiled"``, or ``"reference"``: the paper's equations in float64 NumPy, slow.
    state
        ``result.state`` of an earlier call, to continue where it stopped.
    means
        :class:`gemsnn.TraceMeans`, subtracted from the traces of the inputs while learning; default: those of
        ``state``, or none. They do not change during the call: pass ``means.after(network, inputs)`` to the next.
    objective
        :class:`gemsnn.Likelihood`, :class:`gemsnn.VanRossum`, or one of your own. Rewards from outside
        (:class:`gemsnn.Reward`) arrive step by step: learn from them with :class:`gemsnn.Stream`.

    Examples
    --------
    >>> import numpy as np, gemsnn
    >>> network = gemsnn.Network.fully_connected(n_inputs=4, n_hidden=3, n_visible=2)
    >>> inputs, targets = np.ones((10, 4)), np.zeros((10, 2))
    >>> result = gemsnn.learn(network, network.init(seed=0), gemsnn.GEM(), inputs, targets, n_compartments=5)
    >>> result.importance.shape
    (10, 5)
    """
    network.check_parameters(parameters)
    engine_named(engine)
    K = whole_number("n_compartments", n_compartments, 1)
    seed, example = whole_number("seed", seed, 0), whole_number("example", example, 0)
    clean_inputs = spike_array("inputs", inputs, {"T": None, "n_inputs": network.n_inputs})
    T = len(clean_inputs)
    clean_targets = spike_array("targets", targets, {"T": T, "n_visible": network.n_visible})
    if objective.rewarded:
        raise ConfigError("rewards arrive step by step: learn from them with gemsnn.Stream")
    if not objective.free:
        network.circuits.check_targets("targets", clean_targets)
    problem = objective.refuse(rule, network, K)
    if problem and objective.free:
        raise ConfigError(problem)
    if uniforms is not None:
        drawn = {"n_neurons": network.n_neurons} if objective.free else {"n_hidden": network.n_hidden}
        uniforms = uniform_array("uniforms", uniforms, {"T": T, "K": K, **drawn})
    if state is not None:
        _check_state(state, engine, network, parameters, rule, objective, K)
    if means is not None:
        means.check(network)
    result = learn_unchecked(
        network, parameters, rule, clean_inputs, clean_targets, K, seed, uniforms, engine,
        example=example, state=state, means=means, objective=objective,
    )  # fmt: skip
    # Every update changes the bias, so that the other weights need not be checked.
    check_finite(rule.step_size, "learning diverged", result.log_likelihood, result.parameters.bias)
    return result


def check_finite(learning_rate: float, what_happened: str, *values: ArrayLike) -> None:
    """Raise an error if the numbers are no longer finite."""
    if not all(np.isfinite(value).all() for value in values):
        raise ConfigError(
            f"{what_happened}: the weights are no longer finite; start again with learning_rate below {learning_rate:g}"
        )


def learn_unchecked(
    network: Network,
    parameters: Parameters,
    rule: Rule,
    inputs: NDArray[Any],
    targets: NDArray[Any],
    n_compartments: int = 1,
    seed: int = 0,
    uniforms: NDArray[np.float64] | None = None,
    engine: str = "compiled",
    *,
    example: int = 0,
    state: State | None = None,
    means: TraceMeans | None = None,
    objective: Objective = LIKELIHOOD,
) -> LearnResult:
    """:func:`learn` for inner loops: trusts its arguments (spikes as uint8 or bool, contiguous)."""
    task = Task(network, rule, n_compartments, objective)
    learner = engine_named(engine).learner(task, parameters, state=state, steps=len(inputs))
    if uniforms is None:
        start = 0 if state is None else state.time
        n_visible = network.n_visible if objective.free else 0
        draws = Uniforms(seed, example, n_compartments, network.n_hidden, n_visible, start=start)
        uniforms = draws.draw(len(inputs))
    return _learned_by(learner, network, inputs, targets, uniforms, means)


def _learned_by(
    learner: Learner,
    network: Network,
    inputs: NDArray[Any],
    targets: NDArray[Any],
    uniforms: NDArray[np.float64],
    means: TraceMeans | None,
) -> LearnResult:
    if means is not None:
        learner.subtract_means(means.value)
    info = learner.run(inputs, targets, uniforms)
    learned, new_state = learner.take()
    return LearnResult(
        parameters=learned,
        state=new_state,
        log_weights=info.log_weights,
        importance=info.importance,
        log_likelihood=info.log_likelihood,
        report=info.report,
        hidden=info.spikes[:, :, : network.n_hidden],
        messages=learner.messages,
    )


class Lesson(NamedTuple):
    """One example of a batch."""

    inputs: NDArray[Any] | SpikeList  #: (T, n_inputs) of 0/1, or a list of spikes
    targets: NDArray[Any]  #: (T, n_visible) of 0/1
    rule: Rule  #: with its own learning rate
    example: int = 0  #: key of its random draws


class Learned(NamedTuple):
    """What is reported of one example of a batch."""

    log_likelihood: NDArray[np.float64]  #: (T, K)
    hidden: NDArray[np.bool_]  #: (T, K, n_hidden)
    report: NDArray[np.float64]  #: (T, K): the objective's report of the visible spikes
    visible: NDArray[np.bool_]  #: (T, K, n_visible)


class Lessons:
    """Batches of examples, learned one batch after the other; each example begins in silence.

    All examples of a batch are learned from the same weights and the same means, each online within itself; their
    changes are added in their order. A batch of one is bit-for-bit what :func:`learn` learns. The result depends on the
    batches, never on the number of threads.

    Parameters
    ----------
    network, n_compartments, seed, engine, objective
        As in :func:`learn`.
    longest
        Steps of the longest example.
    threads
        Number of threads, among which the examples of a batch are divided.
    """

    def __init__(
        self,
        network: Network,
        n_compartments: int,
        longest: int,
        *,
        seed: int = 0,
        threads: int = 1,
        engine: str = "compiled",
        objective: Objective = LIKELIHOOD,
    ) -> None:
        self._engine = engine_named(engine)
        self.network, self.n_compartments, self.longest = network, n_compartments, longest
        self.seed, self.threads, self.objective = seed, threads, objective
        self._batches: Batches | None = None
        self._kind: type[Rule] | None = None
        self._parameters: Parameters | None = None

    def learn(
        self, parameters: Parameters, batch: Sequence[Lesson], means: TraceMeans | None = None
    ) -> tuple[Parameters, list[Learned]]:
        """The parameters after a batch, and what is reported of each example.

        All rules of a batch are of one kind. The next batch may overwrite the returned parameters.
        """
        network, K = self.network, self.n_compartments
        kind = type(batch[0].rule)
        if self._batches is None or self._kind is not kind or self._parameters is not parameters:
            task = Task(network, batch[0].rule, K, self.objective)
            self._batches = self._engine.batches(task, parameters, steps=self.longest, threads=self.threads)
        drawn = K, network.n_hidden, network.n_visible if self.objective.free else 0
        examples = [
            Example(one.inputs, one.targets, one.rule, Uniforms(self.seed, one.example, *drawn)) for one in batch
        ]
        infos = self._batches.learn(examples, no_means(network) if means is None else means.value)
        self._kind, self._parameters = kind, self._batches.parameters
        h = network.n_hidden
        return self._parameters, [
            Learned(info.log_likelihood, info.spikes[:, :, :h], info.report, info.spikes[:, :, h:]) for info in infos
        ]


def _check_state(
    state: Any,
    engine: str,
    network: Network,
    parameters: Parameters,
    rule: Rule,
    objective: Objective,
    n_compartments: int,
) -> None:
    """Refuse a state of another engine, network, rule, precision or number of compartments."""
    if not isinstance(state, State) or state.engine != engine:
        raise ConfigError(f"state does not come from the {engine} engine: pass result.state of a call with this engine")
    if state.n_compartments != n_compartments:
        raise ConfigError(f"state has {state.n_compartments} compartments, but n_compartments is {n_compartments}")
    if state.network != network:
        raise ShapeError("state belongs to another network: pass result.state of a call with this one")
    memory = (rule.processor_memory(n_compartments), rule.neuron_memory)
    if memory != (len(state.processor_memory), state.neuron_memory.shape[1]):
        raise ConfigError("state belongs to another rule: pass result.state of a call with this one")
    if state.objective_memory.shape != (n_compartments, network.n_visible, objective.unit_memory):
        raise ConfigError("state belongs to another objective: pass result.state of a call with this one")
    if state.dtype != parameters.dtype:
        raise ConfigError(f"state is {state.dtype} but the parameters are {parameters.dtype}")
