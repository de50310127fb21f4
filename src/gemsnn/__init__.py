"""Probabilistic spiking neural networks with multi-compartment neurons, trained online by GEM-VLSNN."""

from gemsnn import events
from gemsnn._version import __version__
from gemsnn.errors import CheckpointError, ConfigError, DataError, GemsnnError, ShapeError

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DataError",
    "GemsnnError",
    "ShapeError",
    "__version__",
    "events",
]
