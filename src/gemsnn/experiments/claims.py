"""Claims about a reproduction's results: what a claim is, and the paper's claims with the rules of their verdicts.

The rules are fixed here and in the protocol, before any run. An improvement is a difference over seeds, paired: each
seed gives one number, and their mean has a Student t interval.

- *supported*: the interval of the difference between the largest and the smallest K lies above 0, and so does that of
  the slope over log2 K;
- *not supported*: the interval lies below the protocol's margin, which excludes a relevant improvement;
- *inconclusive*: anything else.

The first piece of evidence is nearest to what the paper did, and gives the verdict of the claim; the others have
verdicts of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from gemsnn.common import kinds
from gemsnn.common.words import with_interval
from gemsnn.experiments.protocol import DecodedBy, Protocol
from gemsnn.experiments.results import CHOICE_NAMES, CHOICES, Choice, Measured, Results
from gemsnn.experiments.statistics import Estimate, slopes

Verdict = Literal["supported", "not supported", "inconclusive"]


class Evidence(BaseModel):
    """One piece of evidence for or against a claim."""

    what: str
    effect: str
    """Meaning of the estimate."""
    estimate: Estimate
    also: str = ""
    """A second figure that the verdict depends on."""
    verdict: Verdict


class Claim(BaseModel):
    """A claim and its verdict."""

    name: str
    claim: str
    """In the words of its source."""
    plain: str = ""
    """For a reader who does not know the source."""
    source: str
    rule: str
    """How the verdict follows from the evidence."""
    evidence: list[Evidence] = Field(min_length=1)
    """The first piece gives the verdict."""

    @property
    def verdict(self) -> Verdict:
        return self.evidence[0].verdict


Judge = Callable[[Results], Claim]
"""A function that judges a claim by results."""


def as_records(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Claims as JSON values."""
    return [
        {
            **claim.model_dump(exclude={"evidence"}),
            "verdict": claim.verdict,
            "evidence": [
                {**item.model_dump(exclude={"estimate"}), "estimate": item.estimate._asdict()}
                for item in claim.evidence
            ],
        }
        for claim in claims
    ]


# ---- evidence that several claims share

NAMES = {
    "log_likelihood": "log-likelihood",
    "ece": "calibration error (the mean gap between confidence and success)",
}
UNITS = {"nats": "nats (one nat: 2.7 times as probable)"}


def improvement(difference: Estimate, slope: Estimate, margin: float) -> Verdict:
    """The verdict on "improves with K"; in both estimates, improvement is positive."""
    if difference.above > 0 and slope.above > 0:
        return "supported"
    return "not supported" if difference.below < margin else "inconclusive"


def improvement_rule(margin: float, unit: str = "", change: str = "rise") -> str:
    """That rule as text."""
    worth = f"{100 * margin:g} %" if unit == "%" else f"{margin:g} {unit}".strip()
    return (
        f"supported if the intervals of the {change} from the smallest to the largest K and of the {change} per "
        f"doubling of K both lie above 0; not supported if the first lies below {worth}; else inconclusive"
    )


def proportional(exponent: Estimate, margin: float) -> Verdict:
    """The verdict on "grows linearly", from the exponent a of growth as K^a."""
    if exponent.above > 1 - margin and exponent.below < 1 + margin:
        return "supported"
    return "not supported" if exponent.below < 1 - margin or exponent.above > 1 + margin else "inconclusive"


def proportional_rule(margin: float) -> str:
    """That rule as text."""
    return (
        f"supported if the interval of a lies within 1 ± {margin:g}; not supported if it lies outside; else "
        "inconclusive"
    )


def figure_trend(
    results: Results, metric: str, choice: Choice, decoder: DecodedBy, margin: float, unit: str = "", sign: int = 1
) -> Evidence:
    """The trend of a test figure with K, at the iteration that ``choice`` selects."""
    few = results.protocol.few_compartments
    names = {DecodedBy.VOTE: "K^I = K", DecodedBy.FEW: f"K^I = {few}", DecodedBy.LIKELIHOOD: "likelihood decoder"}
    what = CHOICE_NAMES[choice] + ("" if metric == "log_likelihood" else f", {names[decoder]}")
    return trend(results, what, lambda run: results.value(run, metric, choice, decoder), margin, unit, sign, metric)


def trend(
    results: Results,
    what: str,
    value: Callable[[Measured], float],
    margin: float,
    unit: str = "",
    sign: int = 1,
    of: str = "",
) -> Evidence:
    """Whether a value of each run improves with K by at least ``margin``; with ``sign`` = -1, whether it falls.

    If the unit is %, values and margin are fractions, shown as percentages. ``of`` is the name of the value.
    """
    Ks, factor = results.compartments, 100 if unit == "%" else 1
    values = sign * results.paired(value)
    if not len(values):
        nothing = Estimate(0.0, None, None, 0)
        return Evidence(what=what, effect="no seed has every K", estimate=nothing, verdict="inconclusive")
    difference = results.estimated(values[:, -1] - values[:, 0])
    slope = results.estimated(slopes(np.log2(Ks), values))
    change, shown = "rise" if sign > 0 else "fall", f" in {UNITS.get(unit, unit)}" if unit else ""
    change += f" of the {NAMES.get(of, of)}" if of else ""
    return Evidence(
        what=what,
        effect=f"{change} from K = {Ks[0]} to K = {Ks[-1]}{shown}",
        estimate=difference.scaled(factor),
        also=f"per doubling of K: {with_interval(slope.scaled(factor))}{f' {unit}' if unit else ''}",
        verdict=improvement(difference, slope, margin),
    )


def growth(results: Results, what: str, value: Callable[[Measured], float], margin: float) -> Evidence:
    """Whether a value of each run grows as K^a with a within ``margin`` of 1."""
    Ks = results.compartments
    values = np.log(results.paired(value))
    exponent = results.estimated(slopes(np.log(Ks), values)) if len(values) else Estimate(0.0, None, None, 0)
    means = np.exp(values).mean(axis=0) if len(values) else []
    return Evidence(
        what=what,
        effect="exponent a of growth as K^a (1: twice as many, twice as much)",
        estimate=exponent,
        also=", ".join(f"K = {K}: {mean:.4g}" for K, mean in zip(Ks, means, strict=False)),
        verdict=proportional(exponent, margin),
    )


# ---- the paper's claims


def log_likelihood_rises(results: Results) -> Claim:
    margin, unit = results.protocol.margin_log_likelihood, "nats"

    def own_best(run: Measured) -> float:
        return max(float(run.figures(i, DecodedBy.VOTE)["log_likelihood"]) for i in range(len(run.records)))

    best, *others = (
        figure_trend(results, "log_likelihood", choice, DecodedBy.VOTE, margin, unit) for choice in CHOICES
    )
    another = trend(
        results,
        "its own best on the test set (another reading of the paper)",
        own_best,
        margin,
        unit,
        of="log_likelihood",
    )
    return Claim(
        name="log-likelihood rises with K",
        claim="The test log-likelihood of the desired output rises with K.",
        plain="With more compartments the network assigns a higher probability to the desired output.",
        source="Figure 3, left",
        rule=improvement_rule(margin, unit),
        evidence=[best, another, *others],
    )


def accuracy_rises(results: Results) -> Claim:
    margin, unit = results.protocol.margin_accuracy, "%"
    evidence = [figure_trend(results, "accuracy", choice, DecodedBy.VOTE, margin, unit) for choice in CHOICES]
    honest = figure_trend(results, "accuracy", "chosen_on_validation", DecodedBy.LIKELIHOOD, margin, unit)
    return Claim(
        name="accuracy rises with K",
        claim="The test accuracy rises with K, with K^I = K.",
        plain="With more compartments the network is right more often.",
        source="Figure 3, left",
        rule=improvement_rule(margin, unit),
        evidence=[*evidence, honest],
    )


SHOWN: tuple[tuple[Choice, DecodedBy], ...] = (
    ("final", DecodedBy.FEW),
    ("best_on_test", DecodedBy.FEW),
    ("chosen_on_validation", DecodedBy.FEW),
    ("final", DecodedBy.VOTE),
    ("final", DecodedBy.LIKELIHOOD),
)


def calibration_error_falls(results: Results) -> Claim:
    margin, few = results.protocol.margin_ece, results.protocol.few_compartments
    return Claim(
        name="calibration error falls with K",
        claim=f"The calibration error falls with K in training, with K^I = {few} at inference.",
        plain="The confidence of a network trained with more compartments is closer to its accuracy.",
        source="Figure 4, right, and the text on it",
        rule=improvement_rule(margin, change="fall"),
        evidence=[figure_trend(results, "ece", choice, decoder, margin, sign=-1) for choice, decoder in SHOWN],
    )


def accuracy_needs_early_stopping(results: Results) -> Claim:
    protocol, K = results.protocol, max(results.compartments)
    return Claim(
        name="accuracy needs early stopping",
        claim=f"With many compartments (K = {K}) accuracy needs early stopping, while the log-likelihood keeps rising.",
        plain="Training for too long lowers the accuracy, while the log-likelihood still improves.",
        source="Figure 4 and the text on it",
        rule="supported if, from the iteration chosen on validation to the last, the interval of the accuracy lost and "
        "that of the log-likelihood gained both lie above 0; not supported if either lies below its margin "
        f"({100 * protocol.margin_accuracy:g} %, {protocol.margin_log_likelihood:g} nats); else inconclusive",
        evidence=[_late(results, K, decoder) for decoder in (DecodedBy.FEW, DecodedBy.VOTE, DecodedBy.LIKELIHOOD)],
    )


def _late(results: Results, K: int, decoder: DecodedBy) -> Evidence:
    """The change of accuracy and log-likelihood from the iteration chosen on validation to the last."""
    loss, rise = [], []
    for run in results.of(K):
        stop, last = run.chosen("chosen_on_validation", decoder), len(run.records) - 1
        early, late = run.figures(stop, decoder), run.figures(last, decoder)
        loss.append(early["accuracy"] - late["accuracy"])
        rise.append(late["log_likelihood"] - early["log_likelihood"])
    lost, rose = results.estimated(loss), results.estimated(rise)
    return Evidence(
        what=f"K = {K}, {results.protocol.name_of(decoder)}",
        effect="test accuracy lost from the iteration chosen on validation to the last, in %",
        estimate=lost.scaled(100),
        also=f"log-likelihood gained meanwhile: {with_interval(rose)} nats",
        verdict=_verdict(lost, rose, results.protocol),
    )


def _verdict(lost: Estimate, rose: Estimate, protocol: Protocol) -> Verdict:
    if lost.above > 0 and rose.above > 0:
        return "supported"
    small = lost.below < protocol.margin_accuracy or rose.below < protocol.margin_log_likelihood
    return "not supported" if small else "inconclusive"


def broadcast_is_linear(results: Results) -> Claim:
    margin = results.protocol.margin_exponent
    what = "reals sent per time step, K (|X| + |H|): follows from the algorithm, and a test counts the messages"
    return Claim(
        name="broadcast load is linear in K",
        claim="The broadcast load from the central processor to the neurons grows linearly with K.",
        plain="The numbers sent to the neurons grow in proportion to the number of compartments.",
        source="Figure 3, right",
        rule=proportional_rule(margin),
        evidence=[growth(results, what, lambda run: run.to_neurons, margin)],
    )


def spikes_are_linear(results: Results) -> Claim:
    margin = results.protocol.margin_exponent
    what = "hidden spikes per time step while learning, summed over compartments"
    return Claim(
        name="hidden spikes are linear in K",
        claim="The number of hidden spikes per unit time during training grows in proportion to K.",
        plain="The number of spikes of hidden neurons grows in proportion to the number of compartments.",
        source="Figure 3, right",
        rule=proportional_rule(margin),
        evidence=[growth(results, what, lambda run: run.spikes_per_step, margin)],
    )


CLAIMS: dict[str, Judge] = {
    "log-likelihood": log_likelihood_rises,
    "accuracy": accuracy_rises,
    "calibration": calibration_error_falls,
    "early-stopping": accuracy_needs_early_stopping,
    "broadcast": broadcast_is_linear,
    "spikes": spikes_are_linear,
}


def judge(results: Results, claims: Collection[Judge] = CLAIMS.values()) -> list[Claim]:
    """Judge each claim by results with at least two K; a claim is a function from results to a `Claim`."""
    return [claim(results) for claim in claims]


def register(name: str, claim: Judge) -> None:
    """Add a claim of your own to the paper's, for all reports that do not list their claims."""
    kinds.register("claim", CLAIMS, name, claim)
