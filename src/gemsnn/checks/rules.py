"""Promises of every learning rule, on every engine; most of them are promises of objectives, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gemsnn.checks.promise import check, require
from gemsnn.engine import ENGINES
from gemsnn.errors import ConfigError
from gemsnn.learning import LearnResult, Stream, learn
from gemsnn.model import Circuit, Exponential, Network, Parameters, RaisedCosine, Topology
from gemsnn.objectives import LIKELIHOOD, Objective
from gemsnn.rules import Rule

T, K = 60, 3
TOLERANCE = 1e-10
LEARNING_RATE = 1e-3


def check_rule(rule: Rule) -> None:
    """Check that a rule keeps the contract of :class:`gemsnn.Rule`; an AssertionError names a broken promise.

    It learns sequences of 60 steps with three compartments on every engine, in a network with every feature that
    networks can have. This takes some seconds, mostly for compiling. The learning rate is 0.001, whatever the rule's
    own is.

    Examples
    --------
    >>> import gemsnn
    >>> gemsnn.checks.check_rule(gemsnn.Feedback(gain=3.0))
    """
    if not isinstance(rule, Rule):
        raise AssertionError(f"{rule!r} is not a rule: it must be a frozen dataclass that inherits from gemsnn.Rule")
    for promise in PROMISES_OF_SETTINGS:
        check(promise, rule)
    for engine in ENGINES:
        for of_engine in PROMISES:
            check(of_engine, replace(rule, learning_rate=LEARNING_RATE), engine)


# ---- the problem


def network_of_everything() -> Network:
    """With circuits of hidden and of visible neurons, one of which can be silent, and with other neurons."""
    return Network(
        Topology.fully_connected(4, 6, 3),
        Exponential((2.0, 9.0), 12),
        RaisedCosine(2, 6),
        circuits=[Circuit((1, 4), silent=True), [6, 8]],
    )


def parameters_of(network: Network, dtype: DTypeLike = np.float64) -> Parameters:
    rng, drawn = np.random.default_rng(0), network.init(dtype=np.float64)
    synaptic = rng.normal(0, 0.7, drawn.synaptic.shape) * network.topology.mask[:, :, None]
    somatic = rng.normal(0, 0.7, drawn.somatic.shape) * network.has_memory[:, None]
    return Parameters(synaptic, somatic, rng.normal(-0.5, 0.7, drawn.bias.shape)).astype(dtype)


def spikes_of_everything() -> tuple[NDArray[Any], NDArray[Any]]:
    """Inputs, and targets of which the first or the last visible neuron spikes, but never both."""
    rng = np.random.default_rng(1)
    inputs, targets = rng.random((T, 4)) < 0.4, rng.random((T, 3)) < 0.5
    targets[:, 2] = ~targets[:, 0]
    return inputs, targets


class Problem(NamedTuple):
    """Learning that the promises of rules and of objectives are tested on."""

    rule: Rule
    engine: str
    objective: Objective = LIKELIHOOD

    @property
    def network(self) -> Network:
        """With circuits, unless the objective sends errors back to visible neurons that draw: these are Bernoulli."""
        network = network_of_everything()
        if self.objective.refuse(self.rule, network, K) is None:
            return network
        return Network(Topology.fully_connected(4, 6, 3), network.synaptic_filter, network.somatic_filter)

    def learn(self, steps: slice = slice(None), dtype: DTypeLike = np.float64, **options: Any) -> LearnResult:
        """Learn ``steps`` of the sequence."""
        inputs, targets = spikes_of_everything()
        options = {"parameters": parameters_of(self.network, dtype), "objective": self.objective, **options}
        options |= {"inputs": inputs[steps], "targets": targets[steps], "engine": self.engine}
        return learn(self.network, rule=self.rule, n_compartments=K, seed=3, **options)

    def stream(self) -> Stream:
        network, rule = self.network, self.rule
        return Stream(network, parameters_of(network), rule, K, 3, engine=self.engine, objective=self.objective)

    def others(self) -> Iterator[Problem]:
        """The same on every other engine."""
        return (self._replace(engine=engine) for engine in ENGINES if engine != self.engine)


def problem_of(part: Rule | Objective, *details: Any) -> Problem:
    """Of a rule and an engine; or of an objective, a rule and an engine."""
    if isinstance(part, Rule):
        return Problem(part, *details)
    rule, engine = details
    return Problem(rule, engine, part)


def arrays_of(parameters: Parameters) -> Iterator[tuple[str, NDArray[Any]]]:
    return ((name, getattr(parameters, name)) for name in ("synaptic", "somatic", "bias"))


def assert_close(found: NDArray[Any], expected: NDArray[Any], what: str, tolerance: float = TOLERANCE) -> None:
    """Relative to the largest entry (at least 1): rounding of a sum is relative to its terms, not to its result."""
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale, err_msg=what)


def assert_close_parameters(found: Parameters, expected: Parameters, tolerance: float = TOLERANCE) -> None:
    for (name, one), (_, other) in zip(arrays_of(found), arrays_of(expected), strict=True):
        assert_close(one, other, name, tolerance)


# ---- the promises


def is_a_value(part: Rule | Objective) -> None:
    """It is equal to a copy of itself, has a hash, and cannot be changed."""
    require(replace(part) == part, "a copy with the same settings differs")
    require(hash(replace(part)) == hash(part), "a copy with the same settings has another hash")
    for field in fields(part):
        try:
            setattr(part, field.name, getattr(part, field.name))
        except FrozenInstanceError:
            continue
        raise AssertionError(f"{field.name} can be set: decorate the class with @dataclass(frozen=True)")


def has_settings_that_are_numbers(part: Rule | Objective) -> None:
    """``settings()`` is a named tuple of floats, ints and bools."""
    settings = part.settings()
    require(hasattr(settings, "_fields"), f"settings() gives {settings!r}")
    for name, value in settings._asdict().items():
        require(type(value) in (float, int, bool), f"{name} is {value!r}; give a number in settings()")


def refuses_impossible_memories_and_steps(rule: Rule) -> None:
    """A learning rate below 0 and memories outside [0, 1] are a ConfigError that names them."""
    for name, value in (("learning_rate", -1.0), ("kappa", 1.5), ("gamma", 2.0), ("learning_rate", float("nan"))):
        try:
            replace(rule, **{name: value})
        except ConfigError as error:
            require(name in str(error), f"the message for {name} = {value} does not name it: {error}")
        else:
            raise AssertionError(f"{name} = {value} is accepted: call super().__post_init__() in yours")


def learns_something(part: Rule | Objective, *details: Any) -> None:
    """Hidden and visible neurons both learn, from reports that are finite numbers."""
    problem = problem_of(part, *details)
    network, result = problem.network, problem.learn()
    require(bool(np.isfinite(result.report).all()), "report() gives numbers that are not finite")
    before, after = parameters_of(network).synaptic, result.parameters.synaptic
    least = 1e-5 if isinstance(part, Rule) else 1e-7
    for which, rows in (("hidden", slice(0, network.n_hidden)), ("visible", slice(network.n_hidden, None))):
        most = np.abs(after[rows] - before[rows]).max()
        require(most > least, f"with {problem.rule}, the largest weight change of {which} neurons is {most:.1e}")


def leaves_its_arguments_unchanged(part: Rule | Objective, *details: Any) -> None:
    """Learning does not modify the arrays passed to it, the rule, or the state that it continues from."""
    problem = problem_of(part, *details)
    parameters = parameters_of(problem.network)
    given: dict[str, Any] = {}
    if not problem.objective.free:
        given["uniforms"] = np.random.default_rng(5).random((T, K, problem.network.n_hidden))
    arrays = dict(arrays_of(parameters)) | given
    before, rule_before = {name: array.copy() for name, array in arrays.items()}, replace(problem.rule)
    state = problem.learn().state
    once, again = (problem.learn(parameters=parameters, state=state, **given) for _ in range(2))
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, before[name], err_msg=f"{name} has changed")
    require(once.parameters == again.parameters, "continued twice from one state, the weights differ")
    for name in ("log_weights", "report"):
        np.testing.assert_array_equal(getattr(once, name), getattr(again, name), err_msg="continued twice")
    require(problem.rule == rule_before, "the rule has changed")


def gives_the_same_bits_for_the_same_seed(rule: Rule, engine: str) -> None:
    """The same seed gives the same bits, in both precisions."""
    for dtype in (np.float32, np.float64):
        once, again = (Problem(rule, engine).learn(dtype=dtype) for _ in range(2))
        require(once.parameters.dtype == dtype, f"weights of {dtype.__name__} became {once.parameters.dtype}")
        require(once.parameters == again.parameters, f"the weights differ ({dtype.__name__})")
        for name in ("log_weights", "importance", "log_likelihood", "hidden"):
            np.testing.assert_array_equal(getattr(again, name), getattr(once, name), err_msg=name)


def learns_step_by_step_as_in_bulk(part: Rule | Objective, *details: Any) -> None:
    """A stream learns the same as a sequence that is known in advance."""
    problem, (inputs, targets) = problem_of(part, *details), spikes_of_everything()
    bulk, live = problem.learn(), problem.stream()
    for t in range(T):
        info = live.step(inputs[t], targets[t])
        hidden = info.spikes[:, : problem.network.n_hidden]
        np.testing.assert_array_equal(hidden, bulk.hidden[t], err_msg=f"spikes of step {t}")
        assert_close(info.log_weights, bulk.log_weights[t], f"log-weights of step {t}")
        assert_close(info.importance, bulk.importance[t], f"importance weights of step {t}")
    assert_close_parameters(live.parameters, bulk.parameters)


def learns_the_same_on_every_engine(part: Rule | Objective, *details: Any) -> None:
    """Its compiled functions compute the same as in Python."""
    problem = problem_of(part, *details)
    found = problem.learn()
    for other in problem.others():
        expected = other.learn()
        np.testing.assert_array_equal(found.hidden, expected.hidden, err_msg="hidden spikes")
        for name in ("report", "log_weights", "importance", "log_likelihood"):
            assert_close(getattr(found, name), getattr(expected, name), name)
        assert_close_parameters(found.parameters, expected.parameters)


def continues_from_a_state_as_if_there_had_been_no_break(part: Rule | Objective, *details: Any) -> None:
    """Everything that it remembers is in the memory that it declares: a sequence may be learned in parts."""
    problem = problem_of(part, *details)
    whole, parameters, state = problem.learn(), parameters_of(problem.network), None
    for steps in (slice(0, 1), slice(1, 30), slice(30, T)):
        found = problem.learn(steps, parameters=parameters, state=state)
        parameters, state = found.parameters, found.state
        for name in ("log_weights", "report"):
            what = f"{name} of steps {steps.start} to {steps.stop}"
            assert_close(getattr(found, name), getattr(whole, name)[steps], what)
    assert_close_parameters(parameters, whole.parameters)


def learns_nothing_while_running_freely(rule: Rule, engine: str) -> None:
    """Steps without targets leave the weights unchanged, and learning continues after them."""
    live, (inputs, targets) = Problem(rule, engine).stream(), spikes_of_everything()
    for t in range(T // 2):
        live.step(inputs[t], targets[t])
    before = live.parameters
    for t in range(T // 2, T):
        live.step(inputs[t])
    assert_close_parameters(live.parameters, before, 1e-15)  # pending changes may be added up in another order
    live.step(inputs[0], targets[0])
    require(np.abs(live.parameters.bias - before.bias).max() > 1e-7, "it does not learn after free steps")


def learns_nothing_at_a_learning_rate_of_zero(rule: Rule, engine: str) -> None:
    """Only the learning rate moves weights."""
    after = Problem(replace(rule, learning_rate=0.0), engine).learn().parameters
    require(after == parameters_of(network_of_everything()), "the weights have changed at a learning rate of 0")


def sends_as_many_numbers_as_it_says(rule: Rule, engine: str) -> None:
    """``messages`` and ``communication`` agree with what is sent."""
    counted = Problem(rule, engine).learn().messages
    if counted is not None:  # not every engine counts
        declared = tuple(T * load for load in rule.communication(network_of_everything(), K))
        require(counted == declared, f"sent {tuple(counted)}, communication() says {declared}")


PROMISES_OF_SETTINGS = (is_a_value, has_settings_that_are_numbers, refuses_impossible_memories_and_steps)
PROMISES = (
    learns_something,
    leaves_its_arguments_unchanged,
    gives_the_same_bits_for_the_same_seed,
    learns_step_by_step_as_in_bulk,
    learns_the_same_on_every_engine,
    continues_from_a_state_as_if_there_had_been_no_break,
    learns_nothing_while_running_freely,
    learns_nothing_at_a_learning_rate_of_zero,
    sends_as_many_numbers_as_it_says,
)
