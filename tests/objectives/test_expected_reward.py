"""Rules climb the expected reward of networks that draw all their spikes: by enumeration of every spike train.

With gamma = 1 and kappa = 0, and weights that hardly move, the update of step t is eta sum_k signal(r_t) e_t, and its
expectation the gradient of E r_t: rewards before a spike are noise, never bias. With kappa = 1, v_t = r_1 + .. + r_t,
and what is climbed is the sum over t of the expectation of v_t. The expectations are sums over all spike trains of
tiny networks in plain Python; the gradients are finite differences of the exact expected reward.
"""

import itertools
import math
from functools import cache

import circuits
import differences
import exact
import numpy as np
import pytest
from problems import random_parameters
from scipy.special import logsumexp

import gemsnn
from gemsnn.objectives import VanRossum

ETA = 1e-7
TAU = 2.0
F, C = math.exp(-1 / TAU), 1 - math.exp(-2 / TAU)


def tiny(n_hidden, n_visible, groups=(), seed=3, **changes):
    network = gemsnn.Network(
        gemsnn.Topology.random(1, n_hidden, n_visible, 1.0, seed),
        synaptic_filter=gemsnn.Filter([[0.6, 0.3], [-0.2, 0.9]]),
        somatic_filter=gemsnn.Filter([[0.5, 0.3]]),
        circuits=groups,
        **changes,
    )
    return network, random_parameters(network, np.random.default_rng(seed), scale=1.2)


NETWORKS = {
    "Bernoulli": (tiny(1, 1), [[1], [0]]),
    "winner-take-all read-out": (tiny(1, 2, [[1, 2]]), [[1, 0], [0, 1]]),
    "read-out that may be silent": (tiny(1, 2, [gemsnn.Circuit((1, 2), silent=True)]), [[0, 1], [0, 0]]),
    "hidden circuit": (tiny(2, 1, [[0, 1]]), [[1], [0]]),
}
WITHOUT_MEMORY = gemsnn.Network(
    gemsnn.Topology.fully_connected(1, 0, 2),
    synaptic_filter=gemsnn.Filter([[0.6, 0.3], [-0.2, 0.9]]),
    somatic_filter=gemsnn.Filter([[0.5, 0.3]]),
    visible_memory=False,
)
ALONE = (
    (WITHOUT_MEMORY, random_parameters(WITHOUT_MEMORY, np.random.default_rng(4), scale=1.2)),
    [[1, 0], [0, 1], [0, 0]],
)


def all_trains(network, n_steps):
    """Every train of all neurons, [t][neuron]."""
    return circuits.trains(circuits.units(network), range(network.n_neurons), n_steps)


def log_probabilities(network, parameters, inputs, trains):
    """(n,): of the trains, hidden and visible spikes together."""
    found = []
    for train in trains:
        spikes = [[*map(int, x), *step] for x, step in zip(inputs, train, strict=True)]
        found.append(sum(map(sum, circuits.step_log_probabilities(network, parameters, spikes))))
    return np.array(found)


def reports(network, trains, targets):
    """(n, T): minus the cost of each step, from the definition of the Van Rossum distance."""
    visible = np.array(trains)[:, :, network.n_hidden :] - np.array(targets)
    T = len(targets)
    kernel = np.array([[F ** (t - s) if s <= t else 0.0 for s in range(T)] for t in range(T)])
    return -C * (np.einsum("ts,nsi->nti", kernel, visible) ** 2).sum(axis=2)


def forcing(network, parameters, inputs, train):
    """(T, n_neurons) draws that make all neurons spike as given."""
    spikes = [[*map(int, x), *step] for x, step in zip(inputs, train, strict=True)]
    draws = np.full((len(inputs), network.n_neurons), 0.5)
    for t in range(len(inputs)):
        u = [exact.potential(network, parameters, spikes, i, t) for i in range(network.n_neurons)]
        for unit in circuits.units(network):
            edges = [0.0, *itertools.accumulate(circuits.unit_probabilities(unit, u)), 1.0]
            fired = [train[t][i] for i in unit[0]]
            place = fired.index(1) if any(fired) else len(fired)
            draws[t, unit[0][0]] = (edges[place] + edges[place + 1]) / 2
    return draws


@cache
def problem(name):
    (network, parameters), targets = ALONE if name == "no memory" else NETWORKS[name]
    inputs = np.array([[1], [0], [1]])[: len(targets)]
    trains = all_trains(network, len(targets))
    draws = np.array([forcing(network, parameters, inputs, train) for train in trains])
    return network, parameters, inputs, np.array(targets), trains, draws


def expected_update(name, rule, K, engine):
    """The mean over all K-tuples of trains of what is learned for the Van Rossum distance, over eta."""
    network, parameters, inputs, targets, trains, draws = problem(name)
    p = np.exp(log_probabilities(network, parameters, inputs, trains))
    assert p.sum() == pytest.approx(1, abs=1e-12)
    total = [np.zeros_like(getattr(parameters, part)) for part in ("synaptic", "somatic", "bias")]
    for chosen in itertools.product(range(len(trains)), repeat=K):
        result = gemsnn.learn(
            network, parameters, rule, inputs, targets, K, objective=VanRossum(TAU), engine=engine,
            uniforms=draws[list(chosen)].transpose(1, 0, 2),
        )  # fmt: skip
        np.testing.assert_allclose(result.report, reports(network, [trains[c] for c in chosen], targets).T, atol=1e-12)
        for array, part in zip(total, ("synaptic", "somatic", "bias"), strict=True):
            array += p[list(chosen)].prod() * (getattr(result.parameters, part) - getattr(parameters, part)) / ETA
    return total


def gradient(name, K, value, besides=lambda parameters: 0.0):
    """Finite differences of sum over K-tuples of p value(reports (n, K, T)), for every parameter that exists."""
    network, parameters, inputs, targets, trains, _ = problem(name)
    tuples = np.array(list(itertools.product(range(len(trains)), repeat=K)))
    values = value(reports(network, trains, targets)[tuples])

    def expected(at):
        log_p = log_probabilities(network, at, inputs, trains)
        return float(np.exp(log_p[tuples].sum(axis=1)) @ values) + besides(at)

    return differences.gradient(network, parameters, expected)


def assert_the_same(actual, desired):
    assert max(np.abs(array).max() for array in desired) > 0.01  # there is something to compare
    for a, b, part in zip(actual, desired, ("synaptic", "somatic", "bias"), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5, err_msg=part)


def reward_of_each_step(r):
    return r.mean(axis=1).sum(axis=1)


ENGINES = ["reference", "compiled"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NETWORKS)
def test_without_baseline_the_expected_reward_is_climbed(name, engine):
    rule = gemsnn.MB(ETA, kappa=0, gamma=1, baseline=None)
    assert_the_same(expected_update(name, rule, 1, engine), gradient(name, 1, reward_of_each_step))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NETWORKS)
def test_what_the_other_compartments_earn_is_a_baseline_without_bias(name, engine):
    rule = gemsnn.MB(ETA, kappa=0, gamma=1, baseline="leave-one-out")
    assert_the_same(expected_update(name, rule, 2, engine), gradient(name, 1, reward_of_each_step))


def test_with_memory_of_the_reports_their_running_sums_are_climbed():
    rule = gemsnn.MB(ETA, kappa=1, gamma=1, baseline="leave-one-out")
    sums = gradient("Bernoulli", 1, lambda r: r.mean(axis=1).cumsum(axis=1).sum(axis=1))
    assert_the_same(expected_update("Bernoulli", rule, 2, "reference"), sums)


@pytest.mark.parametrize("beta", [0.5, 2.0])
@pytest.mark.parametrize("baseline", ["leave-one-out", None])
def test_iw_climbs_its_bound_of_the_rewards(baseline, beta):
    rule = gemsnn.IW(ETA, kappa=0, gamma=1, baseline=baseline, beta=beta)

    def bound(r):
        return (logsumexp(beta * r, axis=1) - math.log(r.shape[1])).sum(axis=1)

    assert_the_same(expected_update("Bernoulli", rule, 2, "reference"), gradient("Bernoulli", 2, bound))


def test_for_small_beta_gem_is_leaving_one_out():
    """To first order in beta, SoftMax(beta v) - 1/K = beta (K - 1) / K (v - mean of the others) / K."""
    beta, K = 1e-3, 2
    gem = expected_update("Bernoulli", gemsnn.GEM(ETA, kappa=0, gamma=1, centred=True, beta=beta), K, "reference")
    climbed = gradient("Bernoulli", 1, reward_of_each_step)
    assert_the_same([part / (beta * (K - 1) / K) for part in gem], climbed)


def test_gem_goes_where_the_gradient_of_the_best_rewards_points():
    gem = expected_update("Bernoulli", gemsnn.GEM(ETA, kappa=0, gamma=1, centred=True, beta=1.0), 2, "reference")
    soft = gradient("Bernoulli", 1, reward_of_each_step)
    a, b = (np.concatenate([part.ravel() for part in parts]) for parts in (gem, soft))
    assert a @ b > 0.95 * np.linalg.norm(a) * np.linalg.norm(b)


@pytest.mark.parametrize("engine", ENGINES)
def test_errors_sent_back_are_exact_for_visible_neurons_without_memory_of_their_own(engine):
    """A spike's cost is charged in full at once, that of the steps after the last one included."""
    rule = gemsnn.Feedback(ETA, kappa=0, gamma=0.5, gain=1.0, target_rate=1.0)
    update = expected_update("no memory", rule, 1, engine)
    assert_the_same(update, gradient("no memory", 1, reward_of_each_step, cost_after_the_end))


def cost_after_the_end(parameters):
    """What the variance of the spikes adds to the distance as it fades in silence: F^(2 steps left) p (1 - p) each."""
    network, _, inputs, targets, _, _ = problem("no memory")
    silence = [[*map(int, x), *[0] * network.n_neurons] for x in inputs]
    total, T = 0.0, len(targets)
    for t in range(T):
        for i in range(network.n_neurons):
            p = exact.sigmoid(exact.potential(network, parameters, silence, i, t))
            total -= F ** (2 * (T - t)) * p * (1 - p)
    return total
