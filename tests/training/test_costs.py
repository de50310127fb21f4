"""What a trained model costs per recording, and per answer where it stops early."""

import numpy as np
import pytest

import gemsnn
from gemsnn.metrics import step_cost
from gemsnn.training import DecoderSettings, Model
from gemsnn.training.appraisal import appraise
from gemsnn.training.data import ArrayExamples

T, C = 30, 3


def model_of(decoder="per-step", visible_feeds=False, **options):
    topology = gemsnn.Topology.fully_connected(8, 6, C)
    if visible_feeds:
        topology = gemsnn.Topology.random(8, 6, C, 1.0)
    network = gemsnn.Network(topology)
    how = DecoderSettings(kind=decoder, compartments=2)
    return Model(network, network.init(seed=1, weight_scale=2.0), (0, 1, 2), how, T, seed=4, **options)


LABELS = np.arange(60) % C
RATE = 0.1 + 0.5 * (np.arange(8) // 3 == LABELS[:, None])
SPIKES = (np.random.default_rng(0).random((60, T, 8)) < RATE[:, None]).astype(np.uint8)


EXAMPLES = ArrayExamples(SPIKES, LABELS)


def measure_costs(model):
    return appraise(model, model.decoder, EXAMPLES, likelihood_samples=1).figures["cost"]


def test_costs_of_freely_running_neurons_are_those_of_a_sample():
    model = model_of("vote")
    found = measure_costs(model)
    spikes = gemsnn.sample(model.network, model.parameters, SPIKES, 2, model.prediction_seed, example=None)
    expected = step_cost(model.network, SPIKES, spikes)
    assert found["SynapticOperations"]["Effective_ACs"] == pytest.approx(expected.effective_acs.sum() / 60)
    assert found["ActivationSparsity"] == pytest.approx(1 - spikes.mean())
    assert found["MembraneUpdates"] == 2 * 9 * T
    assert found["ParameterCount"] == model.network.topology.n_synapses * 3 + 9 * 3 + 9
    assert "per_answer" not in found


def test_where_a_run_for_each_class_is_needed_each_of_them_counts():
    model, once = model_of(visible_feeds=True), model_of("vote", visible_feeds=True)
    found, free = (measure_costs(one) for one in (model, once))
    for name in ("Dense", "Effective_MACs"):
        assert found["SynapticOperations"][name] == C * free["SynapticOperations"][name]
    assert found["MembraneUpdates"] == C * free["MembraneUpdates"]


def test_an_answer_costs_less_than_a_recording_where_it_is_given_early():
    model = model_of().calibrate(SPIKES, LABELS, alpha=0.4)
    found = measure_costs(model)
    steps = model.predict_set(SPIKES).steps
    assert steps.mean() < T
    assert found["per_answer"]["MembraneUpdates"] == pytest.approx(2 * 9 * steps.mean())
    operations = [part["SynapticOperations"]["Effective_ACs"] for part in (found["per_answer"], found)]
    assert 0 < operations[0] < operations[1]
