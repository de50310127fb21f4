import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import toy

import gemsnn as library
from gemsnn.events import open_prepared
from gemsnn.training import RunDirectory, Trainer, save_model, train
from gemsnn.training.randomness import Purpose, derived_seed


@pytest.fixture(scope="module")
def run(data_file, tmp_path_factory):
    directory = tmp_path_factory.mktemp("run") / "run"
    with open_prepared(data_file) as data:
        train(toy.config(likelihood_samples=20), data, directory)
    return directory


def figures(gemsnn, *arguments):
    code, out, err = gemsnn("evaluate", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("model", ["best", "final", "best_on_test"])
def test_figures_are_those_that_training_wrote_down(gemsnn, run, data_file, model):
    found = figures(gemsnn, run, "--data", data_file, "--model", model)
    recorded = RunDirectory(run).read_summary()[model]["test"]
    assert {name: found[name] for name in recorded} == recorded
    assert found["position"] == RunDirectory(run).read_summary()[model]["position"]
    assert found.get("communication") == RunDirectory(run).load_model(model).about.get("communication")


def test_by_default_the_model_is_the_best_by_validation(gemsnn, run, data_file):
    assert figures(gemsnn, run, "--data", data_file) == figures(gemsnn, run, "--data", data_file, "--model", "best")


@pytest.mark.parametrize("decoder", ["vote", "likelihood", "per-step"])
@pytest.mark.parametrize("compartments", [1, 2, 7])
def test_any_decoder_and_number_of_compartments(gemsnn, run, data_file, decoder, compartments):
    found = figures(gemsnn, run, "--data", data_file, "--decoder", decoder, "--compartments", compartments)
    model = RunDirectory(run).load_model()
    with open_prepared(data_file) as data:
        X, y = data.test.read(np.arange(len(data.test))), data.test.labels
    seed = derived_seed(model.seed, Purpose.PREDICT)
    expected = library.predict(model.network, model.parameters, X, compartments, decoder=decoder, seed=seed)
    assert (found["decoder"], found["compartments"]) == (decoder, compartments)
    assert found["accuracy"] == library.metrics.accuracy(y, expected.classes)
    assert found["brier"] == pytest.approx(library.metrics.brier_score(y, expected.probabilities))
    assert found["hidden_spikes_per_step"] == pytest.approx(expected.hidden_spikes_per_step.mean())


def test_bins_samples_and_split_can_be_chosen(gemsnn, run, data_file):
    found = figures(gemsnn, run, "--data", data_file, "--bins", 4, "--samples", 3, "--split", "train", "--threads", 2)
    assert (found["n_bins"], len(found["reliability"]["counts"]), found["examples"]) == (4, 4, 36)
    assert found["split"] == "train"
    assert found["log_likelihood"] != figures(gemsnn, run, "--data", data_file, "--split", "train")["log_likelihood"]


def test_tables_tell_the_same_in_words(gemsnn, run, data_file):
    found = figures(gemsnn, run, "--data", data_file)
    code, out, _ = gemsnn("evaluate", run, "--data", data_file)
    assert code == 0
    assert "per-step decoder, 2 compartments" in out
    assert f"{100 * found['accuracy']:.2f} %" in out
    assert f"{found['ece']:.4f}" in out
    assert "expected calibration error (10 bins)" in out
    assert "log-likelihood (20 realisations)" in out
    assert "Reliability" in out


def test_a_model_file_can_be_evaluated_by_itself(gemsnn, run, data_file, tmp_path):
    shutil.copy(run / "final.safetensors", tmp_path / "mine.safetensors")
    by_file = figures(gemsnn, tmp_path / "mine.safetensors", "--data", data_file)
    by_run = figures(gemsnn, run, "--data", data_file, "--model", "final")
    assert {**by_file, "model": ""} == {**by_run, "model": ""}


def test_a_run_that_is_still_going_on_can_be_evaluated(gemsnn, data_file, tmp_path):
    with open_prepared(data_file) as data:
        trainers: list[Trainer] = []

        def evaluate_in_the_middle(run, trainer):
            trainers.append(trainer)
            return ()

        train(toy.config(), data, tmp_path / "run", observers=evaluate_in_the_middle,
              stop=lambda: bool(trainers) and trainers[0].position > 10)  # fmt: skip
    assert figures(gemsnn, tmp_path / "run", "--data", data_file)["position"] == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--compartments", "0"], "compartments = 0: must be a whole number, >= 1"),
        (["--data", "nothing.h5"], "nothing.h5: cannot be opened"),
    ],
)
def test_mistakes_are_told(gemsnn, run, data_file, arguments, message):
    code, out, err = gemsnn("evaluate", run, "--data", data_file, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_place_without_a_run_is_told(gemsnn, data_file, tmp_path):
    code, _, err = gemsnn("evaluate", tmp_path, "--data", data_file)
    assert (code, "there is no training run here" in err) == (2, True)
    code, _, err = gemsnn("evaluate", tmp_path / "nowhere", "--data", data_file)
    assert (code, "there is no training run here" in err) == (2, True)


def test_data_that_does_not_fit_the_model_is_refused_with_what_differs(gemsnn, run, tmp_path):
    library.events.write_prepared(tmp_path / "other.h5", np.zeros((8, 20, 5)), [2, 5, 7, 8] * 2, split=0.5)
    code, _, err = gemsnn("evaluate", run, "--data", tmp_path / "other.h5")
    assert code == 2
    assert "inputs 12 in the model, 5 in the data" in err
    library.events.write_prepared(tmp_path / "new.h5", np.zeros((8, 20, 12)), [2, 5, 7, 8] * 2, split=0.5)
    code, _, err = gemsnn("evaluate", run, "--data", tmp_path / "new.h5")
    assert code == 2
    assert "8" in err


def test_an_empty_split_is_told(gemsnn, run, tmp_path):
    X, y = toy.examples(9)
    library.events.write_prepared(tmp_path / "train-only.h5", X, y, split=0.0)
    code, _, err = gemsnn("evaluate", run, "--data", tmp_path / "train-only.h5")
    assert (code, "the test split is empty" in err) == (2, True)


def test_the_figures_are_those_of_the_models_own_predictions(gemsnn, run, data_file):
    found = figures(gemsnn, run, "--data", data_file)
    model = RunDirectory(run).load_model()
    with open_prepared(data_file) as data:
        X, y = data.test.read(np.arange(len(data.test))), data.test.labels
    expected = model.predict(X)
    assert found["accuracy"] == library.metrics.accuracy(np.array(model.classes)[y], expected.label)
    assert found["nll"] == pytest.approx(library.metrics.negative_log_likelihood(y, expected.probabilities))


def test_communication_is_told_if_the_model_knows_it(gemsnn, run, data_file, tmp_path):
    model = RunDirectory(run).load_model()
    told = {"to_processor": 6, "to_neurons": 18}
    save_model(replace(model, about={**model.about, "communication": told}), tmp_path / "told.safetensors")
    assert figures(gemsnn, tmp_path / "told.safetensors", "--data", data_file)["communication"] == told
    out = gemsnn("evaluate", tmp_path / "told.safetensors", "--data", data_file)[1]
    assert "numbers sent from the processor to the neurons per training step" in out


@pytest.mark.parametrize("flag", [["--samples", 1025], ["--samples", 0], ["--bins", 1001]])
def test_limits_are_those_of_the_settings(gemsnn, run, data_file, flag):
    code, out, err = gemsnn("evaluate", run, "--data", data_file, *flag)
    assert (code, out) == (2, "")
    assert "range" in err or "than or equal to" in err  # as older and newer typer say it
