"""Learning rules: one file per rule. To add one, write its file and add it to the list below."""

from gemsnn.common import kinds
from gemsnn.errors import ConfigError
from gemsnn.rules.feedback import Feedback
from gemsnn.rules.gem import GEM
from gemsnn.rules.iw import IW
from gemsnn.rules.mb import MB
from gemsnn.rules.rule import Communication, Rule

RULES: dict[str, type[Rule]] = {"gem": GEM, "mb": MB, "iw": IW, "feedback": Feedback}
"""The rules by the names that settings files and the command line use."""

__all__ = ["GEM", "IW", "MB", "RULES", "Communication", "Feedback", "Rule", "register"]


def register(name: str, rule: type[Rule]) -> None:
    """Let settings name a rule of your own, as they name the built-in ones; see ``docs/extending.md``."""
    if not (isinstance(rule, type) and issubclass(rule, Rule)):
        raise ConfigError(f"a rule is a class that inherits from gemsnn.Rule, got {rule!r}")
    kinds.register("rule", RULES, name, rule)
