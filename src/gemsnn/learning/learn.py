"""Learning from one sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.common.described import described
from gemsnn.engine import engine_named
from gemsnn.engine.kept import AS_IT_CAME, Kept, check_arrays
from gemsnn.engine.protocol import Learner, State
from gemsnn.engine.randomness import Uniforms
from gemsnn.errors import ConfigError, ShapeError
from gemsnn.learning.means import TraceMeans
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import spike_array, uniform_array, whole_number
from gemsnn.rules import Communication, Rule


@described
@dataclass(frozen=True, eq=False)
class LearnResult:
    """What learning from a sequence of T steps with K compartments gives.

    Attributes
    ----------
    parameters
        After the last step.
    state
        What a following call needs to go on as if there had been no break: pass it as ``state``.
    log_weights, importance, log_likelihood
        (T, K): v, its SoftMax over compartments, and the log-probability of the visible spikes.
    hidden
        (T, K, n_hidden) bool.
    messages
        Real numbers sent to the central processor and to the neurons; counted by the reference engine only.
    """

    parameters: Parameters
    state: State
    log_weights: NDArray[np.float64]
    importance: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    hidden: NDArray[np.bool_]
    messages: Communication | None = None

    def _told(self) -> dict[str, Any]:
        T, K = self.importance.shape
        return {"steps": T, "compartments": K, "log_likelihood": float(self.log_likelihood.sum(axis=0).mean())}


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
    threads: int = 1,
    state: State | None = None,
    means: TraceMeans | None = None,
) -> LearnResult:
    """Learn to produce ``targets`` in response to ``inputs``; the weights change at every step.

    Parameters
    ----------
    network, parameters, rule
        What learns, from where, and how. None of them is modified.
    inputs
        (T, n_inputs) of 0/1.
    targets
        (T, n_visible) of 0/1: any spike pattern.
    n_compartments
        K.
    seed, example
        Key of the random draws, with the compartment's number.
    uniforms
        (T, K, n_hidden) in [0, 1], instead of random draws.
    engine
        ``"compiled"``, or ``"reference"``: float64 NumPy, slow, line by line the paper.
    threads
        Of the compiled engine; the result does not depend on it.
    state
        ``result.state`` of an earlier call, to go on where it stopped.
    means
        :class:`gemsnn.TraceMeans`, taken off the traces of the inputs while learning; not given: those of ``state``, or
        none. They stay as they are during the call: ``means.after(network, inputs)`` are those of the next.

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
    whole_number("threads", threads, 1)
    seed, example = whole_number("seed", seed, 0), whole_number("example", example, 0)
    clean_inputs = spike_array("inputs", inputs, {"T": None, "n_inputs": network.n_inputs})
    T = len(clean_inputs)
    clean_targets = spike_array("targets", targets, {"T": T, "n_visible": network.n_visible})
    network.circuits.check_targets("targets", clean_targets)
    if uniforms is not None:
        uniforms = uniform_array("uniforms", uniforms, {"T": T, "K": K, "n_hidden": network.n_hidden})
    if state is not None:
        _check_state(state, engine, network, parameters, rule, K)
    if means is not None:
        means.check(network)
    result = learn_unchecked(
        network, parameters, rule, clean_inputs, clean_targets, K, seed, uniforms, engine,
        example=example, threads=threads, state=state, means=means,
    )  # fmt: skip
    # Every update moves the bias, so the other weights need no look.
    check_finite(rule.learning_rate, "learning diverged", result.log_likelihood, result.parameters.bias)
    return result


def check_finite(learning_rate: float, what_happened: str, *values: ArrayLike) -> None:
    """Raise an error if a step was so large that numbers are no longer finite."""
    if not all(np.isfinite(value).all() for value in values):
        raise ConfigError(
            f"{what_happened}: the weights are no longer finite; start anew with learning_rate below {learning_rate:g}"
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
    threads: int = 1,
    state: State | None = None,
    means: TraceMeans | None = None,
) -> LearnResult:
    """:func:`learn` for inner loops: trusts its arguments (spikes as uint8 or bool, contiguous)."""
    learner = engine_named(engine).learner(
        network, parameters, rule, n_compartments, state=state, steps=len(inputs), threads=threads
    )
    if uniforms is None:
        start = 0 if state is None else state.time
        draws = Uniforms(seed, example, n_compartments, network.n_hidden, start=start, threads=threads)
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
        learner.take_off(means.value)
    info = learner.run(inputs, targets, uniforms)
    learned, new_state = learner.take()
    return LearnResult(
        parameters=learned,
        state=new_state,
        log_weights=info.log_weights,
        importance=info.importance,
        log_likelihood=info.log_likelihood,
        hidden=info.spikes[:, :, : network.n_hidden],
        messages=learner.messages,
    )


@described
class Lessons:
    """Examples learned one after the other, by one learner: each begins in silence, with the weights of the last.

    It gives what :func:`learn_unchecked` gives, to the bit, but makes the learner only once.

    Parameters
    ----------
    network, n_compartments, threads, engine
        As in :func:`learn`.
    longest
        Steps of the longest example: what a learner is made for.
    """

    def __init__(
        self, network: Network, n_compartments: int, longest: int, threads: int = 1, engine: str = "compiled"
    ) -> None:
        self._make = engine_named(engine).learner
        self.network, self.n_compartments, self.longest, self.threads = network, n_compartments, longest, threads
        self._learner: Learner | None = None
        self._rule: type[Rule] | None = None
        self._parameters: Parameters | None = None

    def _told(self) -> dict[str, Any]:
        return {"network": self.network, "n_compartments": self.n_compartments, "longest": self.longest}

    def learn(
        self,
        parameters: Parameters,
        rule: Rule,
        inputs: NDArray[Any],
        targets: NDArray[Any],
        seed: int,
        example: int,
        means: TraceMeans | None = None,
    ) -> LearnResult:
        """Learn one example; the memory of the parameters may be used for the new ones."""
        network, K, T = self.network, self.n_compartments, len(inputs)
        if self._learner is None or self._parameters is not parameters or self._rule is not type(rule):
            self._learner = self._make(
                network, parameters, rule, K, steps=self.longest, overwrite=True, threads=self.threads
            )
        self._learner.restart(rule, T)
        uniforms = Uniforms(seed, example, K, network.n_hidden, threads=self.threads).draw(T)
        result = _learned_by(self._learner, network, inputs, targets, uniforms, means)
        self._rule, self._parameters = type(rule), result.parameters
        return result


def _check_state(
    state: Any, engine: str, network: Network, parameters: Parameters, rule: Rule, n_compartments: int
) -> None:
    if not isinstance(state, State) or state.engine != engine or not isinstance(state.kept, dict):
        raise ConfigError(f"state does not come from the {engine} engine: pass result.state of a call with this engine")
    if np.ndim(state.log_weights) != 1 or np.ndim(state.neuron_memory) != 2:
        raise ShapeError(f"log_weights and neuron_memory of the state have lost their shapes: {AS_IT_CAME}")
    if state.n_compartments != n_compartments:
        raise ConfigError(f"state has {state.n_compartments} compartments, but n_compartments is {n_compartments}")
    if state.network != network:
        raise ShapeError("state belongs to another network: pass result.state of a call with this one")
    memory = (rule.processor_memory(n_compartments), rule.neuron_memory)
    if memory != (np.size(state.processor_memory), np.shape(state.neuron_memory)[1]):
        raise ConfigError("state belongs to another rule: pass result.state of a call with this one")
    if state.dtype != parameters.dtype:
        raise ConfigError(f"state is {state.dtype} but the parameters are {parameters.dtype}")
    whole_number("time of the state", state.time, 0)
    own = {
        "log_weights": Kept((n_compartments,), np.float64),
        "processor_memory": Kept((memory[0],), np.float64),
        "neuron_memory": Kept((network.n_hidden, memory[1]), np.float64),
        "means": Kept((network.n_inputs, network.synaptic_filter.n_basis), np.float64),
    }
    check_arrays({name: getattr(state, name) for name in own}, own)
    check_arrays(state.kept, engine_named(engine).declared(network, rule, n_compartments, state))
