"""MB and IW climb their bounds, GEM the log-likelihood as K grows: the exact expectation of their updates says so.

Both follow from all hidden spike trains of tiny networks, enumerated in plain Python. With gamma = kappa = 1 and
weights that hardly move, the update of step t is eta sum_k signal_t^k sum_{s <= t} d log p(spikes of step s) / d
weights, and the signal is made of v_t^k = log p(x_1 .. x_t || h^k). So what the online rule climbs at step t is the
bound on the first t steps, and what it climbs over a sequence is the sum of these bounds over t = 1, ..., T:

    MB   sum_t E[ 1/K sum_k v_t^k ]                    IW   sum_t E[ log 1/K sum_k exp v_t^k ]

where the expectation is over hidden spikes drawn from the network itself. GEM weighs what the network itself drew by
how well it explains the visible spikes, so that with more compartments its mean comes nearer to that under the
posterior, which is the gradient of the log-likelihood, sum_t log p(x_1 .. x_t).
"""

import itertools

import circuits
import numpy as np
import pytest
from differences import gradient
from problems import random_parameters
from scipy.special import logsumexp

import gemsnn

ETA = 1e-7  # weights move by about 1e-6 of themselves, and so may the updates


def tiny(n_hidden, n_visible, groups=(), seed=3):
    network = gemsnn.Network(
        gemsnn.Topology.random(1, n_hidden, n_visible, 1.0, seed),
        synaptic_filter=gemsnn.Filter([[0.6, 0.3], [-0.2, 0.9]]),
        somatic_filter=gemsnn.Filter([[0.5, 0.3]]),
        circuits=groups,
    )
    return network, random_parameters(network, np.random.default_rng(seed), scale=1.2)


NETWORKS = {
    "Bernoulli": (tiny(1, 1), [[1], [0], [1]]),
    "winner-take-all read-out": (tiny(1, 2, [[1, 2]]), [[1, 0], [1, 0], [0, 1]]),
    "read-out that may be silent": (tiny(1, 2, [gemsnn.Circuit((1, 2), silent=True)]), [[1, 0], [0, 0], [0, 1]]),
    "hidden circuit": (tiny(2, 1, [[0, 1]]), [[1], [0], [1]]),
    "two hidden neurons": (tiny(2, 1), [[1], [0]]),
}


def combinations(network, parameters, inputs, targets, K):
    """Every K-tuple of hidden trains: their indices, probabilities, and (n, K, T) log p(x_t | ...) of each."""
    trains, log_hidden, log_visible = circuits.hidden_trains(network, parameters, inputs, targets)
    indices = np.array(list(itertools.product(range(len(trains)), repeat=K)))
    return trains, indices, np.exp(log_hidden.sum(axis=1)[indices].sum(axis=1)), log_visible[indices]


def expected_update(network, parameters, rule, inputs, targets, K, engine):
    """The mean over all hidden trains of what a rule changes, over eta."""
    trains, indices, probability, _ = combinations(network, parameters, inputs, targets, K)
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    draws = np.array([circuits.forcing_uniforms(network, parameters, inputs, train, targets) for train in trains])
    total = [np.zeros_like(getattr(parameters, name)) for name in ("synaptic", "somatic", "bias")]
    for chosen, p in zip(indices, probability, strict=True):
        result = gemsnn.learn(
            network, parameters, rule, inputs, targets, K, uniforms=draws[chosen].transpose(1, 0, 2), engine=engine
        )
        np.testing.assert_array_equal(result.hidden.transpose(1, 0, 2), np.array(trains, dtype=bool)[chosen])
        for array, name in zip(total, ("synaptic", "somatic", "bias"), strict=True):
            array += p * (getattr(result.parameters, name) - getattr(parameters, name)) / ETA
    return total


def sum_of_bounds(network, inputs, targets, K, bound):
    def value(parameters):
        _, _, probability, log_visible = combinations(network, parameters, inputs, targets, K)
        return float((probability[:, None] * bound(np.cumsum(log_visible, axis=2))).sum())

    return value


def mean_bound(v):
    """(n, T) from (n, K, T)."""
    return v.mean(axis=1)


def importance_weighted_bound(v):
    return logsumexp(v, axis=1) - np.log(v.shape[1])


def assert_the_same(actual, desired, weights_moved=1e-5):
    assert max(np.abs(array).max() for array in desired) > 0.05  # there is something to compare
    for a, b, name in zip(actual, desired, ("synaptic", "somatic", "bias"), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=weights_moved, err_msg=name)


def problem(name):
    (network, parameters), targets = NETWORKS[name]
    return network, parameters, np.array([[1], [0], [1]])[: len(targets)], np.array(targets)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("name", NETWORKS)
def test_mb_without_baseline_climbs_the_mean_log_probability(name, K, engine):
    network, parameters, inputs, targets = problem(name)
    rule = gemsnn.MB(ETA, kappa=1, gamma=1, baseline=None)
    update = expected_update(network, parameters, rule, inputs, targets, K, engine)
    # The mean over compartments has the expectation of one.
    assert_the_same(update, gradient(network, parameters, sum_of_bounds(network, inputs, targets, 1, mean_bound)))


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("baseline", [None, "leave-one-out"])
@pytest.mark.parametrize("name", NETWORKS)
def test_iw_climbs_the_importance_weighted_bound_with_and_without_leaving_one_out(name, baseline, engine):
    network, parameters, inputs, targets = problem(name)
    rule = gemsnn.IW(ETA, kappa=1, gamma=1, baseline=baseline)
    update = expected_update(network, parameters, rule, inputs, targets, 2, engine)
    bounds = sum_of_bounds(network, inputs, targets, 2, importance_weighted_bound)
    assert_the_same(update, gradient(network, parameters, bounds))


@pytest.mark.parametrize("baseline", [None, "leave-one-out"])
def test_iw_climbs_the_importance_weighted_bound_of_three_compartments(baseline):
    network, parameters, inputs, targets = problem("Bernoulli")
    rule = gemsnn.IW(ETA, kappa=1, gamma=1, baseline=baseline)
    update = expected_update(network, parameters, rule, inputs, targets, 3, "compiled")
    bounds = sum_of_bounds(network, inputs, targets, 3, importance_weighted_bound)
    assert_the_same(update, gradient(network, parameters, bounds))


def test_leaving_one_out_makes_the_updates_of_hidden_neurons_less_noisy():
    network, parameters, inputs, targets = problem("two hidden neurons")
    spread = {}
    for baseline in (None, "leave-one-out"):
        rule = gemsnn.IW(1e-6, kappa=1, gamma=1, baseline=baseline)
        updates = [
            gemsnn.learn(network, parameters, rule, inputs, targets, 5, seed).parameters.bias[: network.n_hidden]
            for seed in range(500)
        ]
        spread[baseline] = np.std(updates, axis=0)
    assert (spread["leave-one-out"] < 0.7 * spread[None]).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_centred_gem_has_the_expectation_of_gem(name):
    network, parameters, inputs, targets = problem(name)
    plain, centred = (
        expected_update(
            network, parameters, gemsnn.GEM(ETA, kappa=1, gamma=1, centred=centred), inputs, targets, 2, "compiled"
        )
        for centred in (False, True)
    )
    assert_the_same(centred, plain)


def log_likelihoods(network, inputs, targets):
    """sum_t log p(x_1 .. x_t), exactly."""

    def value(parameters):
        _, _, probability, log_visible = combinations(network, parameters, inputs, targets, 1)
        return float(np.log(probability @ np.exp(np.cumsum(log_visible[:, 0], axis=1))).sum())

    return value


def of_hidden(network, arrays):
    return np.concatenate([array[: network.n_hidden].ravel() for array in arrays])


def of_visible(network, arrays):
    return np.concatenate([array[network.n_hidden :].ravel() for array in arrays])


@pytest.mark.parametrize("name", NETWORKS)
def test_with_each_compartment_gem_comes_nearer_to_the_gradient_of_the_log_likelihood(name):
    network, parameters, inputs, targets = problem(name)
    aim = gradient(network, parameters, log_likelihoods(network, inputs, targets))
    most = 2 if network.n_hidden > 1 else 3
    updates = [
        expected_update(network, parameters, gemsnn.GEM(ETA, kappa=1, gamma=1), inputs, targets, K, "compiled")
        for K in range(1, most + 1)
    ]
    # Alone, a compartment is always the best: hidden neurons then learn nothing but noise.
    assert np.abs(of_hidden(network, updates[0])).max() < 1e-5
    for part in (of_hidden, of_visible):
        far = [np.linalg.norm(part(network, update) - part(network, aim)) for update in updates]
        assert (np.diff(far) < -0.03 * far[0]).all(), part


@pytest.mark.parametrize("name", NETWORKS)
def test_the_running_mean_that_mb_compares_with_hardly_turns_its_update(name):
    """It remembers the same compartment's past, so that it is no baseline without bias; but a small bias it is."""
    network, parameters, inputs, targets = problem(name)
    aim = of_hidden(network, gradient(network, parameters, sum_of_bounds(network, inputs, targets, 1, mean_bound)))
    rule = gemsnn.MB(ETA, kappa=1, gamma=1)
    mean = of_hidden(network, expected_update(network, parameters, rule, inputs, targets, 1, "compiled"))
    assert mean @ aim > 0.999 * np.linalg.norm(mean) * np.linalg.norm(aim)
