"""The fast engine against the oracle, on networks, rules and sequences that hypothesis makes up."""

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
from scipy.special import expit

import gemsnn

FLOAT64_TOLERANCE = 1e-11  # the promise is 1e-9; a neglected term would be far above either, rounding far below

# In float32 a number is rounded to 6e-8 of its size. Up to 30 steps of up to 7 compartments add 210 terms to a weight,
# so that rounding makes at most 1.3e-5 of the weights' scale. Draws keep at least ten times the error that this makes
# in a probability from every threshold, so that spikes do not hang on rounding.
FLOAT32_TOLERANCE = 2e-5
MARGIN = 1e-3

# More than one block of the compiled engine (128 steps at most), more than two, and lengths just at the border.
LONG = st.sampled_from([127, 128, 129, 200, 257, 310])


def paper_like(**filters: gemsnn.Filter) -> gemsnn.Network:
    return gemsnn.Network.fully_connected(6, 5, 3, **filters)


def check_learning(problem: Problem) -> None:
    uniforms = problem.uniforms(problem.network.n_hidden)
    expected = problem.learn("reference", uniforms=uniforms)
    result = problem.learn("compiled", uniforms=uniforms)
    assert_results_close(result, expected, FLOAT64_TOLERANCE)
    # Absent synapses, and the memory of visible neurons where they have none, are exactly zero.
    problem.network.check_parameters(result.parameters)


@examples(150)
@given(problems())
def test_learning_gives_the_same_spikes_weights_and_importances(problem):
    check_learning(problem)


@examples(20)
@given(problems(lengths=LONG, most_compartments=5))
def test_learning_over_several_blocks_gives_the_same_spikes_weights_and_importances(problem):
    check_learning(problem)


@pytest.mark.parametrize("gamma", [0.97, 0.999, 1.0])
@pytest.mark.parametrize(("n_inputs", "density"), [(3, 1.0), (20, 0.5)])
def test_eligibility_carried_over_many_blocks_stays_the_same(gamma, n_inputs, density):
    # The errors of some 1,200 steps matter at gamma = 0.97, and of all steps at 1.
    network = gemsnn.Network(gemsnn.Topology.random(n_inputs, 2, 2, density, seed=3), gemsnn.RaisedCosine(2, 7))
    check_learning(make_problem(network, gemsnn.GEM(5e-4, 0.9, gamma), T=1400, K=2, scale=0.5, rate=0.3))


@pytest.mark.parametrize(
    "topology",
    [
        gemsnn.Topology(0, 0, 2, np.zeros((2, 2))),  # nothing but biases and self-memory
        gemsnn.Topology(0, 0, 2, [[0, 1], [1, 0]]),  # visible neurons in a cycle
        gemsnn.Topology(0, 3, 1, gemsnn.Topology.random(0, 3, 1, 1.0).mask),  # generates patterns by itself
        gemsnn.Topology.layered(3, [2, 2], 2),
        gemsnn.Topology(2, 1, 1, [[0, 0, 0, 1], [0, 0, 0, 0]]),  # visible to hidden only
        gemsnn.Topology.fully_connected(3, 0, 2),  # no hidden neurons
    ],
    ids=repr,
)
@pytest.mark.parametrize("T", [1, 2, 140])
@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_special_graphs_learn_the_same(topology, T, gamma):
    network = gemsnn.Network(topology, gemsnn.Exponential((2.0,), 5), gemsnn.RaisedCosine(2, 18))
    check_learning(make_problem(network, gemsnn.GEM(0.02, 0.9, gamma), T, K=3, seed=T))


@pytest.mark.parametrize("T", [5, 150])
def test_a_filter_longer_than_the_sequence_learns_the_same(T):
    network = paper_like(synaptic_filter=gemsnn.RaisedCosine(3, 200), somatic_filter=gemsnn.Exponential((40.0,), 180))
    check_learning(make_problem(network, gemsnn.GEM(0.01), T, K=2))


@examples(60)
@given(problems())
def test_in_float32_learning_gives_the_same_spikes_and_the_weights_to_rounding(problem):
    single = problem.parameters.astype(np.float32)
    exact = Problem(**{**vars(problem), "parameters": single.astype(np.float64)})
    uniforms = uniforms_off_threshold(exact, MARGIN)
    expected = exact.learn("reference", uniforms=uniforms)
    result = exact.learn("compiled", uniforms=uniforms, parameters=single)
    assert result.parameters.dtype == np.float32
    assert_results_close(result, expected, FLOAT32_TOLERANCE)


@examples(100)
@given(problems(), st.booleans())
def test_free_running_gives_the_same_spikes(problem, batched):
    network = problem.network
    uniforms, inputs = problem.uniforms(network.n_neurons), problem.inputs
    if batched:
        uniforms, inputs = np.stack([uniforms, uniforms[::-1]]), np.stack([inputs, inputs[::-1]])
    runs = [
        gemsnn.sample(network, problem.parameters, inputs, problem.K, uniforms=uniforms, engine=engine)
        for engine in ("compiled", "reference")
    ]
    assert runs[0].shape == uniforms.shape
    np.testing.assert_array_equal(*runs)


@examples(40)
@given(problems())
def test_in_float32_free_running_gives_the_same_spikes(problem):
    single = problem.parameters.astype(np.float32)
    exact = Problem(**{**vars(problem), "parameters": single.astype(np.float64)})
    uniforms = uniforms_off_threshold(exact, MARGIN, free=True)
    arguments = (problem.network, single, problem.inputs, problem.K)
    runs = [gemsnn.sample(*arguments, uniforms=uniforms, engine=engine) for engine in ("compiled", "reference")]
    np.testing.assert_array_equal(*runs)


@pytest.mark.parametrize("same_filter", [True, False])
@pytest.mark.parametrize(("n_inputs", "n_hidden", "n_visible"), [(0, 13, 3), (4, 14, 3), (3, 30, 2)])
def test_free_running_gives_the_same_spikes_around_the_width_of_vectors(n_inputs, n_hidden, n_visible, same_filter):
    somatic = gemsnn.RaisedCosine(3, 10) if same_filter else gemsnn.Exponential((3.0,), 14)
    topology = gemsnn.Topology.random(n_inputs, n_hidden, n_visible, 0.9)
    network = gemsnn.Network(topology, gemsnn.RaisedCosine(3, 10), somatic)
    problem = make_problem(network, gemsnn.GEM(), T=30, K=3)
    arguments = (network, problem.parameters, problem.inputs, problem.K, problem.seed)
    before = problem.parameters.copy()
    runs = [gemsnn.sample(*arguments, engine=engine) for engine in ("compiled", "reference")]
    np.testing.assert_array_equal(*runs)
    assert problem.parameters == before


def test_a_spike_is_decided_by_its_probability_to_the_last_digits():
    bias = np.concatenate([np.arange(-20 * 16, 20 * 16 + 1) / 16, np.linspace(-40, 40, 1001), [1e4, -1e4, 700, -700]])
    n = len(bias)
    network = gemsnn.Network(gemsnn.Topology(0, n - 1, 1, np.zeros((n, n))), gemsnn.Filter([[1]]), gemsnn.Filter([[1]]))
    parameters = gemsnn.Parameters(np.zeros((n, n, 1)), np.zeros((n, 1)), bias)
    p = expit(bias)
    away = np.array([-0.5, -1e-3, -1e-6, -1e-13, 1e-13, 1e-6, 1e-3, 0.5])[:, None]
    uniforms = np.concatenate([np.clip(p * (1 + away), 0, 1), np.zeros((1, n)), np.ones((1, n))])
    spikes = gemsnn.sample(network, parameters, np.zeros((1, 0)), len(uniforms), uniforms=uniforms[None])[0]
    # 1e-13 is a thousand roundings of p, but not where p is within a rounding of 1.
    clear = (np.abs(uniforms - p) > 1e-15) | (uniforms == 0) | (uniforms == 1)
    np.testing.assert_array_equal(spikes[clear], (uniforms < p)[clear])
    assert clear.mean() > 0.8


@examples(80)
@given(problems())
def test_the_log_likelihood_estimate_is_the_same(problem):
    arguments = (problem.network, problem.parameters, problem.inputs, problem.targets, problem.K, problem.seed)
    values = [gemsnn.log_likelihood(*arguments, engine=engine) for engine in ("compiled", "reference")]
    assert values[0] == pytest.approx(values[1], rel=FLOAT64_TOLERANCE, abs=FLOAT64_TOLERANCE)


@examples(40)
@given(problems(lengths=st.integers(1, 120), most_compartments=4), st.lists(st.booleans(), min_size=120, max_size=120))
def test_streams_that_learn_and_run_freely_by_turns_are_the_same(problem, learns):
    fast, slow = (
        gemsnn.Stream(problem.network, problem.parameters, problem.rule, problem.K, problem.seed, engine=engine)
        for engine in ("compiled", "reference")
    )
    for t in range(problem.T):
        target = problem.targets[t] if learns[t] else None
        result, expected = fast.step(problem.inputs[t], target), slow.step(problem.inputs[t], target)
        np.testing.assert_array_equal(result.spikes, expected.spikes)
        for name in ("log_likelihood", "log_weights", "importance", "probabilities"):
            assert_close(getattr(result, name), getattr(expected, name), FLOAT64_TOLERANCE, name)
        for name in ("time", "counts", "votes"):
            np.testing.assert_array_equal(getattr(result, name), getattr(expected, name))
    assert_parameters_close(fast.parameters, slow.parameters, FLOAT64_TOLERANCE)
    assert fast.predict() == slow.predict()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decoder", ["vote", "likelihood", "per-step"])
@pytest.mark.parametrize("feedback", [False, True])
def test_inference_does_not_depend_on_the_number_of_threads(dtype, decoder, feedback):
    topology = gemsnn.Topology.random(6, 5, 3, 0.8) if feedback else gemsnn.Topology.fully_connected(6, 5, 3)
    network = gemsnn.Network(topology)
    problem = make_problem(network, gemsnn.GEM(), T=12, K=30)
    parameters = problem.parameters.astype(dtype)
    inputs = np.random.default_rng(0).integers(0, 2, (40, 12, 6))  # 40 x 30 rows: several batches
    runs, predictions, likelihoods = [], [], []
    for threads in (1, 2, 3):
        runs.append(gemsnn.sample(network, parameters, inputs, 30, seed=1, threads=threads))
        predictions.append(gemsnn.predict(network, parameters, inputs, 30, decoder=decoder, seed=1, threads=threads))
        targets = np.broadcast_to(problem.targets, (40, 12, 3))
        likelihoods.append(gemsnn.log_likelihood(network, parameters, inputs, targets, 30, seed=1, threads=threads))
    for other in (1, 2):
        np.testing.assert_array_equal(runs[other], runs[0])
        np.testing.assert_array_equal(likelihoods[other], likelihoods[0])
        for name in ("classes", "probabilities", "votes", "hidden_spikes_per_step"):
            np.testing.assert_array_equal(getattr(predictions[other], name), getattr(predictions[0], name))


def test_a_sequence_gives_the_same_alone_and_in_a_batch():
    network = paper_like()
    parameters = make_problem(network, gemsnn.GEM(), T=1, K=1).parameters
    inputs = np.random.default_rng(0).integers(0, 2, (70, 9, 6))
    together = gemsnn.sample(network, parameters, inputs, 5, seed=3, example=100)
    for n in (0, 17, 69):
        alone = gemsnn.sample(network, parameters, inputs[n], 5, seed=3, example=100 + n)
        np.testing.assert_array_equal(together[n], alone)
