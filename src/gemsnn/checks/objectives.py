"""What every objective promises, on every engine, with every rule that can learn for it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gemsnn.checks.promise import check, require
from gemsnn.checks.rules import (
    LEARNING_RATE,
    K,
    T,
    arrays_of,
    assert_close,
    assert_close_parameters,
    network_of_everything,
    parameters_of,
    spikes_of_everything,
)
from gemsnn.engine import ENGINES
from gemsnn.learning import LearnResult, Stream, StreamInfo, learn
from gemsnn.model import Network, Parameters, Topology
from gemsnn.objectives import Objective
from gemsnn.rules import RULES, Rule


def check_objective(objective: Objective) -> None:
    """Check that an objective keeps the contract of :class:`gemsnn.Objective`; an AssertionError says what it does not.

    Sequences of 60 steps are learned with three compartments, by each rule that can learn for it, on every engine; that
    takes some seconds, most of them for compiling.

    Examples
    --------
    >>> import gemsnn
    >>> gemsnn.checks.check_objective(gemsnn.VanRossum(time_constant=3.0))
    """
    if not isinstance(objective, Objective):
        raise AssertionError(
            f"{objective!r} is not an objective: it must be a frozen dataclass that inherits from gemsnn.Objective"
        )
    for promise in PROMISES_OF_SETTINGS:
        check(promise, objective)
    of_learning = PROMISES_OF_REWARDED if objective.rewarded else PROMISES
    for rule in rules_for(objective):
        for engine in ENGINES:
            for of_engine in of_learning:
                check(of_engine, objective, rule, engine)


# ---- the problem


def network_for(objective: Objective, rule: Rule) -> Network:
    """With circuits; where errors are sent back to visible neurons that draw, these are Bernoulli neurons."""
    network = network_of_everything()
    if objective.refuse(rule, network, K) is None:
        return network
    return Network(Topology.fully_connected(4, 6, 3), network.synaptic_filter, network.somatic_filter)


def rules_for(objective: Objective) -> list[Rule]:
    """Of the listed rules, those that can learn for it."""
    rules = [replace(kind(), learning_rate=LEARNING_RATE) for kind in RULES.values()]
    return [rule for rule in rules if objective.refuse(rule, network_for(objective, rule), K) is None]


def _learn(objective: Objective, rule: Rule, engine: str, steps: slice = slice(None), **options: Any) -> LearnResult:
    network, (inputs, targets) = network_for(objective, rule), spikes_of_everything()
    options = {"parameters": parameters_of(network), **options}
    options |= {"inputs": inputs[steps], "targets": targets[steps], "engine": engine, "objective": objective}
    return learn(network, rule=rule, n_compartments=K, seed=3, **options)


def _stream(objective: Objective, rule: Rule, engine: str, dtype: DTypeLike = np.float64) -> Stream:
    network = network_for(objective, rule)
    return Stream(network, parameters_of(network, dtype), rule, K, 3, engine=engine, objective=objective)


def _rewards() -> tuple[NDArray[Any], NDArray[Any]]:
    """Inputs of each compartment, (T, K, n_inputs), and its rewards, (T, K)."""
    rng = np.random.default_rng(4)
    return rng.random((T, K, 4)) < 0.4, rng.normal(size=(T, K))


def _rewarded(objective: Objective, rule: Rule, engine: str) -> tuple[Parameters, list[StreamInfo]]:
    """Of a stream that is rewarded at two of three steps, and ends an episode of one compartment on the way."""
    live, (inputs, rewards), infos = _stream(objective, rule, engine), _rewards(), []
    for t in range(T):
        infos.append(live.step(inputs[t]))
        if t % 3:
            live.reward(rewards[t])
        if t == T // 2:
            live.end(np.arange(K) == 0)
    return live.parameters, infos


# ---- the promises


def is_a_value(objective: Objective) -> None:
    """An objective is equal to a copy of itself, has a hash, and cannot be changed."""
    require(replace(objective) == objective, "a copy with the same settings differs")
    require(hash(replace(objective)) == hash(objective), "a copy with the same settings has another hash")
    for field in fields(objective):
        try:
            setattr(objective, field.name, getattr(objective, field.name))
        except FrozenInstanceError:
            continue
        raise AssertionError(f"{field.name} can be set: decorate the class with @dataclass(frozen=True)")


def has_settings_that_are_numbers(objective: Objective) -> None:
    """``settings()`` is a named tuple of floats, ints and bools."""
    settings = objective.settings()
    require(hasattr(settings, "_fields"), f"settings() gives {settings!r}")
    for name, value in settings._asdict().items():
        require(type(value) in (float, int, bool), f"{name} is {value!r}; give a number in settings()")


def says_both_what_spikes_bring_later_and_at_once(objective: Objective) -> None:
    """``slope`` and ``at_once`` come together, and only where visible neurons draw their own spikes."""
    both = objective.slope is not None, objective.at_once is not None
    require(both[0] == both[1], "there is a slope without at_once, or at_once without a slope")
    require(objective.free or not any(both), "slope and at_once are never used where visible neurons are clamped")
    require(objective.free or not objective.rewarded, "rewards from outside need visible neurons that draw (free)")


def some_rule_can_learn_for_it(objective: Objective) -> None:
    """At least one of the listed rules is not refused."""
    require(bool(rules_for(objective)), "all rules of gemsnn.rules.RULES, with their defaults, are refused")


def learns_something(objective: Objective, rule: Rule, engine: str) -> None:
    """Hidden and visible neurons both learn, from reports that are finite numbers."""
    result, before = _learn(objective, rule, engine), parameters_of(network_for(objective, rule)).synaptic
    require(bool(np.isfinite(result.report).all()), "report() gives numbers that are not finite")
    for which, rows in (("hidden", slice(0, 6)), ("visible", slice(6, None))):
        most = np.abs(result.parameters.synaptic[rows] - before[rows]).max()
        require(most > 1e-7, f"with {rule}, the largest change of a weight of {which} neurons is {most:.1e}")


def leaves_its_arguments_unchanged(objective: Objective, rule: Rule, engine: str) -> None:
    """Learning changes no array that it is given, nor the state that it continues from."""
    parameters = parameters_of(network_for(objective, rule))
    before = {name: array.copy() for name, array in arrays_of(parameters)}
    state = _learn(objective, rule, engine).state
    once, again = (_learn(objective, rule, engine, parameters=parameters, state=state) for _ in range(2))
    for name, array in arrays_of(parameters):
        np.testing.assert_array_equal(array, before[name], err_msg=f"{name} has changed")
    require(once.parameters == again.parameters, "continued twice from one state, the weights differ")
    np.testing.assert_array_equal(once.report, again.report, err_msg="continued twice from one state")


def learns_the_same_on_every_engine(objective: Objective, rule: Rule, engine: str) -> None:
    """Compiled, the functions of an objective do what Python makes of them."""
    found = _learn(objective, rule, engine)
    for other in set(ENGINES) - {engine}:
        expected = _learn(objective, rule, other)
        np.testing.assert_array_equal(found.hidden, expected.hidden, err_msg="hidden spikes")
        for name in ("report", "log_weights", "importance", "log_likelihood"):
            assert_close(getattr(found, name), getattr(expected, name), name)
        assert_close_parameters(found.parameters, expected.parameters)


def learns_step_by_step_as_in_bulk(objective: Objective, rule: Rule, engine: str) -> None:
    """A stream learns the same as a sequence that is known ahead."""
    (inputs, targets), bulk, live = (
        spikes_of_everything(),
        _learn(objective, rule, engine),
        _stream(objective, rule, engine),
    )
    for t in range(T):
        info = live.step(inputs[t], targets[t])
        np.testing.assert_array_equal(info.spikes[:, :6], bulk.hidden[t], err_msg=f"spikes of step {t}")
        assert_close(info.log_weights, bulk.log_weights[t], f"log-weights of step {t}")
    assert_close_parameters(live.parameters, bulk.parameters)


def continues_from_a_state_as_if_there_had_been_no_break(objective: Objective, rule: Rule, engine: str) -> None:
    """All that an objective remembers is in the memory that it declares: a sequence may be learned in parts."""
    whole, parameters, state = _learn(objective, rule, engine), parameters_of(network_for(objective, rule)), None
    for steps in (slice(0, 1), slice(1, 30), slice(30, T)):
        part = _learn(objective, rule, engine, steps, parameters=parameters, state=state)
        parameters, state = part.parameters, part.state
        assert_close(part.report, whole.report[steps], f"reports of steps {steps.start} to {steps.stop}")
    assert_close_parameters(parameters, whole.parameters)


def learns_the_same_from_rewards_on_every_engine(objective: Objective, rule: Rule, engine: str) -> None:
    """Rewarded alike, all engines draw the same spikes and learn the same weights."""
    found, infos = _rewarded(objective, rule, engine)
    before = parameters_of(network_for(objective, rule)).synaptic
    require(np.abs(found.synaptic - before).max() > 1e-7, f"with {rule}, nothing is learned from rewards")
    for other in set(ENGINES) - {engine}:
        expected, expected_infos = _rewarded(objective, rule, other)
        for t, (one, another) in enumerate(zip(infos, expected_infos, strict=True)):
            np.testing.assert_array_equal(one.spikes, another.spikes, err_msg=f"spikes of step {t}")
            assert_close(one.log_weights, another.log_weights, f"log-weights of step {t}")
        assert_close_parameters(found, expected)


def learns_nothing_without_rewards(objective: Objective, rule: Rule, engine: str) -> None:
    """Steps that are not rewarded leave the weights as they are."""
    live, (inputs, _) = _stream(objective, rule, engine), _rewards()
    before = live.parameters
    for t in range(T):
        live.step(inputs[t])
    require(live.parameters == before, "the weights have changed")


PROMISES_OF_SETTINGS = (
    is_a_value,
    has_settings_that_are_numbers,
    says_both_what_spikes_bring_later_and_at_once,
    some_rule_can_learn_for_it,
)
PROMISES = (
    learns_something,
    leaves_its_arguments_unchanged,
    learns_the_same_on_every_engine,
    learns_step_by_step_as_in_bulk,
    continues_from_a_state_as_if_there_had_been_no_break,
)
PROMISES_OF_REWARDED = (learns_the_same_from_rewards_on_every_engine, learns_nothing_without_rewards)
