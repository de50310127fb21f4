"""A batch: examples that are learned from the same weights, and whose changes are added."""

from dataclasses import replace

import numpy as np
import pytest
from problems import assert_parameters_close, make_problem

import gemsnn
from gemsnn.engine import ENGINES, compiled
from gemsnn.learning import Lesson, Lessons
from gemsnn.model.spike_list import SpikeList

RULES = {
    "GEM": gemsnn.GEM(0.01, gamma=0.9),
    "Feedback": gemsnn.Feedback(0.01),
    "MB": gemsnn.MB(1e-4),
    "IW": gemsnn.IW(1e-4, baseline="leave-one-out"),
}
COSINES, EXPONENTIALS = gemsnn.RaisedCosine(3, 10, 10), gemsnn.Exponential([2.0, 8.0], 24)
LENGTHS = (20, 33, 1, 150, 20)  # one longer than a window of the event form
K = 3


def made(rule=RULES["GEM"], filter=COSINES, lengths=LENGTHS, lateral=False):
    """A network, its parameters, and a batch of examples with step sizes of their own."""
    network = gemsnn.Network(gemsnn.Topology.fully_connected(11, 20, 3, lateral=lateral), filter, filter)
    problems = [make_problem(network, rule, T, K, seed=n, scale=0.5, rate=0.2) for n, T in enumerate(lengths)]
    rules = [replace(rule, learning_rate=rule.learning_rate * (1 + n)) for n in range(len(lengths))]
    batch = [Lesson(p.inputs, p.targets, r, 100 + n) for n, (p, r) in enumerate(zip(problems, rules, strict=True))]
    return network, problems[0].parameters, batch


def learned(network, parameters, batch, means=None, **options):
    return Lessons(network, K, max(LENGTHS), seed=5, **options).learn(parameters.copy(), batch, means)


def some_means(network):
    return gemsnn.TraceMeans(np.random.default_rng(0).random((network.n_inputs, network.synaptic_filter.n_basis)))


@pytest.mark.parametrize("form", ["event", "sparse"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("filter", [COSINES, EXPONENTIALS], ids=["cosines", "exponentials"])
def test_a_batch_adds_what_each_example_changes_by_itself(rule, filter, form, monkeypatch):
    monkeypatch.setattr(compiled, "FORM", form)
    network, parameters, batch = made(RULES[rule], filter)
    means = some_means(network)
    found, examples = learned(network, parameters, batch, means)
    expected = parameters.copy()
    for lesson, example in zip(batch, examples, strict=True):
        alone = gemsnn.learn(
            network, parameters, lesson.rule, lesson.inputs, lesson.targets, K, 5, engine="reference",
            example=lesson.example, means=means,
        )  # fmt: skip
        np.testing.assert_array_equal(example.hidden, alone.hidden)
        np.testing.assert_allclose(example.log_likelihood, alone.log_likelihood, rtol=1e-10, atol=1e-12)
        for name in ("synaptic", "somatic", "bias"):
            getattr(expected, name)[...] += getattr(alone.parameters, name) - getattr(parameters, name)
    assert_parameters_close(found, expected, 1e-11)


def test_both_engines_learn_the_same_from_a_batch():
    network, parameters, batch = made()
    (fast, of_fast), (slow, of_slow) = (learned(network, parameters, batch, engine=engine) for engine in ENGINES)
    assert_parameters_close(fast, slow, 1e-11)
    for one, other in zip(of_fast, of_slow, strict=True):
        np.testing.assert_array_equal(one.hidden, other.hidden)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["event", "sparse"])
def test_a_batch_of_one_is_what_learn_learns_to_the_bit(form, dtype, monkeypatch):
    monkeypatch.setattr(compiled, "FORM", form)
    network, parameters, batch = made()
    parameters, means = parameters.astype(dtype), some_means(network)
    lessons, at_once = Lessons(network, K, max(LENGTHS), seed=5), parameters
    for lesson in batch:
        parameters, (example,) = lessons.learn(parameters.copy(), [lesson], means)
        alone = gemsnn.learn(
            network, at_once, lesson.rule, lesson.inputs, lesson.targets, K, 5, example=lesson.example, means=means
        )
        at_once = alone.parameters
        assert parameters == at_once
        np.testing.assert_array_equal(example.hidden, alone.hidden)
        np.testing.assert_array_equal(example.log_likelihood, alone.log_likelihood)


@pytest.mark.parametrize("engine", ENGINES)
def test_spikes_may_come_as_a_list(engine):
    network, parameters, batch = made()
    lists = [lesson._replace(inputs=SpikeList.from_array(lesson.inputs, "inputs")) for lesson in batch]
    assert (
        learned(network, parameters, lists, engine=engine)[0] == learned(network, parameters, batch, engine=engine)[0]
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["event", "sparse"])
@pytest.mark.parametrize("rule", RULES)
def test_no_bit_depends_on_the_number_of_threads(rule, form, dtype, monkeypatch):
    """Batches of many sizes, one after the other, also of examples that are longer than a window."""
    monkeypatch.setattr(compiled, "FORM", form)
    network, parameters, batch = made(RULES[rule], EXPONENTIALS if rule == "GEM" else COSINES, lateral=rule == "MB")
    means, ends = some_means(network), []
    for threads in (1, 2, 3, 8):
        lessons, now, found = Lessons(network, K, max(LENGTHS), seed=5, threads=threads), parameters.astype(dtype), []
        for examples in (batch, batch[:1], batch[1:4], batch[::-1]):
            now, learned = lessons.learn(now, examples, means)
            found += [array for one in learned for array in one]
        ends.append((now.copy(), found))
    for now, found in ends[1:]:
        assert now == ends[0][0]
        for one, other in zip(found, ends[0][1], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_that_is_learned_from_new_lessons_is_learned_the_same(engine):
    """As after a process was killed and resumed from the parameters that it had written."""
    network, parameters, batch = made()
    going_on = Lessons(network, K, max(LENGTHS), seed=5, engine=engine)
    first, _ = going_on.learn(parameters.copy(), batch[:3])
    written = first.copy()
    second, _ = going_on.learn(first, batch[3:])
    resumed, _ = Lessons(network, K, max(LENGTHS), seed=5, engine=engine).learn(written, batch[3:])
    assert second == resumed


def test_inputs_of_which_most_are_silent_take_no_array(monkeypatch):
    """A recording costs what its events cost."""
    network, parameters, batch = made()
    lists = [lesson._replace(inputs=SpikeList.from_array(lesson.inputs, "inputs")) for lesson in batch]
    monkeypatch.setattr(SpikeList, "to_array", None)
    learned(network, parameters, lists)
