"""Hidden neurons that learn from the read-out's errors: what each of them is told, and that it helps."""

from __future__ import annotations

from dataclasses import replace

import exact
import numpy as np
import pytest
from problems import make_problem, random_parameters

import gemsnn

ENGINES = ["reference", "compiled"]
NETWORK = gemsnn.Network(
    gemsnn.Topology.random(2, 3, 2, 0.8, seed=4), gemsnn.Filter([[0.6, 0.3], [-0.2, 0.9]]), gemsnn.Filter([[0.5, 0.3]])
)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_hidden_update_is_the_visible_errors_times_the_derivatives_so_far(engine: str) -> None:
    """From the definitions, one number at a time: biases and the synapses from the first input."""
    rng = np.random.default_rng(0)
    network, T, K, eta, gamma, gain = NETWORK, 5, 3, 0.05, 0.8, 2.5
    n_hidden, n_inputs = network.n_hidden, network.n_inputs
    inputs, targets = rng.integers(0, 2, (T, 2)), rng.integers(0, 2, (T, 2))
    rule = gemsnn.Feedback(eta, 0.9, gamma, gain, target_rate=1.0)
    stream = gemsnn.Stream(network, random_parameters(network, rng), rule, K, seed=11, engine=engine)
    states, infos = [stream.parameters], []
    for t in range(T):
        infos.append(stream.step(inputs[t], targets[t]))
        states.append(stream.parameters)
    spikes = [exact.sources(inputs, [info.spikes[k, :n_hidden] for info in infos], targets) for k in range(K)]

    def probability(k: int, i: int, t: int) -> float:
        return exact.sigmoid(exact.potential(network, states[t], spikes[k], i, t))

    compared = 0.0
    for t in range(T):
        for i in range(n_hidden):
            bias, synapse = 0.0, np.zeros(2)
            for k in range(K):
                error_sent_back = sum(
                    (targets[t, c] - probability(k, n_hidden + c, t))
                    * states[t].synaptic[n_hidden + c, n_inputs + i].sum()
                    for c in range(2)
                )
                signal = gain * infos[t].importance[k] * error_sent_back
                for s in range(t + 1):
                    derivative = gamma ** (t - s) * probability(k, i, s) * (1 - probability(k, i, s))
                    bias += signal * derivative
                    for b, taps in enumerate(network.synaptic_filter.taps):
                        synapse[b] += signal * derivative * exact.trace(taps, spikes[k], 0, s)
            assert states[t + 1].bias[i] - states[t].bias[i] == pytest.approx(eta * bias, abs=1e-12)
            if network.topology.mask[i, 0]:
                update = states[t + 1].synaptic[i, 0] - states[t].synaptic[i, 0]
                np.testing.assert_allclose(update, eta * synapse, rtol=0, atol=1e-12)
                compared = max(compared, float(np.abs(update).max()))
    assert compared > 1e-4  # there was something to compare


@pytest.mark.parametrize("engine", ENGINES)
def test_visible_neurons_learn_as_by_gem(engine: str) -> None:
    """In one step; later the hidden neurons spike differently."""
    plain, fed_back = (
        make_problem(NETWORK, rule, T=1, K=4).learn(engine).parameters
        for rule in (gemsnn.GEM(0.05), gemsnn.Feedback(0.05, gain=2.0))
    )
    np.testing.assert_array_equal(plain.synaptic[3:], fed_back.synaptic[3:])
    np.testing.assert_array_equal(plain.bias[3:], fed_back.bias[3:])
    assert (plain.bias[:3] != fed_back.bias[:3]).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hidden_neuron_that_reaches_no_visible_one_learns_nothing(engine: str) -> None:
    mask = np.ones((4, 5), dtype=bool)
    mask[:, 4] = mask[3, 1] = False  # nothing from the visible neuron; nothing to it from hidden neuron 0
    mask[np.arange(4), 1 + np.arange(4)] = False
    problem = make_problem(
        gemsnn.Network(gemsnn.Topology(1, 3, 1, mask)), gemsnn.Feedback(0.05, gain=1.0, target_rate=1.0), T=20, K=2
    )
    learned = problem.learn(engine).parameters
    np.testing.assert_array_equal(learned.synaptic[0], problem.parameters.synaptic[0])
    assert learned.bias[0] == problem.parameters.bias[0]
    assert np.abs(learned.synaptic[1:] - problem.parameters.synaptic[1:]).max() > 1e-3


def test_follows_the_gradient_of_the_likelihood_closely_and_with_far_less_noise_than_the_importance_weights() -> None:
    """Directions of many updates against the exact gradient, found by enumerating all hidden spikes.

    Filters reach one step back and gamma is small, so that what the rule leaves out (chains of hidden neurons, the
    filters' shapes) is small too. One update of 2 compartments says how much noise there is.
    """
    network = gemsnn.Network(gemsnn.Topology.layered(2, [2], 1), gemsnn.Filter([[1.0]]), gemsnn.Filter([[1.0]]))
    rng = np.random.default_rng(3)
    parameters, T = random_parameters(network, rng), 3
    parameters = gemsnn.Parameters(parameters.synaptic, 0 * parameters.somatic, parameters.bias)
    inputs, targets = rng.integers(0, 2, (T, 2)), np.array([[0], [1], [1]])

    def mean_log_probability(bias: np.ndarray) -> float:
        moved = gemsnn.Parameters(parameters.synaptic, parameters.somatic, bias)
        total = 0.0
        for hidden in exact.all_spike_trains(T, 2):
            own, visible = exact.causal_log_probabilities(network, moved, inputs, hidden, targets)
            total += np.exp(own) * visible
        return total

    gradient = np.zeros(2)
    for i in range(2):
        step = np.zeros(3)
        step[i] = 1e-4
        gradient[i] = (
            mean_log_probability(parameters.bias + step) - mean_log_probability(parameters.bias - step)
        ) / 2e-4

    cosines = {}
    for rule in (
        gemsnn.GEM(1e-6, kappa=1.0, gamma=0.5),
        gemsnn.Feedback(1e-6, kappa=1.0, gamma=0.5, gain=1.0, target_rate=1.0),
    ):
        updates = np.array(
            [
                (gemsnn.learn(network, parameters, rule, inputs, targets, 2, seed=seed).parameters.bias
                 - parameters.bias)[:2]
                for seed in range(400)
            ]
        )  # fmt: skip
        lengths = np.linalg.norm(updates, axis=1) * np.linalg.norm(gradient)
        cosines[type(rule)] = (updates @ gradient / lengths).mean()
        mean = updates.mean(axis=0)
        if isinstance(rule, gemsnn.Feedback):
            assert mean @ gradient / (np.linalg.norm(mean) * np.linalg.norm(gradient)) > 0.9
    assert cosines[gemsnn.Feedback] > 0.8
    assert cosines[gemsnn.GEM] < 0.5


def test_learns_what_no_network_without_hidden_neurons_can() -> None:
    """Exclusive or of two groups of inputs: chance is 1/2."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, (240, 2))
    X = rng.random((240, 20, 10)) < np.repeat(np.where(groups == 1, 0.5, 0.05), 5, axis=1)[:, None, :]
    y = groups[:, 0] ^ groups[:, 1]
    settings = {
        "n_hidden": 30,
        "n_compartments": 2,
        "network": {"synaptic_filter": gemsnn.Exponential((5.0,), 20)},
    }
    scores = {
        type(rule): gemsnn.SpikingClassifier(rule=rule, **settings).fit(X[:160], y[:160]).score(X[160:], y[160:])
        for rule in (gemsnn.GEM(3e-3, centred=True), gemsnn.Feedback(3e-3, target_rate=1.0))
    }
    assert scores[gemsnn.Feedback] > 0.9
    assert scores[gemsnn.GEM] < 0.8


def test_errors_go_back_along_every_synapse_from_hidden_to_visible_neurons() -> None:
    for rule in (gemsnn.GEM(), gemsnn.Feedback(1e-3)):
        messages = make_problem(NETWORK, rule, T=4, K=5).learn("reference").messages
        load = gemsnn.metrics.communication(NETWORK, rule, 5)
        assert messages == tuple(4 * number for number in load)
    assert 0 < load.sent_back < 5 * 3 * 2  # the graph is not full


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_impossible_gains_are_refused(value: float) -> None:
    with pytest.raises(gemsnn.ConfigError, match="gain must be a finite number of at least 0"):
        gemsnn.Feedback(gain=value)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_neurons_that_spike_too_often_are_pushed_down_and_the_others_are_left_alone(engine: str) -> None:
    # Without errors to learn from (gain 0), only the push moves hidden neurons: by what their rate is too high.
    K, T, eta, pressure, target = 2, 6, 0.01, 4.0, 0.3
    network = gemsnn.Network(gemsnn.Topology(0, 2, 1, np.zeros((3, 3))))
    parameters = gemsnn.Parameters(np.zeros((3, 3, 3)), np.zeros((3, 3)), np.array([0.5, 0.5, 0.0]))
    rule = gemsnn.Feedback(eta, 0.9, 1e-12, gain=0.0, target_rate=target, pressure=pressure)
    uniforms = np.zeros((T, K, 2))
    uniforms[:, :, 1] = 1.0  # the first neuron spikes at every step, the second never
    rest = (np.zeros((T, 0)), np.zeros((T, 1)), K)
    result = gemsnn.learn(network, parameters, rule, *rest, uniforms=uniforms, engine=engine)
    assert result.parameters.bias[0] < 0.5
    assert result.parameters.bias[1] == 0.5
    rate, moved = 1 - 0.9 ** np.arange(1, T + 1), np.flatnonzero(1 - 0.9 ** np.arange(1, T + 1) > target)[0]
    until = slice(0, moved + 1)
    first = gemsnn.learn(
        network, parameters, rule, rest[0][until], rest[1][until], K, uniforms=uniforms[until], engine=engine
    )
    p = 1 / (1 + np.exp(-0.5))
    assert first.parameters.bias[0] == pytest.approx(0.5 - eta * pressure * (rate[moved] - target) * p * (1 - p))
    quiet = gemsnn.learn(network, parameters, replace(rule, target_rate=1.0), *rest, uniforms=uniforms, engine=engine)
    assert quiet.parameters.bias[0] == 0.5


def test_a_target_rate_makes_hidden_neurons_spike_less() -> None:
    rng = np.random.default_rng(0)
    network = gemsnn.Network.fully_connected(10, 20, 2)
    inputs, targets = (rng.random((400, 10)) < 0.3).astype(np.uint8), np.tile([1, 0], (400, 1))
    rates = []
    for target in (1.0, 0.1, 0.02):
        rule = gemsnn.Feedback(0.01, target_rate=target, pressure=10.0)
        rates.append(gemsnn.learn(network, network.init(0, hidden_bias=0.0), rule, inputs, targets).hidden[200:].mean())
    assert rates[0] > 2 * rates[1] > 2 * rates[2]
