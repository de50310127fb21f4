"""`gemsnn predict` on real `.aedat` files, written by the simulator."""

import json

import numpy as np
import pytest

from gemsnn.events import mnist_dvs_preprocessing, open_prepared, read_aedat, simulate_prepared, write_prepared
from gemsnn.training import RunDirectory, TrainingConfig, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run on recordings of zeros and ones, and the recordings."""
    folder = tmp_path_factory.mktemp("recordings")
    simulate_prepared(folder / "digits.h5", digits=(0, 1), per_class=(8, 3), aedat_folder=folder / "aedat")
    config = TrainingConfig.make(n_hidden=10, n_compartments=3, epochs=4)
    with open_prepared(folder / "digits.h5") as data:
        train(config, data, folder / "run")
    return folder / "run", sorted((folder / "aedat").rglob("*.aedat"))


def test_class_confidence_and_votes_as_json_lines(gemsnn, trained):
    run, files = trained
    code, out, err = gemsnn("predict", run, *files, "--json")
    assert (code, err) == (0, "")
    answers = [json.loads(line) for line in out.splitlines()]
    assert [answer["file"] for answer in answers] == [str(file) for file in files]
    model = RunDirectory(run).load_model()
    for file, answer in zip(files, answers, strict=True):
        found = model.predict(mnist_dvs_preprocessing(4).bin(read_aedat(file))[None])
        assert answer["class"] == found.label[0]
        assert answer["confidence"] == found.confidence[0]
        assert answer["votes"] == {"0": found.votes[0, 0], "1": found.votes[0, 1]}
        assert sum(answer["probabilities"].values()) == pytest.approx(1)
        assert sum(answer["votes"].values()) == answer["compartments"] == 3
    right = [f"_{answer['class']}_" in answer["file"] for answer in answers]
    assert np.mean(right) > 0.7


def test_a_table_for_people(gemsnn, trained):
    run, files = trained
    code, out, _ = gemsnn("predict", run, *files[:2])
    assert code == 0
    assert all(str(file) in out for file in files[:2])
    for column in ("class", "confidence", "runner-up", "per-step decoder, 3 compartments"):
        assert column in out


def test_an_answer_does_not_depend_on_the_other_files(gemsnn, trained):
    run, files = trained
    together = gemsnn("predict", run, *files[:3], "--json")[1].splitlines()
    alone = [gemsnn("predict", run, file, "--json")[1].strip() for file in files[:3]]
    assert together == alone


def test_decoder_compartments_and_model_can_be_chosen(gemsnn, trained):
    run, files = trained
    flags = ["--decoder", "likelihood", "--compartments", 7, "--model", "final", "--json"]
    answer = json.loads(gemsnn("predict", run, files[0], *flags)[1])
    assert (answer["decoder"], answer["compartments"], sum(answer["votes"].values())) == ("likelihood", 7, 7)


def test_one_bad_file_among_many_is_reported_and_the_rest_goes_on(gemsnn, trained, tmp_path):
    run, files = trained
    (tmp_path / "broken.aedat").write_bytes(b"#!AER-DAT2.0\r\n")
    (tmp_path / "photo.jpg").write_bytes(b"x")
    (tmp_path / "digit.bin").write_bytes(bytes(5))
    bad = [tmp_path / "broken.aedat", tmp_path / "missing.aedat", tmp_path / "photo.jpg", tmp_path / "digit.bin"]
    code, out, err = gemsnn("predict", run, bad[0], files[0], *bad[1:], files[1], "--json")
    assert code == 1
    answers = [json.loads(line) for line in out.splitlines()]
    assert ["error" in answer for answer in answers] == [True, False, True, True, True, False]
    for file in bad:
        assert f"error: {file}: " in err
    assert "an N-MNIST recording, but the model was trained for a 128 x 128 sensor" in err
    assert "4 of 6 files could not be read" in err
    code, out, err = gemsnn("predict", run, bad[0], files[0])
    assert code == 1
    assert str(files[0]) in out
    (row,) = [line.split("│")[1:-1] for line in out.splitlines() if "could not be read" in line]
    assert row[0].strip() == f"{bad[0]} (could not be read)"
    assert {cell.strip() for cell in row[1:]} == {"-"}  # not in the column of the runner-up


def test_a_recording_that_is_damaged_at_its_end_is_read_with_a_warning(gemsnn, trained, tmp_path):
    run, files = trained
    cut = tmp_path / "cut.aedat"
    cut.write_bytes(files[0].read_bytes()[:-3])
    code, out, err = gemsnn("predict", run, cut, "--json")
    assert code == 0
    assert "warning: " in err
    assert "cut inside a record" in json.loads(out)["warnings"][0]


def test_a_model_of_arrays_cannot_take_recordings(gemsnn, trained, data_file, tmp_path):
    with open_prepared(data_file) as data:
        train(TrainingConfig.make(n_hidden=2, epochs=1), data, tmp_path / "run")
    code, _, err = gemsnn("predict", tmp_path / "run", trained[1][0])
    assert (code, "trained on arrays, not on recordings" in err) == (2, True)


def test_without_a_run_nothing_is_tried(gemsnn, trained, tmp_path):
    code, _, err = gemsnn("predict", tmp_path, trained[1][0])
    assert (code, "there is no training run here" in err) == (2, True)


def test_the_table_names_the_runner_up_with_its_probability(gemsnn, trained):
    run, files = trained
    answer = json.loads(gemsnn("predict", run, files[0], "--json")[1])
    (other,) = {"0", "1"} - {str(answer["class"])}
    out = gemsnn("predict", run, files[0])[1]
    assert f"{other}: {answer['probabilities'][other]:.3f}" in out


def test_a_folder_stands_for_the_recordings_in_it(gemsnn, trained):
    run, files = trained
    folder = files[0].parents[2]
    assert gemsnn("predict", run, folder, "--json")[1] == gemsnn("predict", run, *files, "--json")[1]


def test_a_folder_without_recordings_is_told(gemsnn, trained, tmp_path):
    code, _, err = gemsnn("predict", trained[0], tmp_path)
    assert (code, "there are no recordings in this folder" in err) == (1, True)


def test_a_prepared_file_stands_for_its_examples(gemsnn, trained):
    run, _ = trained
    file = run.parent / "digits.h5"
    code, out, err = gemsnn("predict", run, file, "--json")
    assert (code, err) == (0, "")
    answers = [json.loads(line) for line in out.splitlines()]
    with open_prepared(file) as data:
        assert len(answers) == len(data.train) + len(data.test)
        found = RunDirectory(run).load_model().predict(data.test[0][None])
        name = data.test.names[0]
    last = next(answer for answer in answers if answer["file"] == f"{file} test 0")
    assert last["confidence"] == found.confidence[0]
    assert last["name"] == name
    _, out, _ = gemsnn("predict", run, file)
    assert f"{file} test 0: {name}" in out


def test_of_several_labels_each_has_a_probability_of_its_own(gemsnn, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (60, 2))
    rates = 0.05 + 0.5 * np.repeat(labels, 4, axis=1)
    X = [rng.random((T, 8)) < rate for T, rate in zip(rng.integers(15, 25, 60), rates, strict=True)]
    write_prepared(tmp_path / "both.h5", X, labels, classes=["moving", "bright"], names=[f"no. {i}" for i in range(60)])
    settings = TrainingConfig.make(n_hidden=5, epochs=20, rule={"learning_rate": 1e-2}, readout="bernoulli")
    with open_prepared(tmp_path / "both.h5") as data:
        train(settings, data, tmp_path / "run")
        truth = {f"{tmp_path / 'both.h5'} test {i}": row for i, row in enumerate(data.test.labels.tolist())}
    code, out, err = gemsnn("predict", tmp_path / "run", tmp_path / "both.h5", "--json")
    assert (code, err) == (0, "")
    answers = [json.loads(line) for line in out.splitlines()]
    tested = [answer for answer in answers if answer["file"] in truth]
    said = [[int(label in answer["labels"]) for label in ("moving", "bright")] for answer in tested]
    assert said == list(truth.values())
    assert any(sum(answer["probabilities"].values()) > 1.5 for answer in tested)
    _, out, _ = gemsnn("predict", tmp_path / "run", tmp_path / "both.h5")
    assert "│ moving, bright │ moving: " in out
    assert "│ none " in out


def test_a_prepared_file_that_does_not_fit_is_told(gemsnn, trained, data_file):
    code, _, err = gemsnn("predict", trained[0], data_file)
    assert (code, "does not fit the model" in err) == (1, True)


def test_a_folder_of_folders_named_as_the_classes_can_be_evaluated(gemsnn, trained, tmp_path):
    run, files = trained
    for file in files:
        label = file.name.split("_")[1]
        assert label in "01"
        (tmp_path / "by-class" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "by-class" / label / file.name).symlink_to(file)
    code, out, err = gemsnn("evaluate", run, "--data", tmp_path / "by-class", "--json")
    assert (code, err) == (0, "")
    answers = [json.loads(line) for line in gemsnn("predict", run, *files, "--json")[1].splitlines()]
    right = [f"_{answer['class']}_" in answer["file"] for answer in answers]
    assert json.loads(out)["accuracy"] == np.mean(right)
    assert "all examples" in gemsnn("evaluate", run, "--data", tmp_path / "by-class")[1]
    (tmp_path / "by-class" / "7").mkdir()
    code, _, err = gemsnn("evaluate", run, "--data", tmp_path / "by-class")
    assert (code, "needs a folder for each class (0, 1), but 7 is none of them" in err) == (2, True)
