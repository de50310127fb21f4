"""The baselines learn what is easy, say how well they did, and are not run twice."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from gemsnn.errors import ConfigError
from gemsnn.events import open_prepared, simulate_prepared, write_prepared

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
import baselines
import judging

N, T, N_INPUTS = 90, 12, 10


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Each class has three busy inputs; the last input never spikes."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    busy = np.arange(N_INPUTS) // 3 == y[:, None]
    X = rng.random((N, T, N_INPUTS)) < np.where(busy, 0.4, 0.15)[:, None]
    X[..., -1] = False
    path = tmp_path_factory.mktemp("data") / "easy.h5"
    write_prepared(path, X, y, split=0.3)
    return path


@pytest.fixture(scope="module")
def camera(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "camera.h5"
    simulate_prepared(path, digits=(0, 1), per_class=(20, 10))
    return path


def check(result, method, n_hidden):
    assert (result.method, result.data, result.seed, result.n_hidden) == (method, "easy.h5", 1, n_hidden)
    assert (result.n_train, result.n_test) == (63, 27)
    assert result.accuracy == result.test["accuracy"] > 0.8
    for figures in (result.test, result.test["scaled"]):
        assert 0 <= figures["ece"] < 0.5
        assert figures["nll"] < np.log(3)
        assert figures["brier"] < 2 / 3
    assert result.train_seconds > 0
    assert min(result.answer_seconds.values()) > 0
    json.dumps(result.settings)


def test_logistic_regression_learns_from_the_counts(path):
    with open_prepared(path) as data:
        result = baselines.logistic(data, seed=1, shift=0)
    check(result, "logistic", n_hidden=0)
    assert result.settings["C"] in baselines.PENALTIES
    assert result.choice_seconds > 0
    assert result.hidden_spikes == 0


def test_a_network_trained_by_surrogate_gradients_learns(path):
    pytest.importorskip("snntorch")
    settings = dict(learning_rate=1e-2, batch_size=8, epochs=6, shift=0)
    with open_prepared(path) as data:
        result = baselines.surrogate(data, seed=1, n_hidden=20, **settings)
        again = baselines.surrogate(data, seed=1, n_hidden=20, **settings)
        sparse = baselines.surrogate(data, seed=1, n_hidden=20, spike_penalty=0.01, **settings)
    check(result, "snntorch", n_hidden=20)
    assert sparse.hidden_spikes < result.hidden_spikes < 20 * T
    assert again.test == result.test


def test_a_convolutional_network_learns_from_pictures(camera, path):
    pytest.importorskip("torch")
    with open_prepared(camera) as data:
        assert baselines.convolutional(data, seed=1, epochs=10, batch_size=8).accuracy > 0.8
    with open_prepared(path) as data, pytest.raises(ConfigError, match="its inputs lie on no grid"):
        baselines.convolutional(data, seed=1)


def test_examples_are_shown_moved_where_there_is_a_grid(camera, path):
    with open_prepared(path) as data, pytest.raises(ConfigError, match="the inputs lie on no grid"):
        baselines.logistic(data, seed=1)
    with open_prepared(camera) as data:
        recordings = baselines.Recordings.read(data, seed=1)
        rng, which = np.random.default_rng(0), recordings.training[:8]
        still, moving = (recordings.shown(which, shift, rng) for shift in (0, 2))
        assert baselines.logistic(data, seed=1).accuracy > 0.8
    np.testing.assert_array_equal(still, recordings.train[which])
    assert (moving != still).any(axis=(1, 2)).sum() >= 6


def test_held_out_recordings_are_those_that_gemsnn_holds_out(camera):
    from gemsnn.training import TrainingConfig, trainer_of

    with open_prepared(camera) as data:
        recordings, trainer = baselines.Recordings.read(data, seed=3), trainer_of(TrainingConfig.make(seed=3), data)
    np.testing.assert_array_equal(recordings.held_out, trainer.partition.validation)
    np.testing.assert_array_equal(recordings.training, trainer.partition.training)


def test_a_temperature_mends_answers_that_are_too_sure():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 3))
    honest = judging.at_temperature(logits, 1.0)
    labels = np.array([rng.choice(3, p=p) for p in np.exp(honest)])
    too_sure = judging.at_temperature(logits, 1 / 3)
    found = judging.judged(labels[:2000], too_sure[:2000], labels[2000:], too_sure[2000:])
    assert found["temperature"] == pytest.approx(3, rel=0.1)
    assert found["scaled"]["nll"] < found["nll"]
    assert found["scaled"]["ece"] < 0.04 < found["ece"]


def test_the_command_adds_what_is_missing_and_skips_what_is_there(camera, tmp_path, capsys):
    out = tmp_path / "baselines"
    command = [str(camera), "--only", "logistic", "--out", str(out), "--jobs", "1", "--seeds"]
    baselines.main([*command, "0"])
    first = {file: file.stat().st_mtime_ns for file in (out / "measured").iterdir()}
    assert len(first) == 1
    assert "seed0 done, accuracy" in capsys.readouterr().out

    baselines.main([*command, "0", "1"])
    told = capsys.readouterr().out
    assert "seed1 done, accuracy" in told
    assert "seed0 done" not in told
    assert {file: file.stat().st_mtime_ns for file in first} == first
    found = [(result.method, result.data, result.seed) for result in baselines.read_results(out)]
    assert found == [("logistic", "camera.h5", 0), ("logistic", "camera.h5", 1)]


def test_without_snntorch_the_command_says_what_to_install(path, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "snntorch", None)
    with pytest.raises(SystemExit, match=r"pip install 'gemsnn\[bench\]'"):
        baselines.main([str(path), "--out", str(tmp_path / "baselines")])
    assert not (tmp_path / "baselines").exists()
