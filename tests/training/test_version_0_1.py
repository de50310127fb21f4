"""Files of version 0.1: its models are read, its unfinished runs are refused with what to do."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import toy

import gemsnn
from gemsnn import CheckpointError
from gemsnn.events import open_prepared
from gemsnn.training import DecoderSettings, TrainingConfig, load_model, save_model, train

WRITTEN = Path(toy.__file__).parent / "version-0.1"


@pytest.fixture
def small_data(tmp_path):
    with open_prepared(toy.prepared(tmp_path / "toy.h5", n=12)) as data:
        yield data


def test_a_model_is_read_with_its_network_weights_and_decoder(small_data):
    model = load_model(WRITTEN / "model.safetensors")
    assert model.network.topology == gemsnn.Topology.fully_connected(12, 2, 3)
    assert not model.network.visible_memory
    # The last bit of an exponential is another with another version of NumPy.
    np.testing.assert_allclose(model.network.synaptic_filter.taps, gemsnn.Exponential((2.0,), 4).taps, rtol=1e-15)
    np.testing.assert_allclose(model.network.somatic_filter.taps, gemsnn.RaisedCosine(1, 3).taps, rtol=1e-14)
    assert model.decoder == DecoderSettings(kind="per-step", compartments=2)
    assert (model.classes, model.n_steps, model.seed) == ((2, 5, 7), 20, 3)
    found = model.predict(small_data.test.read(np.arange(3))).probabilities
    # What version 0.1 said, which drew other random numbers; the network is small, so that hardly matters.
    said = [[0.354, 0.335, 0.311], [0.340, 0.338, 0.322], [0.340, 0.333, 0.327]]
    np.testing.assert_allclose(found, said, atol=0.02)


def test_written_again_it_is_a_model_of_this_version(tmp_path):
    model = load_model(WRITTEN / "model.safetensors")
    save_model(model, tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert (again.network, again.parameters, again.decoder) == (model.network, model.parameters, model.decoder)


def test_the_classifiers_read_it_too(small_data):
    X = small_data.test.read(np.arange(3))
    expected = load_model(WRITTEN / "model.safetensors").predict(X).probabilities
    for classifier in (gemsnn.SpikingClassifier, gemsnn.GEMClassifier):
        assert np.array_equal(classifier.load(WRITTEN / "model.safetensors").predict_proba(X), expected)


def test_a_run_is_not_resumed_and_not_changed(small_data, tmp_path):
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    shutil.copy(WRITTEN / "checkpoint.safetensors", run / "checkpoints" / "000000000006.safetensors")
    with pytest.raises(CheckpointError, match=r"written by gemsnn 0\.1.* start anew in another directory"):
        train(TrainingConfig.make(n_hidden=2), small_data, run, resume=True)
    kept = (run / "checkpoints" / "000000000006.safetensors").read_bytes()
    assert kept == (WRITTEN / "checkpoint.safetensors").read_bytes()
