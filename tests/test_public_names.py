"""The names that users, examples and documents depend on."""

import inspect

import numpy as np
import pytest

import gemsnn


@pytest.mark.parametrize("name", gemsnn.__all__)
def test_every_public_name_exists_and_classes_and_functions_say_what_they_are(name):
    thing = getattr(gemsnn, name)
    if inspect.isclass(thing) or inspect.isfunction(thing) or inspect.ismodule(thing):
        assert inspect.getdoc(thing)


@pytest.mark.parametrize(
    "module",
    [gemsnn.plot, gemsnn.model, gemsnn.encode, gemsnn.rules, gemsnn.learning, gemsnn.inference, gemsnn.metrics],
    ids=lambda m: m.__name__,
)
def test_every_name_that_a_room_exports_exists_and_functions_and_classes_have_a_docstring(module):
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (
            gemsnn.learn,
            ["network", "parameters", "rule", "inputs", "targets", "n_compartments", "seed", "uniforms", "engine"],
        ),
        (gemsnn.sample, ["network", "parameters", "inputs", "n_compartments", "seed", "uniforms", "engine"]),
        (gemsnn.log_likelihood, ["network", "parameters", "inputs", "targets", "n_samples", "seed"]),
        (gemsnn.Stream, ["network", "parameters", "rule", "n_compartments", "seed"]),
        (gemsnn.GEM, ["learning_rate", "kappa", "gamma", "centred"]),
        (gemsnn.Feedback, ["learning_rate", "kappa", "gamma", "gain"]),
        (gemsnn.MB, ["learning_rate", "kappa", "gamma", "baseline"]),
        (gemsnn.IW, ["learning_rate", "kappa", "gamma", "baseline"]),
        (gemsnn.Network, ["topology", "synaptic_filter", "somatic_filter"]),
        (gemsnn.Network.fully_connected, ["n_inputs", "n_hidden", "n_visible"]),
        (gemsnn.Network.init, ["self", "seed"]),
        (gemsnn.Parameters, ["synaptic", "somatic", "bias"]),
        (gemsnn.RaisedCosine, ["n_basis", "duration"]),
        (gemsnn.Topology, ["n_inputs", "n_hidden", "n_visible", "mask"]),
        (gemsnn.Topology.random, ["n_inputs", "n_hidden", "n_visible", "density", "seed"]),
    ],
)
def test_arguments_keep_their_names_and_their_order(function, arguments):
    assert list(inspect.signature(function).parameters)[: len(arguments)] == arguments


def test_the_defaults_are_those_of_the_paper():
    rule = gemsnn.GEM()
    assert (rule.learning_rate, rule.kappa, rule.gamma) == (1e-3, 0.9, 0.9)
    assert inspect.signature(gemsnn.learn).parameters["engine"].default == "compiled"
    assert inspect.signature(gemsnn.log_likelihood).parameters["n_samples"].default == 20


def test_a_first_session_works_as_it_is_told():
    network = gemsnn.Network.fully_connected(n_inputs=5, n_hidden=4, n_visible=2)
    parameters = network.init(seed=0)
    inputs, targets = np.ones((8, 5)), np.tile([1, 0], (8, 1))
    rule = gemsnn.GEM(learning_rate=1e-3, kappa=0.9, gamma=0.9)
    result = gemsnn.learn(
        network, parameters, rule, inputs, targets, n_compartments=20, seed=0, uniforms=None, engine="compiled"
    )
    assert result.parameters.synaptic.shape == (6, 11, 3)
    assert result.log_weights.shape == result.importance.shape == result.log_likelihood.shape == (8, 20)
    assert result.hidden.shape == (8, 20, 4)
    spikes = gemsnn.sample(network, parameters, inputs, n_compartments=5, seed=0, uniforms=None, engine="compiled")
    assert spikes.shape == (8, 5, 6)
    assert isinstance(gemsnn.log_likelihood(network, parameters, inputs, targets, n_samples=20, seed=0), float)
    stream = gemsnn.Stream(network, parameters, rule, n_compartments=20, seed=0)
    assert stream.step(inputs[0], targets[0]).importance.shape == (20,)
    assert stream.step(inputs[1]).spikes.shape == (20, 6)
