"""Each label on its own: a question with two answers."""

import numpy as np
import pytest
from problems import make_problem
from scipy.special import expit, softmax

import gemsnn
from gemsnn.inference import predict_labels, recording_key
from gemsnn.inference.sampling import draws, run

INPUTS = np.random.default_rng(5).integers(0, 2, (4, 9, 4))


@pytest.fixture(params=[0.5, 1.0])
def problem(request):
    network = gemsnn.Network(gemsnn.Topology.random(4, 3, 2, request.param, seed=1))
    return make_problem(network, gemsnn.GEM(), T=1, K=1, seed=2)


def free_run(problem, n, K):
    network = problem.network
    key = draws(network, K, 3, [recording_key(INPUTS[n])], visible=True)
    found = run(network, problem.parameters, INPUTS[n : n + 1], K, key, None, "reference")
    return found.spikes[0, :, :, 3:], found.visible_potential[0]


def test_a_vote_is_the_majority_of_a_neurons_steps(problem):
    found = predict_labels(problem.network, problem.parameters, INPUTS, 5, decoder="vote", seed=3)
    for n in range(4):
        spikes, _ = free_run(problem, n, 5)
        for c in range(2):
            yes = int((spikes[:, :, c].sum(axis=0) > 4.5).sum())  # of 9 steps
            assert found.probabilities[n, c] == pytest.approx(softmax([5.0 - yes, yes])[1])
            assert found.labels[n, c] == (yes > 2.5)


def test_per_step_averages_the_log_of_the_probability_of_a_spike_and_of_none(problem):
    found = predict_labels(problem.network, problem.parameters, INPUTS, 5, seed=3)
    for n in range(4):
        p = expit(free_run(problem, n, 5)[1])  # (T, K, 2)
        yes, no = np.log(p.mean(axis=1)).mean(axis=0), np.log((1 - p).mean(axis=1)).mean(axis=0)
        np.testing.assert_allclose(found.probabilities[n], expit(yes - no), atol=1e-10)
        np.testing.assert_array_equal(found.labels[n], yes > no)


def test_sequences_may_differ_in_length(problem):
    several = [INPUTS[0], INPUTS[1][:4]]
    found = predict_labels(problem.network, problem.parameters, several, 5, seed=3)
    np.testing.assert_allclose(
        found.probabilities[0],
        predict_labels(problem.network, problem.parameters, INPUTS[:1], 5, seed=3).probabilities[0],
    )
    assert found.hidden_spikes_per_step.shape == (2,)
