"""How neurons remember spikes: one file a family of filters. To add one, write its file and name it below."""

from gemsnn.model.filters.exponential import Exponential
from gemsnn.model.filters.filter import Filter
from gemsnn.model.filters.raised_cosine import RaisedCosine

FILTERS: dict[str, type[Filter]] = {"raised-cosine": RaisedCosine, "exponential": Exponential, "taps": Filter}
"""The families by the names that settings files use."""

__all__ = ["FILTERS", "Exponential", "Filter", "RaisedCosine"]
