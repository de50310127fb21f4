"""Promises of every objective, on every engine, with every rule that can learn for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.checks.promise import check, require
from gemsnn.checks.rules import (
    LEARNING_RATE,
    K,
    Problem,
    T,
    assert_close,
    assert_close_parameters,
    continues_from_a_state_as_if_there_had_been_no_break,
    has_settings_that_are_numbers,
    is_a_value,
    learns_something,
    learns_step_by_step_as_in_bulk,
    learns_the_same_on_every_engine,
    leaves_its_arguments_unchanged,
    parameters_of,
)
from gemsnn.engine import ENGINES
from gemsnn.learning import StreamInfo
from gemsnn.model import Parameters
from gemsnn.objectives import Objective
from gemsnn.rules import RULES, Rule


def check_objective(objective: Objective) -> None:
    """Check that an objective keeps the contract of :class:`gemsnn.Objective`; an AssertionError names what it breaks.

    Sequences of 60 steps are learned with three compartments, by each rule that can learn for it, on every engine. This
    takes some seconds, mostly for compiling.

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


def rules_for(objective: Objective) -> list[Rule]:
    """Of the listed rules, those that can learn for it."""
    rules = [replace(kind(), learning_rate=LEARNING_RATE) for kind in RULES.values()]
    return [rule for rule in rules if objective.refuse(rule, Problem(rule, "", objective).network, K) is None]


def _rewards() -> tuple[NDArray[Any], NDArray[Any]]:
    """Inputs of each compartment, (T, K, n_inputs), and its rewards, (T, K)."""
    rng = np.random.default_rng(4)
    return rng.random((T, K, 4)) < 0.4, rng.normal(size=(T, K))


def _rewarded(problem: Problem) -> tuple[Parameters, list[StreamInfo]]:
    """Weights and infos of a stream that is rewarded at two of three steps; one compartment ends an episode halfway."""
    live, (inputs, rewards), infos = problem.stream(), _rewards(), []
    for t in range(T):
        infos.append(live.step(inputs[t]))
        if t % 3:
            live.reward(rewards[t])
        if t == T // 2:
            live.end(np.arange(K) == 0)
    return live.parameters, infos


# ---- the promises


def says_both_what_spikes_bring_later_and_at_once(objective: Objective) -> None:
    """``slope`` and ``at_once`` come together, and only if visible neurons draw their own spikes."""
    both = objective.slope is not None, objective.at_once is not None
    require(both[0] == both[1], "there is a slope without at_once, or at_once without a slope")
    require(objective.free or not any(both), "slope and at_once are never used if visible neurons are clamped")
    require(objective.free or not objective.rewarded, "rewards from outside need visible neurons that draw (free)")


def some_rule_can_learn_for_it(objective: Objective) -> None:
    """It refuses not all of the listed rules."""
    require(bool(rules_for(objective)), "all rules of gemsnn.rules.RULES, with their defaults, are refused")


def learns_the_same_from_rewards_on_every_engine(objective: Objective, rule: Rule, engine: str) -> None:
    """With the same rewards, all engines draw the same spikes and learn the same weights."""
    problem = Problem(rule, engine, objective)
    found, infos = _rewarded(problem)
    before = parameters_of(problem.network).synaptic
    require(np.abs(found.synaptic - before).max() > 1e-7, f"with {rule}, nothing is learned from rewards")
    for other in problem.others():
        expected, expected_infos = _rewarded(other)
        for t, (one, another) in enumerate(zip(infos, expected_infos, strict=True)):
            np.testing.assert_array_equal(one.spikes, another.spikes, err_msg=f"spikes of step {t}")
            assert_close(one.log_weights, another.log_weights, f"log-weights of step {t}")
        assert_close_parameters(found, expected)


def learns_nothing_without_rewards(objective: Objective, rule: Rule, engine: str) -> None:
    """Steps without rewards leave the weights unchanged."""
    live, (inputs, _) = Problem(rule, engine, objective).stream(), _rewards()
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
