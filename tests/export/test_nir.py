"""NIR, written and read by the real package."""

import h5py
import nir
import numpy as np
import pytest
from problems import random_parameters

import gemsnn
from gemsnn.engine import reference
from gemsnn.engine.randomness import Given
from gemsnn.events import Preprocessing
from gemsnn.export import read_nir, write_nir
from gemsnn.export.nir_graph import nir_graph, run_noise_free
from gemsnn.training import DecoderSettings, Model, save_model

LONG, SHORT = gemsnn.Exponential((2.0, 10.0), 200), gemsnn.Exponential((3.0,), 100)


def model_of(network, decoder="per-step", **options) -> Model:
    parameters = random_parameters(network, np.random.default_rng(5), 0.5).astype(np.float32)
    how, labels = DecoderSettings(kind=decoder, compartments=3), tuple("abcdefgh"[: network.n_visible])
    return Model(network, parameters, labels, how, 40, seed=7, **options)


def usual(decoder="per-step", **options) -> Model:
    topology = gemsnn.Topology.random(6, 5, 3, 0.7, seed=2)
    return model_of(gemsnn.Network(topology, LONG, SHORT, circuits=[(5, 6, 7)]), decoder, **options)


def bytes_of(model: Model, path) -> bytes:
    save_model(model, path)
    return path.read_bytes()


def test_a_model_comes_back_to_the_bit(tmp_path):
    model = usual(preprocessing=Preprocessing(sensor_size=(2, 3), bin_us=1000), about={"position": 12})
    write_nir(model, tmp_path / "model.nir")
    restored = read_nir(tmp_path / "model.nir")
    assert bytes_of(restored, tmp_path / "one") == bytes_of(model, tmp_path / "two")
    inputs = np.random.default_rng(0).integers(0, 2, (4, 40, 6))
    np.testing.assert_array_equal(restored.predict(inputs).probabilities, model.predict(inputs).probabilities)


def test_stock_readers_see_nodes_that_they_know(tmp_path):
    write_nir(usual(), tmp_path / "model.nir")
    graph = nir.read(tmp_path / "model.nir")
    assert {type(node) for node in graph.nodes.values()} == {
        nir.Input, nir.Linear, nir.LI, nir.Affine, nir.Threshold, nir.Output,
    }  # fmt: skip
    assert graph.input_type["input"] == [6]
    assert graph.output_type["output"] == [3]


@pytest.mark.parametrize("somatic", [SHORT, gemsnn.RaisedCosine(3, 10)], ids=["exponential", "raised cosines"])
@pytest.mark.parametrize("decoder", ["per-step", "vote"])
def test_the_nodes_are_the_network_without_noise(decoder, somatic):
    """Potentials of the reference engine, whose uniforms are all 1/2, and which sees an input a step later."""
    topology = gemsnn.Topology.random(6, 5, 3, 0.7, seed=2)
    model = model_of(gemsnn.Network(topology, LONG, somatic), decoder)
    weights = model.parameters.astype(np.float64)
    quiet = gemsnn.Parameters(4 * weights.synaptic, 4 * weights.somatic, -np.abs(weights.bias))  # silent at first
    model = Model(model.network, quiet, model.classes, model.decoder, 40)
    inputs = np.random.default_rng(0).integers(0, 2, (2, 40, 6)).astype(np.uint8)
    clamp = None if decoder == "vote" else np.zeros((2, 40, 3), np.uint8)
    halves = [Given(np.full((40, 1, 8 if clamp is None else 5), 0.5)) for _ in range(2)]
    run = reference.running(model.network, quiet).simulate(inputs, 1, halves.__getitem__, clamp)
    assert 0.1 < run.spikes[..., :5].mean() < 0.9
    found = run_noise_free(nir_graph(model), inputs)
    np.testing.assert_allclose(found[:, :-1], run.visible_potential[:, 1:, 0], rtol=1e-6, atol=1e-6)


def test_the_default_network_comes_back_too(tmp_path):
    config = gemsnn.training.TrainingConfig.make(n_hidden=5)
    model = model_of(config.network(6, 3))
    write_nir(model, tmp_path / "model.nir")
    assert read_nir(tmp_path / "model.nir").parameters == model.parameters


def test_other_filters_are_refused(tmp_path):
    with pytest.raises(gemsnn.ConfigError, match="not exponential"):
        write_nir(model_of(gemsnn.Network.fully_connected(4, 3, 2)), tmp_path / "model.nir")
    assert not list(tmp_path.iterdir())


def test_graphs_of_others_are_refused_with_what_they_hold(tmp_path):
    one = np.ones(2)
    lif = nir.LIF(tau=one, r=one, v_leak=one, v_threshold=one, v_reset=one)
    nir.write(tmp_path / "other.nir", nir.NIRGraph.from_list(nir.Linear(weight=np.ones((2, 3))), lif))
    with pytest.raises(gemsnn.DataError, match=r"other\.nir: not written by gemsnn: its nodes \(LIF, Linear\)"):
        read_nir(tmp_path / "other.nir")
    (tmp_path / "text.nir").write_text("nothing")
    for name in ("text.nir", "missing.nir"):
        with pytest.raises(gemsnn.DataError, match=rf"{name}: not a readable NIR file"):
            read_nir(tmp_path / name)


def test_a_graph_that_was_changed_is_not_taken_for_the_model_that_it_was(tmp_path):
    path = tmp_path / "model.nir"
    write_nir(usual(), path)
    with h5py.File(path, "r+") as file:
        file["node/nodes/bias/bias"][0] += 1
    with pytest.raises(gemsnn.DataError, match="changed since"):
        read_nir(path)
