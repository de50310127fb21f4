"""The paper's claim that the accuracy rises with K."""

from __future__ import annotations

from gemsnn.experiments.claims.claim import Claim
from gemsnn.experiments.claims.trends import figure_trend, improvement_rule
from gemsnn.experiments.protocol import DecodedBy
from gemsnn.experiments.results import CHOICES, Results


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
