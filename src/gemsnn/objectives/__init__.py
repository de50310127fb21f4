"""Objectives of learning: one file per objective. To add one, write its file and add it to the list below."""

from gemsnn.common import kinds
from gemsnn.errors import ConfigError
from gemsnn.objectives.likelihood import Likelihood
from gemsnn.objectives.objective import Objective
from gemsnn.objectives.reward import Reward
from gemsnn.objectives.van_rossum import VanRossum

OBJECTIVES: dict[str, type[Objective]] = {"likelihood": Likelihood, "van-rossum": VanRossum, "reward": Reward}
"""The objectives by the names that settings files and the command line use."""

LIKELIHOOD: Objective = OBJECTIVES["likelihood"]()
"""The default."""

__all__ = ["LIKELIHOOD", "OBJECTIVES", "Likelihood", "Objective", "Reward", "VanRossum", "register"]


def register(name: str, objective: type[Objective]) -> None:
    """Let settings name an objective of your own, as they name the built-in ones; see ``docs/extending.md``."""
    if not (isinstance(objective, type) and issubclass(objective, Objective)):
        raise ConfigError(f"an objective is a class that inherits from gemsnn.Objective, got {objective!r}")
    kinds.register("objective", OBJECTIVES, name, objective)
