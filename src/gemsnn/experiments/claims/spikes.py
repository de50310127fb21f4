"""The paper's claim that hidden spikes are linear in K."""

from __future__ import annotations

from gemsnn.experiments.claims.claim import Claim
from gemsnn.experiments.claims.trends import growth, proportional_rule
from gemsnn.experiments.results import Results


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
