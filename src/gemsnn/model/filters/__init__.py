"""How neurons remember spikes: one file per family of filters. To add one, write its file and name it below."""

from gemsnn.common import kinds
from gemsnn.errors import ConfigError
from gemsnn.model.filters.exponential import Exponential
from gemsnn.model.filters.filter import Filter
from gemsnn.model.filters.raised_cosine import RaisedCosine

FILTERS: dict[str, type[Filter]] = {"raised-cosine": RaisedCosine, "exponential": Exponential, "taps": Filter}
"""The families by the names that settings files use."""

__all__ = ["FILTERS", "Exponential", "Filter", "RaisedCosine", "register"]


def register(name: str, family: type[Filter]) -> None:
    """Let settings name a family of filters of your own, as they name the built-in ones."""
    if not (isinstance(family, type) and issubclass(family, Filter)):
        raise ConfigError(f"a family of filters is a class that inherits from gemsnn.Filter, got {family!r}")
    kinds.register("filter", FILTERS, name, family)
