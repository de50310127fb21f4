"""The paper's claims, a function each."""

from __future__ import annotations

from gemsnn.common.words import with_interval
from gemsnn.experiments.claims.claim import Claim, Evidence, Verdict
from gemsnn.experiments.claims.trends import (
    figure_trend,
    growth,
    improvement_rule,
    proportional_rule,
    trend,
)
from gemsnn.experiments.protocol import DecodedBy, Protocol
from gemsnn.experiments.results import CHOICES, Choice, Measured, Results
from gemsnn.experiments.statistics import Estimate


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
        plain="With more compartments the network finds the desired output more probable.",
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
        plain="A network that learned with more compartments says more truthfully how sure it is.",
        source="Figure 4, right, and the text on it",
        rule=improvement_rule(margin, change="fall"),
        evidence=[figure_trend(results, "ece", choice, decoder, margin, sign=-1) for choice, decoder in SHOWN],
    )


def accuracy_needs_early_stopping(results: Results) -> Claim:
    protocol, K = results.protocol, max(results.compartments)
    return Claim(
        name="accuracy needs early stopping",
        claim=f"With many compartments (K = {K}) accuracy needs early stopping, while the log-likelihood keeps rising.",
        plain="Learning for too long costs right answers, while the model itself still improves.",
        source="Figure 4 and the text on it",
        rule="supported if, from the iteration chosen on validation to the last, the interval of the accuracy lost and "
        "that of the log-likelihood gained both lie above 0; not supported if either lies below its margin "
        f"({100 * protocol.margin_accuracy:g} %, {protocol.margin_log_likelihood:g} nats); else inconclusive",
        evidence=[_late(results, K, decoder) for decoder in (DecodedBy.FEW, DecodedBy.VOTE, DecodedBy.LIKELIHOOD)],
    )


def _late(results: Results, K: int, decoder: DecodedBy) -> Evidence:
    """What became of the network from the iteration chosen on validation to the last."""
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
        plain="What has to be sent to the neurons grows in proportion to the number of compartments.",
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
