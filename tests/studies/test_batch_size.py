"""The study of batch sizes measures what a run by hand gives, on validation parts only."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from gemsnn.training import ArrayData, ArrayExamples, TrainingConfig, trainer_of

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
import batch_size
from task_data import load


def test_figures_are_of_the_validation_part_after_the_last_epoch() -> None:
    task = load("rhythms")
    parts = task.split(1)
    learned = np.sort(np.random.default_rng(1).permutation(parts.train)[:12])
    held_out = ArrayExamples(task.arrays(parts.validation), task.labels[parts.validation])
    data = ArrayData(ArrayExamples(task.arrays(learned), task.labels[learned]), task.classes, held_out)
    settings = {"n_hidden": 4, "epochs": 2, "likelihood_samples": 1}
    config = TrainingConfig.make(
        seed=1, batch_size=4, rule={"learning_rate": 1e-3}, validation_fraction=0, inference_compartments=5, **settings
    )
    trainer = trainer_of(config, data)
    trainer.run()
    last = trainer.state.progress.last
    assert last is not None
    found = batch_size.measured("rhythms", 4, seed=1, examples=12, **settings)
    assert found == {figure: last["test"][figure] for figure in ("accuracy", "ece", "nll")}
