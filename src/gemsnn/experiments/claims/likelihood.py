"""The paper's claim that the log-likelihood rises with K."""

from __future__ import annotations

from gemsnn.experiments.claims.claim import Claim
from gemsnn.experiments.claims.trends import figure_trend, improvement_rule, trend
from gemsnn.experiments.protocol import DecodedBy
from gemsnn.experiments.results import CHOICES, Measured, Results


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
