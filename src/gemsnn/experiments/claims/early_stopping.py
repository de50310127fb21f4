"""The paper's claim that accuracy needs early stopping while the log-likelihood keeps rising."""

from __future__ import annotations

from gemsnn.common.words import with_interval
from gemsnn.experiments.claims.claim import Claim, Evidence, Verdict
from gemsnn.experiments.protocol import DecodedBy, Protocol
from gemsnn.experiments.results import Results
from gemsnn.experiments.statistics import Estimate


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
