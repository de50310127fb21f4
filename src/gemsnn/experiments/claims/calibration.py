"""The paper's claim that the calibration error falls with K."""

from __future__ import annotations

from gemsnn.experiments.claims.claim import Claim
from gemsnn.experiments.claims.trends import figure_trend, improvement_rule
from gemsnn.experiments.protocol import DecodedBy
from gemsnn.experiments.results import Choice, Results

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
