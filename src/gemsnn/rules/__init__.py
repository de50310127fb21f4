"""How a network learns: one file a rule. To add one, write its file and name it in the list below."""

from gemsnn.rules.feedback import Feedback
from gemsnn.rules.gem import GEM
from gemsnn.rules.iw import IW
from gemsnn.rules.mb import MB
from gemsnn.rules.rule import Communication, Rule

RULES: dict[str, type[Rule]] = {"gem": GEM, "mb": MB, "iw": IW, "feedback": Feedback}
"""The rules by the names that settings files and the command line use."""

__all__ = ["GEM", "IW", "MB", "RULES", "Communication", "Feedback", "Rule"]
