"""Which rule is best at equal time, and at equal communication?

What GEM with K = 5 costs is the budget. Every rule takes the K that is best on validation among those that cost no more
(a tenth is let pass); the rule with the highest mean test log-likelihood is then compared with each of the others.
"""

from __future__ import annotations

from rules_results import StudyResults

from gemsnn.common.words import with_interval
from gemsnn.experiments import Claim, Evidence
from gemsnn.experiments.statistics import Estimate

REFERENCE = ("GEM", 5)
LET_PASS = 1.1


def best_at_equal_time(results: StudyResults) -> Claim:
    return _claim(results, "milliseconds", "time", "ms of processor time for each example")


def best_at_equal_communication(results: StudyResults) -> Claim:
    return _claim(results, "communication", "communication", "reals sent at each step")


def _claim(results: StudyResults, field: str, name: str, unit: str) -> Claim:
    return Claim(
        name=f"one rule is best at equal {name}",
        claim=f"One rule is better than all others at equal {name} (that of GEM with K = 5).",
        source="this study",
        rule="supported if the interval of the best rule's lead over the second best lies above 0; not supported if it "
        "lies below 0.5 nats (classes) or 10 nats (completion), so that the two are as good as each other; else "
        "inconclusive",
        evidence=[_best(results, task, field, unit) for task in results.tasks],
    )


def _best(results: StudyResults, task: str, field: str, unit: str) -> Evidence:
    budget = LET_PASS * results.mean(task, *REFERENCE, field)
    within = {}
    for rule in results.rules:
        affordable = [K for K in results.compartments(task, rule) if results.mean(task, rule, K, field) <= budget]
        K = results.best_K(task, rule, affordable)
        if K is not None:
            within[rule] = K

    def mean(rule: str) -> float:
        return float(results.log_likelihoods(task, rule, [within[rule]]).mean())

    order = sorted(within, key=mean, reverse=True)
    nothing = Estimate(0.0, None, None, 0)
    leads = {rule: results.difference(task, (order[0], within[order[0]]), (rule, within[rule])) for rule in order[1:]}
    lead = leads[order[1]] if len(order) > 1 else nothing
    others = [f"{rule} (K = {within[rule]}): {with_interval(found)}" for rule, found in leads.items()]
    left_out = [rule for rule in results.rules if rule not in within]
    too_dear = f"; beyond it with any K: {', '.join(left_out)}" if left_out else ""
    if lead.above > 0:
        verdict = "supported"
    else:
        verdict = "not supported" if lead.below < results.margin(task) else "inconclusive"
    return Evidence(
        what=f"{results.title(task)}: best is {order[0]} with K = {within[order[0]]}",
        effect="its lead over the second, in nats:",
        estimate=lead,
        also=f"its lead over {', '.join(others)}; budget {budget:.3g} {unit}{too_dear}",
        verdict=verdict,
    )
