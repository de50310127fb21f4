"""The paper's claims, held against what was measured: one file a claim, and the one list that names them.

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

from collections.abc import Sequence

from gemsnn.experiments.claims.accuracy import accuracy_rises
from gemsnn.experiments.claims.broadcast import broadcast_is_linear
from gemsnn.experiments.claims.calibration import calibration_error_falls
from gemsnn.experiments.claims.claim import Claim, Evidence, Judge, Verdict, as_records
from gemsnn.experiments.claims.early_stopping import accuracy_needs_early_stopping
from gemsnn.experiments.claims.likelihood import log_likelihood_rises
from gemsnn.experiments.claims.spikes import spikes_are_linear
from gemsnn.experiments.claims.trends import growth, improvement, proportional, trend
from gemsnn.experiments.results import Results

CLAIMS: tuple[Judge, ...] = (
    log_likelihood_rises,
    accuracy_rises,
    calibration_error_falls,
    accuracy_needs_early_stopping,
    broadcast_is_linear,
    spikes_are_linear,
)

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
    "trend",
]


def judge(results: Results, claims: Sequence[Judge] = CLAIMS) -> list[Claim]:
    """What each claim comes to, from results with at least two K; a claim is a function from results to a `Claim`."""
    return [claim(results) for claim in claims]
