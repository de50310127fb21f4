"""Contract checks for your own rules, objectives and decoders, the same that those of gemsnn pass.

A check raises an AssertionError that names the part and the broken promise. Each kind of part has one file, with a
tuple ``PROMISES`` of functions, whose docstrings are the promises, and a function that checks all of them.
"""

from gemsnn.checks.decoders import check_decoder
from gemsnn.checks.objectives import check_objective
from gemsnn.checks.rules import check_rule

__all__ = ["check_decoder", "check_objective", "check_rule"]
