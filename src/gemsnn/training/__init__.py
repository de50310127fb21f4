"""Training runs: configuration, trainer, checkpoints, run directory."""

from gemsnn.training.calibration import Calibration
from gemsnn.training.checkpoints import CheckpointWarning
from gemsnn.training.completions import Completed, complete, save_completion
from gemsnn.training.config import PRESETS, DecoderSettings, TrainingConfig, read_config, write_config
from gemsnn.training.data import ArrayData, ArrayExamples
from gemsnn.training.evaluation import evaluate
from gemsnn.training.live import LiveAnswer, LiveModel
from gemsnn.training.model import Model, load_model, save_model
from gemsnn.training.run import Outcome, RunDirectory, train
from gemsnn.training.trainer import Evaluated, Learned, Observer, Trainer

__all__ = [
    "PRESETS",
    "ArrayData",
    "ArrayExamples",
    "Calibration",
    "CheckpointWarning",
    "Completed",
    "DecoderSettings",
    "Evaluated",
    "Learned",
    "LiveAnswer",
    "LiveModel",
    "Model",
    "Observer",
    "Outcome",
    "RunDirectory",
    "Trainer",
    "TrainingConfig",
    "complete",
    "evaluate",
    "load_model",
    "read_config",
    "save_completion",
    "save_model",
    "train",
    "write_config",
]
