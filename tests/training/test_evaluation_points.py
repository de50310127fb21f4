"""When a run is evaluated, and one run behind the log-likelihood and its decoder."""

import numpy as np
import pytest

from gemsnn.errors import ConfigError
from gemsnn.training import (
    ArrayData,
    ArrayExamples,
    DecoderSettings,
    TrainingConfig,
    read_config,
    trainer_of,
    write_config,
)
from gemsnn.training.evaluation import evaluate


@pytest.fixture
def data() -> ArrayData:
    rng = np.random.default_rng(0)
    labels = np.tile([0, 1], 10)
    spikes = rng.random((20, 8, 5)) < np.where(labels == 0, 0.2, 0.6)[:, None, None]
    return ArrayData(ArrayExamples(spikes, labels), (0, 1), ArrayExamples(spikes[:6], labels[:6]))


class Noted:
    def __init__(self) -> None:
        self.at: list[int] = []
        self.expected: list[int] = []

    def learned(self, trainer, event, /) -> None:
        pass

    def evaluated(self, trainer, event, /) -> None:
        self.at.append(event.record["time_samples"])
        self.expected.append(trainer.evaluations_left)


def test_evaluations_come_after_the_examples_that_reach_the_points(data) -> None:
    config = TrainingConfig.make(n_hidden=2, epochs=2, eval_at=[1, 30, 31, 160])  # 18 examples of 8 steps, twice
    noted = Noted()
    trainer = trainer_of(config, data)
    assert trainer.evaluations_left == 4
    trainer.run(noted)
    assert noted.at == [8, 32, 160, 288]
    assert noted.expected == [3, 2, 1, 0]


def test_evaluations_at_equal_distances_are_counted_too(data) -> None:
    noted = Noted()
    trainer = trainer_of(TrainingConfig.make(n_hidden=2, epochs=2, eval_every=100), data)
    assert trainer.evaluations_left == 3
    trainer.run(noted)
    assert noted.at == [104, 200, 288]
    assert noted.expected == [2, 1, 0]


def test_points_come_back_from_the_settings_file(tmp_path) -> None:
    config = TrainingConfig.make(eval_at=(10, 20), extra_decoders=[DecoderSettings(compartments=3)])
    (tmp_path / "config.toml").write_text(write_config(config))
    assert read_config(tmp_path / "config.toml")[0] == config


def test_points_and_distances_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="eval_every and eval_at"):
        TrainingConfig.make(eval_at=[10], eval_every=5)


def test_the_likelihood_decoder_shares_its_run_with_the_log_likelihood(data) -> None:
    config = TrainingConfig.make(n_hidden=6, weight_scale=2.0)
    network = config.network(5, 2)
    parameters = config.initial_parameters(network)
    indices = np.arange(6)
    likelihood = DecoderSettings(kind="likelihood", compartments=7)

    def measured(*decoders: DecoderSettings, samples: int) -> dict:
        return evaluate(network, parameters, data.test, indices, decoders, likelihood_samples=samples, seed=3)

    shared = measured(likelihood, samples=7)
    alone = measured(DecoderSettings(kind="vote", compartments=1), samples=7)
    other = measured(likelihood, samples=8)
    assert shared["log_likelihood"] == pytest.approx(alone["log_likelihood"], rel=1e-6)
    assert shared["log_likelihood"] != other["log_likelihood"]
    assert {k: shared[k] for k in ("accuracy", "nll", "brier")} == {k: other[k] for k in ("accuracy", "nll", "brier")}
