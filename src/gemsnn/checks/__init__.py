"""Whether a part of your own keeps its contract: the checks that gemsnn's own parts pass, to be run on yours.

A check raises an AssertionError that says which part broke which promise. Each kind of part has one file: a tuple of
``PROMISES``, functions whose first line of documentation is the promise, and a function that checks them all.
"""

from gemsnn.checks.decoders import check_decoder
from gemsnn.checks.objectives import check_objective
from gemsnn.checks.rules import check_rule

__all__ = ["check_decoder", "check_objective", "check_rule"]
