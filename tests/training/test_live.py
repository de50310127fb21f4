"""A model that answers while the recording goes on."""

import numpy as np
import pytest

import gemsnn
from gemsnn.events import EVENT_DTYPE, Preprocessing
from gemsnn.inference import recording_key
from gemsnn.model.network import readout_circuits
from gemsnn.training import DecoderSettings, Model

DECODERS = ("per-step", "vote", "likelihood")
CHOICE = Preprocessing(sensor_size=(6, 5), bin_us=1000, n_steps=15)
TOPOLOGIES = {
    "paper": gemsnn.Topology.fully_connected(30, 12, 3),
    "feedback": gemsnn.Topology.random(30, 12, 3, 0.7, seed=1),
}
RECORDINGS = [np.random.default_rng(n).random((T, 30)) < 0.2 for n, T in enumerate((15, 1, 40, 22))]


def make(graph="paper", readout="bernoulli", decoder="per-step", K=3, dtype=np.float32, memory=True, **options):
    topology = TOPOLOGIES[graph]
    network = gemsnn.Network(topology, visible_memory=memory, circuits=readout_circuits(topology, readout))
    parameters = network.init(seed=1, weight_scale=2.0, dtype=dtype)
    how = DecoderSettings(kind=decoder, compartments=K)
    return Model(network, parameters, ("left", "right", "up"), how, 15, 7, CHOICE, **options)


def some_events(n=300, seed=0):
    rng, events = np.random.default_rng(seed), np.zeros(n, dtype=EVENT_DTYPE)
    events["x"], events["y"] = rng.integers(0, 6, n), rng.integers(0, 5, n)
    events["t"], events["p"] = np.sort(rng.integers(0, 12_000, n)), rng.integers(0, 2, n)
    return events


def assert_equal_numbers(answers, anytime, classes):
    assert [answer.step for answer in answers] == list(range(1, len(anytime.classes) + 1))
    assert [answer.label for answer in answers] == [classes[c] for c in anytime.classes]
    np.testing.assert_array_equal([answer.probabilities for answer in answers], anytime.probabilities)
    np.testing.assert_array_equal([answer.confidence for answer in answers], anytime.confidence)
    np.testing.assert_array_equal([answer.hidden_spikes for answer in answers], anytime.hidden_spikes)


@pytest.mark.parametrize("graph", TOPOLOGIES)
@pytest.mark.parametrize("readout", ["bernoulli", "winner-take-all"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_step_by_step_equals_in_bulk_to_the_bit(graph, readout, decoder):
    for K, dtype, memory in ((1, np.float32, False), (4, np.float64, True)):
        model = make(graph, readout, decoder, K, dtype, memory)
        in_bulk = model.predict_anytime(RECORDINGS, keys=[5, 6, 7, 8])
        live = model.stream(key=5)
        for recording, anytime in zip(RECORDINGS, in_bulk, strict=True):
            assert_equal_numbers([live.step(inputs) for inputs in recording], anytime, model.classes)
            live.reset()


@pytest.mark.parametrize("decoder", DECODERS)
def test_with_the_key_of_the_recording_the_last_answer_is_that_of_predict(decoder):
    model = make(decoder=decoder)
    live = model.stream()
    for recording in RECORDINGS:
        live.reset(recording_key(recording))
        for inputs in recording:
            answer = live.step(inputs)
        found = model.predict([recording])
        assert answer.label == model.classes[found.classes[0]]
        np.testing.assert_array_equal(answer.probabilities, found.probabilities[0])
