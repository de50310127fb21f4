"""Evidence that several claims share: what rises or falls with K, and what grows as a power of K."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gemsnn.common.words import with_interval
from gemsnn.experiments.claims.claim import Evidence, Verdict
from gemsnn.experiments.protocol import DecodedBy
from gemsnn.experiments.results import CHOICE_NAMES, Choice, Measured, Results
from gemsnn.experiments.statistics import Estimate, slopes

NAMES = {
    "log_likelihood": "log-likelihood",
    "ece": "calibration error (the mean gap between confidence and success)",
}
UNITS = {"nats": "nats (one nat: 2.7 times as probable)"}


def improvement(difference: Estimate, slope: Estimate, margin: float) -> Verdict:
    """The rule for "more of it with more compartments"; both estimates count improvement as positive."""
    if difference.above > 0 and slope.above > 0:
        return "supported"
    return "not supported" if difference.below < margin else "inconclusive"


def improvement_rule(margin: float, unit: str = "", change: str = "rise") -> str:
    """The same in words."""
    worth = f"{100 * margin:g} %" if unit == "%" else f"{margin:g} {unit}".strip()
    return (
        f"supported if the intervals of the {change} from the smallest to the largest K and of the {change} per "
        f"doubling of K both lie above 0; not supported if the first lies below {worth}; else inconclusive"
    )


def proportional(exponent: Estimate, margin: float) -> Verdict:
    """The rule for "grows linearly": the exponent a of growth as K^a."""
    if exponent.above > 1 - margin and exponent.below < 1 + margin:
        return "supported"
    return "not supported" if exponent.below < 1 - margin or exponent.above > 1 + margin else "inconclusive"


def proportional_rule(margin: float) -> str:
    """The same in words."""
    return (
        f"supported if the interval of a lies within 1 ± {margin:g}; not supported if it lies outside; else "
        "inconclusive"
    )


def figure_trend(
    results: Results, metric: str, choice: Choice, decoder: DecodedBy, margin: float, unit: str = "", sign: int = 1
) -> Evidence:
    """A test figure at the iteration that the choice takes, against K."""
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
    """Whether a value of each run improves with K, by at least ``margin``; with ``sign`` = -1, whether it falls.

    Where the unit is %, values and margin are shares of 1, shown times 100. ``of`` says what the value is.
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
