"""The oracle against what is not it: every hidden spike train of tiny networks, enumerated in plain Python."""

import math

import exact
import numpy as np
import pytest
from problems import random_parameters
from scipy import stats
from scipy.special import expit, logsumexp

import gemsnn
from gemsnn.engine import reference
from gemsnn.engine.task import Task

T = 3
INPUTS = np.array([[1], [0], [1]])


def recurrent(n_inputs: int, n_hidden: int, n_visible: int, seed: int = 3, density: float = 1.0):
    """Hidden neurons in cycles, visible neurons feeding back, filters of different length; and its parameters."""
    network = gemsnn.Network(
        gemsnn.Topology.random(n_inputs, n_hidden, n_visible, density, seed),
        synaptic_filter=gemsnn.Filter([[0.6, 0.3], [-0.2, 0.9]]),
        somatic_filter=gemsnn.Filter([[0.5, 0.3, 0.2]]),
    )
    return network, random_parameters(network, np.random.default_rng(seed), scale=1.2)


def with_every_neuron_visible(network: gemsnn.Network) -> gemsnn.Network:
    """The same neurons and synapses, so that clamping gives the joint probability of all of them."""
    topology = network.topology
    twin = gemsnn.Topology(topology.n_inputs, 0, topology.n_neurons, topology.mask)
    return gemsnn.Network(twin, network.synaptic_filter, network.somatic_filter)


def engine_log_probability(network, parameters, inputs, visible, hidden=None):
    """(K,) log p(x || h^k) of the reference engine; (K, T, n_hidden) hidden trains are forced by their uniforms."""
    n_hidden = network.n_hidden
    forced = np.zeros((1, len(inputs), n_hidden)) if hidden is None else np.asarray(hidden)
    uniforms = np.where(forced.transpose(1, 0, 2) == 1, 0.0, 1.0)  # 0 is below every probability, 1 above
    frozen = gemsnn.GEM(learning_rate=0.0)
    result = gemsnn.learn(
        network, parameters, frozen, inputs, visible, len(forced), uniforms=uniforms, engine="reference"
    )
    np.testing.assert_array_equal(result.hidden.transpose(1, 0, 2), forced.astype(bool))
    return result.log_likelihood.sum(axis=0)


def enumerated(network, parameters, inputs, visible):
    """For every hidden train, from plain Python: log p(h || x) and log p(x || h)."""
    trains = exact.all_spike_trains(len(inputs), network.n_hidden)
    pairs = [exact.causal_log_probabilities(network, parameters, inputs, hidden, visible) for hidden in trains]
    return np.array(trains), np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])


@pytest.mark.parametrize(("n_hidden", "n_visible", "density"), [(2, 1, 1.0), (1, 2, 1.0), (2, 1, 0.5)])
def test_the_probabilities_of_all_outcomes_are_those_of_the_definition_and_sum_to_one(n_hidden, n_visible, density):
    network, parameters = recurrent(1, n_hidden, n_visible, density=density)
    everyone = with_every_neuron_visible(network)
    total = 0.0
    for outcome in exact.all_spike_trains(T, network.n_neurons):
        by_engine = engine_log_probability(everyone, parameters, INPUTS, outcome)[0]
        by_definition = exact.step_log_probabilities(
            network, parameters, exact.sources(INPUTS, [row[:n_hidden] for row in outcome],
                                               [row[n_hidden:] for row in outcome])
        )  # fmt: skip
        assert by_engine == pytest.approx(sum(map(sum, by_definition)), abs=1e-12)
        total += math.exp(by_engine)
    assert total == pytest.approx(1, abs=1e-12)


def test_three_recurrent_hidden_neurons_over_four_steps_have_the_likelihood_of_the_definition():
    network, parameters = recurrent(1, 3, 1, seed=5)
    inputs, visible = np.array([[1], [1], [0], [1]]), np.array([[1], [0], [1], [1]])
    trains, _, log_visible = enumerated(network, parameters, inputs, visible)
    assert len(trains) == 2 ** (3 * 4)
    by_engine = engine_log_probability(network, parameters, inputs, visible, trains)
    np.testing.assert_allclose(by_engine, log_visible, rtol=0, atol=1e-12)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize(("n_hidden", "n_steps"), [(2, 3), (3, 4)])
def test_the_log_likelihood_estimate_converges_to_the_exact_value_within_its_confidence_interval(
    engine, n_hidden, n_steps
):
    network, parameters = recurrent(1, n_hidden, 1, seed=5)
    inputs, visible = np.array([[1], [1], [0], [1]])[:n_steps], np.array([[1], [0], [1], [1]])[:n_steps]
    exact_value = exact.log_likelihood(network, parameters, inputs, visible)

    n = 20_000
    estimate = gemsnn.log_likelihood(network, parameters, inputs, visible, n_samples=n, seed=1, engine=engine)
    run = gemsnn.learn(network, parameters, gemsnn.GEM(learning_rate=0.0), inputs, visible, n, seed=1, engine=engine)
    p = np.exp(run.log_likelihood.sum(axis=0))  # the realisations that the estimate is the mean of
    assert estimate == pytest.approx(np.log(p.mean()), abs=1e-12)
    standard_error = p.std(ddof=1) / (p.mean() * np.sqrt(n))  # of the log of a mean
    # 4.9 standard errors: a correct engine fails for about one seed in a million.
    assert abs(estimate - exact_value) < 4.9 * standard_error
    assert standard_error < 0.01  # narrow enough to notice a wrong probability


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_the_expected_bound_rises_with_the_compartments_and_stays_below_the_log_likelihood(engine):
    network, parameters = recurrent(1, 2, 1)
    visible = np.array([[1], [0], [1]])
    trains, log_hidden, _ = enumerated(network, parameters, INPUTS, visible)
    log_visible = engine_log_probability(network, parameters, INPUTS, visible, trains)
    weight = np.exp(log_hidden)
    likelihood = exact.log_likelihood(network, parameters, INPUTS, visible)

    def bound(K: int) -> tuple[float, float]:
        """Mean and variance of log mean_k p(x || h^k) over all K-tuples of independent hidden trains."""
        log_sum, probability = log_visible, weight
        for _ in range(K - 1):
            log_sum = np.logaddexp(log_sum[..., None], log_visible)
            probability = probability[..., None] * weight
        values = log_sum - np.log(K)
        mean = float((probability * values).sum())
        return mean, float((probability * (values - mean) ** 2).sum())

    exact_bounds = [bound(K) for K in (1, 2, 3)]
    means = [mean for mean, _ in exact_bounds]
    assert means[0] < means[1] < means[2] < likelihood
    assert likelihood - means[0] > 0.05  # a gap that a wrong bound would not hide in

    N = 700 if engine == "reference" else 20_000
    for K, (mean, variance) in zip((1, 2, 3), exact_bounds, strict=True):
        estimates = gemsnn.log_likelihood(
            network, parameters, np.tile(INPUTS, (N, 1, 1)), np.tile(visible, (N, 1, 1)), n_samples=K, seed=K,
            engine=engine,
        )  # fmt: skip
        # A correct engine fails for about one seed in a million.
        assert abs(estimates.mean() - mean) < 4.9 * math.sqrt(variance / N)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_free_running_spike_trains_come_up_as_often_as_their_probability_says(engine):
    network, parameters = recurrent(1, 2, 1, seed=8)
    n, n_neurons = 40_000, network.n_neurons
    spikes = gemsnn.sample(network, parameters, INPUTS, n, seed=2, engine=engine)  # (T, n, n_neurons)
    outcomes = exact.all_spike_trains(T, n_neurons)
    probability = np.array(
        [
            math.exp(sum(map(sum, exact.step_log_probabilities(
                network, parameters, exact.sources(INPUTS, [row[:2] for row in o], [row[2:] for row in o])))))
            for o in outcomes
        ]
    )  # fmt: skip
    code = spikes.transpose(1, 0, 2).reshape(n, -1) @ (1 << np.arange(T * n_neurons)[::-1])
    counts = np.bincount(code, minlength=len(outcomes))  # outcomes are listed in the order of these codes
    rare = probability * n < 5
    expected = np.append(probability[~rare], probability[rare].sum()) * n
    observed = np.append(counts[~rare], counts[rare].sum())
    # False-alarm rate: one seed in ten thousand.
    assert stats.chisquare(observed, expected * n / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_neurons_spike_at_the_rate_that_the_sigmoid_of_their_potential_says(engine):
    network = gemsnn.Network(gemsnn.Topology.random(0, 5, 2, density=0.0))
    bias = np.array([-4.0, -1.0, 0.0, 0.5, 3.0, -2.0, 1.0])
    silent = network.init(dtype=np.float64)
    parameters = gemsnn.Parameters(silent.synaptic, silent.somatic, bias)
    steps, K = 100, 300
    spikes = gemsnn.sample(network, parameters, np.zeros((steps, 0)), K, seed=4, engine=engine)
    for neuron, p in enumerate(expit(bias)):
        # Seven tests at 1e-7 each: a false alarm in fewer than one of a million seeds.
        assert stats.binomtest(int(spikes[:, :, neuron].sum()), steps * K, p).pvalue > 1e-7, neuron


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_the_rate_follows_the_neurons_own_spike_and_its_source_just_before(engine):
    one_lag = gemsnn.Filter([[1.0]])
    mask = np.array([[False, False, True], [True, True, False]])  # hidden hears visible; visible hears input and hidden
    network = gemsnn.Network(gemsnn.Topology(1, 1, 1, mask), one_lag, one_lag)
    synaptic = np.array([[[0.0], [0.0], [1.5]], [[0.7], [-2.0], [0.0]]])
    parameters = gemsnn.Parameters(synaptic, np.array([[-1.0], [0.8]]), np.array([-0.3, 0.4]))
    steps, K = 60, 1000
    inputs = np.random.default_rng(0).integers(0, 2, (steps, 1))
    spikes = gemsnn.sample(network, parameters, inputs, K, seed=9, engine=engine)
    before, now = spikes[:-1], spikes[1:]
    heard = np.broadcast_to(inputs[:-1, :, None].astype(bool), (steps - 1, 1, 1)) & np.ones((1, K, 1), dtype=bool)
    worst = 1.0
    for h in (0, 1):
        for x in (0, 1):
            for a in (0, 1):
                case = (before[:, :, 0] == h) & (before[:, :, 1] == x) & (heard[:, :, 0] == a)
                hidden_rate, visible_rate = expit(-0.3 - 1.0 * h + 1.5 * x), expit(0.4 + 0.8 * x - 2.0 * h + 0.7 * a)
                for neuron, rate in ((0, hidden_rate), (1, visible_rate)):
                    test = stats.binomtest(int(now[case][:, neuron].sum()), int(case.sum()), rate)
                    worst = min(worst, test.pvalue)
    # Sixteen tests: a false alarm in fewer than one of a hundred thousand seeds.
    assert worst > 1e-5 / 16


@pytest.mark.parametrize(("n_hidden", "n_visible", "K", "steps"), [(3, 2, 5, 4), (0, 1, 1, 1), (2, 3, 7, 6)])
def test_neurons_and_processor_exchange_as_many_reals_as_the_formulas_say(n_hidden, n_visible, K, steps):
    network = gemsnn.Network.fully_connected(2, n_hidden, n_visible)
    result = gemsnn.learn(
        network, network.init(), gemsnn.GEM(), np.ones((steps, 2)), np.ones((steps, n_visible)), K, engine="reference"
    )
    assert result.messages == (steps * K * n_visible, steps * K * (n_visible + n_hidden), 0)
    load = gemsnn.metrics.communication(network, gemsnn.GEM(), K)
    assert result.messages == (steps * load.to_processor, steps * load.to_neurons, 0)


def test_running_freely_needs_no_processor():
    network = gemsnn.Network.fully_connected(1, 2, 1)
    learner = reference.learner(Task(network, gemsnn.GEM(0.1), 3), network.init(dtype=np.float64), free=True)
    for _ in range(4):
        learner.step(np.ones(1), None, np.full((3, 3), 0.5))
    assert learner.messages == (0, 0, 0)


def test_the_importance_weights_are_the_softmax_of_the_fading_log_probabilities():
    network, parameters = recurrent(1, 2, 2, seed=4)
    inputs, visible = np.array([[1], [0], [1], [1]]), np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    rule = gemsnn.GEM(learning_rate=0.0, kappa=0.7)
    result = gemsnn.learn(network, parameters, rule, inputs, visible, 4, seed=3, engine="reference")
    for k in range(4):
        spikes = exact.sources(inputs, result.hidden[:, k], visible)
        v = 0.0
        for t, row in enumerate(exact.step_log_probabilities(network, parameters, spikes)):
            log_p = row[2] + row[3]
            v = 0.7 * v + log_p
            assert result.log_likelihood[t, k] == pytest.approx(log_p, abs=1e-12)
            assert result.log_weights[t, k] == pytest.approx(v, abs=1e-12)
    normaliser = logsumexp(result.log_weights, axis=1, keepdims=True)
    np.testing.assert_allclose(result.importance, np.exp(result.log_weights - normaliser), rtol=1e-12)
