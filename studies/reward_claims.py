"""The questions of the study of rewards. How they are answered was fixed before any run.

A difference is paired over seeds, with a 95 % interval (Student's t), and counts so that above 0 is what the claim
says. A claim is supported if the interval lies above 0, not supported if it lies below the margin, which is the least
that would be worth the name, and inconclusive otherwise. The first piece of evidence gives the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gemsnn.common.words import with_interval
from gemsnn.experiments import Claim, Evidence
from gemsnn.experiments.claims import Verdict
from gemsnn.experiments.statistics import Estimate, estimate

Answer = dict[str, Any]
Question = Callable[[Sequence[Answer]], Claim]
STEPS, DISTANCE, ACCURACY = 25.0, 0.02, 0.02
"""Margins: steps of CartPole's 500; a distance over that of silence; a share of the answers."""
SLACK = 0.02  # by which an answer on validation recordings may be rarer right than the best

NOTHING = Estimate(0.0, None, None, 0)


def claims(results: Sequence[Answer]) -> list[Claim]:
    """What can be said of the parts that were measured."""
    found = []
    for part, questions in QUESTIONS.items():
        of_part = [one for one in results if one["part"] == part]
        if of_part:
            found += [question(of_part) for question in questions]
    return found


def rule(margin: float, unit: str) -> str:
    return (
        f"supported if the interval lies above 0; not supported if it lies below {margin:g} {unit}; else inconclusive"
    )


def verdict(difference: Estimate, margin: float) -> Verdict:
    if difference.above > 0:
        return "supported"
    return "not supported" if difference.below < margin else "inconclusive"


def values(results: Sequence[Answer], task: str, method: str, value: Callable[[Answer], float]) -> dict[int, float]:
    """A figure of each seed."""
    return {one["seed"]: value(one) for one in results if (one["task"], one["method"]) == (task, method)}


def difference(more: dict[int, float], less: dict[int, float]) -> Estimate:
    """Over the seeds that both have."""
    seeds = sorted(set(more) & set(less))
    return estimate([more[seed] - less[seed] for seed in seeds]) if seeds else NOTHING


# ---- CartPole


def _on_cartpole(name: str, claim: str, *pairs: tuple[str, str]) -> Question:
    """A claim that the first method of each pair balances the pole for longer than the second."""

    def question(results: Sequence[Answer]) -> Claim:
        evidence = []
        for better, worse in pairs:
            of_seeds = [
                values(results, "CartPole", method, lambda one: float(one["return"])) for method in (better, worse)
            ]
            rise = difference(*of_seeds)
            evidence.append(
                Evidence(
                    what=f"{better} against {worse}",
                    effect="longer episodes of the learned policy, in steps:",
                    estimate=rise,
                    verdict=verdict(rise, STEPS),
                )
            )
        return Claim(name=name, claim=claim, source="this study", rule=rule(STEPS, "steps"), evidence=evidence)

    return question


compartments_help_to_act = _on_cartpole(
    "compartments help to act",
    "After as many environment steps, more compartments have learned to balance the pole for longer.",
    ("running mean, K = 20", "running mean, K = 1"),
    ("running mean, K = 20", "running mean, K = 5"),
    ("running mean, K = 5", "running mean, K = 1"),
)
a_baseline_is_needed = _on_cartpole(
    "a running mean as baseline",
    "Rewards are best compared with their running mean.",
    ("running mean, K = 20", "no baseline, K = 20"),
    ("running mean, K = 20", "leave-one-out, K = 20"),
    ("running mean, K = 20", "GEM, K = 20"),
)
a_critic_earns_its_place = _on_cartpole(
    "a critic earns its place",
    "A critic that learns the value of states by temporal differences does better than a running mean.",
    ("critic, K = 20", "running mean, K = 20"),
    ("critic, K = 5", "running mean, K = 5"),
)


# ---- spike patterns and completion


def _distance(one: Answer) -> float:
    return float(one["over_silence"]["5"])


def _nearer(
    results: Sequence[Answer], task: str, method: str, than: Callable[[Answer], float] = _distance, named: str = ""
) -> Evidence:
    """Than what was learned by likelihood."""
    near, far = values(results, task, method, _distance), values(results, task, "likelihood", than)
    gain = difference(far, near)
    spikes = values(results, task, method, lambda one: float(one["spikes"]))
    return Evidence(
        what=f"{task}, {method}" + named,
        effect="nearer, in distances of silence:",
        estimate=gain,
        also=f"visible spikes over the desired ones: {with_interval(estimate(list(spikes.values())))}"
        if spikes
        else "",
        verdict=verdict(gain, DISTANCE),
    )


REWARDED = ("Feedback, K = 1", "MB, K = 10", "MB, K = 2", "GEM, K = 10")
IN_ORDER = ("jittered", "noisy", "too many", "can be learned")


def reward_comes_nearer(results: Sequence[Answer]) -> Claim:
    return Claim(
        name="van Rossum reward comes nearer than likelihood",
        claim="Where desired spikes vary or cannot all be learned, likelihood first and van Rossum reward then comes "
        "nearer to them than likelihood for as long.",
        source="the paper's outlook",
        rule=rule(DISTANCE, "of the distance of silence"),
        evidence=[_nearer(results, task, method) for task in IN_ORDER for method in REWARDED],
    )


def reward_beats_sharpening(results: Sequence[Answer]) -> Claim:
    def sharpened(one: Answer) -> float:
        return float(one["sharpened"]["over_silence"]["5"])

    return Claim(
        name="reward is more than sharpening",
        claim="It also comes nearer than the likelihood's weights times the best of four factors.",
        source="this study",
        rule=rule(DISTANCE, "of the distance of silence"),
        evidence=[
            _nearer(results, task, method, sharpened, ", against sharpened weights")
            for task in IN_ORDER
            for method in REWARDED
        ],
    )


def compartments_help_with_patterns(results: Sequence[Answer]) -> Claim:
    found = []
    for task in IN_ORDER:
        gain = difference(*(values(results, task, method, _distance) for method in ("MB, K = 2", "MB, K = 10")))
        found.append(
            Evidence(
                what=f"{task}, MB, K = 10 against K = 2",
                effect="nearer in equal time, in distances of silence:",
                estimate=gain,
                verdict=verdict(gain, DISTANCE),
            )
        )
    return Claim(
        name="compartments help with patterns",
        claim="In equal time, MB with ten compartments comes nearer to the desired spikes than with two.",
        source="this study",
        rule=rule(DISTANCE, "of the distance of silence"),
        evidence=found,
    )


def completion_comes_nearer(results: Sequence[Answer]) -> Claim:
    return Claim(
        name="completion comes nearer",
        claim="The other half of a recording is completed nearer to the truth by van Rossum reward after likelihood "
        "than by likelihood alone.",
        source="the paper's outlook",
        rule=rule(DISTANCE, "of the distance of silence"),
        evidence=[
            _nearer(results, task, method)
            for task in ("N-MNIST", "simulated digits")
            for method in ("Feedback, K = 1", "MB, K = 5")
        ],
    )


# ---- first-to-spike with a price


Point = dict[str, Any]


def points(results: Sequence[Answer], method: str, seed: int) -> list[Point]:
    """Every level and shift of a method."""
    return [point for one in results if (one["method"], one["seed"]) == (method, seed) for point in one["points"]]


def cheapest(found: Sequence[Point], accuracy: float) -> Point:
    """By validation: of those that are right so often, that with fewest spikes; else the one that is right most."""
    good = [one for one in found if one["validation"]["accuracy"] >= accuracy]
    if not good:
        return max(found, key=lambda one: one["validation"]["accuracy"])
    return min(good, key=lambda one: one["validation"]["spikes"])


def a_price_saves_spikes(results: Sequence[Answer]) -> Claim:
    fewer, right = [], []
    for seed in sorted({one["seed"] for one in results}):
        each = {method: points(results, method, seed) for method in ("price", "target rate")}
        if not all(each.values()):
            continue
        best = max(one["validation"]["accuracy"] for found in each.values() for one in found)
        price, target = (cheapest(each[method], best - SLACK)["test"] for method in ("price", "target rate"))
        fewer.append(math.log2((target["spikes"] + 0.01) / (price["spikes"] + 0.01)))
        right.append(price["accuracy"] - target["accuracy"])
    halvings, gain = (estimate(each) if each else NOTHING for each in (fewer, right))
    if halvings.above > 0 and gain.above > -ACCURACY:
        found: Verdict = "supported"
    else:
        found = "not supported" if halvings.below < 0.1 or gain.below < -ACCURACY else "inconclusive"
    return Claim(
        name="a price saves spikes",
        claim="For answers that are right about as often, a reward with a price on hidden spikes needs fewer of them "
        "until the first visible spike than a target rate.",
        source="this study",
        rule="each method takes the setting with fewest spikes among those whose validation accuracy is within 2 "
        "points of the best of both; supported if the interval of log2 of the spikes saved lies above 0 and that of "
        "the difference in accuracy above -2 points; not supported if the first lies below 0.1 or the second below -2 "
        "points; else inconclusive",
        evidence=[
            Evidence(
                what="N-MNIST 7, 8, 9",
                effect="how often the price halves the spikes:",
                estimate=halvings,
                also=f"its accuracy is higher by {with_interval(gain.scaled(100))} points",
                verdict=found,
            )
        ],
    )


QUESTIONS: dict[str, tuple[Question, ...]] = {
    "cartpole": (compartments_help_to_act, a_baseline_is_needed, a_critic_earns_its_place),
    "patterns": (reward_comes_nearer, reward_beats_sharpening, compartments_help_with_patterns),
    "first-spike": (a_price_saves_spikes,),
    "completion": (completion_comes_nearer,),
}
