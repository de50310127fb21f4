"""What every rule promises, on every engine: one list of checks, run on all rules and on one from outside."""

from dataclasses import FrozenInstanceError, fields, replace

import circuits
import numpy as np
import pytest
from circuits import RULES as VARIANTS
from own_rule import Quiet
from problems import assert_close, assert_parameters_close, random_parameters

import gemsnn
from gemsnn.engine import ENGINES, compiled
from gemsnn.rules import RULES

T, K = 60, 3
TOLERANCE = 1e-10
FORMS = [
    *((name, None) for name in sorted(ENGINES.keys() - {"compiled"})),
    ("compiled", "direct"),
    ("compiled", "event"),
    ("compiled", "sparse"),
]
FIELDS = ("log_weights", "importance", "log_likelihood", "hidden")

network = gemsnn.Network(
    gemsnn.Topology.fully_connected(4, 6, 3),
    gemsnn.Exponential((2.0, 9.0), 12),
    gemsnn.RaisedCosine(2, 6),
    circuits=[gemsnn.Circuit((1, 4), silent=True), [6, 8]],
)
_rng = np.random.default_rng(0)
parameters = random_parameters(network, _rng, 0.7)
inputs = (_rng.random((T, 4)) < 0.4).astype(np.uint8)
targets = circuits.random_targets(network, T, _rng)


def learn(rule, engine="compiled", steps=slice(None), of=parameters, **options):
    return gemsnn.learn(network, of, rule, inputs[steps], targets[steps], K, 3, engine=engine, **options)


def stream(rule, engine="compiled", of=parameters):
    return gemsnn.Stream(network, of, rule, K, 3, engine=engine)


def assert_close_results(actual, desired):
    for name in FIELDS:
        assert_close(getattr(actual, name), getattr(desired, name), TOLERANCE, name)
    assert_parameters_close(actual.parameters, desired.parameters, TOLERANCE)


def assert_same_bits(actual, desired):
    assert actual.parameters == desired.parameters
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(actual, name), getattr(desired, name), err_msg=name)


# ---- the checks


def learns_something(rule, engine):
    learned = learn(rule, engine).parameters
    for rows in (slice(0, network.n_hidden), slice(network.n_hidden, None)):
        assert np.abs(learned.synaptic[rows] - parameters.synaptic[rows]).max() > 1e-5


def leaves_its_arguments_unchanged(rule, engine):
    uniforms = np.random.default_rng(5).random((T, K, network.n_hidden))
    given = [*vars(parameters).values(), inputs, targets, uniforms]
    before, rule_before = [array.copy() for array in given], replace(rule)
    state = learn(rule, engine).state
    kept = {name: array.copy() for name, array in state.kept.items()}
    memories = [state.log_weights.copy(), state.processor_memory.copy(), state.neuron_memory.copy()]
    learn(rule, engine, uniforms=uniforms, state=state)
    for array, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    for name, copy in kept.items():
        np.testing.assert_array_equal(state.kept[name], copy, err_msg=name)
    for array, copy in zip((state.log_weights, state.processor_memory, state.neuron_memory), memories, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert rule == rule_before
    with pytest.raises(FrozenInstanceError):
        rule.gamma = 0.5


def gives_the_same_bits_for_the_same_seed_on_any_number_of_threads(rule, engine):
    for dtype in (np.float32, np.float64):
        of = parameters.astype(dtype)
        once = learn(rule, engine, of=of)
        for threads in (2, 9):
            assert_same_bits(learn(rule, engine, of=of, threads=threads), once)


def learns_step_by_step_as_in_bulk(rule, engine):
    bulk, live = learn(rule, engine), stream(rule, engine)
    for t in range(T):
        info = live.step(inputs[t], targets[t])
        np.testing.assert_array_equal(info.spikes[:, : network.n_hidden], bulk.hidden[t])
        assert_close(info.log_weights, bulk.log_weights[t], TOLERANCE)
        assert_close(info.importance, bulk.importance[t], TOLERANCE)
    assert_parameters_close(live.parameters, bulk.parameters, TOLERANCE)


def learns_the_same_as_on_the_reference_engine(rule, engine):
    assert_close_results(learn(rule, engine), learn(rule, "reference"))


def goes_on_from_a_state_as_if_there_had_been_no_break(rule, engine):
    whole = learn(rule, engine)
    of, state = parameters, None
    for steps in (slice(0, 1), slice(1, 30), slice(30, T)):
        part = learn(rule, engine, steps, of, state=state)
        of, state = part.parameters, part.state
        assert_close(part.log_weights, whole.log_weights[steps], TOLERANCE)
    assert_parameters_close(of, whole.parameters, TOLERANCE)
    for name in ("log_weights", "processor_memory", "neuron_memory"):
        assert_close(getattr(state, name), getattr(whole.state, name), TOLERANCE, name)


def learns_nothing_while_running_freely(rule, engine):
    live = stream(rule, engine)
    for t in range(T // 2):
        live.step(inputs[t], targets[t])
    before = live.parameters
    for t in range(T // 2, T):
        live.step(inputs[t])
    assert_parameters_close(live.parameters, before, 1e-15)  # what was pending may be added up in another order
    live.step(inputs[0], targets[0])
    assert np.abs(live.parameters.bias - before.bias).max() > 1e-7


def learns_nothing_at_a_learning_rate_of_zero(rule, engine):
    assert learn(replace(rule, learning_rate=0.0), engine).parameters == parameters


def holds_no_more_memory_after_a_long_stream(rule, engine):
    live, block = stream(rule, engine), 48
    rounds = 18 if engine == "compiled" else 3

    def most_held():
        """Of what goes on from step to step; a window may fill up and be emptied, so its ceiling counts."""
        most = 0
        for _ in range(rounds):
            for t in range(block):
                live.step(inputs[t], targets[t])
            _, state = live._learner.take()
            arrays = (*state.kept.values(), state.log_weights, state.processor_memory, state.neuron_memory)
            most = max(most, sum(array.nbytes for array in arrays))
        return most

    first = most_held()
    assert 0 < most_held() <= 1.3 * first  # memory that grows would have doubled


def sends_as_many_numbers_as_it_says(rule, engine):
    counted = learn(rule, engine).messages
    if counted is not None:  # not every engine counts
        assert counted == tuple(T * load for load in rule.communication(network, K))


CHECKS = [
    learns_something,
    leaves_its_arguments_unchanged,
    gives_the_same_bits_for_the_same_seed_on_any_number_of_threads,
    learns_step_by_step_as_in_bulk,
    learns_the_same_as_on_the_reference_engine,
    goes_on_from_a_state_as_if_there_had_been_no_break,
    learns_nothing_while_running_freely,
    learns_nothing_at_a_learning_rate_of_zero,
    holds_no_more_memory_after_a_long_stream,
    sends_as_many_numbers_as_it_says,
]

EVERY_RULE = {kind: rule() for kind, rule in RULES.items()} | VARIANTS | {"a rule from outside": Quiet()}


@pytest.mark.parametrize(("engine", "form"), FORMS)
@pytest.mark.parametrize("rule", EVERY_RULE.values(), ids=EVERY_RULE)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_rule(check, rule, engine, form, monkeypatch):
    monkeypatch.setattr(compiled, "FORM", form)
    check(replace(rule, learning_rate=1e-3), engine)


@pytest.mark.parametrize("rule", EVERY_RULE.values(), ids=EVERY_RULE)
def test_a_rule_says_what_its_settings_are_and_refuses_impossible_ones(rule):
    assert replace(rule) == rule
    assert hash(replace(rule)) == hash(rule)
    assert len(rule.numbers()) == len(fields(rule)) - len(fields(gemsnn.rules.Rule))
    for name, value in (("learning_rate", -1.0), ("kappa", 0.0), ("gamma", 2.0), ("learning_rate", float("nan"))):
        with pytest.raises(gemsnn.ConfigError, match=name):
            replace(rule, **{name: value})


def test_every_listed_rule_is_checked():
    assert {type(rule) for rule in EVERY_RULE.values()} >= set(RULES.values())
