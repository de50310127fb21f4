"""Exponential filters are recursions: sequences and streams of many times their duration learn what the oracle does."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from problems import (
    Problem,
    assert_close,
    assert_parameters_close,
    assert_results_close,
    examples,
    make_problem,
    rules,
    topologies,
    uniforms_off_threshold,
)

import gemsnn
from gemsnn.engine import compiled, engine_named, event
from gemsnn.engine.event_plan import event_plan
from gemsnn.engine.task import Task

TOLERANCE = 1e-11


@pytest.fixture(autouse=True)
def event_form(monkeypatch):
    monkeypatch.setattr(compiled, "FORM", "event")
    monkeypatch.setattr(event, "BLOCK", 23)  # so that the window moves on often
    monkeypatch.setattr(event, "LONGEST_SEQUENCE", 31)


@st.composite
def long_problems(draw: st.DrawFn) -> tuple[Problem, gemsnn.TraceMeans | None]:
    """Of three to twenty times what the filters remember."""
    constants = st.lists(st.sampled_from([0.5, 3.0, 20.0, 1000.0]), min_size=1, max_size=2)
    durations = st.integers(1, 12)
    synaptic = gemsnn.Exponential(draw(constants), draw(durations))
    somatic = draw(
        st.sampled_from([synaptic, gemsnn.RaisedCosine(2, 7, offset=8.0), gemsnn.Exponential((2.0, 90.0), 30)])
    )
    sizes = draw(st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 3)))
    network = gemsnn.Network(draw(topologies(*sizes)), synaptic, somatic)
    assume(event_plan(network, False, np.dtype(np.float64)) is not None)  # there are synapses
    K, seed = draw(st.integers(1, 4)), draw(st.integers(0, 10_000))
    problem = make_problem(network, draw(rules()), T=draw(st.integers(37, 130)), K=K, seed=seed, rate=0.3)
    value = np.random.default_rng(seed).random((network.n_inputs, synaptic.n_basis))
    return problem, gemsnn.TraceMeans(value) if draw(st.booleans()) else None


@examples(60)
@given(long_problems())
def test_sequences_learn_the_same_when_most_spikes_have_left_the_filters(drawn):
    problem, means = drawn
    uniforms = problem.uniforms(problem.network.n_hidden)
    results = [problem.learn(engine, uniforms=uniforms, means=means) for engine in ("compiled", "reference")]
    assert_results_close(*results, TOLERANCE)


@examples(25)
@given(
    long_problems(),
    st.lists(st.sampled_from(["learn", "learn", "free", "take out", "new means"]), min_size=130, max_size=130),
)
def test_streams_that_learn_rest_and_are_taken_out_do_the_same(drawn, doing):
    problem, _ = drawn
    network, K, rng = problem.network, problem.K, np.random.default_rng(problem.seed)
    uniforms = problem.uniforms(network.n_neurons)
    learners = [
        engine_named(engine).learner(Task(network, problem.rule, K), problem.parameters, free=True)
        for engine in ("compiled", "reference")
    ]
    for t in range(problem.T):
        if doing[t] == "take out":
            taken = [learner.take() for learner in learners]
            learners = [
                engine_named(engine).learner(Task(network, problem.rule, K), parameters, free=True, state=state)
                for engine, (parameters, state) in zip(("compiled", "reference"), taken, strict=True)
            ]
        if doing[t] == "new means":
            means = rng.random((network.n_inputs, network.synaptic_filter.n_basis))
            for learner in learners:
                learner.subtract_means(means)
        target = None if doing[t] == "free" else problem.targets[t]
        fast, slow = (learner.step(problem.inputs[t], target, uniforms[t]) for learner in learners)
        np.testing.assert_array_equal(fast.spikes, slow.spikes)
        assert_close(fast.log_weights, slow.log_weights, TOLERANCE)
    assert_parameters_close(*(learner.parameters() for learner in learners), TOLERANCE)


@pytest.mark.parametrize("duration", [40, 300])
def test_in_float32_rounding_does_not_pile_up_over_thousands_of_steps(duration):
    # Filters that hardly fade: what rounding leaves behind when a spike is taken off again would stay for good. Bursts
    # and silence by turns make traces large and then exactly 0.
    network = gemsnn.Network.fully_connected(30, 3, 2, gemsnn.Exponential((1e6,), duration))
    problem = make_problem(network, gemsnn.GEM(1e-4, 0.9, 0.5), T=4000, K=1, scale=0.3, rate=0.5)
    problem.inputs[np.arange(4000) // (2 * duration) % 2 == 1] = 0
    single = problem.parameters.astype(np.float32)
    exact = Problem(**{**vars(problem), "parameters": single.astype(np.float64)})
    uniforms = uniforms_off_threshold(exact, 1e-3)
    expected = exact.learn("reference", uniforms=uniforms)
    result = exact.learn("compiled", uniforms=uniforms, parameters=single)
    np.testing.assert_array_equal(result.hidden, expected.hidden)
    # Each step's own log-likelihood, the last as good as the first: a potential of up to 30 synapses, each rounded to
    # 6e-8 a few dozen times between two beginnings of the recursion.
    error = np.abs(result.log_likelihood - expected.log_likelihood).max(axis=1)
    assert error.max() < 2e-5
