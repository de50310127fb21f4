"""The promise itself: a set holds the true class with probability 1 - alpha at any time at which one may stop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemsnn import ConfigError, DataError, ShapeError
from gemsnn.inference import AnytimePrediction, Guarantee, calibrate
from gemsnn.inference.guarantee import recordings_needed


def recordings(n: int, T: int = 12, C: int = 4, seed: int = 0, grain: float | None = None) -> tuple[Any, NDArray[Any]]:
    """Answers that firm up with time, right and wrong ones, and the true classes; ``grain`` makes ties."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, C, n)
    drift = 0.3 * rng.standard_normal((n, C)) + 0.4 * np.eye(C)[labels]
    score = np.cumsum(drift[:, None] + 0.4 * rng.standard_normal((n, T, C)), axis=1)
    probabilities = np.exp(score) / np.exp(score).sum(axis=-1, keepdims=True)
    if grain is not None:
        probabilities = np.round(probabilities / grain) * grain
    return answers(probabilities), labels


def answers(probabilities: NDArray[Any]) -> AnytimePrediction:
    return AnytimePrediction(probabilities.argmax(axis=-1), probabilities, np.ones(probabilities.shape[:-1]))


def some(found: AnytimePrediction, which: Any) -> AnytimePrediction:
    return AnytimePrediction(found.classes[which], found.probabilities[which], found.hidden_spikes[which])


def missed_at_any_time(guarantee: Guarantee, found: AnytimePrediction, labels: NDArray[Any]) -> NDArray[np.bool_]:
    """What the worst of all stopping rules would miss: one that knows the truth and stops when it is not in the set."""
    sets = guarantee.sets(found)
    kept = np.take_along_axis(sets, labels[:, None, None], axis=-1)[..., 0]
    return ~kept.all(axis=1)


# ---- exact: of m + 1 recordings, each in turn is the new one


@settings(max_examples=60, deadline=None)
@given(
    m=st.integers(1, 60),
    n=st.integers(1, 6),
    alpha=st.sampled_from([0.05, 0.1, 0.2, 1 / 3, 0.5, 0.9]),
    seed=st.integers(0, 2**20),
    grain=st.sampled_from([None, 0.01, 0.5]),
)
def test_whatever_the_recordings_and_the_rule_no_more_than_alpha_of_them_miss(m, n, alpha, seed, grain):
    pool, labels = recordings(m + 1, seed=seed, grain=grain)
    missed = 0
    for new in range(m + 1):
        others = np.delete(np.arange(m + 1), new)
        if m < recordings_needed(alpha, 1):  # too few, whatever they show: none of these is ever accepted
            with pytest.raises(DataError, match="needs at least"):
                calibrate(some(pool, others), labels[others], alpha, n)
            continue
        guarantee = calibrate(some(pool, others), labels[others], alpha, n)
        assert recordings_needed(alpha, len(guarantee.checkpoints)) <= m
        missed += missed_at_any_time(guarantee, some(pool, [new]), labels[[new]])[0]
    assert missed <= alpha * (m + 1) + 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_thresholds_are_never_above_those_that_share_alpha_among_the_checkpoints(seed):
    rng = np.random.default_rng(seed)
    m, n, alpha = int(rng.integers(60, 300)), int(rng.integers(1, 7)), float(rng.choice([0.1, 0.2, 0.35]))
    pool, labels = recordings(m, seed=seed, grain=[None, 0.05][seed % 2])
    guarantee = calibrate(pool, labels, alpha, n)
    scores = -np.log(np.maximum(pool.probabilities[np.arange(m), :, labels], np.finfo(float).tiny))
    n = len(guarantee.checkpoints)
    rank = math.ceil(round((1 - alpha / n) * (m + 1), 9))
    shared = np.sort(scores[:, np.array(guarantee.checkpoints) - 1], axis=0)[rank - 1]
    if n == 1:
        assert guarantee.thresholds == tuple(shared)
    assert (np.array(guarantee.thresholds) <= shared).all()


@pytest.mark.parametrize(("m", "alpha", "misses"), [(19, 0.1, 2), (99, 0.05, 5), (10, 0.1, 1), (39, 0.3, 12)])
def test_with_one_checkpoint_and_no_ties_exactly_the_allowed_share_misses(m, alpha, misses):
    pool, labels = recordings(m + 1, seed=m)
    missed = 0
    for new in range(m + 1):
        others = np.delete(np.arange(m + 1), new)
        guarantee = calibrate(some(pool, others), labels[others], alpha, [12])
        missed += missed_at_any_time(guarantee, some(pool, [new]), labels[[new]])[0]
    assert missed == misses


def test_too_few_recordings_are_told_with_how_many_would_do():
    pool, labels = recordings(98)
    with pytest.raises(DataError, match=r"alpha = 0.01 needs at least 99 recordings to calibrate on, but there are 98"):
        calibrate(pool, labels, 0.01, 1)
    with pytest.raises(DataError, match=r"with 5 checkpoints needs at least 249 .*, but there are 40: .* fewer"):
        calibrate(some(pool, slice(40)), labels[:40], 0.02, (1, 2, 3, 4, 5))
    with pytest.raises(DataError, match=r"alpha = 0.02 needs at least 49 .*, but there are 40"):
        calibrate(some(pool, slice(40)), labels[:40], 0.02, 5)
    with pytest.raises(DataError, match="alpha = 1e-300 needs at least 9999") as told:
        calibrate(pool, labels, 1e-300, 1)
    assert len(str(told.value)) < 300


def test_whether_there_are_enough_recordings_is_decided_by_their_number_and_not_by_what_they_show():
    hard = np.full((25, 3, 2), [0.9, 0.1])
    hard[[0, 1], 0], hard[[2, 3], 1], hard[[4, 5], 2] = [0.1, 0.9], [0.1, 0.9], [0.1, 0.9]
    alike = hard.copy()
    alike[:, :] = alike[:, :1]
    labels = np.zeros(25, dtype=int)
    for shown in (hard * (1 + 1e-6 * np.arange(25))[:, None, None], alike):
        with pytest.raises(DataError, match=r"with 3 checkpoints needs at least 29 .*, but there are 25"):
            calibrate(answers(shown), labels, 0.1, (1, 2, 3))
        assert len(calibrate(answers(shown), labels, 0.1, 3).checkpoints) == 2  # as many as 25 recordings allow


@pytest.mark.parametrize(("alpha", "m", "n"), [(0.5, 10, 10), (0.2, 12, 10), (0.1, 40, 6)])
def test_with_few_recordings_those_that_are_accepted_keep_the_promise(alpha, m, n):
    """Every draw of so many recordings is accepted, so coverage given acceptance is coverage."""
    pool, labels = recordings(600, seed=8)
    rng, missed = np.random.default_rng(1), []
    for _ in range(600):
        chosen = rng.permutation(600)[: m + 1]
        guarantee = calibrate(some(pool, chosen[:m]), labels[chosen[:m]], alpha, n)
        missed.append(missed_at_any_time(guarantee, some(pool, chosen[m:]), labels[chosen[m:]])[0])
    assert np.mean(missed) <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / len(missed))


# ---- in the long run


def test_over_many_splits_the_promise_is_kept_when_stopping_at_one_class_and_at_the_worst_moment():
    pool, labels = recordings(1200, seed=5)
    rng = np.random.default_rng(0)
    stopped, worst = [], []
    for _ in range(300):
        order = rng.permutation(len(labels))
        held, new = order[:200], order[200:]
        guarantee = calibrate(some(pool, held), labels[held], 0.2, 4)
        found = guarantee.stop(some(pool, new))
        stopped.append(found.members[np.arange(len(new)), labels[new]].mean())
        worst.append(1 - missed_at_any_time(guarantee, some(pool, new), labels[new]).mean())
        assert found.steps.mean() < 12
    # The mean over 300 splits is known to about 0.002.
    assert np.mean(worst) > 0.8 - 0.005
    assert np.mean(stopped) >= np.mean(worst)
    assert np.mean(worst) < 0.84, "far too careful: something is lost"


# ---- sets


def test_sets_only_shrink_and_only_at_checkpoints():
    pool, labels = recordings(300)
    guarantee = calibrate(pool, labels, 0.2, [3, 7, 11])
    sets = guarantee.sets(pool)
    assert sets[:, :2].all()
    left = sets[:, :-1] & ~sets[:, 1:]
    assert not (sets[:, 1:] & ~sets[:, :-1]).any()
    assert set(np.flatnonzero(left.any(axis=(0, 2))) + 2) == {3, 7, 11}


def test_a_class_is_in_the_set_if_its_score_is_no_greater_than_any_threshold_so_far():
    guarantee = Guarantee(0.1, (2, 4), (-np.log(0.2), -np.log(0.3)), 50)
    one = np.array([[[0.1, 0.9], [0.25, 0.75], [0.9, 0.1], [0.25, 0.75], [0.5, 0.5]]])
    assert guarantee.sets(answers(one))[0].tolist() == [
        [True, True], [True, True], [True, True], [False, True], [False, True],
    ]  # fmt: skip
    found = guarantee.stop(answers(one))
    assert (found.steps.tolist(), found.members.tolist(), found.classes.tolist()) == ([4], [[False, True]], [1])
    assert (found.sizes.tolist(), found.hidden_spikes.tolist()) == ([1], [4.0])
    assert guarantee.stop(answers(one), size=2).steps.tolist() == [1]


def test_a_set_that_is_never_small_enough_is_that_of_the_end():
    guarantee = Guarantee(0.1, (1, 2), (50.0, 50.0), 50)
    found = guarantee.stop(answers(np.full((3, 5, 4), 0.25)))
    assert found.steps.tolist() == [5, 5, 5]
    assert found.members.all()


def test_a_recording_that_no_class_fits_has_an_empty_set():
    guarantee = Guarantee(0.1, (2,), (-np.log(0.6),), 50)
    assert guarantee.stop(answers(np.full((1, 3, 2), 0.5))).sizes.tolist() == [0]


def test_a_recording_that_ends_early_answers_the_checkpoints_to_come_at_its_end():
    guarantee = Guarantee(0.1, (2, 6, 8), (-np.log(0.1), -np.log(0.4), -np.log(0.2)), 50)
    short = answers(np.array([[0.5, 0.5], [0.3, 0.7], [0.3, 0.7]]))
    assert guarantee.sets(short).tolist() == [[True, True], [True, True], [False, True]]
    long = answers(np.repeat([[0.3, 0.7]], 9, axis=0))
    assert guarantee.sets(long)[[4, 5, 8]].tolist() == [[True, True], [False, True], [False, True]]
    both = guarantee.stop([short, long])
    assert both.steps.tolist() == [3, 6]
    assert both.members.tolist() == [[False, True]] * 2


def test_calibrating_on_recordings_of_different_lengths_takes_the_last_answer_of_those_that_ended():
    pool, labels = recordings(60)
    cut = [some(pool, n) for n in range(60)]
    cut = [AnytimePrediction(*(values[: 5 + n % 8] for values in one[:3])) for n, one in enumerate(cut)]
    full = [
        np.concatenate([one.probabilities, np.repeat(one.probabilities[-1:], 12 - len(one.classes), 0)]) for one in cut
    ]
    assert calibrate(cut, labels, 0.2, 4) == calibrate(answers(np.stack(full)), labels, 0.2, 4)


def test_following_a_stream_gives_the_sets_of_the_whole():
    pool, labels = recordings(120, T=11)
    guarantee = calibrate(pool, labels, 0.2, [2, 5, 9, 15])
    sets = guarantee.sets(pool)
    members = np.ones((120, 4), dtype=bool)
    for step in range(1, 12):
        members &= guarantee.allows(step, pool.probabilities[:, step - 1], ended=step == 11)
        np.testing.assert_array_equal(members, sets[:, step - 1])


def test_a_probability_of_zero_is_a_score_like_any_other():
    certain = np.tile(np.eye(2)[0], (30, 3, 1))
    guarantee = calibrate(answers(certain), np.ones(30, dtype=int), 0.1, 1)
    assert np.isfinite(guarantee.thresholds).all()
    assert guarantee.sets(answers(certain)).all()


# ---- what cannot be


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"alpha": 0}, ConfigError, "alpha must lie between 0 and 1, got 0"),
        ({"alpha": 1.0}, ConfigError, "alpha must lie between 0 and 1, got 1.0"),
        ({"alpha": float("nan")}, ConfigError, "alpha must be a finite number"),
        ({"checkpoints": 0}, ConfigError, "checkpoints must be a whole number of at least 1"),
        ({"checkpoints": []}, ConfigError, "a number of them, or a list of time steps"),
        ({"checkpoints": "5"}, ConfigError, "a number of them, or a list of time steps"),
        ({"checkpoints": [4, 4]}, ConfigError, "checkpoints must increase, got 4, 4"),
        ({"checkpoints": [0, 4]}, ConfigError, "each of the checkpoints must be a whole number of at least 1"),
        ({"labels": [0, 1]}, ShapeError, r"labels have shape \(2,\), but there are 50 recordings"),
        ({"labels": [4] * 50}, DataError, "class indices from 0 to 3"),
        ({"labels": ["a"] * 50}, DataError, "class indices from 0 to 3"),
        ({"answers": []}, ShapeError, "there are 0 recordings"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(change, error, message):
    pool, labels = recordings(50)
    usual = {"answers": pool, "labels": labels, "alpha": 0.2, "checkpoints": 2}
    with pytest.raises(error, match=message):
        calibrate(**{**usual, **change})


def test_a_guarantee_that_makes_no_sense_is_refused():
    with pytest.raises(ConfigError, match="2 checkpoints need as many thresholds, not 1"):
        Guarantee(0.1, (2, 4), (0.3,), 50)
    with pytest.raises(ConfigError, match="thresholds must be a finite number"):
        Guarantee(0.1, (2,), (float("inf"),), 50)
    with pytest.raises(ConfigError, match="size must be a whole number of at least 1"):
        Guarantee(0.1, (2,), (0.3,), 50).stop(recordings(3)[0], size=0)
    with pytest.raises(DataError, match="no answers"):
        Guarantee(0.1, (2,), (0.3,), 50).stop([])


def test_more_checkpoints_than_steps_are_as_many_as_there_are_steps():
    pool, labels = recordings(200, T=3)
    assert calibrate(pool, labels, 0.2, 10).checkpoints == (1, 2, 3)
