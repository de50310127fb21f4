"""The paper's claims, held against what was measured: one function per claim, and the list of them.

The rules are fixed here and in the protocol, before any run. An improvement is a difference over seeds, paired: each
seed gives one number, their mean has a Student t interval.

- *supported*: the interval of the difference between the largest and the smallest K lies above 0, and so does that of
  the slope over log2 K;
- *not supported*: the interval lies below the protocol's margin, so that an improvement worth the name is excluded;
- *inconclusive*: anything else.

Where a claim has several pieces of evidence, the first, which is nearest to what the paper did, gives the verdict; the
others stand beside it with verdicts of their own.
"""

from __future__ import annotations

from collections.abc import Collection

from gemsnn.common import kinds
from gemsnn.experiments.claims.claim import Claim, Evidence, Judge, Verdict, as_records
from gemsnn.experiments.claims.paper import (
    accuracy_needs_early_stopping,
    accuracy_rises,
    broadcast_is_linear,
    calibration_error_falls,
    log_likelihood_rises,
    spikes_are_linear,
)
from gemsnn.experiments.claims.trends import growth, improvement, proportional, trend
from gemsnn.experiments.results import Results

CLAIMS: dict[str, Judge] = {
    "log-likelihood": log_likelihood_rises,
    "accuracy": accuracy_rises,
    "calibration": calibration_error_falls,
    "early-stopping": accuracy_needs_early_stopping,
    "broadcast": broadcast_is_linear,
    "spikes": spikes_are_linear,
}

__all__ = [
    "CLAIMS",
    "Claim",
    "Evidence",
    "Judge",
    "Verdict",
    "as_records",
    "growth",
    "improvement",
    "judge",
    "proportional",
    "register",
    "trend",
]


def judge(results: Results, claims: Collection[Judge] = CLAIMS.values()) -> list[Claim]:
    """What each claim comes to, from results with at least two K; a claim is a function from results to a `Claim`."""
    return [claim(results) for claim in claims]


def register(name: str, claim: Judge) -> None:
    """Judge a claim of your own beside the paper's, wherever no other claims are asked for."""
    kinds.register("claim", CLAIMS, name, claim)
