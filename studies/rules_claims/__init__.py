"""The questions of the study of rules, one file each. How they are answered was fixed before any run.

A difference is one of test log-likelihoods, paired over seeds, with a 95 % interval (Student's t). Where a rule may be
used with several K, the K is the one with the highest log-likelihood of validation examples.
"""

from __future__ import annotations

from collections.abc import Callable

from rules_results import StudyResults

from gemsnn.experiments import Claim
from rules_claims.beats_no_hidden import beats_no_hidden
from rules_claims.best_at_equal_cost import best_at_equal_communication, best_at_equal_time
from rules_claims.rises_with_compartments import rises_with_compartments

CLAIMS: tuple[Callable[[StudyResults], Claim], ...] = (
    rises_with_compartments,
    beats_no_hidden,
    best_at_equal_time,
    best_at_equal_communication,
)
