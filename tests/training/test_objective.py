"""Training for another objective: in two parts, through crashes, with warnings where silence would win."""

import warnings

import numpy as np
import pytest

import gemsnn
from gemsnn.training import ArrayData, ArrayExamples, RunDirectory, TrainingConfig, read_config, train, write_config
from gemsnn.training.from_settings import trainer_of
from gemsnn.training.trainer import DivergenceWarning

rng = np.random.default_rng(0)
SPIKES = (rng.random((12, 25, 6)) < 0.3).astype(np.uint8)
TARGETS = np.roll(SPIKES[:, :, :2], 2, axis=1)
DATA = ArrayData(
    ArrayExamples(SPIKES, targets=TARGETS), classes=(), test=ArrayExamples(SPIKES[:4], targets=TARGETS[:4])
)
CONFIG = TrainingConfig.make(
    objective={"kind": "van-rossum", "time_constant": 3.0}, n_hidden=5, epochs=3, rule={"learning_rate": 0.01},
    likelihood_samples=2, validation_fraction=0.25, inference_compartments=2, checkpoint_seconds=0,
)  # fmt: skip


def test_the_first_part_is_learned_for_likelihood_and_the_rest_for_the_objective():
    by_likelihood, both = trainer_of(CONFIG.changed(objective="likelihood"), DATA), trainer_of(CONFIG, DATA)
    third = both.total // 3
    for trainer in (by_likelihood, both):
        while trainer.position < third:
            trainer.learn_next()
    assert both.state.parameters == by_likelihood.state.parameters
    for trainer in (by_likelihood, both):
        trainer.learn_next()
    assert both.state.parameters != by_likelihood.state.parameters


def test_the_second_part_may_have_a_rule_of_its_own():
    rule = {"kind": "mb", "baseline": "leave-one-out"}
    config = CONFIG.changed(objective_rule=rule, n_compartments=3)
    assert trainer_of(config, DATA).objective_rule == gemsnn.MB(baseline="leave-one-out")
    with pytest.raises(gemsnn.ConfigError, match="2 or more"):
        trainer_of(CONFIG.changed(objective_rule=rule), DATA)


def test_a_run_that_is_stopped_ends_in_the_same_bits(tmp_path):
    whole = train(CONFIG, DATA, tmp_path / "whole")
    for stop_at in (4, 11):
        seen = iter(range(stop_at))
        train(CONFIG, DATA, tmp_path / "run", resume=True, stop=lambda seen=seen: next(seen, None) is None)
    stopped = train(CONFIG, DATA, tmp_path / "run", resume=True)
    assert stopped.trainer.state.parameters == whole.trainer.state.parameters
    assert stopped.trainer.state.progress == whole.trainer.state.progress
    summary = RunDirectory(tmp_path / "run").read_summary()
    assert summary["likelihood_trained"]["position"] <= whole.trainer.total // 3 + 1


def test_figures_say_how_near_the_spikes_come_and_how_many_there_are(tmp_path):
    progress = train(CONFIG, DATA, tmp_path / "run").trainer.state.progress
    for record in (progress.likelihood_trained, progress.last):
        assert record["test"]["over_silence"].keys() == {"2", "5", "20"}
        assert record["test"]["target_spikes_per_step"] == pytest.approx(TARGETS[:4].sum(axis=2).mean())
        assert 0 < record["test"]["visible_spikes_per_step"] < 2
    assert progress.last["train"]["report"] < 0
    best = min([progress.likelihood_trained, progress.last], key=lambda one: one["validation"]["van_rossum"])
    assert progress.best["validation"]["van_rossum"] <= best["validation"]["van_rossum"]


def test_rare_spikes_and_silence_are_warned_of():
    rare = np.zeros_like(TARGETS)
    rare[:, 12] = 1
    data = ArrayData(ArrayExamples(SPIKES, targets=rare), classes=())
    trainer = trainer_of(CONFIG.changed(likelihood_first=0.0, visible_bias=-12.0), data)
    with pytest.warns(DivergenceWarning, match="silence may win; take a time_constant above 6.2"):
        trainer.learn_next()
    trainer.learn_next()  # said once
    with pytest.warns(DivergenceWarning, match="fallen silent"):
        trainer.evaluate()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer_of(CONFIG.changed(likelihood_first=0.0), DATA).learn_next()


def test_rewards_from_outside_are_for_streams():
    with pytest.raises(gemsnn.ConfigError, match=r"gemsnn.Stream"):
        TrainingConfig.make(objective="reward")


def test_settings_files_name_the_objective(tmp_path):
    (tmp_path / "config.toml").write_text(write_config(CONFIG))
    assert read_config(tmp_path / "config.toml")[0].objective == gemsnn.VanRossum(3.0)
    with pytest.raises(gemsnn.ConfigError, match="time_constant"):
        TrainingConfig.make(objective={"kind": "van-rossum", "time_constant": 0})
