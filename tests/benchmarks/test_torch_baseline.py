"""The yardstick measures the same thing: PyTorch's weights and spikes are those of the reference engine."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import gemsnn

torch = pytest.importorskip("torch")
K, T = 4, 30
RAISED, DECAYING = gemsnn.RaisedCosine(n_basis=3, duration=10), gemsnn.Exponential((1.0, 3.0), duration=4)
NETWORKS = {
    "paper": gemsnn.Network.fully_connected(7, 5, 3),
    "feedback": gemsnn.Network(gemsnn.Topology.random(7, 5, 3, density=0.6, seed=1)),
    "other somatic filter": gemsnn.Network.fully_connected(7, 5, 3, RAISED, DECAYING),
    "short synaptic filter, no visible memory": gemsnn.Network.fully_connected(7, 5, 3, DECAYING, RAISED, False),
}


@pytest.fixture(scope="module")
def baseline():
    """benchmarks/ is a folder of scripts, not a package."""
    path = Path(__file__).parents[2] / "benchmarks" / "torch_baseline.py"
    spec = importlib.util.spec_from_file_location("torch_baseline", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=NETWORKS)
def problem(request):
    network, rng = NETWORKS[request.param], np.random.default_rng(0)
    parameters = network.init(seed=1, dtype=np.float64)
    inputs = (rng.random((2, T, 7)) < 0.3).astype(np.uint8)
    targets = (rng.random((T, 3)) < 0.4).astype(np.uint8)
    return network, parameters, inputs, targets, rng


@pytest.mark.parametrize("in_place", [True, False])
def test_learns_what_the_reference_learns(baseline, problem, in_place):
    network, parameters, inputs, targets, rng = problem
    rule, uniforms = gemsnn.GEM(learning_rate=0.05, kappa=0.8, gamma=0.9), rng.random((T, K, network.n_hidden))
    arguments = (network, parameters, rule, inputs[0], targets)
    expected = gemsnn.learn(*arguments, n_compartments=K, uniforms=uniforms, engine="reference")
    learned = baseline.learn(*arguments, n_compartments=K, uniforms=uniforms, in_place=in_place)

    assert np.abs(expected.parameters.synaptic - parameters.synaptic).max() > 0.1  # there was something to learn
    assert (learned.hidden.numpy() == expected.hidden).all()
    for name in ("synaptic", "somatic", "bias"):
        ours, theirs = getattr(expected.parameters, name), getattr(learned.parameters, name)
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(learned.importance.numpy(), expected.importance, rtol=1e-9)
    np.testing.assert_allclose(learned.log_likelihood.numpy(), expected.log_likelihood, rtol=1e-9)


def test_runs_freely_as_the_reference_does(baseline, problem):
    network, parameters, inputs, _, rng = problem
    parameters.somatic[: network.n_hidden] = rng.standard_normal((network.n_hidden, parameters.somatic.shape[1]))
    uniforms = rng.random((2, T, K, network.n_neurons))
    spikes = gemsnn.sample(network, parameters, inputs, K, uniforms=uniforms, engine="reference")
    counts = baseline.visible_counts(network, parameters, inputs, K, uniforms)
    assert (counts.numpy() == spikes[..., network.n_hidden :].sum(axis=1)).all()


def test_votes_and_classes_follow_from_the_counts(baseline):
    counts = np.array([[[5, 3, 0], [0, 4, 4], [9, 0, 0], [1, 9, 0]], [[2, 1, 2], [0, 0, 3], [0, 5, 0], [0, 4, 3]]])
    votes, classes = baseline.vote(torch.tensor(counts))
    expected = gemsnn.inference.count_votes(counts)
    assert (votes.numpy() == expected).all()
    assert (classes.numpy() == gemsnn.inference.decide(expected, counts)).all()
