"""Probabilistic spiking neural networks with multi-compartment neurons, trained online."""

from typing import TYPE_CHECKING, Any

from gemsnn import events, inference, learning, metrics, model, rules
from gemsnn._version import __version__
from gemsnn.errors import CheckpointError, ConfigError, DataError, GemsnnError, ShapeError, WriteError
from gemsnn.inference import Prediction, log_likelihood, predict, predict_anytime, sample
from gemsnn.learning import LearnResult, Stream, StreamInfo, learn
from gemsnn.model import Circuit, Exponential, Filter, Network, Parameters, RaisedCosine, Topology
from gemsnn.rules import GEM, IW, MB, Feedback

if TYPE_CHECKING:
    from gemsnn.estimator import GEMClassifier, SpikingClassifier

__all__ = [
    "GEM",
    "IW",
    "MB",
    "CheckpointError",
    "Circuit",
    "ConfigError",
    "DataError",
    "Exponential",
    "Feedback",
    "Filter",
    "GEMClassifier",
    "GemsnnError",
    "LearnResult",
    "Network",
    "Parameters",
    "Prediction",
    "RaisedCosine",
    "ShapeError",
    "SpikingClassifier",
    "Stream",
    "StreamInfo",
    "Topology",
    "WriteError",
    "__version__",
    "events",
    "inference",
    "learn",
    "learning",
    "log_likelihood",
    "metrics",
    "model",
    "predict",
    "predict_anytime",
    "rules",
    "sample",
]


def __getattr__(name: str) -> Any:
    """Load what needs scikit-learn only when it is used: importing that takes longer than all the rest."""
    if name in ("GEMClassifier", "SpikingClassifier"):
        from gemsnn import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
