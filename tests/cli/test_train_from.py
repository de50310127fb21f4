"""`gemsnn train --from`."""

import toy

from gemsnn.events import write_prepared
from gemsnn.training import RunDirectory, load_model, read_config, train, write_config


def other(path, classes, n=48):
    """The toy problem with other classes."""
    spikes, _ = toy.examples(n, seed=4)
    labels = [classes[i % len(classes)] for i in range(n)]
    write_prepared(path, spikes, labels, split=["test" if i % 4 == 3 else "train" for i in range(n)])
    return path


def run(gemsnn, data_file, tmp_path):
    settings = tmp_path / "toy.toml"
    settings.write_text(write_config(toy.config()))
    assert gemsnn("train", "--data", data_file, "--out", tmp_path / "old", "--config", settings)[0] == 0
    return tmp_path / "old"


def test_a_run_goes_on_with_the_settings_and_the_data_of_the_model_if_none_are_given(gemsnn, data_file, tmp_path):
    old = run(gemsnn, data_file, tmp_path)
    code, out, err = gemsnn("train", "--from", old, "--out", tmp_path / "new", "--epochs", 1)
    assert code == 0, err
    assert f"starts from the weights of {old / 'best.safetensors'}" in out
    assert read_config(tmp_path / "new" / "config.toml") == (toy.config(epochs=1), data_file)


def test_new_classes_replay_names_and_resume(gemsnn, data_file, tmp_path):
    old, data = run(gemsnn, data_file, tmp_path), other(tmp_path / "new.h5", ["seven", "nine"])
    changes = ["--replay", data_file, "--replay-share", 0.25, "--rename", "7=seven", "--drop", 2]
    code, out, err = gemsnn("train", "--from", old, "--data", data, "--out", tmp_path / "new", *changes)
    assert code == 0, err
    told = " ".join(out.split())
    assert "new classes: nine; dropped: 2; 25% of the training examples are replayed from 24 old ones" in told
    model = load_model(tmp_path / "new")
    assert model.classes == ("5", "seven", "nine")
    code, out, err = gemsnn("train", "--out", tmp_path / "new", "--resume")
    assert code == 0, err
    again = gemsnn("train", "--config", tmp_path / "new" / "config.toml", "--out", tmp_path / "again")
    assert again[0] == 0, again[2]
    for name in ("final.safetensors", "metrics.jsonl"):
        assert (tmp_path / "new" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    code, _, err = gemsnn("train", "--out", tmp_path / "again", "--resume", "--from", tmp_path / "new")
    assert code == 2
    assert "cannot resume with other settings or data: from_model.classes" in " ".join(err.split())


def test_a_guarantee_that_ends_is_told(gemsnn, data_file, tmp_path):
    old = run(gemsnn, data_file, tmp_path)
    assert gemsnn("calibrate", old, "--data", data_file, "--alpha", 0.4, "--share", 1)[0] == 0
    code, out, err = gemsnn("train", "--from", old, "--out", tmp_path / "new", "--epochs", 1)
    assert code == 0, err
    assert ("its guarantee does not hold for the new model" in " ".join(out.split())) == (
        load_model(old).calibration is not None
    )


def test_a_model_is_evaluated_on_data_of_some_of_its_classes(gemsnn, data_file, tmp_path):
    old = run(gemsnn, data_file, tmp_path)
    code, _, err = gemsnn("evaluate", old, "--data", other(tmp_path / "fewer.h5", [7, 2]))
    assert code == 0, err
    code, _, err = gemsnn("evaluate", old, "--data", other(tmp_path / "more.h5", [7, 3]))
    assert code == 2
    assert "class 3 is not one of its classes, 2, 5, 7; add it with `gemsnn train --from`" in " ".join(err.split())


def test_options_that_need_a_model_say_so(gemsnn, data_file, tmp_path):
    for option in (("--replay", data_file), ("--replay-share", 0.5), ("--rename", "2=3"), ("--drop", 2)):
        code, _, err = gemsnn("train", "--data", data_file, "--out", tmp_path / "run", *option)
        assert code == 2
        assert f"{option[0]} needs --from" in err
    code, _, err = gemsnn("train", "--from", tmp_path, "--out", tmp_path / "run", "--rename", "2")
    assert code == 2
    assert "--rename 2: write it as OLD=NEW" in err
    code, _, err = gemsnn("train", "--from", tmp_path / "nothing", "--out", tmp_path / "run")
    assert code == 2
    assert "no training run here" in err


def test_a_table_in_the_settings_that_makes_no_sense_is_refused(gemsnn, data_file, tmp_path):
    for table, message in (
        ("[from_model]\n", "must be a table"),
        ("[from_model]\nmodel = 3\n", "from_model.model = 3"),
    ):
        settings = tmp_path / "wrong.toml"
        settings.write_text(table)
        code, _, err = gemsnn("train", "--data", data_file, "--out", tmp_path / "run", "--config", settings)
        assert code == 2
        assert message in err


def test_a_model_of_arrays_goes_on_in_python(data_file, tmp_path, gemsnn):
    old = run(gemsnn, data_file, tmp_path)
    X, y = toy.examples()
    assert RunDirectory(old).finished
    from gemsnn.training import ArrayData, ArrayExamples

    data = ArrayData(ArrayExamples(X.astype("uint8"), (y // 3).clip(0, 2)), (2, 5, 7))
    train(toy.config(epochs=1), data, tmp_path / "new", from_model=old)
    assert "[from_model]" in (tmp_path / "new" / "config.toml").read_text()
