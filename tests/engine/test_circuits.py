"""Winner-take-all circuits on both engines: against enumeration, and against each other."""

import math

import circuits as support
import exact
import numpy as np
import pytest
from circuits import circuit_problems, draws_off_threshold
from hypothesis import given
from hypothesis import strategies as st
from problems import (
    Problem,
    assert_close,
    assert_parameters_close,
    assert_results_close,
    examples,
    random_parameters,
)
from scipy import stats

import gemsnn

FLOAT64_TOLERANCE = 1e-10  # signals of MB and IW are log-probabilities, some tens in size
FLOAT32_TOLERANCE = 1e-4
MARGIN = 2e-3

T, INPUTS = 2, np.array([[1], [0]])


def small(groups, n_hidden=2, n_visible=2, seed=3):
    """Hidden neurons in cycles, visible neurons feeding back; and its parameters."""
    network = gemsnn.Network(
        gemsnn.Topology.random(1, n_hidden, n_visible, 1.0, seed),
        gemsnn.Filter([[0.6, 0.3], [-0.2, 0.9]]),
        gemsnn.Filter([[0.5, 0.3]]),
        circuits=groups,
    )
    return network, random_parameters(network, np.random.default_rng(seed), scale=1.2)


NETWORKS = {
    "read-out": small([[2, 3]]),
    "read-out that may be silent": small([gemsnn.Circuit((3, 2), silent=True)]),
    "hidden": small([[0, 1]]),
    "hidden and visible": small([gemsnn.Circuit((1, 0), silent=True), [2, 3]]),
    "two in the hidden layer": small([[0, 3], gemsnn.Circuit((1, 2), silent=True)], n_hidden=4, n_visible=1),
}


def joint_log_probabilities(network, parameters):
    """Every train of all neurons, and its log-probability."""
    trains = support.trains(support.units(network), range(network.n_neurons), T)
    n = network.n_hidden
    return trains, np.array(
        [
            sum(map(sum, support.step_log_probabilities(
                network, parameters, exact.sources(INPUTS, [row[:n] for row in o], [row[n:] for row in o])
            )))
            for o in trains
        ]
    )  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("name", NETWORKS)
def test_free_running_spike_trains_come_up_as_often_as_their_probability_says(name, engine):
    network, parameters = NETWORKS[name]
    trains, log_p = joint_log_probabilities(network, parameters)
    assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-12)
    n = 40_000
    spikes = gemsnn.sample(network, parameters, INPUTS, n, seed=2, engine=engine).transpose(1, 0, 2).reshape(n, -1)
    bits = 1 << np.arange(spikes.shape[1])
    counts = np.bincount(spikes @ bits, minlength=1 << len(bits))
    counts = counts[np.array(trains).reshape(len(trains), -1) @ bits]
    assert counts.sum() == n  # nothing impossible came up
    expected = np.exp(log_p) * n
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum() + 1e-300)
    # False-alarm rate: one seed in ten thousand.
    assert stats.chisquare(observed, expected * n / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_log_likelihood_estimate_converges_to_the_exact_value_within_its_confidence_interval(name, engine):
    network, parameters = NETWORKS[name]
    targets = support.random_targets(network, T, np.random.default_rng(1))
    _, log_hidden, log_visible = support.hidden_trains(network, parameters, INPUTS, targets)
    weight, p = np.exp(log_hidden.sum(axis=1)), np.exp(log_visible.sum(axis=1))
    mean, n = float(weight @ p), 20_000
    variance = float(weight @ (p - mean) ** 2)
    estimate = gemsnn.log_likelihood(network, parameters, INPUTS, targets, n_samples=n, seed=1, engine=engine)
    # A correct engine fails for about one seed in a million.
    assert abs(math.exp(estimate) - mean) < 4.9 * math.sqrt(variance / n)
    assert math.sqrt(variance / n) < 0.01 * mean  # narrow enough to notice a wrong probability


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("name", NETWORKS)
def test_learning_sees_the_log_probability_of_the_definition(name, engine):
    network, parameters = NETWORKS[name]
    targets = support.random_targets(network, T, np.random.default_rng(1))
    trains, _, log_visible = support.hidden_trains(network, parameters, INPUTS, targets)
    draws = [support.forcing_uniforms(network, parameters, INPUTS, train, targets) for train in trains]
    result = gemsnn.learn(
        network, parameters, gemsnn.GEM(0.0), INPUTS, targets, len(trains),
        uniforms=np.stack(draws, axis=1), engine=engine,
    )  # fmt: skip
    np.testing.assert_array_equal(result.hidden.transpose(1, 0, 2), np.array(trains, dtype=bool))
    np.testing.assert_allclose(result.log_likelihood.T, log_visible, rtol=0, atol=1e-12)


def test_learning_a_winner_take_all_read_out_raises_the_exact_likelihood():
    network, parameters = NETWORKS["hidden and visible"]
    targets = np.array([[1, 0], [0, 1]])

    def log_likelihood(of):
        _, log_hidden, log_visible = support.hidden_trains(network, of, INPUTS, targets)
        return math.log(np.exp(log_hidden.sum(axis=1) + log_visible.sum(axis=1)).sum())

    before = log_likelihood(parameters)
    for example in range(200):
        parameters = gemsnn.learn(
            network, parameters, gemsnn.GEM(learning_rate=0.02), INPUTS, targets, 5, example=example
        ).parameters
    assert log_likelihood(parameters) > before + 0.5


# ---- the compiled engine against the reference engine


@examples(150)
@given(circuit_problems())
def test_learning_gives_the_same_spikes_weights_and_importances(problem):
    uniforms = problem.uniforms(problem.network.n_hidden)
    expected, result = (problem.learn(engine, uniforms=uniforms) for engine in ("reference", "compiled"))
    assert_results_close(result, expected, FLOAT64_TOLERANCE)
    problem.network.check_parameters(result.parameters)


@examples(20)
@given(circuit_problems(lengths=st.sampled_from([128, 129, 257]), most_compartments=3))
def test_learning_over_several_blocks_gives_the_same(problem):
    uniforms = problem.uniforms(problem.network.n_hidden)
    expected, result = (problem.learn(engine, uniforms=uniforms) for engine in ("reference", "compiled"))
    assert_results_close(result, expected, 10 * FLOAT64_TOLERANCE)


@examples(60)
@given(circuit_problems())
def test_in_float32_learning_gives_the_same_spikes_and_the_weights_to_rounding(problem):
    single = problem.parameters.astype(np.float32)
    exactly = Problem(**{**vars(problem), "parameters": single.astype(np.float64)})
    uniforms = draws_off_threshold(exactly, MARGIN)
    expected = exactly.learn("reference", uniforms=uniforms)
    result = exactly.learn("compiled", uniforms=uniforms, parameters=single)
    assert result.parameters.dtype == np.float32
    assert_results_close(result, expected, FLOAT32_TOLERANCE)


@examples(80)
@given(circuit_problems(), st.sampled_from([np.float32, np.float64]))
def test_free_running_gives_the_same_spikes(problem, dtype):
    parameters = problem.parameters.astype(dtype)
    exactly = Problem(**{**vars(problem), "parameters": parameters.astype(np.float64)})
    uniforms = draws_off_threshold(exactly, 1e-12 if dtype == np.float64 else MARGIN, free=True)
    arguments = (problem.network, parameters, problem.inputs, problem.K)
    runs = [gemsnn.sample(*arguments, uniforms=uniforms, engine=engine) for engine in ("compiled", "reference")]
    np.testing.assert_array_equal(*runs)


@examples(60)
@given(circuit_problems())
def test_the_log_likelihood_estimate_is_the_same(problem):
    arguments = (problem.network, problem.parameters, problem.inputs, problem.targets, problem.K, problem.seed)
    values = [gemsnn.log_likelihood(*arguments, engine=engine) for engine in ("compiled", "reference")]
    assert values[0] == pytest.approx(values[1], rel=FLOAT64_TOLERANCE, abs=FLOAT64_TOLERANCE)


@examples(40)
@given(
    circuit_problems(lengths=st.integers(1, 110), most_compartments=4),
    st.lists(st.booleans(), min_size=110, max_size=110),
)
def test_streams_that_learn_and_run_freely_by_turns_are_the_same(problem, learns):
    fast, slow = (
        gemsnn.Stream(problem.network, problem.parameters, problem.rule, problem.K, problem.seed, engine=engine)
        for engine in ("compiled", "reference")
    )
    for t in range(problem.T):
        target = problem.targets[t] if learns[t] else None
        result, expected = fast.step(problem.inputs[t], target), slow.step(problem.inputs[t], target)
        np.testing.assert_array_equal(result.spikes, expected.spikes)
        for name in ("log_likelihood", "log_weights", "importance"):
            assert_close(getattr(result, name), getattr(expected, name), FLOAT64_TOLERANCE, name)
    assert_parameters_close(fast.parameters, slow.parameters, FLOAT64_TOLERANCE)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inference_does_not_depend_on_the_number_of_threads(dtype):
    groups = [gemsnn.Circuit((0, 3), silent=True), [1, 2], [5, 6, 7]]
    network = gemsnn.Network(gemsnn.Topology.random(6, 5, 3, 0.8), circuits=groups)
    parameters = random_parameters(network, np.random.default_rng(0)).astype(dtype)
    inputs = np.random.default_rng(1).integers(0, 2, (40, 12, 6))  # 40 x 30 rows: several batches
    targets = np.stack([support.random_targets(network, 12, np.random.default_rng(n)) for n in range(40)])
    runs = [
        (
            gemsnn.sample(network, parameters, inputs, 30, seed=1, threads=threads),
            gemsnn.log_likelihood(network, parameters, inputs, targets, 30, seed=1, threads=threads),
        )
        for threads in (1, 2, 3)
    ]
    for spikes, likelihood in runs[1:]:
        np.testing.assert_array_equal(spikes, runs[0][0])
        np.testing.assert_array_equal(likelihood, runs[0][1])
