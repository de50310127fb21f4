"""Potentials far beyond what a sigmoid resolves, and log-weights that only ever fall."""

import numpy as np
import pytest
from problems import assert_results_close, make_problem

import gemsnn
from gemsnn.errors import ConfigError

ENGINES = ("compiled", "reference")


def extreme_parameters(network, sign, dtype):
    """Potentials of +-1e4, from the bias alone and from every synapse and self-memory."""
    mask = network.topology.mask
    rng = np.random.default_rng(0)
    synaptic = np.where(rng.random((*mask.shape, network.synaptic_filter.n_basis)) < 0.5, 1e4, -1e4) * mask[:, :, None]
    somatic = np.full((network.n_neurons, network.somatic_filter.n_basis), -sign * 1e4)
    return gemsnn.Parameters(synaptic, somatic, np.full(network.n_neurons, sign * 1e4)).astype(dtype)


def assert_finite(result):
    for value in (result.log_likelihood, result.log_weights, result.importance):
        assert np.isfinite(value).all()
    for value in vars(result.parameters).values():
        assert np.isfinite(value).all()
    np.testing.assert_allclose(result.importance.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_potentials_of_ten_thousand_give_finite_results(engine, dtype, sign):
    network = gemsnn.Network(gemsnn.Topology.random(3, 3, 2, 1.0))
    parameters = extreme_parameters(network, sign, dtype)
    rng = np.random.default_rng(1)
    inputs, targets = rng.integers(0, 2, (200, 3)), rng.integers(0, 2, (200, 2))
    rule = gemsnn.GEM(0.01, kappa=1.0, gamma=1.0)
    result = gemsnn.learn(network, parameters, rule, inputs, targets, 4, engine=engine)
    assert_finite(result)
    assert result.log_likelihood.min() < -5_000  # the potentials were that large
    assert np.isfinite(gemsnn.log_likelihood(network, parameters, inputs, targets, engine=engine))
    for decoder in ("vote", "likelihood", "per-step"):
        prediction = gemsnn.predict(network, parameters, inputs[None], 4, decoder=decoder)
        np.testing.assert_allclose(prediction.probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("bias", "spike", "expected"), [(1e4, 1, 0.0), (1e4, 0, -1e4), (-1e4, 1, -1e4), (-1e4, 0, 0.0)]
)
def test_the_log_probability_of_an_extreme_potential_is_the_potential_itself_or_zero(
    engine, dtype, bias, spike, expected
):
    network = gemsnn.Network(gemsnn.Topology.fully_connected(0, 0, 1))
    silent = network.init(dtype=dtype)
    parameters = gemsnn.Parameters(silent.synaptic, silent.somatic, np.array([bias], dtype=dtype))
    arguments = (np.zeros((1, 0)), np.array([[spike]]))
    result = gemsnn.learn(network, parameters, gemsnn.GEM(), *arguments, engine=engine)
    assert result.log_likelihood[0, 0] == pytest.approx(expected, rel=1e-12)
    assert gemsnn.log_likelihood(network, parameters, *arguments, engine=engine) == pytest.approx(expected, rel=1e-12)
    if engine == "compiled":
        assert gemsnn.sample(network, parameters, np.zeros((1, 0)))[0, 0, 0] == (bias > 0)


def test_both_engines_agree_on_extreme_potentials():
    network = gemsnn.Network(gemsnn.Topology.random(3, 3, 2, 0.7))
    problem = make_problem(network, gemsnn.GEM(0.01, 1.0, 1.0), T=150, K=3, scale=3e3)
    assert_results_close(problem.learn("compiled", seed=0), problem.learn("reference", seed=0), 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ENGINES)
def test_log_weights_that_never_fade_stay_finite_over_a_long_stream(engine, dtype):
    network = gemsnn.Network.fully_connected(1, 2, 1)
    parameters = network.init(visible_bias=1e4, dtype=dtype)  # each silent step costs 1e4
    steps = 5_000 if engine == "compiled" else 500
    rule = gemsnn.GEM(0.0, kappa=1.0)
    inputs, targets = np.ones((steps, 1)), np.zeros((steps, 1))
    result = gemsnn.learn(network, parameters, rule, inputs, targets, 5, engine=engine)
    assert_finite(result)
    assert result.log_weights[-1].max() < -9_000 * steps
    estimate = gemsnn.log_likelihood(network, parameters, inputs, targets, engine=engine)
    assert np.isfinite(estimate)
    assert estimate < -9_000 * steps


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("gamma", [1e-60, 1e-30])
def test_an_eligibility_that_forgets_at_once_is_no_problem_in_float32(engine, gamma):
    problem = make_problem(
        gemsnn.Network(gemsnn.Topology.random(3, 3, 2, 1.0)), gemsnn.GEM(0.1, 0.9, gamma), T=140, K=2
    )
    assert_finite(problem.learn(engine, parameters=problem.parameters.astype(np.float32), seed=0))


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_too_large_to_stay_finite_are_told_with_what_to_do(engine):
    network = gemsnn.Network.fully_connected(2, 3, 1)
    rule, ones = gemsnn.GEM(1e308), np.ones((30, 3))
    parameters = network.init(dtype=np.float64)
    with (
        np.errstate(all="ignore"),
        pytest.raises(ConfigError, match=r"learning diverged: .*learning_rate below 1e\+308"),
    ):
        gemsnn.learn(network, parameters, rule, ones[:, :2], ones[:, :1], 2, engine=engine)
    stream = gemsnn.Stream(network, parameters, rule, 2, engine=engine)
    with np.errstate(all="ignore"), pytest.raises(ConfigError, match=r"diverged at step \d+: .*learning_rate below"):
        [stream.step(ones[t, :2], [t % 2]) for t in range(30)]
