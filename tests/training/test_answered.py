"""One loop over examples: the network runs once for all that is said of them."""

import numpy as np
import pytest

import gemsnn
from gemsnn.engine import recordings
from gemsnn.training import DecoderSettings, Model
from gemsnn.training.appraisal import appraise
from gemsnn.training.data import ArrayExamples
from gemsnn.training.evaluation import evaluate

NETWORK = gemsnn.Network.fully_connected(5, 4, 3)
PARAMETERS = NETWORK.init(seed=1, weight_scale=3.0)
X = np.random.default_rng(0).integers(0, 2, (9, 12, 5)).astype(np.uint8)
EXAMPLES = ArrayExamples(X, np.arange(9) % 3)


@pytest.fixture
def runs(monkeypatch):
    """How many compartments ran, in each run of the network."""
    found, simulate = [], recordings.Running.simulate

    def counted(self, inputs, n_compartments, *rest, **options):
        found.append(n_compartments)
        return simulate(self, inputs, n_compartments, *rest, **options)

    monkeypatch.setattr(recordings.Running, "simulate", counted)
    return found


@pytest.mark.parametrize(("decoder", "expected"), [("per-step", [7]), ("likelihood", [7]), ("vote", [2, 7])])
def test_answers_costs_and_the_log_likelihood_share_a_run_where_they_can(runs, decoder, expected):
    model = Model(NETWORK, PARAMETERS, (0, 1, 2), DecoderSettings(kind=decoder, compartments=2), 12, seed=4)
    figures, answers = appraise(model, model.decoder, EXAMPLES, likelihood_samples=7)
    assert sorted(runs) == expected
    alone = model.predict(X)
    np.testing.assert_array_equal(answers.probabilities, alone.probabilities)
    np.testing.assert_array_equal(answers.votes, alone.votes)
    assert figures["hidden_spikes_per_step"] == alone.hidden_spikes_per_step.mean()


def test_ways_to_read_out_share_the_run_of_the_one_with_most_compartments(runs):
    decoders = [DecoderSettings(kind=kind, compartments=K) for kind in ("per-step", "vote") for K in (1, 3)]
    found = evaluate(NETWORK, PARAMETERS, EXAMPLES, np.arange(9), decoders, likelihood_samples=2)
    assert sorted(runs) == [3, 3]
    for how, figures in zip(decoders, [found, *found["extra_decoders"]], strict=True):
        alone = evaluate(NETWORK, PARAMETERS, EXAMPLES, np.arange(9), [how], likelihood_samples=2)
        assert all(figures[name] == alone[name] for name in figures if name not in ("log_likelihood", "extra_decoders"))
