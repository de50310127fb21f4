"""Winner-take-all circuits: probability, draw, log-probability and error of a spike, against enumeration."""

import circuits as support
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import examples
from scipy import stats

import gemsnn
from gemsnn.model import spikes as spiking
from gemsnn.model.spikes import Circuits

CASES = {
    "one circuit": Circuits(0, 4, [gemsnn.Circuit((0, 1, 2, 3))]),
    "one circuit that may be silent": Circuits(0, 4, [gemsnn.Circuit((0, 1, 2, 3), silent=True)]),
    "interleaved circuits": Circuits(0, 4, [gemsnn.Circuit((3, 0)), gemsnn.Circuit((1, 2), silent=True)]),
    "circuit among Bernoulli neurons": Circuits(0, 4, [gemsnn.Circuit((2, 1))]),
    "Bernoulli neurons": Circuits(0, 4),
}


def units_of(circuits):
    competing = [(circuit.neurons, circuit.silent) for circuit in circuits.competing]
    return competing + [((int(i),), True) for i in np.flatnonzero(circuits.bernoulli)]


@st.composite
def partitions(draw):
    n = draw(st.integers(1, 6))
    return Circuits(0, n, draw(support.circuits(0, n)))


@examples(100)
@given(partitions(), st.integers(0, 1000), st.sampled_from([0.5, 5.0, 100.0]))
def test_the_probabilities_of_all_patterns_are_those_of_the_definition_and_sum_to_one(circuits, seed, scale):
    u = np.random.default_rng(seed).normal(0, scale, circuits.n_neurons)
    units = units_of(circuits)
    patterns = np.array(support.patterns(units, range(circuits.n_neurons)))
    by_engine = spiking.log_probability(circuits, u, patterns).sum(axis=-1)
    assert by_engine.shape == (len(patterns),)
    assert np.exp(by_engine).sum() == pytest.approx(1, abs=1e-12)
    if scale < 100:  # the definition in plain Python overflows before the package does
        by_definition = [sum(support.log_unit(unit, u.tolist(), list(row)) for unit in units) for row in patterns]
        np.testing.assert_allclose(by_engine, by_definition, rtol=1e-9, atol=1e-9)
        expected = [p for unit in units for p in support.unit_probabilities(unit, u.tolist())]
        members = [i for unit in units for i in unit[0]]
        np.testing.assert_allclose(spiking.probability(circuits, u)[members], expected, rtol=1e-12)


@examples(50)
@given(partitions(), st.integers(0, 1000))
def test_the_probability_of_a_spike_is_that_of_all_patterns_with_it(circuits, seed):
    u = np.random.default_rng(seed).normal(0, 2, circuits.n_neurons)
    patterns = np.array(support.patterns(units_of(circuits), range(circuits.n_neurons)))
    weight = np.exp(spiking.log_probability(circuits, u, patterns).sum(axis=-1))
    np.testing.assert_allclose(spiking.probability(circuits, u), weight @ patterns, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_error_of_a_unit_is_the_gradient_of_the_log_probability(name):
    circuits, step = CASES[name], 1e-5
    u = np.random.default_rng(4).normal(0, 1.5, 4)
    for pattern in np.array(support.patterns(units_of(circuits), range(4))):
        for i in range(4):
            high, low = (
                spiking.log_probability(circuits, u + size * np.eye(4)[i], pattern).sum() for size in (step, -step)
            )
            error = pattern[i] - spiking.probability(circuits, u)[i]
            assert error == pytest.approx((high - low) / (2 * step), abs=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_draws_come_up_as_often_as_their_probability_says(name):
    circuits, n = CASES[name], 50_000
    rng = np.random.default_rng(7)
    u = rng.normal(0, 1, 4)
    patterns = np.array(support.patterns(units_of(circuits), range(4)))
    spikes = spiking.sample(circuits, np.tile(spiking.probability(circuits, u), (n, 1)), rng.random((n, 4)))
    codes = 1 << np.arange(4)
    counts = np.bincount(spikes @ codes, minlength=16)
    possible = patterns @ codes
    assert counts.sum() == counts[possible].sum()  # nothing else ever comes up
    expected = n * np.exp(spiking.log_probability(circuits, u, patterns).sum(axis=-1))
    # False-alarm rate: one seed in ten thousand.
    assert stats.chisquare(counts[possible], expected).pvalue > 1e-4


def test_the_first_draw_of_a_circuit_decides_by_cumulated_probability_in_the_order_of_its_neurons():
    circuits = Circuits(0, 4, [gemsnn.Circuit((2, 0, 3), silent=True)])
    p = np.array([0.3, 0.5, 0.2, 0.4])  # of neurons 2, 0, 3: 0.2, 0.3, 0.4; silent: 0.1
    for uniform, winner in ((0.0, 2), (0.19, 2), (0.21, 0), (0.49, 0), (0.51, 3), (0.89, 3), (0.91, None)):
        uniforms = np.array([0.999, 0.999, uniform, 0.999])  # those of the other units are not looked at
        spikes = spiking.sample(circuits, p, uniforms)
        assert np.flatnonzero(spikes).tolist() == ([] if winner is None else [winner])


def test_a_circuit_without_silent_state_spikes_even_if_rounding_leaves_a_gap():
    circuits = Circuits(0, 3, [gemsnn.Circuit((0, 1, 2))])
    p = np.array([0.3, 0.3, 0.4 - 1e-9])
    assert spiking.sample(circuits, p, np.array([1.0, 0, 0])).tolist() == [False, False, True]


def test_potentials_far_apart_do_not_overflow():
    circuits = Circuits(0, 5, [gemsnn.Circuit((0, 1)), gemsnn.Circuit((2, 3), silent=True)])
    u = np.array([1e4, -1e4, -1e4, -1e4, 1e4])
    assert spiking.probability(circuits, u).tolist() == [1, 0, 0, 0, 1]
    assert spiking.log_probability(circuits, u, np.array([1, 0, 0, 0, 1])).sum() == 0


def test_a_circuit_of_one_with_a_silent_state_is_a_bernoulli_neuron():
    topology = gemsnn.Topology.fully_connected(1, 2, 2)
    alone = gemsnn.Network(topology, circuits=[gemsnn.Circuit((3,), silent=True)])
    assert alone == gemsnn.Network(topology)


def test_the_order_of_circuits_does_not_matter_but_that_of_their_neurons_does():
    topology = gemsnn.Topology.fully_connected(1, 2, 4)
    one, other = (gemsnn.Network(topology, circuits=pair) for pair in ([[2, 3], [4, 5]], [[4, 5], [2, 3]]))
    assert (one, hash(one)) == (other, hash(other))
    assert one != gemsnn.Network(topology, circuits=[[3, 2], [4, 5]])
    assert one != gemsnn.Network(topology)


@pytest.mark.parametrize(
    ("given_circuits", "words"),
    [
        ([[0, 2]], "mixes hidden and visible"),
        ([[2, 3], [3, 4]], "another circuit"),
        ([[4, 9]], "only 5 neurons"),
        ([[2, 2]], "each once"),
        ([[3]], "would always spike"),
        ([[]], "needs neurons"),
    ],
)
def test_circuits_that_cannot_be_are_refused(given_circuits, words):
    with pytest.raises(gemsnn.ConfigError, match=words):
        gemsnn.Network(gemsnn.Topology.fully_connected(1, 2, 3), circuits=given_circuits)


@pytest.mark.parametrize("silent", [False, True])
def test_targets_that_a_circuit_cannot_emit_are_refused_with_their_place(silent):
    topology = gemsnn.Topology.fully_connected(1, 1, 3)
    network = gemsnn.Network(topology, circuits=[gemsnn.Circuit((1, 2, 3), silent)])
    parameters, rule, inputs = network.init(), gemsnn.GEM(), np.ones((3, 1))
    twice, never = np.eye(3), np.eye(3)
    twice[1, 0], never[2, 2] = 1, 0
    with pytest.raises(gemsnn.DataError, match=r"targets\[1\] has 2 spikes"):
        gemsnn.learn(network, parameters, rule, inputs, twice)
    if silent:
        gemsnn.learn(network, parameters, rule, inputs, never)
    else:
        with pytest.raises(gemsnn.DataError, match=r"targets\[2\] has 0 spikes"):
            gemsnn.learn(network, parameters, rule, inputs, never)
        with pytest.raises(gemsnn.DataError, match="exactly one"):
            gemsnn.log_likelihood(network, parameters, inputs, never)
        with pytest.raises(gemsnn.DataError, match="exactly one"):
            gemsnn.Stream(network, parameters, rule).step(np.ones(1), np.zeros(3))
