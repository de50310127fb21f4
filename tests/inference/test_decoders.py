"""From spikes to a class: votes counted by hand, likelihoods one class at a time."""

import numpy as np
import pytest
from problems import make_problem
from scipy.special import softmax

import gemsnn
from gemsnn.inference import class_patterns, count_votes, decide, predict, recording_key, vote_probabilities


@pytest.mark.parametrize(
    ("counts", "votes", "winner"),
    [
        ([[3, 1, 0], [0, 2, 1], [4, 4, 1]], [2, 1, 0], 0),  # the third compartment is tied: the lower class
        ([[5, 4], [0, 1]], [1, 1], 0),  # one vote each: 5 spikes against 5, so the lower class
        ([[5, 4], [0, 2]], [1, 1], 1),  # one vote each: 5 spikes against 6
        ([[1, 0, 0], [0, 9, 0], [1, 0, 0]], [2, 1, 0], 0),  # two votes win against nine spikes
        ([[5, 0, 4], [0, 6, 4]], [1, 1, 0], 1),  # a class without votes does not win, most spikes though it has
        ([[0, 0, 0]], [1, 0, 0], 0),  # silence
        ([[0, 0, 1]], [0, 0, 1], 2),
    ],
)
def test_each_compartment_has_a_vote_and_ties_go_to_more_spikes_then_to_the_lower_class(counts, votes, winner):
    counts = np.array(counts)
    np.testing.assert_array_equal(count_votes(counts), votes)
    assert decide(np.array(votes), counts) == winner
    batch = np.stack([counts, counts[:, ::-1]])  # many at once, by the same rule
    assert count_votes(batch)[0].tolist() == votes
    assert decide(count_votes(batch), batch)[0] == winner


def test_the_confidence_is_the_softmax_of_the_votes():
    e = np.exp
    np.testing.assert_allclose(
        vote_probabilities(np.array([2, 1, 0])), np.array([e(2), e(1), 1]) / (e(2) + e(1) + 1), rtol=1e-12
    )


def test_patterns_of_no_class_are_refused():
    network = gemsnn.Network.fully_connected(4, 3, 3)
    with pytest.raises(gemsnn.ShapeError, match=r"patterns has shape \(0, 9, 3\)"):
        predict(network, network.init(seed=0), np.ones((2, 9, 4)), decoder="likelihood", patterns=np.zeros((0, 9, 3)))


def test_the_default_patterns_are_those_of_the_paper():
    patterns = class_patterns(3, 4)
    assert patterns.shape == (3, 4, 3)
    for c in range(3):
        for t in range(4):
            np.testing.assert_array_equal(patterns[c, t], np.arange(3) == c)


def problem_with(feedback, K=4, T=9, n_visible=3):
    """Visible neurons that feed each other, and with feedback also the hidden neurons."""
    mask = gemsnn.Topology.random(4, 3, n_visible, 1.0).mask.copy()
    if not feedback:
        mask[:3, 7:] = False
    network = gemsnn.Network(
        gemsnn.Topology(4, 3, n_visible, mask), gemsnn.RaisedCosine(2, 6), gemsnn.Exponential((2.0,), 11)
    )
    return make_problem(network, gemsnn.GEM(), T=T, K=K, seed=2)


INPUTS = np.random.default_rng(5).integers(0, 2, (6, 9, 4))


def test_the_vote_is_that_of_the_sampled_spikes():
    problem = problem_with(feedback=True)
    prediction = predict(problem.network, problem.parameters, INPUTS, 4, decoder="vote", seed=3)
    spikes = gemsnn.sample(problem.network, problem.parameters, INPUTS, 4, seed=3, example=None)
    for n in range(6):
        counts = spikes[n, :, :, 3:].sum(axis=0)  # (K, C)
        votes = [sum(int(np.argmax(counts[k]) == c) for k in range(4)) for c in range(3)]
        total = counts.sum(axis=0)
        winner = sorted(range(3), key=lambda c: (-votes[c], -total[c], c))[0]
        assert prediction.votes[n].tolist() == votes
        assert prediction.classes[n] == winner
        np.testing.assert_allclose(prediction.probabilities[n], softmax(np.array(votes, dtype=float)), rtol=1e-12)
        assert prediction.confidence[n] == prediction.probabilities[n, winner]
        assert prediction.hidden_spikes_per_step[n] == pytest.approx(spikes[n, :, :, :3].sum() / 9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("feedback", [True, False])
@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("visible_memory", [True, False])
def test_the_likelihood_decoder_is_the_softmax_of_the_clamped_log_likelihoods(dtype, feedback, custom, visible_memory):
    problem = problem_with(feedback)
    network = gemsnn.Network(
        problem.network.topology, problem.network.synaptic_filter, problem.network.somatic_filter, visible_memory
    )
    parameters = make_problem(network, gemsnn.GEM(), 9, 4, seed=2).parameters.astype(dtype)
    patterns = np.random.default_rng(1).integers(0, 2, (5, 9, 3)) if custom else None  # 5 classes, 3 neurons
    prediction = predict(network, parameters, INPUTS, 7, decoder="likelihood", patterns=patterns, seed=3)
    used = class_patterns(3, 9) if patterns is None else patterns
    scores = np.array(
        [
            [
                gemsnn.log_likelihood(network, parameters, INPUTS[n], pattern, n_samples=7, seed=3, example=None)
                for pattern in used
            ]
            for n in range(6)
        ]
    )
    # Log-likelihoods of some tens: rounding of the potentials, 6e-8 or 1e-16 of their size, a few hundred times.
    tolerance = 1e-3 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(prediction.probabilities, softmax(scores, axis=1), atol=tolerance)
    np.testing.assert_array_equal(prediction.classes, scores.argmax(axis=1))
    np.testing.assert_allclose(prediction.confidence, softmax(scores, axis=1).max(axis=1), atol=tolerance)
    assert (prediction.votes.sum(axis=1) == 7).all()


@pytest.mark.parametrize("feedback", [True, False])
def test_the_votes_of_the_likelihood_decoder_are_the_samples_that_prefer_a_class(feedback):
    problem = problem_with(feedback)
    prediction = predict(problem.network, problem.parameters, INPUTS, 4, decoder="likelihood", seed=3)
    frozen = gemsnn.GEM(learning_rate=0.0)
    for n in range(6):
        each = np.stack(
            [
                gemsnn.learn(
                    problem.network,
                    problem.parameters,
                    frozen,
                    INPUTS[n],
                    pattern,
                    4,
                    seed=3,
                    example=recording_key(INPUTS[n]),
                ).log_likelihood.sum(axis=0)
                for pattern in class_patterns(3, 9)
            ]
        )  # (C, K)
        np.testing.assert_array_equal(prediction.votes[n], np.bincount(each.argmax(axis=0), minlength=3))


@pytest.mark.parametrize("feedback", [True, False])
@pytest.mark.parametrize("memory", [True, False])
def test_the_per_step_decoder_averages_the_log_of_each_steps_mean_probability(feedback, memory):
    problem = problem_with(feedback)
    network = gemsnn.Network(problem.network.topology, visible_memory=memory)
    parameters = network.init(seed=4, dtype=np.float64)
    prediction = predict(network, parameters, INPUTS, 4, decoder="per-step", seed=3)
    frozen = gemsnn.GEM(learning_rate=0.0)
    for n in range(6):
        each = np.stack(
            [
                gemsnn.learn(
                    network, parameters, frozen, INPUTS[n], pattern, 4, seed=3, example=recording_key(INPUTS[n])
                ).log_likelihood
                for pattern in class_patterns(3, 9)
            ]
        )  # (C, T, K)
        score = np.log(np.exp(each).mean(axis=2)).mean(axis=1)
        np.testing.assert_allclose(prediction.probabilities[n], softmax(score), atol=1e-10)
        assert prediction.classes[n] == score.argmax()
        np.testing.assert_array_equal(prediction.votes[n], np.bincount(each.sum(1).argmax(axis=0), minlength=3))


def test_without_hidden_neurons_the_likelihood_decoder_is_exact():
    network = gemsnn.Network.fully_connected(2, 0, 2)
    parameters = network.init(seed=0, dtype=np.float64)
    inputs = np.ones((1, 3, 2))
    one, many = (predict(network, parameters, inputs, K, decoder="likelihood") for K in (1, 50))
    np.testing.assert_allclose(one.probabilities, many.probabilities, rtol=1e-12)


def test_more_sequences_than_a_batch_are_predicted_each_as_if_alone():
    problem = problem_with(feedback=False)
    inputs = np.random.default_rng(0).integers(0, 2, (150, 9, 4))
    for decoder in ("vote", "likelihood", "per-step"):
        together = predict(problem.network, problem.parameters, inputs, 3, decoder=decoder, seed=1)
        for n in (0, 127, 128, 149):
            alone = predict(problem.network, problem.parameters, inputs[n], 3, decoder=decoder, seed=1)
            assert together.classes[n] == alone.classes[0]
            np.testing.assert_array_equal(together.votes[n], alone.votes[0])
            np.testing.assert_allclose(together.probabilities[n], alone.probabilities[0], rtol=1e-9)


@pytest.mark.parametrize("decoder", ["vote", "likelihood", "per-step"])
def test_no_sequences_give_no_predictions(decoder):
    problem = problem_with(feedback=False)
    prediction = predict(problem.network, problem.parameters, np.zeros((0, 9, 4)), 3, decoder=decoder)
    assert prediction.classes.shape == prediction.confidence.shape == (0,)
    assert prediction.probabilities.shape == prediction.votes.shape == (0, 3)


def test_prediction_changes_none_of_its_arguments():
    problem = problem_with(feedback=True)
    before, inputs = problem.parameters.copy(), INPUTS.copy()
    for decoder in ("vote", "likelihood", "per-step"):
        predict(problem.network, problem.parameters, inputs, 3, decoder=decoder)
    gemsnn.sample(problem.network, problem.parameters, inputs, 3)
    assert problem.parameters == before
    np.testing.assert_array_equal(inputs, INPUTS)
