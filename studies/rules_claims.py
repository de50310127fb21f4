"""The questions of the study of rules. How they are answered was fixed before any run.

A difference is one of test log-likelihoods, paired over seeds, with a 95 % interval (Student's t). Where a rule may be
used with several K, the K is the one with the highest log-likelihood of validation examples.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rules_results import BASELINE, FIXED, StudyResults

from gemsnn.common.words import with_interval
from gemsnn.experiments import Claim, Evidence
from gemsnn.experiments.claims import Verdict, improvement
from gemsnn.experiments.statistics import Estimate, estimate, slopes

REFERENCE = ("GEM", 5)
LET_PASS = 1.1

# ---- Does the log-likelihood rise with K: for which rule, on which task? ----


def rises_with_compartments(results: StudyResults) -> Claim:
    return Claim(
        name="log-likelihood rises with K",
        claim="The test log-likelihood rises with the number of compartments K.",
        source="the paper, for GEM",
        rule="supported if the intervals of the rise from the smallest to the largest K and of the rise per doubling "
        "of K both lie above 0; not supported if the first lies below 0.5 nats (classes) or 10 nats (completion); else "
        "inconclusive",
        evidence=[_trend(results, task, rule) for task in results.tasks for rule in results.rules],
    )


def _trend(results: StudyResults, task: str, rule: str) -> Evidence:
    Ks = results.compartments(task, rule)
    what, effect = f"{results.title(task)}, {rule}", f"rise from K = {Ks[0]} to K = {Ks[-1]} in nats:"
    values = results.log_likelihoods(task, rule, Ks)
    if len(Ks) < 2 or not len(values):
        return Evidence(what=what, effect=effect, estimate=Estimate(0.0, None, None, 0), verdict="inconclusive")
    rise, slope = estimate(values[:, -1] - values[:, 0]), estimate(slopes(np.log2(Ks), values))
    return Evidence(
        what=what,
        effect=effect,
        estimate=rise,
        also=f"per doubling of K: {with_interval(slope)} nats",
        verdict=improvement(rise, slope, results.margin(task)),
    )


# ---- Does any rule beat a network without hidden neurons, and one whose hidden neurons stay as they were drawn? ----


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


# ---- Which rule is best at equal time, and at equal communication? ----
# What GEM with K = 5 costs is the budget. Every rule takes the K that is best on validation among those that cost no
# more (a tenth is let pass); the rule with the highest mean test log-likelihood is then compared with the others.


def best_at_equal_time(results: StudyResults) -> Claim:
    return _at_equal(results, "milliseconds", "time", "ms of processor time for each example")


def best_at_equal_communication(results: StudyResults) -> Claim:
    return _at_equal(results, "communication", "communication", "reals sent at each step")


def _at_equal(results: StudyResults, field: str, name: str, unit: str) -> Claim:
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
    return Evidence(
        what=f"{results.title(task)}: best is {order[0]} with K = {within[order[0]]}",
        effect="its lead over the second, in nats:",
        estimate=lead,
        also=f"its lead over {', '.join(others)}; budget {budget:.3g} {unit}{too_dear}",
        verdict=higher(lead, results.margin(task)),
    )


CLAIMS: tuple[Callable[[StudyResults], Claim], ...] = (
    rises_with_compartments,
    beats_no_hidden,
    best_at_equal_time,
    best_at_equal_communication,
)
