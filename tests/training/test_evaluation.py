"""What is measured follows from what the examples ask for, and put together by hand it is the same."""

import numpy as np
import pytest

import gemsnn
from gemsnn import metrics
from gemsnn.inference import class_patterns, predict_labels
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import DecoderSettings
from gemsnn.training.evaluation import evaluate

LENGTHS = np.array([6, 9, 6, 4, 9, 6])
NETWORK = gemsnn.Network.fully_connected(5, 4, 3)
PARAMETERS = NETWORK.init(seed=1, weight_scale=3.0)
DECODERS = [DecoderSettings(kind="per-step", compartments=3), DecoderSettings(kind="vote", compartments=2)]


class Ragged:
    """Examples of different lengths."""

    def __init__(self, labels=None, targets=None):
        rng = np.random.default_rng(0)
        self.inputs = [rng.integers(0, 2, (T, 5)).astype(np.uint8) for T in LENGTHS]
        self.labels, self.lengths, self._targets = labels, LENGTHS, targets

    def __len__(self):
        return len(self.inputs)

    def load(self, index):
        target = None if self._targets is None else SpikeList.from_array(self._targets[index], "target")
        return SpikeList.from_array(self.inputs[index], "inputs"), target


def measured(examples, **options):
    indices = np.array([5, 1, 0, 3])
    found = evaluate(NETWORK, PARAMETERS, examples, indices, DECODERS, likelihood_samples=4, seed=2, **options)
    return found, indices, [examples.inputs[i] for i in indices]


def test_classes_of_examples_of_different_lengths():
    labels = np.array([0, 1, 2, 0, 1, 2])
    found, indices, inputs = measured(Ragged(labels))
    wanted = [class_patterns(3, len(one))[labels[i]] for i, one in zip(indices, inputs, strict=True)]
    log_likelihood = gemsnn.log_likelihood(NETWORK, PARAMETERS, inputs, wanted, 4, seed=2, example=None)
    assert found["log_likelihood"] == pytest.approx(log_likelihood.mean(), rel=1e-6)
    for figures, decoder, K in ((found, "per-step", 3), (found["extra_decoders"][0], "vote", 2)):
        expected = gemsnn.predict(NETWORK, PARAMETERS, inputs, K, decoder=decoder, seed=2)
        assert figures["accuracy"] == metrics.accuracy(labels[indices], expected.classes)
        assert figures["brier"] == pytest.approx(metrics.brier_score(labels[indices], expected.probabilities))
        assert figures["hidden_spikes_per_step"] == pytest.approx(expected.hidden_spikes_per_step.mean())


@pytest.mark.parametrize("decoders", [DECODERS, [DecoderSettings(kind="likelihood", compartments=4)]], ids=len)
def test_the_log_likelihood_may_be_the_mean_of_the_logs(decoders):
    labels, indices = np.array([0, 1, 2, 0, 1, 2]), np.arange(6)
    examples = Ragged(labels)
    options = {"likelihood_samples": 4, "seed": 2, "likelihood_mean": "log-probability"}
    found = evaluate(NETWORK, PARAMETERS, examples, indices, decoders, **options)
    wanted = [class_patterns(3, len(one))[label] for one, label in zip(examples.inputs, labels, strict=True)]
    arguments = (NETWORK, PARAMETERS, examples.inputs, wanted, 4)
    expected = gemsnn.log_likelihood(*arguments, seed=2, example=None, mean="log-probability")
    assert found["log_likelihood"] == pytest.approx(expected.mean(), rel=1e-6)


def test_several_labels_at_once():
    labels = np.random.default_rng(1).integers(0, 2, (6, 3)).astype(np.uint8)
    found, indices, inputs = measured(Ragged(labels), n_bins=4)
    wanted = [np.repeat(labels[i][None], len(one), axis=0) for i, one in zip(indices, inputs, strict=True)]
    log_likelihood = gemsnn.log_likelihood(NETWORK, PARAMETERS, inputs, wanted, 4, seed=2, example=None)
    assert found["log_likelihood"] == pytest.approx(log_likelihood.mean())
    for figures, decoder, K in ((found, "per-step", 3), (found["extra_decoders"][0], "vote", 2)):
        answers = predict_labels(NETWORK, PARAMETERS, inputs, K, decoder=decoder, seed=2)
        scores = metrics.label_scores(labels[indices], answers.probabilities, answers.labels)
        assert figures["accuracy"] == pytest.approx(scores.accuracy.mean())
        assert figures["exact_match"] == scores.exact_match
        assert figures["per_label"]["brier"] == pytest.approx(scores.brier.tolist())
        assert figures["per_label"]["nll"] == pytest.approx(scores.log_loss.tolist())
        assert sum(figures["reliability"]["counts"]) == 4 * 3


def test_spike_patterns():
    targets = [np.random.default_rng(T).integers(0, 2, (T, 3)) for T in LENGTHS]
    found, indices, inputs = measured(Ragged(None, targets), tau=2.0)
    wanted = [targets[i] for i in indices]
    log_likelihood = gemsnn.log_likelihood(NETWORK, PARAMETERS, inputs, wanted, 4, seed=2, example=None)
    spikes = gemsnn.sample(NETWORK, PARAMETERS, inputs, 3, seed=2, example=None)
    each = [
        np.mean([metrics.van_rossum_distance(one[:, k, 4:], target, 2.0) for k in range(3)])
        for one, target in zip(spikes, wanted, strict=True)
    ]
    assert found["log_likelihood"] == pytest.approx(log_likelihood.mean())
    assert found["van_rossum"] == pytest.approx(np.mean(each))
    assert (found["tau"], found["compartments"], found["examples"]) == (2.0, 3, 4)
    assert "accuracy" not in found


def test_a_network_that_gives_the_targets_has_distance_zero():
    sure = NETWORK.init(seed=1, weight_scale=0.0, visible_bias=60.0)
    examples = Ragged(None, [np.ones((T, 3), np.uint8) for T in LENGTHS])
    found = evaluate(NETWORK, sure, examples, np.arange(6), DECODERS)
    assert found["van_rossum"] == 0
    assert found["log_likelihood"] == pytest.approx(0, abs=1e-9)


def test_more_realisations_than_a_decoder_may_have_compartments():
    examples = Ragged(np.array([0, 1, 2, 0, 1, 2]))
    assert np.isfinite(evaluate(NETWORK, PARAMETERS, examples, np.arange(2), DECODERS, likelihood_samples=1500)["nll"])
