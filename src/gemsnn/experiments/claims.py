"""The paper's claims, held against what was measured. The rules are fixed here and in the protocol, before any run.

An improvement is a difference over seeds, paired: each seed gives one number, their mean has a Student t interval.

- *supported*: the interval of the difference between the largest and the smallest K lies above 0, and so does that of
  the slope over log2 K;
- *not supported*: the interval lies below the protocol's margin, so that an improvement worth the name is excluded;
- *inconclusive*: anything else.

Where a claim has several pieces of evidence, the first, which is nearest to what the paper did, gives the verdict; the
others stand beside it with verdicts of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from gemsnn.common.words import with_interval
from gemsnn.experiments.results import Choice, DecoderName, Measured, Results
from gemsnn.experiments.statistics import Estimate, slopes

Verdict = Literal["supported", "not supported", "inconclusive"]

CHOICE_NAMES: dict[Choice, str] = {
    "best_on_test": "best iteration on the test set (as the paper)",
    "chosen_on_validation": "iteration chosen on validation (honest)",
    "final": "last iteration",
}


class Evidence(BaseModel):
    """One way to look at a claim."""

    what: str
    effect: str
    """What the estimate is the mean of."""
    estimate: Estimate
    also: str = ""
    """A second figure that the verdict uses."""
    verdict: Verdict


class Claim(BaseModel):
    """A claim of the paper and its verdict."""

    name: str
    """In a few words."""
    claim: str
    source: str
    rule: str
    verdict: Verdict
    evidence: list[Evidence]


def judge(results: Results) -> list[Claim]:
    """All claims, from results with at least two K."""
    return [
        _log_likelihood_rises(results),
        _accuracy_rises(results),
        _ece_falls(results),
        _early_stopping(results),
        _broadcast_is_linear(results),
        _spikes_are_linear(results),
    ]


def improvement(difference: Estimate, slope: Estimate, margin: float) -> Verdict:
    """The rule for "more of it with more compartments"; both estimates count improvement as positive."""
    if difference.above > 0 and slope.above > 0:
        return "supported"
    return "not supported" if difference.below < margin else "inconclusive"


def proportional(exponent: Estimate, margin: float) -> Verdict:
    """The rule for "grows linearly": the exponent a of growth as K^a."""
    if exponent.above > 1 - margin and exponent.below < 1 + margin:
        return "supported"
    return "not supported" if exponent.below < 1 - margin or exponent.above > 1 + margin else "inconclusive"


# ---- the claims ------------------------------------------------------------------------------------------------------


def _log_likelihood_rises(results: Results) -> Claim:
    margin = results.protocol.margin_log_likelihood
    own_best = _trend(
        results,
        "its own best on the test set (another reading of the paper)",
        lambda run: max(run.figures(i, "vote")["log_likelihood"] for i in range(len(run.records))),
        "nats",
        margin,
    )
    evidence = [
        _figure_trend(results, "log_likelihood", choice, "vote", "nats", margin) for choice in CHOICE_NAMES
    ]  # fmt: skip
    return _claim(
        "log-likelihood rises with K",
        "The test log-likelihood of the desired output rises with K.",
        "Figure 3, left",
        _rule(margin, "nats"),
        [evidence[0], own_best, *evidence[1:]],
    )


def _accuracy_rises(results: Results) -> Claim:
    margin = results.protocol.margin_accuracy
    evidence = [_figure_trend(results, "accuracy", choice, "vote", "%", margin) for choice in CHOICE_NAMES]
    evidence.append(_figure_trend(results, "accuracy", "chosen_on_validation", "likelihood", "%", margin))
    claim = "The test accuracy rises with K, with K^I = K."
    return _claim("accuracy rises with K", claim, "Figure 3, left", _rule(margin, "%"), evidence)


def _ece_falls(results: Results) -> Claim:
    margin = results.protocol.margin_ece
    few = results.protocol.few_compartments
    shown: list[tuple[Choice, DecoderName]] = [
        ("final", "few"),
        ("best_on_test", "few"),
        ("chosen_on_validation", "few"),
        ("final", "vote"),
        ("final", "likelihood"),
    ]
    evidence = [_figure_trend(results, "ece", choice, decoder, "", margin, sign=-1) for choice, decoder in shown]
    return _claim(
        "calibration error falls with K",
        f"The calibration error falls with K in training, with K^I = {few} at inference.",
        "Figure 4, right, and the text on it",
        _rule(margin, "", "fall"),
        evidence,
    )


def _early_stopping(results: Results) -> Claim:
    protocol = results.protocol
    K = max(results.compartments)
    evidence = []
    decoders: list[tuple[DecoderName, str]] = [
        ("few", f"vote, K^I = {protocol.few_compartments}"),
        ("vote", "vote, K^I = K"),
        ("likelihood", "likelihood decoder"),
    ]
    for decoder, name in decoders:
        loss, rise = [], []
        for run in results.of(K):
            stop, last = run.chosen("chosen_on_validation", decoder), len(run.records) - 1
            early, late = run.figures(stop, decoder), run.figures(last, decoder)
            loss.append(early["accuracy"] - late["accuracy"])
            rise.append(late["log_likelihood"] - early["log_likelihood"])
        lost, rose = results.estimated(loss), results.estimated(rise)
        if lost.above > 0 and rose.above > 0:
            verdict: Verdict = "supported"
        elif lost.below < protocol.margin_accuracy or rose.below < protocol.margin_log_likelihood:
            verdict = "not supported"
        else:
            verdict = "inconclusive"
        evidence.append(
            Evidence(
                what=f"K = {K}, {name}",
                effect="test accuracy lost from the iteration chosen on validation to the last, in %",
                estimate=_scaled(lost, 100),
                also=f"log-likelihood gained meanwhile: {with_interval(rose)} nats",
                verdict=verdict,
            )
        )
    return _claim(
        "accuracy needs early stopping",
        f"With many compartments (K = {K}) accuracy needs early stopping, while the log-likelihood keeps rising.",
        "Figure 4 and the text on it",
        "supported if, from the iteration chosen on validation to the last, the interval of the accuracy lost and that "
        "of the log-likelihood gained both lie above 0; not supported if either lies below its margin "
        f"({100 * protocol.margin_accuracy:g} %, {protocol.margin_log_likelihood:g} nats); else inconclusive",
        evidence,
    )


def _broadcast_is_linear(results: Results) -> Claim:
    return _growth(
        results,
        "broadcast load is linear in K",
        "The broadcast load from the central processor to the neurons grows linearly with K.",
        "reals sent per time step, K (|X| + |H|): follows from the algorithm, and a test counts the messages",
        lambda run: run.to_neurons,
    )


def _spikes_are_linear(results: Results) -> Claim:
    return _growth(
        results,
        "hidden spikes are linear in K",
        "The number of hidden spikes per unit time during training grows in proportion to K.",
        "hidden spikes per time step while learning, summed over compartments",
        lambda run: run.spikes_per_step,
    )


# ---- how -------------------------------------------------------------------------------------------------------------


def _claim(name: str, claim: str, source: str, rule: str, evidence: list[Evidence]) -> Claim:
    return Claim(name=name, claim=claim, source=source, rule=rule, verdict=evidence[0].verdict, evidence=evidence)


def _rule(margin: float, unit: str, change: str = "rise") -> str:
    worth = f"{100 * margin:g} %" if unit == "%" else f"{margin:g} {unit}".strip()
    return (
        f"supported if the intervals of the {change} from the smallest to the largest K and of the {change} per "
        f"doubling of K both lie above 0; not supported if the first lies below {worth}; else inconclusive"
    )


def _per_seed(results: Results, value: Callable[[Measured], float]) -> NDArray[np.float64]:
    """(n_seeds, n_K), of the seeds for which every K is done."""
    Ks = results.compartments
    by = {(run.n_compartments, run.seed): run for run in results.runs}
    seeds = results.paired_seeds(Ks)
    return np.array([[value(by[K, seed]) for K in Ks] for seed in seeds]).reshape(len(seeds), len(Ks))


def _figure_trend(
    results: Results, metric: str, choice: Choice, decoder: DecoderName, unit: str, margin: float, sign: int = 1
) -> Evidence:
    few = results.protocol.few_compartments
    names = {"vote": "K^I = K", "few": f"K^I = {few}", "likelihood": "likelihood decoder"}
    what = CHOICE_NAMES[choice] + ("" if metric == "log_likelihood" else f", {names[decoder]}")
    return _trend(results, what, lambda run: results.value(run, metric, choice, decoder), unit, margin, sign)


def _trend(
    results: Results, what: str, value: Callable[[Measured], float], unit: str, margin: float, sign: int = 1
) -> Evidence:
    Ks, factor = results.compartments, 100 if unit == "%" else 1
    values = sign * _per_seed(results, value)
    if not len(values):
        nothing = Estimate(0.0, None, None, 0)
        return Evidence(what=what, effect="no seed has every K", estimate=nothing, verdict="inconclusive")
    difference = results.estimated(values[:, -1] - values[:, 0])
    slope = results.estimated(slopes(np.log2(Ks), values))
    change, shown = "rise" if sign > 0 else "fall", f" in {unit}" if unit else ""
    return Evidence(
        what=what,
        effect=f"{change} from K = {Ks[0]} to K = {Ks[-1]}{shown}",
        estimate=_scaled(difference, factor),
        also=f"per doubling of K: {with_interval(_scaled(slope, factor))}{f' {unit}' if unit else ''}",
        verdict=improvement(difference, slope, margin),
    )


def _growth(results: Results, name: str, claim: str, what: str, value: Callable[[Measured], float]) -> Claim:
    margin = results.protocol.margin_exponent
    Ks = results.compartments
    values = np.log(_per_seed(results, value))
    exponent = results.estimated(slopes(np.log(Ks), values)) if len(values) else Estimate(0.0, None, None, 0)
    means = np.exp(values).mean(axis=0) if len(values) else []
    also = ", ".join(f"K = {K}: {mean:.4g}" for K, mean in zip(Ks, means, strict=False))
    evidence = Evidence(
        what=what, effect="exponent a of growth as K^a", estimate=exponent, also=also, verdict="inconclusive"
    )
    if exponent.n:
        evidence.verdict = proportional(exponent, margin)
    rule = (
        f"supported if the interval of a lies within 1 ± {margin:g}; not supported if it lies outside; else "
        "inconclusive"
    )
    return _claim(name, claim, "Figure 3, right", rule, [evidence])


def _scaled(value: Estimate, factor: float) -> Estimate:
    low, high = (None if end is None else factor * end for end in (value.low, value.high))
    return Estimate(factor * value.mean, low, high, value.n)


def as_records(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """As JSON values."""
    return [
        {
            **claim.model_dump(exclude={"evidence"}),
            "evidence": [
                {**item.model_dump(exclude={"estimate"}), "estimate": item.estimate._asdict()}
                for item in claim.evidence
            ],
        }
        for claim in claims
    ]
