"""Files of version 0.1 are refused, with what to do, and stay as they are."""

import shutil
from pathlib import Path

import pytest
import toy

from gemsnn import CheckpointError
from gemsnn.events import open_prepared
from gemsnn.training import TrainingConfig, load_model, train

WRITTEN = Path(toy.__file__).parent / "version-0.1"


def test_a_model_is_refused():
    with pytest.raises(CheckpointError, match=r"written by gemsnn 0\.1.* train it again"):
        load_model(WRITTEN / "model.safetensors")


def test_a_run_is_not_resumed_and_not_changed(tmp_path):
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    shutil.copy(WRITTEN / "checkpoint.safetensors", run / "checkpoints" / "000000000006.safetensors")
    with (
        open_prepared(toy.prepared(tmp_path / "toy.h5", n=12)) as data,
        pytest.raises(CheckpointError, match=r"written by gemsnn 0\.1.* start anew in another directory"),
    ):
        train(TrainingConfig.make(n_hidden=2), data, run, resume=True)
    kept = (run / "checkpoints" / "000000000006.safetensors").read_bytes()
    assert kept == (WRITTEN / "checkpoint.safetensors").read_bytes()
