"""The study of rewards: what it measures, and the verdicts, whose rules are fixed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gemsnn.checks import check_objective
from gemsnn.model.spike_list import SpikeList

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
import reward
import reward_cartpole
import reward_claims
import reward_first_spike
import reward_patterns


def answers(part, task, **of_methods):
    """A made-up figure of each method, one for each seed."""
    key = {"cartpole": "return"}.get(part)
    return [
        {
            "part": part, "task": task, "method": method.replace("_", " "), "seed": seed,
            **({key: value} if key else {"over_silence": {"5": value}, "spikes": 1.0}),
        }
        for method, values in of_methods.items()
        for seed, value in enumerate(values)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("few", "many", "verdict"),
    [
        ((100, 110, 120), (200, 215, 222), "supported"),
        ((100, 110, 120), (100, 111, 119), "not supported"),
        ((100, 110, 400), (200, 100, 300), "inconclusive"),
    ],
)
def test_a_claim_is_judged_by_the_interval_of_the_paired_difference(few, many, verdict):
    found = answers("cartpole", "CartPole", **{"running mean, K = 1": few, "running mean, K = 20": many})
    claim = reward_claims.compartments_help_to_act(found)
    assert claim.verdict == verdict
    assert claim.evidence[0].estimate.mean == pytest.approx(np.mean(np.subtract(many, few)))
    assert claim.evidence[1].verdict == "inconclusive"  # K = 5 was not measured


def test_a_price_is_judged_by_spikes_and_accuracy_of_the_settings_that_validation_chooses():
    def point(accuracy, spikes, test_spikes):
        test = {"accuracy": accuracy, "spikes": test_spikes}
        return {"validation": {"accuracy": accuracy, "spikes": spikes}, "test": test}

    def found(seed, method, points):
        return {"part": "first-spike", "method": method, "seed": seed, "task": "level 0", "points": points}

    cheap = [point(0.9, 10, 11), point(0.895, 5, 6), point(0.5, 1, 1)]
    dear = [point(0.9, 20, 24), point(0.7, 5, 6)]
    measured = [
        found(seed, method, points)
        for seed in (0, 1, 2)
        for method, points in (("price", cheap), ("target rate", dear))
    ]
    claim = reward_claims.a_price_saves_spikes(measured)
    assert claim.verdict == "supported"
    assert claim.evidence[0].estimate.mean == pytest.approx(2, abs=0.01)  # 24 spikes against 6
    swapped = [{**one, "method": {"price": "target rate"}.get(one["method"], "price")} for one in measured]
    assert reward_claims.a_price_saves_spikes(swapped).verdict == "not supported"


def test_rates_are_chosen_by_the_score_of_the_tuning_seed_alone():
    one = {"part": "patterns", "task": "jittered", "method": "likelihood"}
    found = [
        {**one, "seed": 100, "rate": 0.3, "score": -2},
        {**one, "seed": 100, "rate": 1.0, "score": -1},
        {**one, "seed": 11, "rate": 3.0, "score": 0},
    ]
    rates = reward.chosen_rates("patterns", found)
    assert rates == {(task, "likelihood"): 1.0 for task in reward_patterns.TASKS}
    assert {trial.seed for trial in reward.study_trials("patterns", rates)} == set(reward.SEEDS)


def test_cartpole_is_measured_the_same_twice(monkeypatch):
    pytest.importorskip("gymnasium")
    monkeypatch.setattr(reward_cartpole, "TESTS", 2)
    one, again = (reward_cartpole.measured("critic, K = 5", 0.1, 3, steps=400) for _ in range(2))
    assert {**one, "seconds": 0} == {**again, "seconds": 0}
    assert 8 <= one["return"] <= 500
    assert one["episodes"] > 5


def test_jittered_targets_keep_about_their_number_and_noise_replaces_spikes():
    rng = np.random.default_rng(0)
    for task in ("jittered", "noisy"):
        patterns = reward_patterns.Patterns(reward_patterns.TASKS[task], 1)
        desired = [patterns.desired(rng) for _ in range(20)]
        assert np.mean(desired) == pytest.approx(patterns.targets.mean(), rel=0.15)
        assert (desired[0] != desired[1]).any()


def test_the_price_is_an_objective_that_keeps_the_contract():
    check_objective(reward_first_spike.FirstToSpike())


def test_four_pixels_become_one():
    whole = np.zeros((2, 2, 34, 34), dtype=bool)
    whole[1, 0, 3, 5] = whole[1, 0, 2, 4] = whole[0, 1, 33, 33] = True
    spikes = SpikeList.from_pairs(*np.nonzero(whole.reshape(2, -1)), 2)
    pooled = reward_first_spike.pooled(spikes).to_array(2 * 17 * 17).reshape(2, 2, 17, 17)
    assert np.argwhere(pooled).tolist() == [[0, 1, 16, 16], [1, 0, 1, 2]]
