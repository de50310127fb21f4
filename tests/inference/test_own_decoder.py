"""A decoder of the user's own works wherever a decoder is named."""

import json
from unittest.mock import patch

import numpy as np
import pytest
import toy

import gemsnn
from gemsnn import CheckpointError
from gemsnn.cli.app import app
from gemsnn.inference import DECODERS, decoders
from gemsnn.training import ArrayData, ArrayExamples, RunDirectory, TrainingConfig, read_config

PART = """
import numpy as np
from gemsnn.inference import Answer, decoders


class Share:
    name, free = "share", True

    def start(self, shape):
        return np.zeros(shape)

    def update(self, state, evidence):
        return state + evidence

    def answer(self, state):
        counts = state.sum(axis=-2) + 1
        votes = (state == state.max(axis=-1, keepdims=True)).sum(axis=-2)
        return Answer(counts.argmax(axis=-1), counts / counts.sum(axis=-1, keepdims=True), votes)


decoders.register("share", Share)
"""


@pytest.fixture(autouse=True)
def own():
    """The decoder, which is not in the list after the test."""
    with patch.dict(DECODERS):
        scope = {"__name__": "share"}
        exec(PART, scope)
        yield scope["Share"]()


@pytest.fixture
def unlisted(own):
    del DECODERS["share"]
    return own


X, Y = toy.examples(36)
SETTINGS = {"n_hidden": 4, "epochs": 1}


def run(tmp_path, decoder):
    data = ArrayData(ArrayExamples(X, np.arange(36) % 3), ("a", "b", "c"), test=ArrayExamples(X[:6], np.arange(6) % 3))
    config = TrainingConfig.make(
        **SETTINGS, decoder=decoder, extra_decoders=[{"kind": decoder, "compartments": 3}], validation_fraction=0.25
    )
    gemsnn.train(config, data, tmp_path / "run")
    return gemsnn.load_model(tmp_path / "run")


def expected(model, K=1):
    how = {"decoder": decoders.as_decoder("share"), "seed": model.prediction_seed}
    return gemsnn.predict(model.network, model.parameters, X, K, **how).probabilities


def test_in_a_run_its_files_and_the_model_of_it(tmp_path):
    model = run(tmp_path, "share")
    assert model.decoder.name == "share"
    assert 'decoder = "share"' in (tmp_path / "run" / "config.toml").read_text()
    assert read_config(tmp_path / "run" / "config.toml")[0].decoder == "share"
    record = RunDirectory(tmp_path / "run").read_metrics()[-1]
    assert record["validation"]["decoder"] == "share"
    assert record["validation"]["extra_decoders"][0]["decoder"] == "share"
    np.testing.assert_array_equal(model.predict(X).probabilities, expected(model))
    np.testing.assert_array_equal(model.predict(X, "share", 3).probabilities, expected(model, 3))


def test_an_object_that_is_not_listed_works_until_it_has_to_be_found_by_name(unlisted, tmp_path):
    config = TrainingConfig.make(**SETTINGS, decoder=unlisted)
    assert config.identity()["decoder"] == "share"
    with pytest.raises(CheckpointError, match=r"unknown decoder 'share'.*must be registered first, with gemsnn"):
        run(tmp_path, unlisted)
    decoders.register("share", type(unlisted))
    assert gemsnn.load_model(tmp_path / "run").predict(X).label.shape == (36,)


@pytest.mark.parametrize("named", [True, False])
def test_in_the_classifier_stream_and_calibration(own, named, tmp_path):
    decoder = "share" if named else own
    classifier = gemsnn.SpikingClassifier(**toy.arguments(**SETTINGS), decoder=decoder).fit(X[:24], Y[:24])
    p = classifier.predict_proba(X)
    np.testing.assert_array_equal(p, expected(classifier.model_))
    live = classifier.stream(key=gemsnn.inference.recording_key(X[0]))
    answers = [live.step(step) for step in X[0]]
    np.testing.assert_array_equal(answers[-1].probabilities, p[0])
    np.testing.assert_array_equal(classifier.predict_anytime(X).probabilities[:, -1], p)
    classifier.calibrate(X[24:], Y[24:], alpha=0.3, checkpoints=1)
    assert classifier.predict_set(X[:3]).members.shape == (3, 3)
    classifier.save(tmp_path / "model.safetensors")
    again = gemsnn.SpikingClassifier.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_proba(X), p)
    assert again.model_.calibration.decoder.name == "share"


def test_on_the_command_line(unlisted, tmp_path, capsys):
    (tmp_path / "my_parts.py").write_text(PART)
    data = toy.prepared(tmp_path / "toy.h5")

    def gemsnn_command(*words):
        with pytest.raises(SystemExit) as ended:
            app([str(word) for word in words])
        assert not ended.value.code
        return capsys.readouterr().out

    parts = ("--import", tmp_path / "my_parts.py")
    out = tmp_path / "run"
    gemsnn_command(
        *parts, "train", "--data", data, "--out", out, "--hidden", 3, "--epochs", 1, "--set", "decoder=share"
    )
    for extra in ((), ("--decoder", "share", "--compartments", 2)):
        DECODERS.pop("share")
        found = json.loads(gemsnn_command(*parts, "evaluate", out, "--data", data, "--json", *extra))
        assert found["decoder"] == "share"
    said = gemsnn_command(*parts, "predict", out, data, "--json").splitlines()
    assert {json.loads(line)["decoder"] for line in said} == {"share"}


@pytest.mark.parametrize("name", ["no_such_module_of_mine", "no_such_file.py"])
def test_what_cannot_be_imported_is_told(name):
    with pytest.raises(gemsnn.ConfigError, match=f"--import {name}: "):
        app(["--import", name, "runs", "."])
