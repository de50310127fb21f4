"""The classifier goes on from what it knows, as scikit-learn's do with `warm_start`."""

import numpy as np
import pytest
import toy
from sklearn.base import clone

from gemsnn import ConfigError, DataError, SpikingClassifier
from gemsnn.training import train

X, Y = toy.examples(60, seed=5)
SMALL = {"n_hidden": 5, "rule": {"learning_rate": 1e-2}, "schedule": {"epochs": 3, "validation_fraction": 0}}


def test_fitting_again_begins_anew_unless_a_warm_start_is_asked_for():
    cold, warm = SpikingClassifier(**SMALL).fit(X, Y), SpikingClassifier(**SMALL, warm_start=True).fit(X, Y)
    np.testing.assert_array_equal(cold.parameters_.synaptic, warm.parameters_.synaptic)
    before = warm.parameters_.synaptic.copy()
    cold.fit(X, Y)
    np.testing.assert_array_equal(cold.parameters_.synaptic, before)
    warm.fit(X[:6], Y[:6])
    assert not np.array_equal(warm.parameters_.synaptic, before)
    assert np.abs(warm.parameters_.synaptic - before).max() < 0.5 * np.abs(before).max()
    assert warm.n_examples_seen_ == 3 * 60 + 3 * 6
    assert (warm.model_.means.count, cold.model_.means.count) == (198, 180)


def test_new_classes_take_their_place_among_the_old_ones():
    warm = SpikingClassifier(**SMALL, warm_start=True).fit(X[Y != 5], Y[Y != 5])
    assert warm.classes_.tolist() == [2, 7]
    before = warm.parameters_
    warm.set_params(rule__learning_rate=0.0, schedule__average_last=0.0).fit(X[Y == 5], Y[Y == 5])
    assert warm.classes_.tolist() == [2, 5, 7]
    np.testing.assert_array_equal(warm.parameters_.bias[[5, 7]], before.bias[[5, 6]])
    np.testing.assert_array_equal(warm.parameters_.synaptic[7, :17], before.synaptic[6, :17])
    assert warm.predict_proba(X).shape == (60, 3)
    assert warm.model_.calibration is None


def test_a_run_can_be_loaded_and_taught_more(tmp_path, data):
    train(toy.config(epochs=2), data, tmp_path)
    loaded = SpikingClassifier.load(tmp_path).set_params(warm_start=True, schedule__epochs=1)
    seen = loaded.n_examples_seen_
    assert seen > 0
    loaded.fit(X, Y)
    assert loaded.n_examples_seen_ == seen + 48
    assert loaded.network_.n_hidden == 6


def test_a_clone_knows_nothing():
    warm = SpikingClassifier(**SMALL, warm_start=True).fit(X, Y)
    assert clone(warm).warm_start
    again, anew = clone(warm).fit(X, Y), SpikingClassifier(**SMALL).fit(X, Y)
    np.testing.assert_array_equal(again.parameters_.bias, anew.parameters_.bias)


def test_what_does_not_fit_what_was_fitted_is_refused():
    warm = SpikingClassifier(**SMALL, warm_start=True).fit(X, Y)
    with pytest.raises(DataError, match="inputs 12 in the model, 5 in the data"):
        warm.fit(X[:, :, :5], Y)
    with pytest.raises(DataError, match=r"the classes so far are \[2, 5, 7\]"):
        warm.fit(X, np.where(Y == 2, "two", "more"))
    with pytest.raises(ConfigError, match="n_hidden = 8: the model to start from has 5"):
        warm.set_params(n_hidden=8).fit(X, Y)
