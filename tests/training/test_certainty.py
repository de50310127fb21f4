"""What a model learns from held-out examples about its own answers, and that it keeps it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemsnn import CheckpointError
from gemsnn.inference import UNUSUAL, recording_key
from gemsnn.metrics import expected_calibration_error
from gemsnn.training import ArrayData, ArrayExamples, DecoderSettings, Model, RunDirectory, TrainingConfig, train
from gemsnn.training.appraisal import figures_at_any_time
from gemsnn.training.certainty import FEWEST, certainty_of
from gemsnn.training.model import read_model, save_model

pytestmark = pytest.mark.filterwarnings("ignore:still improving")  # four epochs are few, and enough for these tests

RATES = np.random.default_rng(9).uniform(0.05, 0.3, (3, 12))
SETTINGS = {"n_hidden": 10, "epochs": 4, "validation_fraction": 0.3, "test_limit": 0, "rule.learning_rate": 5e-3}


def recordings(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Poisson channels of three classes, whose answers are far from certain."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return (rng.random((n, 30, 12)) < RATES[labels][:, None]).astype(np.uint8), labels


@pytest.fixture(scope="module")
def data() -> ArrayData:
    # Of 120 held-out recordings, one may be as unusual as a new one that is the most distant of all: 2 / 121 < UNUSUAL.
    return ArrayData(ArrayExamples(*recordings(400, 0)), classes=["a", "b", "c"])


@pytest.fixture(scope="module")
def run(data: ArrayData, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    directory = tmp_path_factory.mktemp("runs") / "first"
    train(TrainingConfig.make(**SETTINGS), data, directory)
    return RunDirectory(directory)


@pytest.fixture
def model(run: RunDirectory) -> Model:
    return run.load_model()


def test_training_ends_with_it_in_the_best_and_the_final_model(run: RunDirectory):
    for which in ("best", "final"):
        certainty = run.load_model(which).certainty
        assert certainty is not None
        assert 115 <= certainty.about["recordings"] <= 125
        assert certainty.usual is not None
        assert certainty.usual.checkpoints[-1] == 30


def test_the_same_run_finds_the_same_to_the_bit(run: RunDirectory, data: ArrayData, tmp_path: Path):
    train(TrainingConfig.make(**SETTINGS), data, tmp_path / "again")
    for which in ("best", "final"):
        assert run.model_path(which).read_bytes() == RunDirectory(tmp_path / "again").model_path(which).read_bytes()


def test_without_calibrate_there_is_none(data: ArrayData, tmp_path: Path):
    train(TrainingConfig.make(**SETTINGS, calibrate=False), data, tmp_path / "run")
    model = RunDirectory(tmp_path / "run").load_model()
    assert model.certainty is None
    assert np.isnan(model.predict(recordings(2, 1)[0]).usual).all()


def test_a_file_keeps_it(model: Model, tmp_path: Path):
    save_model(model, tmp_path / "model.safetensors")
    read = read_model(tmp_path / "model.safetensors")
    inputs = recordings(20, 5)[0]
    for one, other in zip(model.predict(inputs), read.predict(inputs), strict=True):
        np.testing.assert_array_equal(one, other)
    assert read.certainty is not None
    assert model.certainty is not None
    assert read.certainty.temperature == model.certainty.temperature


def test_impossible_arrays_are_refused(model: Model, tmp_path: Path):
    assert model.certainty is not None
    usual = model.certainty.usual
    assert usual is not None
    wrong = {
        "indices of neurons that do not exist": replace(usual, neurons=usual.neurons + 10),
        "checkpoints must increase": replace(usual, checkpoints=usual.checkpoints[::-1]),
        "usual_means has shape": replace(usual, means=usual.means[:, :2]),
        "usual_whitening holds NaN": replace(usual, whitening=usual.whitening * np.float16(np.nan)),
    }
    for message, other in wrong.items():
        save_model(replace(model, certainty=replace(model.certainty, usual=other)), tmp_path / "model.safetensors")
        with pytest.raises(CheckpointError, match=message):
            read_model(tmp_path / "model.safetensors")


def test_answers_are_calibrated_before_the_end_and_at_the_end(model: Model):
    inputs, labels = recordings(1500, 7)
    after = figures_at_any_time(model.predict_anytime(list(inputs)), labels)["after"]
    assert [one["ece"] < 0.07 for one in after] == [True] * 10
    raw = figures_at_any_time(replace(model, certainty=None).predict_anytime(list(inputs)), labels)
    assert np.mean([one["nll"] for one in after]) < np.mean([one["nll"] for one in raw["after"]])
    found = model.predict(inputs)
    assert expected_calibration_error(labels, found.probabilities) == pytest.approx(after[-1]["ece"])


def test_recordings_of_the_same_kind_are_usual_and_others_are_not(model: Model):
    fresh = model.predict(recordings(400, 8)[0])
    assert np.mean(fresh.usual <= 0.1) == pytest.approx(0.1, abs=0.06)
    rng = np.random.default_rng(0)
    dense = model.predict((rng.random((50, 30, 12)) < 0.9).astype(np.uint8))
    assert dense.unusual.mean() > 0.9
    assert (dense.usual < UNUSUAL).tolist() == dense.unusual.tolist()
    assert not model.predict(recordings(1, 9)[0][0]).unusual


def test_silence_has_no_class(model: Model):
    np.testing.assert_allclose(model.predict(np.zeros((30, 12), np.uint8)).probabilities, 1 / 3)


def test_streams_say_what_bulk_answers_say(model: Model):
    inputs = recordings(1, 3)[0][0]
    bulk = model.predict_anytime(inputs)
    live = model.stream(key=recording_key(inputs))
    for t, inputs_t in enumerate(inputs):
        answer = live.step(inputs_t)
        np.testing.assert_allclose(answer.probabilities, bulk.probabilities[t], rtol=1e-9)
        assert answer.usual == (None if np.isnan(bulk.usual[t]) else bulk.usual[t])
    live.reset()
    assert live.step(inputs[0]).usual is None


def test_a_stream_that_learns_does_not_say_how_usual_a_recording_is(model: Model):
    live = model.stream(learning=True)
    for inputs_t in recordings(1, 3)[0][0]:
        answer = live.step(inputs_t, "a")
    assert answer.usual is None
    assert not answer.unusual


def test_it_holds_for_the_decoder_that_it_was_measured_with(model: Model):
    inputs = recordings(5, 3)[0]
    raw = replace(model, certainty=None)
    vote = model.predict(inputs, "vote")
    np.testing.assert_array_equal(vote.probabilities, raw.predict(inputs, "vote").probabilities)
    assert np.isnan(vote.usual).all()
    more = model.predict(inputs, compartments=3)
    assert np.isnan(more.usual).all()
    assert (more.probabilities != raw.predict(inputs, compartments=3).probabilities).any()


def test_sets_with_a_guarantee_are_of_the_calibrated_probabilities(model: Model):
    inputs, labels = recordings(600, 11)
    calibrated = model.calibrate(inputs[:300], np.array(["a", "b", "c"])[labels[:300]])
    found = calibrated.predict_set(inputs[300:])
    assert found.members[np.arange(300), labels[300:]].mean() > 0.85


def test_too_few_or_other_examples_tell_nothing(model: Model):
    inputs, labels = recordings(40, 0)
    everything, few = np.arange(40), np.arange(FEWEST - 1)
    several = ArrayExamples(inputs, np.eye(3, dtype=np.uint8)[labels])
    how = DecoderSettings(kind="per-step")
    parts = model.network, model.parameters
    assert certainty_of(*parts, ArrayExamples(inputs, labels), everything, few, how, seed=0) is None
    assert certainty_of(*parts, several, everything, everything, how, seed=0) is None


def test_recordings_that_differ_in_length_are_measured(model: Model):
    inputs, labels = recordings(60, 0)
    spikes = [one[: 8 + n % 23] for n, one in enumerate(inputs)]
    examples = ArrayExamples(spikes, labels)
    found = certainty_of(
        model.network, model.parameters, examples, np.arange(40), np.arange(40, 60), model.decoder, seed=0
    )
    assert found is not None
    with_it = replace(model, certainty=found)
    assert np.isnan(with_it.predict(spikes).usual).sum() == 0
    assert with_it.predict(inputs[0][:2]).usual != with_it.predict(inputs[0][:2]).usual  # too short to say: NaN
