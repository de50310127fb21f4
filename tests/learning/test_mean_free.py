"""Learning from traces less their means: both engines agree, and what it means in centred coordinates."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import (
    Problem,
    assert_close,
    assert_parameters_close,
    assert_results_close,
    examples,
    make_problem,
    problems,
    uniforms_off_threshold,
)

import gemsnn
from gemsnn.engine import compiled, reference
from gemsnn.engine.task import Task
from gemsnn.learning.means import SLOWEST, mean_trace
from gemsnn.model.spike_list import SpikeList

TOLERANCE = 1e-10


def listed(inputs):
    return SpikeList.from_array(np.asarray(inputs), "inputs")


def random_means(problem: Problem) -> gemsnn.TraceMeans:
    network = problem.network
    shape = (network.n_inputs, network.synaptic_filter.n_basis)
    value = np.random.default_rng(problem.seed + 2).normal(0.3, 0.4, shape)
    value[::3] = 0.0  # inputs that never spiked
    return gemsnn.TraceMeans(value, 5)


FORMS = st.sampled_from(["event", "sparse"])


@contextmanager
def form_of_the_compiled_engine(form: str):
    """One of its forms, where the graph allows for it."""
    usual = compiled.suitable_form

    def chosen(task, dtype, free, steps):
        possible = compiled.event_plan(task.network, free, dtype) is not None
        return form if possible else usual(task, dtype, free, steps)

    compiled.suitable_form = chosen
    try:
        yield
    finally:
        compiled.suitable_form = usual


def check(problem: Problem, form: str) -> None:
    uniforms, means = problem.uniforms(problem.network.n_hidden), random_means(problem)
    expected = problem.learn("reference", uniforms=uniforms, means=means)
    with form_of_the_compiled_engine(form):
        result = problem.learn("compiled", uniforms=uniforms, means=means)
    assert_results_close(result, expected, TOLERANCE)
    problem.network.check_parameters(result.parameters)


@examples(100)
@given(problems(), FORMS)
def test_the_engines_agree(problem, form):
    check(problem, form)


@examples(20)
@given(problems(lengths=st.sampled_from([64, 127, 129, 200, 257]), most_compartments=4), FORMS)
def test_the_engines_agree_over_several_blocks(problem, form):
    check(problem, form)


@pytest.mark.parametrize("form", ["event", "sparse"])
@pytest.mark.parametrize("gamma", [0.97, 1.0])
def test_the_engines_agree_where_eligibility_lives_long(form, gamma):
    network = gemsnn.Network(gemsnn.Topology.random(6, 2, 2, 0.6, seed=3), gemsnn.RaisedCosine(2, 7))
    check(make_problem(network, gemsnn.GEM(5e-4, 0.9, gamma), T=1200, K=2, scale=0.5, rate=0.3), form)


@examples(20)
@given(problems(), FORMS)
def test_in_float32_the_engines_agree_to_rounding(problem, form):
    single = problem.parameters.astype(np.float32)
    exact = Problem(**{**vars(problem), "parameters": single.astype(np.float64)})
    means = random_means(exact)
    uniforms = uniforms_off_threshold(exact, 1e-3, means=means)
    expected = exact.learn("reference", uniforms=uniforms, means=means)
    with form_of_the_compiled_engine(form):
        result = exact.learn("compiled", uniforms=uniforms, parameters=single, means=means)
    assert_results_close(result, expected, 4e-5)


@examples(30)
@given(problems(lengths=st.integers(2, 150)), st.floats(0, 1), FORMS)
def test_means_that_move_between_two_calls_act_alike_on_the_eligibility_that_lives_on(problem, cut, form):
    uniforms, first = problem.uniforms(problem.network.n_hidden), random_means(problem)
    t = min(max(round(cut * problem.T), 1), problem.T - 1)
    ends = []
    with form_of_the_compiled_engine(form):
        for engine in ("compiled", "reference"):
            begun = learn_part(problem, slice(0, t), uniforms, problem.parameters, engine, means=first)
            for means in (None, gemsnn.TraceMeans(1 - first.value)):  # those of the state, and others
                rest = {"state": begun.state, "means": means}
                ends.append(learn_part(problem, slice(t, None), uniforms, begun.parameters, engine, **rest))
        whole = problem.learn("compiled", uniforms=uniforms, means=first)
    assert_results_close(ends[0], ends[2], TOLERANCE)
    assert_results_close(ends[1], ends[3], TOLERANCE)
    assert_parameters_close(ends[0].parameters, whole.parameters, TOLERANCE)


def learn_part(problem, part, uniforms, parameters, engine, **given):
    return gemsnn.learn(
        problem.network, parameters, problem.rule, problem.inputs[part], problem.targets[part], problem.K,
        uniforms=uniforms[part], engine=engine, **given,
    )  # fmt: skip


@examples(20)
@given(
    problems(lengths=st.integers(60, 200), most_compartments=3),
    st.lists(st.booleans(), min_size=200, max_size=200),
    FORMS,
)
def test_streams_agree(problem, learns, form):
    parts, means = (problem.network, problem.parameters, problem.rule, problem.K, problem.seed), random_means(problem)
    with form_of_the_compiled_engine(form):
        fast, slow = (gemsnn.Stream(*parts, engine, means=means) for engine in ("compiled", "reference"))
    for t in range(problem.T):
        if t == 100:
            fast.reset()
            slow.reset()
        target = problem.targets[t] if learns[t] else None
        result, expected = fast.step(problem.inputs[t], target), slow.step(problem.inputs[t], target)
        np.testing.assert_array_equal(result.spikes, expected.spikes)
        assert_close(result.log_likelihood, expected.log_likelihood, TOLERANCE)
    assert_parameters_close(fast.parameters, slow.parameters, TOLERANCE)


@examples(40)
@given(problems(lengths=st.integers(2, 25), most_compartments=3))
def test_it_is_plain_learning_in_centred_coordinates(problem):
    # Plain learning, of synapses that see trace - m in place of the trace: u = w . (trace - m) + c, c = bias + w . m.
    network, m, uniforms = problem.network, random_means(problem).value, problem.uniforms(problem.network.n_hidden)
    by_means, plain = (reference.learner(Task(network, problem.rule, problem.K), problem.parameters) for _ in range(2))
    by_means.subtract_means(m)

    def of_means(weights):
        return (weights.synaptic[:, : network.n_inputs] * m).sum(axis=(1, 2))

    def centred(network, weights, history):
        u, synaptic, somatic = potentials(network, weights, history)
        less = np.concatenate([m, np.zeros((network.n_neurons, m.shape[1]))])
        return u - of_means(weights), synaptic - less, somatic

    potentials = reference.potentials
    start = plain.weights
    plain.weights = gemsnn.Parameters(start.synaptic, start.somatic, start.bias + of_means(start))
    for step in zip(problem.inputs, problem.targets, uniforms, strict=True):
        by_means.step(*step)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reference, "potentials", centred)
            plain.step(*step)
    end = plain.weights
    found = gemsnn.Parameters(end.synaptic, end.somatic, end.bias - of_means(end))
    assert_parameters_close(by_means.weights, found, 1e-9)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_taking_off_means_changes_nothing_but_learning(engine):
    problem = make_problem(gemsnn.Network.fully_connected(5, 4, 2), gemsnn.GEM(0.0), T=30, K=3)
    means = random_means(problem)
    assert problem.learn(engine, means=means).parameters == problem.parameters
    np.testing.assert_array_equal(problem.learn(engine, means=means).hidden, problem.learn(engine).hidden)


@pytest.mark.parametrize("form", ["event", "sparse"])
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_means_of_zero_are_none(engine, form):
    problem = make_problem(gemsnn.Network.fully_connected(5, 4, 2), gemsnn.GEM(0.05), T=150, K=3)
    zero = gemsnn.TraceMeans.zero(problem.network)
    with form_of_the_compiled_engine(form):
        assert problem.learn(engine, means=zero).parameters == problem.learn(engine).parameters


# ---- the means themselves


@examples(30)
@given(problems())
def test_the_mean_of_an_example_is_that_of_its_traces(problem):
    network = problem.network
    history = np.zeros((network.memory, 1, network.n_sources))
    traces = []
    for x in problem.inputs:
        traces.append(reference.potentials(network, problem.parameters, history)[1][0, : network.n_inputs])
        history = np.roll(history, 1, axis=0)
        history[0, 0] = np.concatenate([x, np.zeros(network.n_neurons)])
    np.testing.assert_allclose(mean_trace(network, listed(problem.inputs)), np.mean(traces, axis=0), atol=1e-12)


def test_the_means_are_those_of_all_examples_so_far_and_later_forget_slowly():
    network = gemsnn.Network.fully_connected(3, 1, 1)
    rng = np.random.default_rng(0)
    means, seen = gemsnn.TraceMeans.zero(network), []
    for _ in range(20):
        inputs = (rng.random((30, 3)) < 0.3).astype(np.uint8)
        means = means.after(network, inputs)
        seen.append(mean_trace(network, listed(inputs)))
    np.testing.assert_allclose(means.value, np.mean(seen, axis=0))
    late = gemsnn.TraceMeans(np.zeros((3, 3)), 10_000).moved(np.ones((3, 3)))
    np.testing.assert_allclose(late.value, SLOWEST)


def test_a_streams_means_are_what_its_traces_come_to():
    network = gemsnn.Network(gemsnn.Topology.fully_connected(2, 1, 1), gemsnn.Exponential((3.0, 20.0), 60))
    stream = gemsnn.Stream(network, network.init(), gemsnn.GEM(), means=gemsnn.TraceMeans.zero(network))
    rng = np.random.default_rng(0)
    inputs = (rng.random((6400, 2)) < [0.1, 0.4]).astype(np.uint8)
    for x in inputs:
        stream.step(x)
    np.testing.assert_allclose(stream.means.value, mean_trace(network, listed(inputs)), rtol=0.01)
    assert stream.means.count == 100


def test_means_of_another_network_are_refused():
    problem = make_problem(gemsnn.Network.fully_connected(5, 4, 2), gemsnn.GEM(), T=3, K=1)
    with pytest.raises(gemsnn.ConfigError, match=r"means have shape \(4, 3\), but this network needs \(5, 3\)"):
        problem.learn("compiled", means=gemsnn.TraceMeans.zero(gemsnn.Network.fully_connected(4, 4, 2)))
