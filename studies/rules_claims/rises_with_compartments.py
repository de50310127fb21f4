"""Does the log-likelihood rise with K: for which rule, on which task?"""

from __future__ import annotations

import numpy as np
from rules_results import StudyResults

from gemsnn.common.words import with_interval
from gemsnn.experiments import Claim, Evidence
from gemsnn.experiments.claims import improvement
from gemsnn.experiments.statistics import Estimate, estimate, slopes


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
