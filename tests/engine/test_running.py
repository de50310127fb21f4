"""Running without learning: alone, among others and step by step a recording gives the same bits."""

import numpy as np
import pytest
from problems import random_parameters

import gemsnn
from gemsnn.engine import compiled, reference
from gemsnn.engine.randomness import Given, Uniforms
from gemsnn.inference import DECODERS
from gemsnn.inference.stepwise import Stepwise
from gemsnn.model.spike_list import SpikeList

T, N_INPUTS, N_HIDDEN, N_VISIBLE = 90, 7, 9, 4
LONG, SHORT = gemsnn.Exponential((2.0, 10.0, 80.0), 80), gemsnn.Exponential((3.0, 40.0), 6)
FILTERS = {
    "raised cosines": (gemsnn.RaisedCosine(3, 10), gemsnn.RaisedCosine(3, 10)),
    "exponentials that outlast most of the recording": (LONG, gemsnn.RaisedCosine(2, 5)),
    "exponentials that forget soon": (SHORT, SHORT),
    "a longer self-memory": (SHORT, gemsnn.Exponential((5.0,), 30)),
    "an exponential self-memory only": (gemsnn.RaisedCosine(2, 12), gemsnn.Exponential((20.0,), 8)),
}


def network_of(filters, visible_feeds=False):
    topology = gemsnn.Topology.fully_connected(N_INPUTS, N_HIDDEN, N_VISIBLE)
    if visible_feeds:
        topology = gemsnn.Topology.random(N_INPUTS, N_HIDDEN, N_VISIBLE, 0.6, seed=2)
    return gemsnn.Network(topology, *FILTERS[filters], circuits=[[0, 3, 5], gemsnn.Circuit((10, 12), silent=True)])


def problem(network, dtype=np.float64, n=3):
    rng = np.random.default_rng(5)
    parameters = random_parameters(network, rng, 0.8).astype(dtype)
    inputs = (rng.random((n, T, N_INPUTS)) < 0.4).astype(np.uint8)
    targets = np.zeros((n, T, N_VISIBLE), dtype=np.uint8)
    targets[..., 2] = rng.random((n, T)) < 0.5
    return parameters, inputs, targets


def draws(network, K, clamped=False):
    return lambda n: Uniforms(3, n, K, N_HIDDEN, 0 if clamped else N_VISIBLE)


def steps_of(runner, inputs, targets=None):
    """(T, K, n) spikes and (T, K, n_visible) potentials, copied before the next step writes over them."""
    found = [
        tuple(part.copy() for part in runner.step(x, None if targets is None else targets[t]))
        for t, x in enumerate(inputs)
    ]
    return tuple(np.stack(parts) for parts in zip(*found, strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("filters", FILTERS)
def test_step_by_step_a_recording_gives_the_same_bits_as_among_others(filters, clamped, dtype):
    network, K = network_of(filters, visible_feeds=True), 3
    parameters, inputs, targets = problem(network, dtype)
    draws_of = draws(network, K, clamped)
    runs = compiled.running(network, parameters).simulate(inputs, K, draws_of, targets if clamped else None)
    runner = compiled.running(network, parameters).recording(K, draws_of(0), clamped)
    for n in (0, 2):
        runner.begin(draws_of(n))
        spikes, potential = steps_of(runner, inputs[n], targets[n] if clamped else None)
        np.testing.assert_array_equal(spikes, runs.spikes[n])
        np.testing.assert_array_equal(potential, runs.visible_potential[n])


@pytest.mark.parametrize("visible_feeds", [False, True])
@pytest.mark.parametrize("filters", FILTERS)
def test_running_gives_what_the_reference_gives(filters, visible_feeds):
    network, K = network_of(filters, visible_feeds), 2
    parameters, inputs, targets = problem(network)
    for clamp in (None, targets):
        draws_of = draws(network, K, clamp is not None)
        found, expected = (
            engine.running(network, parameters).simulate(inputs, K, draws_of, clamp) for engine in (compiled, reference)
        )
        np.testing.assert_array_equal(found.spikes, expected.spikes)
        np.testing.assert_allclose(found.visible_potential, expected.visible_potential, rtol=1e-11, atol=1e-11)


def test_a_compartment_gives_the_same_bits_whatever_the_number_of_compartments():
    network = network_of("raised cosines")
    parameters, inputs, _ = problem(network, np.float32)
    few, many = (compiled.running(network, parameters).simulate(inputs, K, draws(network, K)) for K in (2, 11))
    np.testing.assert_array_equal(few.spikes, many.spikes[:, :, :2])
    np.testing.assert_array_equal(few.visible_potential, many.visible_potential[:, :, :2])


def test_after_a_long_time_what_has_left_an_exponential_s_memory_has_left_no_trace():
    network = network_of("exponentials that forget soon")
    parameters, _, _ = problem(network, np.float32)
    rng, silent = np.random.default_rng(0), np.zeros(N_INPUTS, np.uint8)
    running, drawn = compiled.running(network, parameters), np.ones((4000, 1, N_HIDDEN))
    runner, fresh = (running.recording(1, Given(drawn), clamped=True) for _ in "ab")
    still = np.zeros(N_VISIBLE, np.uint8)
    for _ in range(3000):  # no uniform is below a probability, so that all neurons but the circuits' are still
        runner.step((rng.random(N_INPUTS) < 0.9).astype(np.uint8), still)
    for _ in range(100):
        after, before = runner.step(silent, still), fresh.step(silent, still)
    scale = np.abs(parameters.synaptic).sum(axis=(1, 2)).max()
    np.testing.assert_allclose(after.visible_potential, before.visible_potential, rtol=0, atol=1e-6 * scale)


def test_a_runner_holds_no_more_after_many_steps():
    network = network_of("exponentials that outlast most of the recording")
    parameters, inputs, _ = problem(network, np.float32)
    runner = compiled.running(network, parameters).recording(2, Uniforms(0, 0, 2, N_HIDDEN, N_VISIBLE))

    def held():
        arrays = [part for value in vars(runner).values() for part in (value if isinstance(value, tuple) else [value])]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    steps_of(runner, inputs[0])
    before = held()
    for _ in range(20):
        steps_of(runner, inputs[0])
    assert held() == before > 0


def test_lists_of_spikes_run_as_arrays_do():
    network = network_of("raised cosines")
    parameters, inputs, _ = problem(network)
    lists = [SpikeList.from_array(one, "inputs") for one in inputs]
    for engine in (compiled, reference):
        running = engine.running(network, parameters)
        expected = running.simulate(inputs, 2, draws(network, 2))
        for a, b in zip(running.simulate(lists, 2, draws(network, 2)), expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_spikes_of_planes_that_lie_one_after_another_are_merged():
    network = network_of("raised cosines")
    parameters, inputs, _ = problem(network)
    both = np.concatenate([inputs[0], inputs[1]], axis=1)
    planes, merged = SpikeList.from_array(both, "inputs"), inputs[0] | inputs[1]
    found, expected = (
        compiled.running(network, parameters).simulate([one], 2, draws(network, 2)) for one in (planes, merged)
    )
    np.testing.assert_array_equal(found.visible_potential, expected.visible_potential)


@pytest.mark.parametrize("decoder", ["vote", "likelihood", "per-step"])
@pytest.mark.parametrize("visible_feeds", [False, True])
def test_both_engines_predict_the_same(decoder, visible_feeds):
    network = network_of("raised cosines", visible_feeds)
    parameters, inputs, _ = problem(network)
    inputs = inputs[:, :20]
    fast, slow = (
        gemsnn.predict(network, parameters, inputs, 3, decoder=decoder, engine=engine)
        for engine in ("compiled", "reference")
    )
    np.testing.assert_array_equal(fast.classes, slow.classes)
    np.testing.assert_allclose(fast.probabilities, slow.probabilities, rtol=1e-10)
    live, known = (
        Stepwise(network, parameters, 3, DECODERS[decoder], 0, 5, engine=engine) for engine in ("compiled", "reference")
    )
    for x in inputs[0]:
        a, b = live.step(x), known.step(x)
        np.testing.assert_allclose(a.probabilities, b.probabilities, rtol=1e-10)
        np.testing.assert_array_equal(live.spikes, known.spikes)
