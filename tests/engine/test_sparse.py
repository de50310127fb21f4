"""The sparse form: random graphs, where each synapse is learned by itself while its source has a trace."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import (
    Problem,
    assert_results_close,
    examples,
    make_problem,
    problems,
    uniforms_off_threshold,
)

import gemsnn
from gemsnn.engine import compiled, synapses
from gemsnn.engine.sparse_kernel import SWEEP


@pytest.fixture(autouse=True)
def sparse_form(monkeypatch):
    monkeypatch.setattr(compiled, "FORM", "sparse")


@examples(60)
@given(problems())
def test_learning_gives_the_same_spikes_weights_and_importances(problem):
    uniforms = problem.uniforms(problem.network.n_hidden)
    expected = problem.learn("reference", uniforms=uniforms)
    result = problem.learn("compiled", uniforms=uniforms)
    assert_results_close(result, expected, 1e-11)
    problem.network.check_parameters(result.parameters)


@examples(25)
@given(problems())
def test_in_float32_learning_gives_the_same_spikes_and_the_weights_to_rounding(problem):
    single = problem.parameters.astype(np.float32)
    exact = Problem(**{**vars(problem), "parameters": single.astype(np.float64)})
    uniforms = uniforms_off_threshold(exact, 1e-3)
    expected = exact.learn("reference", uniforms=uniforms)
    assert_results_close(exact.learn("compiled", uniforms=uniforms, parameters=single), expected, 2e-5)


def quiet_problem(T, gamma, rule=gemsnn.MB, density=0.3, seed=0):
    """Sources are silent for longer than their filters and their eligibility last, and spike again."""
    network = gemsnn.Network(gemsnn.Topology.random(12, 8, 3, density, seed), gemsnn.RaisedCosine(2, 5))
    problem = make_problem(network, rule(1e-3, 0.9, gamma), T=T, K=2, seed=seed, rate=0.5)
    return Problem(**{**vars(problem), "inputs": problem.inputs * (np.random.default_rng(seed).random((T, 12)) < 0.04)})


@pytest.mark.parametrize("gamma", [0.3, 0.9, 0.999, 1.0])
@pytest.mark.parametrize("rule", [gemsnn.MB, gemsnn.Feedback])
@pytest.mark.parametrize("T", [SWEEP - 1, SWEEP, SWEEP + 1, 6 * SWEEP + 7])
def test_synapses_that_were_left_alone_for_long_are_settled_exactly(gamma, rule, T):
    problem = quiet_problem(T, gamma, rule)
    uniforms = problem.uniforms(problem.network.n_hidden)
    results = [problem.learn(engine, uniforms=uniforms) for engine in ("compiled", "reference")]
    assert_results_close(*results, 1e-11)


@pytest.mark.parametrize("cut", [1, 20, SWEEP, 50])
def test_a_sequence_learned_in_two_parts_is_the_sequence_learned_at_once(cut):
    problem = quiet_problem(120, 0.9)
    whole = problem.learn("compiled", seed=3)
    network, rule, parts = problem.network, problem.rule, (slice(0, cut), slice(cut, None))
    parameters, state, hidden = problem.parameters, None, []
    for part in parts:
        result = gemsnn.learn(
            network, parameters, rule, problem.inputs[part], problem.targets[part], 2, seed=3, state=state
        )
        parameters, state = result.parameters, result.state
        hidden.append(result.hidden)
    np.testing.assert_array_equal(np.concatenate(hidden), whole.hidden)
    for name in ("synaptic", "somatic", "bias"):
        np.testing.assert_allclose(getattr(parameters, name), getattr(whole.parameters, name), rtol=0, atol=1e-12)


@examples(15)
@given(problems(lengths=st.integers(1, 80), most_compartments=3), st.lists(st.booleans(), min_size=80, max_size=80))
def test_streams_that_learn_and_run_freely_by_turns_are_the_same(problem, learns):
    fast, slow = (
        gemsnn.Stream(problem.network, problem.parameters, problem.rule, problem.K, problem.seed, engine=engine)
        for engine in ("compiled", "reference")
    )
    for t in range(problem.T):
        target = problem.targets[t] if learns[t] else None
        result, expected = fast.step(problem.inputs[t], target), slow.step(problem.inputs[t], target)
        np.testing.assert_array_equal(result.spikes, expected.spikes)
        np.testing.assert_allclose(result.log_weights, expected.log_weights, rtol=1e-11, atol=1e-11)
    weights = fast.parameters, slow.parameters
    np.testing.assert_allclose(
        *(each.synaptic for each in weights), rtol=0, atol=1e-11 * abs(weights[1].synaptic).max()
    )


@pytest.mark.parametrize("one_filter", [False, True])
def test_a_sparse_graph_runs_as_a_dense_one_does(one_filter, monkeypatch):
    somatic = gemsnn.RaisedCosine(3, 10) if one_filter else gemsnn.Exponential((4.0,), 9)
    network = gemsnn.Network(gemsnn.Topology.random(40, 60, 5, 0.05, seed=1), gemsnn.RaisedCosine(3, 10), somatic)
    assert synapses.is_sparse(network.topology)
    problem = make_problem(network, gemsnn.GEM(), T=60, K=3)
    uniforms = problem.uniforms(network.n_neurons)
    runs = [
        gemsnn.sample(network, problem.parameters, problem.inputs, 3, uniforms=uniforms, engine=engine)
        for engine in ("compiled", "reference")
    ]
    monkeypatch.setattr(synapses, "SPARSE", 0.0)
    runs.append(gemsnn.sample(network, problem.parameters, problem.inputs, 3, uniforms=uniforms))
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[2], runs[1])
