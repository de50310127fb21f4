"""How usual a recording is: a p-value that is uniform on recordings of the same kind, and small on others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

import gemsnn
from gemsnn import ShapeError
from gemsnn.inference import Usual, fit_usual
from gemsnn.inference.usual import MOST_NEURONS, p_values

H, C, K = 30, 3, 2
CHECKPOINTS = (5, 10, 20)


def recordings(n: int, seed: int, rates: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hidden spikes until each checkpoint, probabilities there, and labels, of classes with rates of their own."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, C, n)
    if rates is None:
        rates = np.random.default_rng(99).uniform(0.05, 0.5, (C, H))
    each = rates[labels] * rng.uniform(0.8, 1.2, (n, 1))
    counts = rng.binomial(K * np.diff((0, *CHECKPOINTS))[:, None], each[:, None]).cumsum(axis=1)
    probabilities = rng.dirichlet(np.ones(C), (n, len(CHECKPOINTS)))
    return counts, probabilities, labels


def fitted(n_train: int = 300, n_held: int = 200, seed: int = 0) -> Usual:
    counts, _, labels = recordings(n_train, seed)
    held, probabilities, _ = recordings(n_held, seed + 1)
    lengths = np.full(n_train, 20), np.full(n_held, 20)
    return fit_usual(CHECKPOINTS, counts, lengths[0], labels, held, lengths[1], probabilities, K)


@pytest.mark.parametrize("checkpoint", range(3))
def test_fresh_recordings_of_the_same_kind_have_uniform_p_values(checkpoint: int):
    p: list[float] = []
    for seed in range(0, 600, 2):  # a p-value promises nothing for one set of held-out recordings, but on average
        counts, probabilities, _ = recordings(1, 10_000 + seed)
        p += (
            fitted(60, 49, 1000 + seed)
            .p_value(checkpoint, counts[:, checkpoint], probabilities[:, checkpoint])
            .tolist()
        )
    spread = np.array(p) - np.random.default_rng(0).random(len(p)) / 50  # they are 1/50, 2/50, ..., 1
    assert kstest(spread, "uniform").pvalue > 0.01


def test_where_busy_recordings_end_early_those_that_reach_a_checkpoint_have_uniform_p_values_there():
    def lengths(counts: np.ndarray) -> np.ndarray:
        return np.where(counts[:, 0].sum(axis=1) > K * 5 * H * 0.275, 12, 20)

    spread, rng = [], np.random.default_rng(0)
    for seed in range(0, 800, 2):
        counts, probabilities, _ = recordings(1, 10_000 + seed)
        if lengths(counts)[0] < 20:
            continue
        training, _, labels = recordings(60, 1000 + seed)
        held, of_held, _ = recordings(49, 1001 + seed)
        usual = fit_usual(CHECKPOINTS, training, lengths(training), labels, held, lengths(held), of_held, K)
        n = int((usual.distances[2] >= 0).sum())
        assert 0 < n < 49
        spread.append(usual.p_value(2, counts[:, 2], probabilities[:, 2])[0] - rng.random() / (n + 1))
    assert len(spread) > 100
    assert kstest(spread, "uniform").pvalue > 0.01


def test_recordings_of_another_kind_have_small_ones():
    usual, (_, probabilities, _) = fitted(), recordings(100, 7)
    others = recordings(100, 7, np.random.default_rng(5).uniform(0.05, 0.5, (C, H)))[0]
    for checkpoint, share in ((1, 0.7), (2, 0.8)):
        p = usual.p_value(checkpoint, others[:, checkpoint], probabilities[:, checkpoint])
        assert (p < 0.02).mean() > share
    silence = usual.p_value(2, np.zeros(H, dtype=np.int64), probabilities[0, 2])
    assert silence <= 2 / 201


def test_no_p_value_is_below_one_in_n_plus_one():
    old = np.random.default_rng(0).normal(size=(19, 2))
    p = p_values(np.array([[9.0, 9.0], [-9.0, -9.0]]), old)
    np.testing.assert_allclose(p, [1 / 20, 1.0])


def test_every_one_of_the_n_plus_one_is_treated_alike():
    values = np.random.default_rng(0).normal(size=(20, 2))
    p = [float(p_values(values[i], np.delete(values, i, axis=0))) for i in range(20)]
    assert len(set(p)) >= 18  # each in turn is the new one: the p-values are 1/20, 2/20, ..., but for ties
    assert all(np.mean(np.array(p) <= level) <= level + 1e-9 for level in np.arange(1, 21) / 20)


def test_shorter_recordings_count_until_they_end():
    counts, _, labels = recordings(100, 0)
    held, probabilities, _ = recordings(60, 1)
    lengths = np.where(np.arange(60) < 20, 12, 20)
    usual = fit_usual(CHECKPOINTS, counts, np.full(100, 20), labels, held, lengths, probabilities, K)
    assert (usual.distances >= 0).sum(axis=1).tolist() == [60, 60, 40]
    assert [usual.checkpoint(step) for step in (4, 5, 9, 10, 400)] == [None, 0, 0, 1, 2]


def test_of_many_neurons_some_are_kept():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 5, (30, 1, 1000))
    lengths, labels, probabilities = np.full(30, 5), rng.integers(0, 2, 30), np.full((30, 1, 2), 0.5)
    usual = fit_usual((5,), counts, lengths, labels, counts, lengths, probabilities, 1)
    assert usual.whitening.shape == (MOST_NEURONS, MOST_NEURONS)
    assert (usual.neurons[0], usual.neurons[-1]) == (0, 999)
    with pytest.raises(ShapeError, match="2 checkpoints"):
        fit_usual((5, 6), counts, lengths, labels, counts, lengths, probabilities, 1)


def test_bulk_answers_say_it_at_the_latest_checkpoint():
    network = gemsnn.Network.fully_connected(n_inputs=6, n_hidden=8, n_visible=3)
    parameters, rng = network.init(seed=0), np.random.default_rng(0)
    inputs = (rng.random((40, 20, 6)) < 0.4).astype(np.uint8)
    raw = gemsnn.predict_anytime(network, parameters, inputs, K)
    assert np.isnan(raw.usual).all()
    hidden = rng.integers(0, 9, (30, 3, 8)).cumsum(axis=1)
    held_out, lengths = raw.probabilities[:30, np.array(CHECKPOINTS) - 1], np.full(30, 20)
    usual = fit_usual(CHECKPOINTS, hidden, lengths, rng.integers(0, 3, 30), hidden, lengths, held_out, K)
    anytime = gemsnn.predict_anytime(network, parameters, inputs, K, usual=usual)
    assert np.isnan(anytime.usual[:, :4]).all()
    assert not np.isnan(anytime.usual[:, 4:]).any()
    np.testing.assert_array_equal(anytime.usual[:, 9], anytime.usual[:, 18])
    for length in (3, 5, 17, 20):
        whole = gemsnn.predict(network, parameters, inputs[:, :length], K, usual=usual, keys=range(40))
        there = gemsnn.predict_anytime(network, parameters, inputs, K, usual=usual, keys=range(40)).usual[:, length - 1]
        np.testing.assert_array_equal(whole.usual, there)
