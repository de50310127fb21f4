"""Several labels at once, counted by hand and by scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from gemsnn import DataError, ShapeError
from gemsnn.metrics import label_scores


def test_by_hand():
    scores = label_scores([[1, 0], [1, 1], [0, 0], [0, 1]], [[0.9, 0.2], [0.4, 0.8], [0.3, 0.1], [0.2, 0.6]])
    np.testing.assert_allclose(scores.accuracy, [0.75, 1.0])
    assert scores.exact_match == 0.75
    np.testing.assert_allclose(scores.brier, [(0.01 + 0.36 + 0.09 + 0.04) / 4, (0.04 + 0.04 + 0.01 + 0.16) / 4])


def test_against_scikit_learn():
    rng = np.random.default_rng(0)
    labels, p = rng.integers(0, 2, (50, 3)), rng.random((50, 3))
    scores = label_scores(labels, p)
    for c in range(3):
        assert scores.brier[c] == pytest.approx(brier_score_loss(labels[:, c], p[:, c]))
        assert scores.log_loss[c] == pytest.approx(log_loss(labels[:, c], p[:, c]))


def test_what_is_called_true_may_be_said_and_certainty_that_is_wrong_stays_finite():
    scores = label_scores([[1]], [[0.5]], [[True]])
    assert scores.accuracy == 1
    assert np.isfinite(label_scores([[1]], [[0.0]]).log_loss).all()


@pytest.mark.parametrize(
    ("labels", "p", "error"),
    [([[1, 0]], [[0.5]], ShapeError), ([[2]], [[0.5]], DataError), ([[1]], [[1.5]], DataError),
     (np.zeros((0, 2)), np.zeros((0, 2)), DataError)],
)  # fmt: skip
def test_impossible_arguments_are_refused(labels, p, error):
    with pytest.raises(error):
        label_scores(labels, p)
