"""A model with a guarantee: what it may be calibrated on, what is kept of it, and what it is judged by."""

import os
from pathlib import Path

import numpy as np
import pytest
import toy

import gemsnn
from gemsnn import CheckpointError, ConfigError, DataError, ShapeError
from gemsnn.events import find_nmnist, import_recordings, open_prepared, write_prepared
from gemsnn.events.prepared import resplit
from gemsnn.inference import SmallSet, calibrate, recording_key
from gemsnn.training import DecoderSettings, RunDirectory, load_model, save_model, train
from gemsnn.training.appraisal import appraise
from gemsnn.training.tensors import read_tensors, write_tensors

REAL = os.environ.get("GEMSNN_REAL_DATA")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """36 training and 60 test examples, hard enough to be wrong about."""
    X, y = toy.examples(96, seed=3)
    noise = np.random.default_rng(1).random(X.shape) < 0.35
    path = tmp_path_factory.mktemp("data") / "toy.h5"
    write_prepared(path, X ^ noise, y, split=["train" if i < 36 else "test" for i in range(96)])
    return path


@pytest.fixture(scope="module")
def model(file, tmp_path_factory):
    directory = tmp_path_factory.mktemp("run") / "run"
    with open_prepared(file) as data:
        train(toy.config(), data, directory)
    return RunDirectory(directory).load_model()


@pytest.fixture
def data(file):
    with open_prepared(file) as opened:
        yield opened


def everything(split):
    return split.read(np.arange(len(split)))


def test_thresholds_are_those_of_the_models_own_answers(model, data):
    X, y = everything(data.test), data.test.labels
    found = model.calibrate(X, np.array(model.classes)[y], alpha=0.2, checkpoints=4)
    assert found.calibration.guarantee == calibrate(model.predict_anytime(X), y, 0.2, 4)
    assert found.calibration.decoder == model.decoder
    assert model.calibration is None
    sets = found.predict_set(X, size=2)
    expected = found.calibration.guarantee.stop(model.predict_anytime(X), 2)
    assert all(np.array_equal(a, b) for a, b in zip(sets, expected, strict=True))


def test_a_share_is_drawn_and_the_rest_is_left_to_judge_by(model, data):
    found = model.calibrate_on(data, 0.2, checkpoints=4)
    calibration = found.calibration
    assert calibration.guarantee.n_recordings == 30
    assert calibration.about == {"data": data.fingerprint, "split": "test", "of": 60}
    keys = {recording_key(one) for one in data.test}
    assert len(calibration.keys) == 30
    assert set(calibration.keys.tolist()) <= keys
    judged = appraise(found, found.decoder, data.test, set_size=1).figures["sets"]
    assert (judged["examples"], judged["calibrated_on"]) == (30, 30)
    new = [i for i in range(60) if recording_key(data.test[i]) not in set(calibration.keys.tolist())]
    sets = found.predict_set(data.test.read(new))
    holds = sets.members[np.arange(30), data.test.labels[new]]
    assert judged["coverage"] == holds.mean()
    assert judged["interval"][0] < judged["coverage"] <= judged["interval"][1]
    assert judged["mean_size"] == sets.sizes.mean()
    assert sum(judged["sizes"]) == 30
    assert judged["steps"] == sets.steps.mean() < judged["steps_to_the_end"] == 20
    assert judged["stopped_early"] == (sets.steps < 20).mean()
    assert judged["hidden_spikes"] == pytest.approx(sets.hidden_spikes.mean())
    assert judged["hidden_spikes"] < judged["hidden_spikes_to_the_end"]


def test_where_everything_was_calibrated_on_nothing_is_judged(model, data):
    found = model.calibrate_on(data, 0.2, checkpoints=4, share=1)
    judged = appraise(found, found.decoder, data.test, set_size=1).figures["sets"]
    assert (judged["examples"], judged["calibrated_on"]) == (0, 60)
    assert "coverage" not in judged


def test_what_the_model_learned_from_is_refused(model, data, tmp_path):
    with pytest.raises(DataError, match=r"toy\.h5: the model learned from the train split of this file"):
        model.calibrate_on(data, split="train")
    resplit(data, tmp_path / "again.h5", 0.5, seed=1)
    with open_prepared(tmp_path / "again.h5") as again, pytest.raises(DataError, match="made by splitting anew"):
        model.calibrate_on(again)


def test_the_train_split_of_another_file_will_do(model, tmp_path):
    X, y = toy.examples(60, seed=9)
    write_prepared(tmp_path / "other.h5", X, y, split=0.0)
    with open_prepared(tmp_path / "other.h5") as other:
        found = model.calibrate_on(other, 0.2, split="train", share=1, checkpoints=4)
        assert found.calibration.guarantee.n_recordings == 60
        with pytest.raises(DataError, match=r"other\.h5: the test split is empty"):
            model.calibrate_on(other, 0.2)


def test_examples_of_any_kind_will_do(model, data):
    found = model.calibrate_on(data.test, 0.2, share=1, checkpoints=4)
    assert found.calibration.guarantee == model.calibrate_on(data, 0.2, share=1, checkpoints=4).calibration.guarantee
    assert found.calibration.about == {"of": 60}


def test_a_guarantee_is_part_of_the_models_file(model, data, tmp_path):
    found = model.calibrate_on(data, 0.2, checkpoints=[5, 20], decoder="vote", compartments=3)
    save_model(found, tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert again.calibration.guarantee == found.calibration.guarantee
    assert again.calibration.decoder == DecoderSettings(kind="vote", compartments=3)
    assert again.calibration.about == found.calibration.about
    assert np.array_equal(again.calibration.keys, found.calibration.keys)
    X = everything(data.test)
    assert all(np.array_equal(a, b) for a, b in zip(found.predict_set(X), again.predict_set(X), strict=True))


def test_a_changed_threshold_is_not_believed(model, data, tmp_path):
    path = tmp_path / "model.safetensors"
    save_model(model.calibrate_on(data, 0.2, checkpoints=[5, 20]), path)
    content = path.read_bytes()
    assert content.count(b'\\"alpha\\": 0.2') == 1
    path.write_bytes(content.replace(b'\\"alpha\\": 0.2', b'\\"alpha\\": 0.1'))
    with pytest.raises(CheckpointError, match="does not fit its checksum"):
        load_model(path)


def test_a_guarantee_that_makes_no_sense_is_refused(model, data, tmp_path):
    path = tmp_path / "model.safetensors"
    save_model(model.calibrate_on(data, 0.2, checkpoints=[5, 20]), path)
    header, arrays = read_tensors(path, "gemsnn model", 3)
    for name in ("format", "version"):
        del header[name]
    header["calibration"]["guarantee"]["alpha"] = 2
    write_tensors(path, "gemsnn model", 3, header, arrays)
    with pytest.raises(CheckpointError, match="not a usable model: alpha must lie between 0 and 1"):
        load_model(path)


def test_without_calibration_there_are_no_sets(model, data):
    with pytest.raises(CheckpointError, match="has no guarantee: calibrate it"):
        model.predict_set(everything(data.test))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"labels": [2] * 5}, ShapeError, "60 recordings, but 5 labels"),
        ({"labels": [4] * 60}, DataError, r"labels hold 4, which is none of the classes \[2, 5, 7\]"),
        ({"labels": np.zeros((60, 3))}, ShapeError, r"labels have shape \(60, 3\)"),
        ({"alpha": 0.001}, DataError, "needs at least 999 recordings"),
        ({"recordings": np.zeros((60, 20, 11))}, ShapeError, "n_inputs"),
    ],
)
def test_mistakes_are_told(model, data, change, error, message):
    usual = {"recordings": everything(data.test), "labels": np.array(model.classes)[data.test.labels], "alpha": 0.2}
    with pytest.raises(error, match=message):
        model.calibrate(**{**usual, **change})


@pytest.mark.parametrize("share", [0, 1.5, -0.1])
def test_a_share_lies_between_nothing_and_all(model, data, share):
    with pytest.raises(ConfigError, match="share must lie above 0 and not above 1"):
        model.calibrate_on(data, share=share)


def test_data_without_one_class_each_are_refused(model, tmp_path):
    X, _ = toy.examples(12)
    write_prepared(tmp_path / "several.h5", X, np.eye(3, dtype=int)[np.arange(12) % 3], split=1.0)
    with open_prepared(tmp_path / "several.h5") as several, pytest.raises(DataError, match="one class each"):
        model.calibrate_on(several, 0.2)


def test_recordings_of_different_lengths(model, data):
    X = [one[: 10 + i % 11] for i, one in enumerate(data.test)]
    found = model.calibrate(X, np.array(model.classes)[data.test.labels], alpha=0.2, checkpoints=4)
    assert found.calibration.guarantee.checkpoints == (5, 10, 15, 20)
    sets = found.predict_set(X)
    assert sets.members.shape == (60, 3)
    assert (sets.steps <= [len(one) for one in X]).all()


def kept_over_splits(answers, y, m, splits=200):
    """Mean share of sets that hold the true class when stopped, and at all times; alpha is 0.2."""
    rng, stopped, always = np.random.default_rng(0), [], []
    for _ in range(splits):
        order = rng.permutation(len(y))
        held, new = (type(answers)(*(values[part] for values in answers)) for part in (order[:m], order[m:]))
        guarantee, truth = calibrate(held, y[order[:m]], 0.2, 5), y[order[m:]]
        stopped.append(guarantee.stop(new).members[np.arange(len(truth)), truth].mean())
        always.append(np.take_along_axis(guarantee.sets(new), truth[:, None, None], -1).all(axis=1).mean())
    return np.mean(stopped), np.mean(always), np.std(always) / np.sqrt(splits)


def test_over_many_splits_a_trained_networks_sets_keep_the_promise(model):
    """Of recordings that never were in one file with the training data."""
    X, y = toy.examples(600, seed=11)
    X, y = X ^ (np.random.default_rng(2).random(X.shape) < 0.35), np.searchsorted(model.classes, y)
    answers = model.predict_anytime(X)
    stopped, always, error = kept_over_splits(answers, y, 100)
    assert stopped >= always > 0.8 - 3 * error
    assert gemsnn.metrics.accuracy(y, answers.classes[:, -1]) < 0.97, "too easy to test anything"


@pytest.mark.skipif(not REAL, reason="GEMSNN_REAL_DATA does not name a folder of real recordings")
def test_over_many_splits_real_recordings_keep_the_promise(tmp_path):
    inventory = find_nmnist(Path(REAL) / "n-mnist", (0, 1, 2))
    import_recordings(inventory, tmp_path / "digits.h5", split="stratified", test_fraction=0.6, seed=0)
    with open_prepared(tmp_path / "digits.h5") as data:
        train(toy.config(epochs=1, validation_fraction=0.0, eval_every=None), data, tmp_path / "run")
        model = RunDirectory(tmp_path / "run").load_model()
        answers, y = model.predict_anytime(everything(data.test)), data.test.labels
    stopped, always, error = kept_over_splits(answers, y, 90)
    assert stopped >= always > 0.8 - 3 * error


# ---- alive


@pytest.fixture(scope="module")
def promised(model, file):
    with open_prepared(file) as data:
        return model.calibrate_on(data, 0.2, checkpoints=[3, 9, 20])


def test_a_stream_gives_the_sets_of_the_whole_recording_and_stops_where_it_would(promised, data):
    live, stopped = promised.stream(), 0
    for i in range(12):
        inputs = data.test[i]
        answers = promised.predict_anytime([inputs])[0]
        sets = promised.calibration.guarantee.sets(answers)
        expected = promised.calibration.guarantee.stop(answers)
        live.reset(key=recording_key(inputs))
        for t, row in enumerate(inputs):
            answer = live.step(row)
            assert answer.labels == tuple(np.array(promised.classes)[sets[t]])
            assert answer.stop == (t + 1 >= expected.steps and expected.sizes <= 1)
        stopped += live.decision is not None
        if live.decision is not None:
            assert live.decision.step == expected.steps
    assert stopped > 0


def test_a_recording_that_ends_early_is_told_so(promised, data):
    inputs = data.test[0][:7]
    answers = promised.predict_anytime([inputs])[0]
    live = promised.stream(key=recording_key(inputs))
    for row in inputs:
        live.step(row)
    live.finish()
    members = promised.calibration.guarantee.sets(answers)[-1]
    assert live.answer.labels == tuple(np.array(promised.classes)[members])


def test_a_stream_promises_nothing_with_another_decoder_while_it_is_taught_or_if_asked_for_confidence(promised, data):
    for options in ({"decoder": "vote"}, {"compartments": 3}, {"learning": True}, {"stop": 0.9}):
        assert promised.stream(**options).step(data.test[0][0]).labels is None
    larger = promised.stream(stop=SmallSet(promised.calibration.guarantee, size=2))
    assert larger.step(data.test[0][0]).labels == promised.classes


def test_recordings_that_were_learned_from_are_refused_wherever_they_come_from(tmp_path, data_file):
    """The prepared file's fingerprint is not enough: they may come as files, or as arrays."""
    with open_prepared(data_file) as prepared:
        train(toy.config(epochs=1), prepared, tmp_path / "run")
        X, y = toy.examples(60, seed=9)
        X, y = X.astype(np.uint8), list(y)
        known, label = prepared.train[3], prepared.classes[prepared.train.labels[3]]
    for name in ("best", "final"):
        model = load_model(tmp_path / "run", name)
        assert len(model.learned) == 36
        with pytest.raises(DataError, match="1 of the 61 recordings were learned from"):
            model.calibrate([*X, known], [*y, label], 0.5, checkpoints=1)
        assert model.calibrate(list(X), y, 0.5, checkpoints=1).calibration is not None
