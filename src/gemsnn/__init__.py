"""Probabilistic spiking neural networks with multi-compartment neurons, trained online by GEM-VLSNN."""

from gemsnn import events, inference, learning, metrics, model
from gemsnn._version import __version__
from gemsnn.errors import CheckpointError, ConfigError, DataError, GemsnnError, ShapeError
from gemsnn.inference import Prediction, log_likelihood, predict, sample
from gemsnn.learning import GEM, LearnResult, Stream, StreamInfo, learn
from gemsnn.model import Exponential, Filter, Network, Parameters, RaisedCosine, Topology

__all__ = [
    "GEM",
    "CheckpointError",
    "ConfigError",
    "DataError",
    "Exponential",
    "Filter",
    "GemsnnError",
    "LearnResult",
    "Network",
    "Parameters",
    "Prediction",
    "RaisedCosine",
    "ShapeError",
    "Stream",
    "StreamInfo",
    "Topology",
    "__version__",
    "events",
    "inference",
    "learn",
    "learning",
    "log_likelihood",
    "metrics",
    "model",
    "predict",
    "sample",
]
