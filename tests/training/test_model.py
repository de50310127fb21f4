import numpy as np
import pytest
import toy

import gemsnn
from gemsnn import CheckpointError, DataError, RaisedCosine
from gemsnn.events import Preprocessing
from gemsnn.training import DecoderSettings, Model, load_model, save_model, trainer_of
from gemsnn.training.tensors import read_tensors, write_tensors


@pytest.fixture
def model(data):
    trainer = trainer_of(toy.config(epochs=1, visible_memory=False), data)
    trainer.run()
    return trainer.model({"note": 1})


def test_a_model_comes_back_with_everything_that_prediction_needs(model, tmp_path, data):
    save_model(model, tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert again.network == model.network
    assert again.parameters == model.parameters
    assert (again.classes, again.n_steps, again.seed) == ((2, 5, 7), 20, 0)
    assert again.decoder == DecoderSettings(kind="per-step", compartments=2)
    assert again.about == model.about
    assert again.means.count == model.means.count == model.about["position"]
    assert np.array_equal(again.means.value, model.means.value)
    assert model.means.value.any()
    X = data.test.read(np.arange(len(data.test)))
    for how in ((), ("likelihood", 3)):
        expected, found = model.predict(X, *how), again.predict(X, *how)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other)


def test_any_graph_and_filters_can_be_saved(tmp_path):
    topology = gemsnn.Topology.random(4, 3, 2, density=0.5, seed=1)
    network = gemsnn.Network(topology, gemsnn.Filter([[0.5, 0.25]]), RaisedCosine(2, 5))
    model = Model(network, network.init(seed=3, dtype=np.float64), ("cat", "dog"), DecoderSettings(), 10)
    save_model(model, tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert again.network == network
    assert again.parameters == model.parameters
    assert again.classes == ("cat", "dog")


def test_recordings_are_binned_as_for_training(model, tmp_path):
    choices = Preprocessing(sensor_size=(4, 3), bin_us=1000, n_steps=20)
    aware = Model(model.network, model.parameters, model.classes, model.decoder, 20, 0, choices)
    save_model(aware, tmp_path / "model.safetensors")
    events = np.array([(1, 2, 0, 1), (3, 0, 1500, 0)], dtype=[("x", int), ("y", int), ("t", int), ("p", int)])
    assert np.array_equal(load_model(tmp_path / "model.safetensors").bin(events), choices.bin(events))
    with pytest.raises(DataError, match="trained on arrays, not on recordings"):
        model.bin(events)


def test_a_file_that_is_whole_but_makes_no_sense_is_refused(model, tmp_path):
    path = tmp_path / "model.safetensors"
    save_model(model, path)
    header, arrays = read_tensors(path, "gemsnn model", 3)
    for name in ("format", "version"):
        del header[name]
    write_tensors(path, "gemsnn model", 3, {**header, "n_hidden": 5}, arrays)
    with pytest.raises(CheckpointError, match=r"not a usable model: .* has shape"):
        load_model(path)
    arrays["bias"] = np.full_like(arrays["bias"], np.nan)
    write_tensors(path, "gemsnn model", 3, header, arrays)
    with pytest.raises(CheckpointError, match=r"not a usable model: bias holds NaN"):
        load_model(path)
