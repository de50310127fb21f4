"""The baselines learn what is easy, say how well they did, and are not run twice."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from gemsnn.errors import ConfigError
from gemsnn.events import open_prepared, simulate_prepared, write_prepared

N, T, N_INPUTS = 90, 12, 10


@pytest.fixture(scope="module")
def baselines():
    """studies/ is a folder of scripts, not a package."""
    path = Path(__file__).parents[2] / "studies" / "baselines.py"
    spec = importlib.util.spec_from_file_location("baselines", path)
    module = sys.modules["baselines"] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["baselines"]


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


def check(result, method, n_hidden):
    assert (result.method, result.data, result.seed, result.n_hidden) == (method, "easy.h5", 1, n_hidden)
    assert (result.n_train, result.n_test) == (63, 27)
    assert result.accuracy > 0.8
    assert 0 <= result.ece < 0.5
    assert result.nll < np.log(3)
    assert result.brier < 2 / 3
    json.dumps(result.settings)


def test_logistic_regression_learns_from_the_counts(baselines, path):
    with open_prepared(path) as data:
        result = baselines.logistic(data, seed=1)
    check(result, "logistic", n_hidden=0)
    assert result.settings["C"] in baselines.PENALTIES
    assert result.hidden_spikes == 0


@pytest.mark.parametrize(("recurrent", "readout"), [(True, "spikes"), (False, "membrane")])
def test_a_network_trained_by_surrogate_gradients_learns(baselines, path, recurrent, readout):
    pytest.importorskip("snntorch")
    settings = dict(recurrent=recurrent, readout=readout, learning_rate=1e-2, batch_size=8, max_epochs=6)
    with open_prepared(path) as data:
        result = baselines.surrogate(data, seed=1, n_hidden=20, **settings)
        again = baselines.surrogate(data, seed=1, n_hidden=20, **settings)
    check(result, "snntorch", n_hidden=20)
    assert 0 < result.hidden_spikes < 20 * T
    assert again.nll == result.nll


def test_it_can_be_shown_moved_examples_where_there_is_a_grid(baselines, path, tmp_path):
    pytest.importorskip("snntorch")
    with open_prepared(path) as data, pytest.raises(ConfigError, match="its inputs lie on no grid"):
        baselines.surrogate(data, seed=1, n_hidden=5, shift=1)
    simulate_prepared(tmp_path / "camera.h5", digits=(0, 1), per_class=(6, 2))
    with open_prepared(tmp_path / "camera.h5") as data:
        still, moving = (baselines.surrogate(data, seed=1, n_hidden=5, max_epochs=2, shift=shift) for shift in (0, 1))
    assert (still.method, moving.method) == ("snntorch", "snntorch-shift")
    assert still.nll != moving.nll


def test_the_command_adds_what_is_missing_and_skips_what_is_there(baselines, path, tmp_path, capsys):
    out = tmp_path / "baselines"
    command = [str(path), "--only", "logistic", "--out", str(out), "--jobs", "1", "--seeds"]
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
    assert found == [("logistic", "easy.h5", 0), ("logistic", "easy.h5", 1)]


def test_without_snntorch_the_command_says_what_to_install(baselines, path, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "snntorch", None)
    with pytest.raises(SystemExit, match=r"pip install 'gemsnn\[bench\]'"):
        baselines.main([str(path), "--out", str(tmp_path / "baselines")])
    assert not (tmp_path / "baselines").exists()
