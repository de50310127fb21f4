"""The event form's NumPy mirror learns what the reference engine learns."""

import numpy as np
import pytest
from circuits import random_targets
from event_mirror import EventMirror
from own_rule import Quiet
from problems import assert_close, assert_parameters_close, random_parameters

import gemsnn
from gemsnn.engine import reference
from gemsnn.engine.task import Task

TOLERANCE = 1e-12
T = 20
FILTERS = (gemsnn.Exponential((2.0, 9.0), 12), gemsnn.RaisedCosine(2, 6), gemsnn.Exponential((3.0,), 50))
NETWORKS = {
    "fully connected": (gemsnn.Topology.fully_connected(5, 4, 3), ()),
    "irregular": (gemsnn.Topology.random(5, 6, 3, 0.6, seed=1), ()),
    "circuits": (gemsnn.Topology.fully_connected(4, 6, 3), [gemsnn.Circuit((1, 4), silent=True), [6, 8]]),
    "nothing hidden": (gemsnn.Topology.fully_connected(5, 0, 3), ()),
}
RULES = (
    gemsnn.GEM(learning_rate=0.05),
    gemsnn.GEM(learning_rate=0.05, gamma=1.0, centred=True),
    gemsnn.MB(learning_rate=0.002, gamma=0.5),
    gemsnn.IW(learning_rate=0.002, baseline="leave-one-out"),
    gemsnn.Feedback(learning_rate=0.02, gain=3.0),
    Quiet(learning_rate=0.05),
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("which", NETWORKS)
def test_the_mirror_learns_what_the_reference_engine_learns(rule, which):
    """With any filters, K, means, free steps in between, and however often the weights are written."""
    topology, circuits = NETWORKS[which]
    for case, (K, window) in enumerate([(1, 99), (2, 7), (3, 1)]):
        synaptic, somatic = FILTERS[case], FILTERS[case - 1]
        network = gemsnn.Network(topology, synaptic, somatic, circuits=circuits, visible_memory=case != 1)
        rng = np.random.default_rng(case)
        parameters = random_parameters(network, rng, 0.7)
        inputs, targets = rng.random((T, network.n_inputs)) < 0.4, random_targets(network, T, rng)
        uniforms = rng.random((T, K, network.n_neurons))
        means = rng.uniform(0, 0.5, (network.n_inputs, synaptic.n_basis)) if case else None
        mirror = EventMirror(network, parameters, rule, K, means, window)
        oracle = reference.learner(Task(network, rule, K), parameters, free=True)
        if means is not None:
            oracle.subtract_means(means)
        for t in range(T):
            target = targets[t] if t % 5 != 3 else None
            potential = reference.potentials(network, oracle.weights, oracle.history)[0]
            info, step = oracle.step(inputs[t], target, uniforms[t]), mirror.step(inputs[t], target, uniforms[t])
            np.testing.assert_array_equal(step.spikes, info.spikes)
            assert_close(step.potential, potential, TOLERANCE, f"potential of step {t}")
            assert_close(step.log_weights, info.log_weights, TOLERANCE, f"log-weights of step {t}")
            assert_parameters_close(mirror.parameters(), oracle.take()[0], TOLERANCE)
        before = mirror.parameters()
        mirror.write()
        assert_parameters_close(mirror.parameters(), before, TOLERANCE)
