"""The paper's claim that the broadcast load is linear in K."""

from __future__ import annotations

from gemsnn.experiments.claims.claim import Claim
from gemsnn.experiments.claims.trends import growth, proportional_rule
from gemsnn.experiments.results import Results


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
