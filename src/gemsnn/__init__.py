"""Probabilistic spiking neural networks with multi-compartment neurons, trained online."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gemsnn._version import __version__
from gemsnn.errors import CheckpointError, ConfigError, DataError, GemsnnError, ShapeError, WriteError

if TYPE_CHECKING:
    from gemsnn import checks, encode, events, inference, learning, metrics, model, objectives, plot, rules, training
    from gemsnn.estimator import GEMClassifier, SpikingClassifier
    from gemsnn.inference import Decoder, Prediction, log_likelihood, predict, predict_anytime, sample
    from gemsnn.learning import LearnResult, Stream, StreamInfo, TraceMeans, learn
    from gemsnn.model import Circuit, Exponential, Filter, Network, Parameters, RaisedCosine, Topology
    from gemsnn.objectives import Likelihood, Objective, Reward, VanRossum
    from gemsnn.rules import GEM, IW, MB, Feedback, Rule
    from gemsnn.training import NOTHING, FromModel, NetworkSettings, ScheduleSettings, load_model, train

__all__ = [
    "GEM",
    "IW",
    "MB",
    "NOTHING",
    "CheckpointError",
    "Circuit",
    "ConfigError",
    "DataError",
    "Decoder",
    "Exponential",
    "Feedback",
    "Filter",
    "FromModel",
    "GEMClassifier",
    "GemsnnError",
    "LearnResult",
    "Likelihood",
    "Network",
    "NetworkSettings",
    "Objective",
    "Parameters",
    "Prediction",
    "RaisedCosine",
    "Reward",
    "Rule",
    "ScheduleSettings",
    "ShapeError",
    "SpikingClassifier",
    "Stream",
    "StreamInfo",
    "Topology",
    "TraceMeans",
    "VanRossum",
    "WriteError",
    "__version__",
    "checks",
    "encode",
    "events",
    "inference",
    "learn",
    "learning",
    "load_model",
    "log_likelihood",
    "metrics",
    "model",
    "objectives",
    "plot",
    "predict",
    "predict_anytime",
    "rules",
    "sample",
    "train",
    "training",
]

_ROOMS = (
    "checks",
    "encode",
    "events",
    "inference",
    "learning",
    "metrics",
    "model",
    "objectives",
    "plot",
    "rules",
    "training",
)
_HOMES = {
    "model": ("Circuit", "Exponential", "Filter", "Network", "Parameters", "RaisedCosine", "Topology"),
    "objectives": ("Likelihood", "Objective", "Reward", "VanRossum"),
    "rules": ("GEM", "IW", "MB", "Feedback", "Rule"),
    "learning": ("LearnResult", "Stream", "StreamInfo", "TraceMeans", "learn"),
    "inference": ("Decoder", "Prediction", "log_likelihood", "predict", "predict_anytime", "sample"),
    "training": ("NOTHING", "FromModel", "NetworkSettings", "ScheduleSettings", "load_model", "train"),
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
