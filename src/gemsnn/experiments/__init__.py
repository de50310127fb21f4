"""Carrying out the paper's experiments: protocol, sweep, results, claims, figures, report."""

from gemsnn.experiments.claims import Claim, judge
from gemsnn.experiments.protocol import FULL, QUICK, Protocol
from gemsnn.experiments.reproduce import Finished, Plan, carry_out, conclude, plan, rewrite
from gemsnn.experiments.results import Results, read_results

__all__ = [
    "FULL",
    "QUICK",
    "Claim",
    "Finished",
    "Plan",
    "Protocol",
    "Results",
    "carry_out",
    "conclude",
    "judge",
    "plan",
    "read_results",
    "rewrite",
]
