"""What is told of a run that does not learn, and that nothing is told of one that does."""

import warnings

import numpy as np
import pytest

import gemsnn
from gemsnn.training import LearningWarning, health

FIFTY = np.full(50, 60)


def figures(accuracy, examples=100):
    return {"accuracy": accuracy, "examples": examples}


def test_recordings_of_few_steps_are_told_with_a_better_width():
    assert "12 steps of 25 ms" in (told := health.recordings_with_few_steps(np.array([11, 12, 13]), 25_000))
    assert "about 5 ms" in told
    assert health.recordings_with_few_steps(np.array([5, 60, 61]), 25_000) is None
    assert health.recordings_with_few_steps(np.array([12]), None) is None  # arrays: nobody knows of bins


def test_chance_is_told_where_there_are_examples_enough_to_tell():
    assert "12% of 100 held-out examples" in health.no_better_than_chance(figures(0.12), commonest=0.1)
    assert health.no_better_than_chance(figures(0.3), commonest=0.1) is None
    assert health.no_better_than_chance(figures(0.1, examples=20), commonest=0.1) is None
    assert health.no_better_than_chance(figures(0.9), commonest=0.9)  # one class is nearly all there is


def test_a_run_that_rises_to_its_end_is_told_to_learn_for_longer():
    rising = [(epoch, 0.3 + 0.03 * epoch) for epoch in range(1, 17)]
    level = [(epoch, min(0.5, 0.1 * epoch)) for epoch in range(1, 17)]
    assert "32 epochs" in health.still_improving(rising, 100, 16)
    assert health.still_improving(level, 100, 16) is None
    assert health.still_improving(rising, 20, 16) is None  # nine in a hundred is chance among twenty
    assert health.still_improving(rising[-3:], 100, 16) is None  # resumed: half of it is not known


def test_neurons_that_say_nothing_are_told():
    quiet, loud, usual = np.zeros(6), np.ones(6), np.full(4, 0.05)
    assert "nearly silent, with 0.0005 spikes per step each" in health.silent_neurons(np.full(10, 5e-4))
    assert "6 of 10" in health.saturated_neurons(np.concatenate([loud, usual]))
    for tell in (health.silent_neurons, health.saturated_neurons):
        assert tell(np.concatenate([quiet[:2], loud[:2], usual])) is None


def test_each_thing_is_told_once_and_neurons_by_what_they_did_since():
    looking = health.Health(4, FIFTY, None, np.arange(100) % 2)
    record = {"epoch": 8.0, "validation": figures(0.5)}
    looking.saw(np.zeros((3000, 1, 4), dtype=bool))
    first = list(looking.after(record, 16, False))
    assert ["silent" in text for text in first] == [True, False]
    assert "chance" in first[1]
    looking.saw(np.ones((3000, 1, 4), dtype=bool))
    assert ["nearly every step" in text for text in looking.after(record, 16, False)] == [True]
    assert not list(looking.after(record, 16, True))


def test_few_examples_are_told_nothing():
    looking = health.Health(4, FIFTY[:20], 25_000.0, np.arange(20) % 2)
    looking.saw(np.zeros((3000, 1, 4), dtype=bool))
    assert not list(looking.after({"epoch": 8.0, "validation": figures(0.5, 20)}, 16, True))


def examples(n, T=40):
    rng, y = np.random.default_rng(0), np.arange(n) % 2
    rate = np.where(np.arange(8) < 4, 0.3, 0.05) if n else 0
    rates = np.where(y[:, None] == 0, rate, rate[::-1])
    return rng.random((n, T, 8)) < rates[:, None, :], y


def classifier(**schedule):
    return gemsnn.SpikingClassifier(8, schedule={"validation_fraction": 0.4, "calibrate": False, **schedule})


def test_the_classifier_warns_of_labels_that_mean_nothing_and_not_of_others():
    X, y = examples(150)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LearningWarning)
        classifier(epochs=6).fit(X, y)
    shuffled = np.random.default_rng(1).permutation(y)
    with pytest.warns(LearningWarning, match="hardly better than chance"):
        classifier(epochs=6).fit(X, shuffled)


def test_axes_that_may_be_swapped_are_told():
    X, y = examples(60)
    with pytest.warns(LearningWarning, match=r"8 steps of 40 inputs: .* X\.transpose\(0, 2, 1\)"):
        classifier(epochs=1, validation_fraction=0.0).fit(X.transpose(0, 2, 1), y)
    ragged = [one.T[:, : 30 + n % 5] for n, one in enumerate(X)]
    with pytest.raises(gemsnn.ShapeError, match=r"agree in their first axis .* \(time, neurons\)"):
        classifier(epochs=1).fit(ragged, y)
