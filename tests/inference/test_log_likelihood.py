"""How probable a desired output is (see also the enumeration tests of the engines)."""

import numpy as np
import pytest
from problems import make_problem
from scipy.special import logsumexp

import gemsnn
from gemsnn.inference.likelihood import log_mean_probability
from gemsnn.model.spikes import Circuits


def make(T=12):
    return make_problem(gemsnn.Network(gemsnn.Topology.random(4, 3, 2, 1.0)), gemsnn.GEM(0.0), T=T, K=6)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_the_estimate_is_the_log_of_the_mean_probability_over_realisations(engine):
    problem = make()
    run = problem.learn(engine, seed=4, example=2)
    expected = logsumexp(run.log_likelihood.sum(axis=0)) - np.log(6)
    estimate = gemsnn.log_likelihood(
        problem.network, problem.parameters, problem.inputs, problem.targets, 6, seed=4, engine=engine, example=2
    )
    assert isinstance(estimate, float)
    assert estimate == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_the_mean_of_the_logs_is_a_lower_bound(engine):
    problem = make()
    run = problem.learn(engine, seed=4, example=2)
    arguments = (problem.network, problem.parameters, problem.inputs, problem.targets, 6)
    options = {"seed": 4, "engine": engine, "example": 2}
    bound = gemsnn.log_likelihood(*arguments, mean="log-probability", **options)
    assert bound == pytest.approx(run.log_likelihood.sum(axis=0).mean(), rel=1e-11)
    assert bound < gemsnn.log_likelihood(*arguments, **options)
    with pytest.raises(gemsnn.ConfigError, match="mean"):
        gemsnn.log_likelihood(*arguments, mean="median")


def test_twenty_realisations_are_the_default():
    problem = make()
    arguments = (problem.network, problem.parameters, problem.inputs, problem.targets)
    assert gemsnn.log_likelihood(*arguments) == gemsnn.log_likelihood(*arguments, n_samples=20)
    assert gemsnn.log_likelihood(*arguments) != gemsnn.log_likelihood(*arguments, n_samples=19)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_many_sequences_give_as_many_numbers_each_with_its_own_draws(engine):
    problem = make()
    inputs, targets = np.stack([problem.inputs] * 3), np.stack([problem.targets, 1 - problem.targets, problem.targets])
    options = {"n_samples": 5, "seed": 1, "engine": engine}
    values = gemsnn.log_likelihood(problem.network, problem.parameters, inputs, targets, **options)
    assert values.shape == (3,)
    for n in range(3):
        alone = gemsnn.log_likelihood(problem.network, problem.parameters, inputs[n], targets[n], example=n, **options)
        assert values[n] == pytest.approx(alone, rel=1e-11)
    assert values[0] != values[2]


def test_a_mean_of_probabilities_too_small_for_floats_is_still_right():
    potential = np.full((1, 2, 1), -5000.0)  # T, K, n_visible: log p(spike) = -5000
    potential[0, 1] = -4999.0
    expected = -4999 + np.log((1 + np.exp(-1.0)) / 2)
    assert log_mean_probability(Circuits(0, 1), potential, np.ones((1, 1, 1))) == pytest.approx(expected, rel=1e-12)
