"""Calibration metrics against scikit-learn and against a loop that follows the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from gemsnn import ConfigError, DataError, ShapeError
from gemsnn.metrics import brier_score, expected_calibration_error, negative_log_likelihood, reliability


def random_predictions(seed, n=400, n_classes=4, sharpness=2.0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, sharpness, (n, n_classes))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array(
        [rng.choice(n_classes, p=row) for row in probabilities**0.5 / (probabilities**0.5).sum(1)[:, None]]
    )
    return labels, probabilities


def ece_by_definition(labels, probabilities, n_bins):
    """Each prediction looks for its bin (m / n_bins, (m + 1) / n_bins]; then the gaps are averaged."""
    bins = [[] for _ in range(n_bins)]
    for label, row in zip(labels, probabilities, strict=True):
        confidence = max(row)
        for m in range(n_bins):
            if (m / n_bins < confidence or m == 0) and confidence <= (m + 1) / n_bins:
                bins[m].append((confidence, float(list(row).index(confidence) == label)))
    total = 0.0
    for members in bins:
        if members:
            confidences, rights = zip(*members, strict=True)
            total += len(members) * abs(sum(rights) / len(members) - sum(confidences) / len(members))
    return total / len(labels)


@pytest.mark.parametrize("n_bins", [1, 7, 10, 15])
@pytest.mark.parametrize("seed", range(3))
def test_ece_agrees_with_the_definition_and_with_the_bins_of_scikit_learn(seed, n_bins):
    labels, probabilities = random_predictions(seed)
    result = reliability(labels, probabilities, n_bins)
    assert result.n_bins == n_bins
    assert result.ece == pytest.approx(ece_by_definition(labels, probabilities, n_bins), abs=1e-12)
    assert expected_calibration_error(labels, probabilities, n_bins) == result.ece

    right, confidence = probabilities.argmax(axis=1) == labels, probabilities.max(axis=1)
    accuracy, mean_confidence = calibration_curve(right, confidence, n_bins=n_bins)  # leaves empty bins out
    filled = result.counts > 0
    np.testing.assert_allclose(result.accuracy[filled], accuracy, rtol=1e-12)
    np.testing.assert_allclose(result.confidence[filled], mean_confidence, rtol=1e-12)
    assert result.ece == pytest.approx(
        np.average(np.abs(accuracy - mean_confidence), weights=result.counts[filled]), abs=1e-12
    )


def test_the_ece_is_worth_comparing():
    assert expected_calibration_error(*random_predictions(0)) > 0.05


def test_bins_are_closed_on_the_right_and_certainty_falls_into_the_last_one():
    confidences = [0.5, 0.6, 0.6000001, 1.0]
    probabilities = [[c, 1 - c] for c in confidences]
    result = reliability([0, 0, 0, 0], probabilities, n_bins=10)
    np.testing.assert_array_equal(result.counts, [0, 0, 0, 0, 1, 1, 1, 0, 0, 1])
    np.testing.assert_allclose(result.edges, np.arange(11) / 10)
    assert np.isnan(result.confidence[0])
    assert np.isnan(result.accuracy[0])


def test_ten_bins_are_the_default():
    labels, probabilities = random_predictions(0)
    assert reliability(labels, probabilities).n_bins == 10
    assert expected_calibration_error(labels, probabilities) == reliability(labels, probabilities, 10).ece


def test_a_hand_made_example():
    # Two predictions of 0.8, one right; one of 0.55, right: (2 |0.5 - 0.8| + |1 - 0.55|) / 3.
    probabilities = [[0.8, 0.2], [0.2, 0.8], [0.55, 0.45]]
    assert expected_calibration_error([0, 0, 0], probabilities) == pytest.approx((2 * 0.3 + 0.45) / 3)
    assert brier_score([0, 0, 0], probabilities) == pytest.approx((0.08 + 1.28 + 0.405) / 3)
    assert negative_log_likelihood([0, 0, 0], probabilities) == pytest.approx(-np.log([0.8, 0.2, 0.55]).mean())


def test_the_class_chosen_may_be_another_than_the_most_probable():
    # A vote of 1 : 1 decided for class 1: its confidence is 0.5, and it is right.
    result = reliability([1], [[0.5, 0.5]], predicted=[1])
    assert result.ece == pytest.approx(0.5)
    np.testing.assert_array_equal(result.accuracy[result.counts > 0], [1.0])
    assert reliability([1], [[0.7, 0.3]], predicted=[1]).confidence[2] == pytest.approx(0.3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_nll_and_brier_agree_with_scikit_learn(seed, n_classes):
    labels, probabilities = random_predictions(seed, n_classes=n_classes)
    classes = np.arange(n_classes)
    assert negative_log_likelihood(labels, probabilities) == pytest.approx(
        log_loss(labels, probabilities, labels=classes), rel=1e-9
    )
    expected = brier_score_loss(labels, probabilities, labels=classes, scale_by_half=False)
    assert brier_score(labels, probabilities) == pytest.approx(expected, rel=1e-9)


def test_a_label_of_probability_zero_has_a_finite_nll():
    value = negative_log_likelihood([1], [[1.0, 0.0]])
    assert np.isfinite(value)
    assert value > 700


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(2, 4)), elements=st.floats(0, 1)),
    st.integers(1, 20),
    st.integers(0, 1000),
)
def test_ece_agrees_with_the_definition_on_whatever_hypothesis_finds(weights, n_bins, seed):
    probabilities = (weights + 1e-9) / (weights + 1e-9).sum(axis=1, keepdims=True)
    labels = np.random.default_rng(seed).integers(0, probabilities.shape[1], len(probabilities))
    # Edges as NumPy rounds them: on an edge, (m + 1) / n_bins may be the neighbouring float.
    if np.abs(probabilities.max(axis=1)[:, None] - np.linspace(0, 1, n_bins + 1)[1:-1]).min(initial=1) > 1e-12:
        assert expected_calibration_error(labels, probabilities, n_bins) == pytest.approx(
            ece_by_definition(labels, probabilities, n_bins), abs=1e-9
        )


@pytest.mark.parametrize("metric", [expected_calibration_error, reliability, negative_log_likelihood, brier_score])
@pytest.mark.parametrize(
    ("labels", "probabilities", "error", "message"),
    [
        ([0, 1], [[1.0, 0.0]], ShapeError, r"labels have shape \(2,\) and probabilities \(1, 2\)"),
        ([0], [1.0], ShapeError, r"probabilities \(1,\)"),
        ([], np.zeros((0, 2)), DataError, "empty"),
        ([2], [[0.5, 0.5]], DataError, "class indices from 0 to 1"),
        ([-1], [[0.5, 0.5]], DataError, "class indices from 0 to 1"),
        ([0.5], [[0.5, 0.5]], DataError, "class indices"),
        ([0], [[0.9, 0.9]], DataError, "sum to 1"),
        ([0], [[1.5, -0.5]], DataError, "non-negative"),
        ([0], [[np.nan, 1.0]], DataError, "probabilities"),
    ],
)
def test_what_cannot_be_measured_is_refused(metric, labels, probabilities, error, message):
    with pytest.raises(error, match=message):
        metric(labels, probabilities)


@pytest.mark.parametrize("n_bins", [0, -1, 2.5])
def test_an_impossible_number_of_bins_is_refused(n_bins):
    with pytest.raises(ConfigError, match="n_bins"):
        reliability([0], [[1.0, 0.0]], n_bins)


def test_impossible_predictions_are_refused():
    with pytest.raises(ShapeError, match=r"predicted has shape \(2,\), but labels have \(1,\)"):
        reliability([0], [[1.0, 0.0]], predicted=[0, 1])
    for predicted in ([2], [-1], [0.5]):
        with pytest.raises(DataError, match="predicted must be class indices from 0 to 1"):
            reliability([0], [[1.0, 0.0]], predicted=predicted)
