"""Does any rule beat a network without hidden neurons, and one whose hidden neurons stay as they were drawn?"""

from __future__ import annotations

from rules_results import BASELINE, FIXED, StudyResults

from gemsnn.common.words import with_interval
from gemsnn.experiments import Claim, Evidence
from gemsnn.experiments.claims import Verdict
from gemsnn.experiments.statistics import Estimate


def beats_no_hidden(results: StudyResults) -> Claim:
    return Claim(
        name="hidden neurons help",
        claim="A network with hidden neurons taught by the rule has a higher test log-likelihood than one without any.",
        source="this study",
        rule="supported if the interval of the difference lies above 0; not supported if it lies below 0.5 nats "
        "(classes) or 10 nats (completion); else inconclusive",
        evidence=[_gain(results, task, rule) for task in results.tasks for rule in (FIXED, *results.rules)],
    )


def _gain(results: StudyResults, task: str, rule: str) -> Evidence:
    K = results.best_K(task, rule)
    assert K is not None
    gain, over_fixed = results.difference(task, (rule, K), (BASELINE, 1)), None
    if rule != FIXED:
        over_fixed = results.difference(task, (rule, K), (FIXED, 1))
    return Evidence(
        what=f"{results.title(task)}, {rule}" + (f", K = {K} chosen on validation" if rule != FIXED else ""),
        effect="higher than without hidden neurons, in nats:",
        estimate=gain,
        also="" if over_fixed is None else f"higher than with fixed hidden neurons: {with_interval(over_fixed)} nats",
        verdict=higher(gain, results.margin(task)),
    )


def higher(difference: Estimate, margin: float) -> Verdict:
    """Whether it is above 0, or surely not by what would be worth the name."""
    if difference.above > 0:
        return "supported"
    return "not supported" if difference.below < margin else "inconclusive"
