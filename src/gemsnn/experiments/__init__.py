"""Sweeps over any settings, and the paper's experiments: protocol, results, claims, figures, report."""

from gemsnn.experiments.claims import CLAIMS, Claim, Evidence, judge
from gemsnn.experiments.command import carry_out, failures, own_folder
from gemsnn.experiments.protocol import FULL, QUICK, DecodedBy, Protocol
from gemsnn.experiments.reproduce import Finished, Plan, conclude, plan, planned, rewrite
from gemsnn.experiments.results import Results, read_results
from gemsnn.experiments.runs import Measurement, Run, Work, answers
from gemsnn.experiments.sweep import Ended

__all__ = [
    "CLAIMS",
    "FULL",
    "QUICK",
    "Claim",
    "DecodedBy",
    "Ended",
    "Evidence",
    "Finished",
    "Measurement",
    "Plan",
    "Protocol",
    "Results",
    "Run",
    "Work",
    "answers",
    "carry_out",
    "conclude",
    "failures",
    "judge",
    "own_folder",
    "plan",
    "planned",
    "read_results",
    "rewrite",
]
