"""Visible neurons of which one spikes: every decoder and the likelihood, against the SoftMax written out."""

import numpy as np
import pytest
from problems import make_problem
from scipy.special import log_softmax, logsumexp, softmax

import gemsnn
from gemsnn import DataError
from gemsnn.inference import class_patterns, recording_key
from gemsnn.inference.sampling import draws, run

INPUTS = np.random.default_rng(5).integers(0, 2, (4, 9, 4))


def make(graph, memory, circuits):
    """A network with circuits, its twin without, and parameters for both."""
    topology = gemsnn.Topology.fully_connected(4, 3, 3)
    if graph != "paper":
        mask = gemsnn.Topology.random(4, 3, 3, 1.0).mask.copy()
        mask[:3, 7:] = graph == "feedback"  # whether hidden neurons see visible ones
        topology = gemsnn.Topology(4, 3, 3, mask)
    twin = gemsnn.Network(topology, visible_memory=memory)
    network = gemsnn.Network(topology, visible_memory=memory, circuits=circuits)
    return network, twin, make_problem(twin, gemsnn.GEM(), T=1, K=1, seed=2).parameters


def potentials(twin, parameters, n, pattern, K):
    """(T, K, 3) of visible neurons clamped to the pattern, by the reference engine; circuits do not matter there."""
    key = draws(twin, K, 3, [recording_key(INPUTS[n])], visible=False)
    return run(twin, parameters, INPUTS[n : n + 1], K, key, pattern[None], "reference").visible_potential[0]


@pytest.mark.parametrize("graph", ["paper", "lateral", "feedback"])
@pytest.mark.parametrize("memory", [True, False])
def test_a_class_has_the_log_softmax_of_its_potential_at_every_step(graph, memory):
    network, twin, parameters = make(graph, memory, [(3, 4, 5)])
    found = {
        decoder: gemsnn.predict(network, parameters, INPUTS, 6, decoder=decoder, seed=3)
        for decoder in ("likelihood", "per-step")
    }
    patterns = class_patterns(3, 9)
    for n in range(4):
        each = np.stack(
            [log_softmax(potentials(twin, parameters, n, patterns[c], 6), axis=-1)[..., c] for c in range(3)]
        )  # (C, T, K)
        whole = logsumexp(each.sum(axis=1), axis=1) - np.log(6)
        np.testing.assert_allclose(found["likelihood"].probabilities[n], softmax(whole), atol=1e-10)
        steps = (logsumexp(each, axis=2) - np.log(6)).mean(axis=1)
        np.testing.assert_allclose(found["per-step"].probabilities[n], softmax(steps), atol=1e-10)
        for c in range(3):
            for engine in ("compiled", "reference"):
                alone = gemsnn.log_likelihood(
                    network, parameters, INPUTS[n], patterns[c], 6, seed=3, engine=engine, example=None
                )
                assert alone == pytest.approx(whole[c], rel=1e-10)


def test_a_silent_state_and_a_neuron_outside_the_circuit_have_their_share():
    network, twin, parameters = make("paper", False, [gemsnn.Circuit((3, 5), silent=True)])
    found = gemsnn.predict(network, parameters, INPUTS, 5, decoder="likelihood", seed=3)
    patterns = class_patterns(3, 9)
    for n in range(4):
        u = potentials(twin, parameters, n, patterns[0], 5)
        circuit = log_softmax(np.stack([u[..., 0], u[..., 2], np.zeros_like(u[..., 0])], axis=-1), axis=-1)
        alone = log_softmax(np.stack([u[..., 1], np.zeros_like(u[..., 1])], axis=-1), axis=-1)
        each = np.stack(
            [circuit[..., 0] + alone[..., 1], circuit[..., 2] + alone[..., 0], circuit[..., 1] + alone[..., 1]]
        )
        np.testing.assert_allclose(found.probabilities[n], softmax(logsumexp(each.sum(axis=1), axis=1)), atol=1e-10)


def test_desired_spikes_that_a_circuit_cannot_emit_are_refused():
    network, _, parameters = make("paper", True, [(3, 4, 5)])
    silent = np.zeros((9, 3))
    with pytest.raises(DataError, match=r"targets\[0\] has 0 spikes in the winner-take-all circuit"):
        gemsnn.log_likelihood(network, parameters, INPUTS[0], silent)
    with pytest.raises(DataError, match=r"targets\[1\]\[0\] has 0 spikes"):
        gemsnn.log_likelihood(network, parameters, INPUTS[:2], np.stack([class_patterns(3, 9)[0], silent]))
    both = np.stack([class_patterns(3, 9)[0], silent])
    with pytest.raises(DataError, match=r"patterns\[1, 0\] has 0 spikes"):
        gemsnn.predict(network, parameters, INPUTS, decoder="likelihood", patterns=both)
    apart, _, parameters = make("paper", True, [(3, 4)])  # the third class would leave the circuit silent
    with pytest.raises(DataError, match=r"class_patterns\[2\] has 0 spikes in the winner-take-all circuit \(0, 1\)"):
        gemsnn.predict(apart, parameters, INPUTS, decoder="likelihood")
