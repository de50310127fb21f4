"""Each rule's post factor and learning signals, line by line as they are defined, computed apart from it in NumPy.

With v^k <- kappa v^k + log p(x_t | u_t^k), w = SoftMax(v), L = log (1/K) sum_k exp(v^k):

    rule       visible   hidden                                     post of hidden neurons
    MB         1/K       (v^k - b^k) / K                            spike - probability
    IW         w^k       L - L^{-k}, or L - b, or L                 spike - probability
    GEM        w^k       w^k, or w^k - 1/K if centred               spike - probability
    Feedback   w^k       w^k (gain sum_c error_c reach_{i,c} - push) probability (1 - probability)
"""

from dataclasses import replace

import circuits
import exact
import numpy as np
import pytest
from circuits import RULES
from problems import random_parameters
from scipy.special import logsumexp, softmax

import gemsnn


def log_mean_exp(v):
    return logsumexp(v) - np.log(len(v))


def without(v, k):
    """The bound with exp(v^k) replaced by exp of the mean of the others; there is nothing to replace it by if alone."""
    return log_mean_exp(np.where(np.arange(len(v)) == k, np.delete(v, k).mean(), v)) if len(v) > 1 else log_mean_exp(v)


class Table:
    """(visible, hidden) signals, (K,) each, of one step after the other."""

    def __init__(self, rule):
        self.rule, self.running = rule, 0.0

    def __call__(self, v):
        rule, K, w = self.rule, len(v), softmax(v)
        if isinstance(rule, gemsnn.MB):
            if rule.baseline is not None:
                self.running = rule.baseline * self.running + (1 - rule.baseline) * v
            return np.full(K, 1 / K), (v - self.running) / K
        if isinstance(rule, gemsnn.IW):
            bound = log_mean_exp(v)
            if rule.baseline == "leave-one-out":
                return w, np.array([bound - without(v, k) for k in range(K)])
            if rule.baseline is not None:
                self.running = rule.baseline * self.running + (1 - rule.baseline) * bound
            return w, np.full(K, bound - self.running)
        if isinstance(rule, gemsnn.GEM):
            return w, w - 1 / K if rule.centred else w
        return w, w  # Feedback: what is sent; each neuron multiplies it


@pytest.mark.parametrize("K", [1, 2, 3, 20])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("scale", [1.0, 500.0])  # with 500 most importance weights are 0, and exp(v) as well
def test_what_the_processor_sends_is_the_line_of_the_table(name, K, scale):
    rule, rng = RULES[name], np.random.default_rng(K)
    table, memory = Table(rule), np.zeros(rule.processor_memory(K))
    for _ in range(6):
        v = -scale * rng.random(K)
        visible, hidden = np.full(K, np.nan), np.full(K, np.nan)
        rule.broadcast(rule.settings(), v, softmax(v), memory, visible, hidden)
        expected = table(v)
        np.testing.assert_allclose(visible, expected[0], rtol=0, atol=1e-13)
        np.testing.assert_allclose(hidden, expected[1], rtol=1e-12, atol=1e-12 * scale)


def test_a_better_compartment_raises_its_own_signal_when_it_is_left_out_of_the_comparison():
    rule, hidden = gemsnn.IW(), np.zeros(3)
    v = np.array([-1.0, -1.0, -5.0])
    rule.broadcast(rule.settings(), v, softmax(v), np.zeros(1), np.zeros(3), hidden)
    assert hidden[0] > 0 > hidden[2]
    assert hidden[0] == hidden[1]


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("readout", ["bernoulli", "winner-take-all"])
def test_every_update_is_signal_times_eligibility(name, K, engine, readout):
    """weight += eta sum_k signal_{i,k} sum_{s <= t} gamma^(t-s) post_{i,k,s} trace_{j,k,s}, number by number."""
    network = gemsnn.Network(
        gemsnn.Topology.random(2, 2, 3, 0.8, seed=1),
        gemsnn.Filter([[0.6, 0.3], [-0.2, 0.9]]),
        gemsnn.Filter([[0.5, 0.3, 0.2]]),
        circuits=[[2, 3, 4]] if readout == "winner-take-all" else [],
    )
    rng, T, n = np.random.default_rng(0), 5, network.n_neurons
    inputs, targets = rng.integers(0, 2, (T, 2)), circuits.random_targets(network, T, rng)
    rule = replace(RULES[name], learning_rate=0.02, kappa=0.7, gamma=0.8)
    stream = gemsnn.Stream(network, random_parameters(network, rng), rule, K, seed=5, engine=engine)
    states, infos = [stream.parameters], []
    for input_t, target_t in zip(inputs, targets, strict=True):
        infos.append(stream.step(input_t, target_t))
        states.append(stream.parameters)
    spikes = [exact.sources(inputs, [info.spikes[k, :2] for info in infos], targets) for k in range(K)]

    table, v, rate = Table(rule), np.zeros(K), np.zeros(2)
    synaptic_taps, somatic_taps = network.synaptic_filter.taps, network.somatic_filter.taps
    eligibility = [np.zeros((K, *getattr(states[0], part).shape)) for part in ("synaptic", "somatic", "bias")]
    for t in range(T):
        log_p, errors, post = np.zeros(K), np.zeros((K, 3)), np.zeros((K, n))
        for k in range(K):
            u = [exact.potential(network, states[t], spikes[k], i, t) for i in range(n)]
            p, own = np.zeros(n), np.array(spikes[k][t][2:])
            for unit in circuits.units(network):
                p[list(unit[0])] = circuits.unit_probabilities(unit, u)
            log_p[k] = sum(circuits.log_unit(unit, u, own.tolist()) for unit in circuits.visible_units(network))
            post[k], errors[k] = own - p, (own - p)[2:]
            if isinstance(rule, gemsnn.Feedback):
                post[k, :2] = p[:2] * (1 - p[:2])
        v = rule.kappa * v + log_p
        np.testing.assert_allclose(infos[t].log_weights, v, rtol=0, atol=1e-11)

        visible, hidden = table(v)
        signals = np.array([hidden] * 2 + [visible] * 3)
        if isinstance(rule, gemsnn.Feedback):
            reach = states[t].synaptic[2:, 2:4].sum(axis=2).T
            fired = np.array([[spikes[k][t][2 + i] for k in range(K)] for i in range(2)])
            rate = 0.9 * rate + 0.1 * fired.mean(axis=1)
            push = rule.pressure * np.maximum(rate - rule.target_rate, 0)
            signals[:2] = hidden * (rule.gain * (reach @ errors.T) - push[:, None])
        for k in range(K):
            pre = np.array([[exact.trace(taps, spikes[k], j, t) for taps in synaptic_taps] for j in range(7)])
            own = np.array([[exact.trace(taps, spikes[k], 2 + i, t) for taps in somatic_taps] for i in range(n)])
            traces = (pre[None] * network.topology.mask[:, :, None], own, np.ones(n))
            for array, trace in zip(eligibility, traces, strict=True):
                factor = post[k].reshape(-1, *[1] * (array.ndim - 2))
                array[k] = rule.gamma * array[k] + factor * trace
        for part, array in zip(("synaptic", "somatic", "bias"), eligibility, strict=True):
            expected = 0.02 * np.einsum("ik,ki...->i...", signals, array)
            update = getattr(states[t + 1], part) - getattr(states[t], part)
            np.testing.assert_allclose(update, expected, rtol=0, atol=1e-12, err_msg=f"{part} at step {t}")


def test_mb_with_one_compartment_is_the_single_sample_rule():
    """Visible neurons learn from every step alike, hidden ones in proportion to the log-probability over its mean."""
    rule = gemsnn.MB(baseline=0.6)
    memory, b = np.zeros(1), 0.0
    for v in (-3.0, -1.0, -2.0):
        visible, hidden = np.zeros(1), np.zeros(1)
        rule.broadcast(rule.settings(), np.array([v]), np.ones(1), memory, visible, hidden)
        b = 0.6 * b + 0.4 * v
        assert visible[0] == 1
        assert hidden[0] == pytest.approx(v - b, abs=1e-15)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_mb_is_the_mean_of_single_sample_rules(engine):
    network = gemsnn.Network.fully_connected(3, 4, 2)
    rng = np.random.default_rng(2)
    parameters, inputs, targets = random_parameters(network, rng), rng.random((6, 3)) < 0.5, rng.random((6, 2)) < 0.5
    uniforms = rng.random((6, 3, 4))
    rule = gemsnn.MB(learning_rate=1e-8)  # as good as constant weights: compartments see each other only through these

    def update(draws):
        learned = gemsnn.learn(
            network, parameters, rule, inputs, targets, draws.shape[1], uniforms=draws, engine=engine
        ).parameters
        return (learned.synaptic - parameters.synaptic) / 1e-8

    alone = [update(uniforms[:, [k]]) for k in range(3)]
    np.testing.assert_allclose(update(uniforms), np.mean(alone, axis=0), rtol=0, atol=1e-5)
    assert np.abs(alone[0] - alone[1]).max() > 0.1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: gemsnn.MB(baseline=1.0), "baseline"),
        (lambda: gemsnn.MB(baseline="mean"), "baseline"),
        (lambda: gemsnn.IW(baseline="leave one out"), "leave-one-out"),
        (lambda: gemsnn.IW(baseline=-0.1), "baseline"),
        (lambda: gemsnn.IW(baseline=True), "baseline"),
        (lambda: gemsnn.MB(baseline=True), "baseline"),
        (lambda: gemsnn.Feedback(gain=-1.0), "gain"),
        (lambda: gemsnn.Feedback(gain=float("nan")), "gain"),
        (lambda: gemsnn.GEM(centred=1), "centred"),
        (lambda: gemsnn.GEM(kappa=-0.1), "kappa"),
        (lambda: gemsnn.MB(gamma=1.1), "gamma"),
        (lambda: gemsnn.IW(learning_rate=-1.0), "learning_rate"),
    ],
)
def test_impossible_settings_are_refused_by_name(wrong, words):
    with pytest.raises(gemsnn.ConfigError, match=words):
        wrong()
