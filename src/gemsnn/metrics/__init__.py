"""Quality and cost of predictions."""

from gemsnn.metrics.calibration import (
    Reliability,
    brier_score,
    expected_calibration_error,
    negative_log_likelihood,
    reliability,
)
from gemsnn.metrics.cost import (
    NetworkCost,
    StepCost,
    communication,
    hidden_spikes_per_step,
    network_cost,
    step_cost,
)
from gemsnn.metrics.labels import LabelScores, accuracy, label_scores
from gemsnn.metrics.van_rossum import van_rossum_distance
from gemsnn.rules import Communication

__all__ = [
    "Communication",
    "LabelScores",
    "NetworkCost",
    "Reliability",
    "StepCost",
    "accuracy",
    "brier_score",
    "communication",
    "expected_calibration_error",
    "hidden_spikes_per_step",
    "label_scores",
    "negative_log_likelihood",
    "network_cost",
    "reliability",
    "step_cost",
    "van_rossum_distance",
]
