"""Training runs: configuration, trainer, checkpoints, run directory."""

from gemsnn.training.augmentation import Augmentation, Shift
from gemsnn.training.calibration import Calibration
from gemsnn.training.checkpoints import CheckpointWarning
from gemsnn.training.config import (
    PRESETS,
    DecoderSettings,
    NetworkSettings,
    ScheduleSettings,
    TrainingConfig,
    read_config,
    write_config,
)
from gemsnn.training.data import ArrayData, ArrayExamples
from gemsnn.training.evaluation import evaluate
from gemsnn.training.evaluations import Evaluations
from gemsnn.training.from_model import FromModel
from gemsnn.training.from_settings import trainer_of
from gemsnn.training.health import LearningWarning
from gemsnn.training.live import LiveAnswer, LiveModel
from gemsnn.training.model import Answers, Model, save_model
from gemsnn.training.nothing import NOTHING, LessonsAboutNothing
from gemsnn.training.pairs import PairData
from gemsnn.training.partition import Partition
from gemsnn.training.run import Outcome, RunDirectory, load_model, train
from gemsnn.training.schedule import Schedule
from gemsnn.training.trainer import Evaluated, Learned, Observer, Trainer

__all__ = [
    "NOTHING",
    "PRESETS",
    "Answers",
    "ArrayData",
    "ArrayExamples",
    "Augmentation",
    "Calibration",
    "CheckpointWarning",
    "DecoderSettings",
    "Evaluated",
    "Evaluations",
    "FromModel",
    "Learned",
    "LearningWarning",
    "LessonsAboutNothing",
    "LiveAnswer",
    "LiveModel",
    "Model",
    "NetworkSettings",
    "Observer",
    "Outcome",
    "PairData",
    "Partition",
    "RunDirectory",
    "Schedule",
    "ScheduleSettings",
    "Shift",
    "Trainer",
    "TrainingConfig",
    "evaluate",
    "load_model",
    "read_config",
    "save_model",
    "train",
    "trainer_of",
    "write_config",
]
