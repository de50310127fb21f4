"""Probabilistic spiking neural networks with multi-compartment neurons, trained online."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gemsnn._version import __version__
from gemsnn.errors import CheckpointError, ConfigError, DataError, GemsnnError, ShapeError, WriteError

if TYPE_CHECKING:
    from gemsnn import events, inference, learning, metrics, model, plot, rules, training
    from gemsnn.estimator import GEMClassifier, SpikingClassifier
    from gemsnn.inference import Prediction, log_likelihood, predict, predict_anytime, sample
    from gemsnn.learning import LearnResult, Stream, StreamInfo, TraceMeans, learn
    from gemsnn.model import Circuit, Exponential, Filter, Network, Parameters, RaisedCosine, Topology
    from gemsnn.rules import GEM, IW, MB, Feedback

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
    "TraceMeans",
    "WriteError",
    "__version__",
    "events",
    "inference",
    "learn",
    "learning",
    "log_likelihood",
    "metrics",
    "model",
    "plot",
    "predict",
    "predict_anytime",
    "rules",
    "sample",
    "training",
]

_ROOMS = ("events", "inference", "learning", "metrics", "model", "plot", "rules", "training")
_HOMES = {
    "model": ("Circuit", "Exponential", "Filter", "Network", "Parameters", "RaisedCosine", "Topology"),
    "rules": ("GEM", "IW", "MB", "Feedback"),
    "learning": ("LearnResult", "Stream", "StreamInfo", "TraceMeans", "learn"),
    "inference": ("Prediction", "log_likelihood", "predict", "predict_anytime", "sample"),
    "estimator": ("GEMClassifier", "SpikingClassifier"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # type checkers see the imports above, and so notice a name that is not there

    def __getattr__(name: str) -> Any:
        """Load a room when a name in it is first used: all of them take a second, mostly for Numba and SciPy."""
        if name in _ROOMS:
            return import_module(f"gemsnn.{name}")
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"gemsnn.{_HOME_OF[name]}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING", "Any", "import_module"})
