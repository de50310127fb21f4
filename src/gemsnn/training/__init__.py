"""Training runs: configuration, trainer, checkpoints, run directory."""

from gemsnn.training.calibration import Calibration
from gemsnn.training.checkpoints import CheckpointWarning
from gemsnn.training.config import PRESETS, DecoderSettings, TrainingConfig, read_config, write_config
from gemsnn.training.data import ArrayData, ArrayExamples
from gemsnn.training.evaluation import evaluate
from gemsnn.training.model import Model, load_model, save_model
from gemsnn.training.run import Outcome, RunDirectory, train
from gemsnn.training.trainer import Evaluated, Learned, Observer, Trainer

__all__ = [
    "PRESETS",
    "ArrayData",
    "ArrayExamples",
    "Calibration",
    "CheckpointWarning",
    "DecoderSettings",
    "Evaluated",
    "Learned",
    "Model",
    "Observer",
    "Outcome",
    "RunDirectory",
    "Trainer",
    "TrainingConfig",
    "evaluate",
    "load_model",
    "read_config",
    "save_model",
    "train",
    "write_config",
]
