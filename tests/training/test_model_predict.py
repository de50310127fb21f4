"""A model is asked about anything that is a recording, one or many, and answers with labels."""

from pathlib import Path

import numpy as np
import pytest

import gemsnn
from gemsnn.engine import running
from gemsnn.events import Preprocessing, simulate_digits, write_aedat
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import DecoderSettings, Model

CHOICE = Preprocessing(sensor_size=(128, 128), downsample=16, bin_us=25_000)
RECORDINGS = list(simulate_digits((0, 1), per_class=(2, 1), seed=0))
EVENTS = [recording.events for recording in RECORDINGS]
SPIKES = [CHOICE.bin(events[: len(events) // (1 + n % 2)]) for n, events in enumerate(EVENTS)]


@pytest.fixture(scope="module")
def model():
    network = gemsnn.Network.fully_connected(CHOICE.n_inputs, 5, 2, readout="winner-take-all")
    how = DecoderSettings(kind="per-step", compartments=2)
    return Model(network, network.init(seed=1, weight_scale=2.0), ("zero", "one"), how, 80, 3, CHOICE)


def test_every_form_of_a_recording_has_the_same_answer(model, tmp_path):
    write_aedat(tmp_path / "one.aedat", EVENTS[0])
    spikes = CHOICE.bin(EVENTS[0])
    lists = SpikeList.from_array(spikes, "spikes")
    expected = model.predict(spikes[None])
    for form in (
        RECORDINGS[0],
        EVENTS[0],
        spikes,
        lists,
        spikes.tolist(),
        tmp_path / "one.aedat",
        str(tmp_path / "one.aedat"),
    ):
        alone, listed = model.predict(form), model.predict([form])
        assert alone.label == listed.label[0] == expected.label[0]
        assert alone.confidence == listed.confidence[0] == expected.confidence[0]
        for found in (alone.probabilities, listed.probabilities[0]):
            np.testing.assert_array_equal(found, expected.probabilities[0])


def test_many_are_answered_as_each_alone_and_by_label(model):
    together = model.predict([RECORDINGS[0], EVENTS[1], *SPIKES])
    assert together.label.tolist() == [model.predict(one).label for one in (EVENTS[0], EVENTS[1], *SPIKES)]
    assert set(together.label) <= {"zero", "one"}
    assert together.probabilities.shape == together.votes.shape == (2 + len(SPIKES), 2)
    chosen = [model.classes.index(label) for label in together.label]
    np.testing.assert_array_equal(together.confidence, together.probabilities[np.arange(len(chosen)), chosen])
    assert model.predict([]).label.shape == (0,)


def test_low_level_numbers_are_those_of_the_library(model):
    how = {"decoder": "vote", "seed": model.prediction_seed}
    expected = gemsnn.predict(model.network, model.parameters, SPIKES, 5, **how)
    found = model.predict(SPIKES, "vote", 5)
    np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    np.testing.assert_array_equal(found.votes, expected.votes)
    assert found.label.tolist() == [model.classes[c] for c in expected.classes]


def test_one_recording_has_answers_without_an_axis_in_every_way_of_asking(model):
    anytime = model.predict_anytime(EVENTS[0])
    assert anytime.classes.ndim == 1
    np.testing.assert_array_equal(anytime.probabilities[-1], model.predict(EVENTS[0]).probabilities)
    np.testing.assert_array_equal(anytime.votes, model.predict(EVENTS[0]).votes)
    assert model.predict_labels(EVENTS[0]).labels.shape == (2,)
    held_out = [*EVENTS, *SPIKES]
    calibrated = model.calibrate(held_out, ["zero", "one"] * (len(held_out) // 2), 0.4, checkpoints=1)
    assert calibrated.predict_set(EVENTS[0]).members.shape == (2,)
    assert calibrated.predict_set(EVENTS).members.shape == (len(EVENTS), 2)


def test_weights_are_arranged_once_for_a_list_whatever_the_lengths(model, monkeypatch):
    arranged, usual = [], running.arrange
    monkeypatch.setattr(running, "arrange", lambda *given: arranged.append(1) or usual(*given))
    spikes = [CHOICE.bin(EVENTS[0])[:n] for n in (5, 9, 5, 12)]
    model.predict(spikes)
    assert len(arranged) == 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("nowhere.aedat", "nowhere.aedat"),
        (Path("photo.jpg"), "the ending .jpg is not known"),
        ([np.zeros((3, 64)), np.zeros((3, 5))], r"inputs\[1\] has shape"),
        (np.zeros((3, 5)), "5"),
    ],
)
def test_what_is_no_recording_is_named(model, asked, message):
    with pytest.raises(gemsnn.GemsnnError, match=message):
        model.predict(asked)
