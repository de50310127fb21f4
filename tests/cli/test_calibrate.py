"""`gemsnn calibrate`, and what `evaluate` and `predict` say afterwards."""

import json
import shutil

import numpy as np
import pytest
import toy

from gemsnn.events import open_prepared, write_prepared
from gemsnn.training import RunDirectory, load_model, train
from gemsnn.training.lock import locked


@pytest.fixture(scope="module")
def data_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "toy.h5"
    X, y = toy.examples(96)
    X = X ^ (np.random.default_rng(1).random(X.shape) < 0.3)
    write_prepared(path, X, y, split=["train" if i < 36 else "test" for i in range(96)])
    return path


@pytest.fixture(scope="module")
def trained(data_file, tmp_path_factory):
    directory = tmp_path_factory.mktemp("run") / "run"
    with open_prepared(data_file) as data:
        train(toy.config(), data, directory)
    return directory


@pytest.fixture
def run(trained, tmp_path):
    """A copy to calibrate."""
    return shutil.copytree(trained, tmp_path / "run")


ARGUMENTS = ("--alpha", 0.2, "--checkpoints", 4)


def test_the_model_of_the_run_has_the_guarantee_that_python_gives_it(gemsnn, run, trained, data_file):
    code, out, err = gemsnn("calibrate", run, "--data", data_file, *ARGUMENTS, "--json")
    assert code == 0, err
    said = json.loads(out)
    with open_prepared(data_file) as data:
        expected = RunDirectory(trained).load_model().calibrate_on(data, 0.2, checkpoints=4).calibration
    found = RunDirectory(run).load_model().calibration
    assert found.guarantee == expected.guarantee
    assert np.array_equal(found.keys, expected.keys)
    assert (said["alpha"], said["recordings"], said["of"], said["split"]) == (0.2, 30, 60, "test")
    assert said["checkpoints"] == [5, 10, 15, 20]
    assert said["thresholds"] == list(expected.guarantee.thresholds)
    assert said["model"] == str(run / "best.safetensors")


def test_nothing_of_the_run_but_that_model_changes(gemsnn, run, trained, data_file):
    gemsnn("calibrate", run, "--data", data_file, *ARGUMENTS, "--model", "final")
    for path in trained.iterdir():
        if path.is_file() and path.name not in ("final.safetensors", "lock"):
            assert (run / path.name).read_bytes() == path.read_bytes()
    before, after = load_model(trained / "final.safetensors"), load_model(run / "final.safetensors")
    assert (before.parameters, before.about) == (after.parameters, after.about)


def test_the_table_says_which_recordings_and_from_when_on_a_class_leaves(gemsnn, run, data_file):
    code, out, _ = gemsnn("calibrate", run, "--data", data_file, "--alpha", 0.2, "--checkpoints", "5,20")
    assert code == 0
    assert "coverage of at least 80 %" in out
    assert f"calibrated on 30 of the 60 examples in the test split of {data_file}" in out
    assert [line.split()[1] for line in out.splitlines() if line.startswith("│")] == ["5", "20"]


def test_one_compartment_is_singular(gemsnn, run, data_file):
    out = gemsnn("calibrate", run, "--data", data_file, *ARGUMENTS, "--compartments", 1)[1]
    assert "decoder, 1 compartment\n" in out
    err = gemsnn("evaluate", run, "--data", data_file)[2]
    assert "no sets: the model was calibrated for the per-step decoder with 1 compartment\n" in err


def test_evaluate_judges_the_sets_on_the_rest(gemsnn, run, data_file):
    before = json.loads(gemsnn("evaluate", run, "--data", data_file, "--json")[1])
    gemsnn("calibrate", run, "--data", data_file, *ARGUMENTS)
    found = json.loads(gemsnn("evaluate", run, "--data", data_file, "--json")[1])
    sets, per_answer = found.pop("sets"), found["cost"].pop("per_answer")
    assert found == before
    assert per_answer["MembraneUpdates"] < found["cost"]["MembraneUpdates"]  # it stops early
    assert (sets["examples"], sets["calibrated_on"], sets["alpha"], sets["size"]) == (30, 30, 0.2, 1)
    assert sets["steps"] < 20
    out = gemsnn("evaluate", run, "--data", data_file)[1]
    assert "examples (without 30 used for calibration)" in out
    assert f"{100 * sets['coverage']:.1f} % (" in out
    looser = json.loads(gemsnn("evaluate", run, "--data", data_file, "--set-size", 2, "--json")[1])["sets"]
    assert looser["steps"] < sets["steps"]
    assert looser["mean_size"] > sets["mean_size"]


def test_evaluate_says_so_when_there_is_nothing_left_to_judge_by(gemsnn, run, data_file):
    gemsnn("calibrate", run, "--data", data_file, *ARGUMENTS, "--share", 1)
    code, out, _ = gemsnn("evaluate", run, "--data", data_file)
    assert code == 0
    assert "All examples were used for calibration; coverage cannot be estimated" in out


def test_predict_names_the_set_and_when_it_would_have_stopped(gemsnn, run, data_file):
    gemsnn("calibrate", run, "--data", data_file, *ARGUMENTS)
    lines = [json.loads(line) for line in gemsnn("predict", run, data_file, "--json")[1].splitlines()]
    model = RunDirectory(run).load_model()
    with open_prepared(data_file) as data:
        inputs = np.concatenate([data.train.read(range(36)), data.test.read(range(60))])
    sets = model.predict_set(inputs)
    for line, members, steps in zip(lines, sets.members, sets.steps, strict=True):
        assert line["set"] == [label for label, inside in zip(model.classes, members, strict=True) if inside]
        assert (line["stopped_after"], line["steps"], line["alpha"]) == (steps, 20, 0.2)
    out = gemsnn("predict", run, data_file)[1]
    assert "stopped after" in out
    assert f"{lines[0]['stopped_after']} of 20 steps" in out
    assert "{" + ", ".join(map(str, lines[0]["set"])) + "}" in out


def test_an_empty_set_is_said_in_words(gemsnn, run, data_file, tmp_path):
    gemsnn("calibrate", run, "--data", data_file, "--alpha", 0.8, "--checkpoints", "20")
    lines = [json.loads(line) for line in gemsnn("predict", run, data_file, "--json")[1].splitlines()]
    assert any(line["set"] == [] for line in lines)
    assert "{none fits}" in gemsnn("predict", run, data_file)[1]


def test_another_decoder_makes_no_promise_and_that_is_said(gemsnn, run, data_file):
    gemsnn("calibrate", run, "--data", data_file, *ARGUMENTS)
    for command in (["evaluate", run, "--data", data_file], ["predict", run, data_file]):
        code, out, err = gemsnn(*command, "--decoder", "vote", "--json")
        assert code == 0
        assert not {"set", "sets"} & json.loads(out.splitlines()[0]).keys()
        assert "no sets: the model was calibrated for the per-step decoder with 2 compartments" in err
    gemsnn("calibrate", run, "--data", data_file, *ARGUMENTS, "--decoder", "vote", "--compartments", 5)
    code, out, err = gemsnn("evaluate", run, "--data", data_file, "--decoder", "vote", "--compartments", 5, "--json")
    assert (code, err, "sets" in json.loads(out)) == (0, "", True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--split", "train"], "the model learned from the train split of this file"),
        (["--alpha", 0.001], "alpha = 0.001 needs at least 999 recordings"),
        (["--alpha", 1.5], "alpha must lie between 0 and 1"),
        (["--checkpoints", "soon"], "--checkpoints soon: give their number, or time steps such as 8,16,40"),
        (["--checkpoints", "8,4"], "checkpoints must increase, got 8, 4"),
        (["--share", 0], "share must lie above 0"),
    ],
)
def test_mistakes_are_told_and_the_model_stays_as_it_was(gemsnn, run, trained, data_file, arguments, message):
    code, out, err = gemsnn("calibrate", run, "--data", data_file, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert (run / "best.safetensors").read_bytes() == (trained / "best.safetensors").read_bytes()


def test_a_run_that_is_being_trained_is_left_alone(gemsnn, run, data_file):
    with locked(run):
        code, _, err = gemsnn("calibrate", run, "--data", data_file, *ARGUMENTS)
    assert (code, "is working on this run" in err) == (2, True)


def test_a_model_file_by_itself_can_be_calibrated(gemsnn, run, data_file, tmp_path):
    path = shutil.copy(run / "final.safetensors", tmp_path / "mine.safetensors")
    assert gemsnn("calibrate", path, "--data", data_file, *ARGUMENTS)[0] == 0
    assert load_model(path).calibration is not None
