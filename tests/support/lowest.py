"""The lower bounds of pyproject.toml as requirements that nothing else satisfies, for ``make test-lowest``."""

import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
NOT_FOR_TESTS = ("ruff", "mypy")  # tools that look at the code; their newest versions do so in make lint
# What ours pull in themselves, where their newest versions warn of the oldest of ours.
INDIRECT = ("click==8.1.8", "pyparsing==3.1.0")


def lowest() -> list[str]:
    """``name==bound`` for each ``name>=bound``."""
    extras = PROJECT["optional-dependencies"]
    bounds = [*PROJECT["dependencies"], *extras["dev"], *extras["cluster"], *extras["tensorboard"]]
    names = {bound.partition(",")[0].replace(">=", "==") for bound in bounds}
    return sorted(name for name in names if not name.startswith(NOT_FOR_TESTS))


if __name__ == "__main__":
    print("\n".join([*lowest(), *INDIRECT]))
