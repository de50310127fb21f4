"""`gemsnn train`, mostly in this process; signals go to real ones."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import toy

from gemsnn.events import open_prepared
from gemsnn.training import RunDirectory, read_config, train, write_config

GEMSNN = Path(sys.executable).with_name("gemsnn")


@pytest.fixture
def settings(tmp_path):
    """A file with the toy run's settings."""
    file = tmp_path / "toy.toml"
    file.write_text(write_config(toy.config()))
    return file


def test_a_run_is_trained_and_its_results_are_told(gemsnn, data_file, settings, tmp_path):
    code, out, _ = gemsnn("train", "--data", data_file, "--out", tmp_path / "run", "--config", settings)
    assert code == 0
    assert "12 inputs, 6 hidden and 3 visible neurons, 2 compartments" in out
    assert "30 training, 6 validation and 12 test examples of 20 steps" in out
    assert "10 of 60 examples: validation: accuracy" in out
    assert "Only 6 validation examples: the last model is kept" in " ".join(out.split())
    for name in ("best by validation", "final", "best on test"):
        assert name in out
    assert "paper" not in out
    assert RunDirectory(tmp_path / "run").finished
    assert read_config(tmp_path / "run" / "config.toml") == (toy.config(), data_file)


def test_a_learning_rate_that_follows_from_the_data_is_told_and_kept(gemsnn, data_file, settings, tmp_path):
    flags = ["--config", settings, "--set", "rule.learning_rate=none", "--epochs", 1]
    code, out, err = gemsnn("train", "--data", data_file, "--out", tmp_path / "run", *flags)
    assert code == 0, err
    told = re.search(r"with learning rate (\S+) from the data", out)
    assert read_config(tmp_path / "run" / "config.toml")[0].rule.learning_rate == float(told[1])


def test_flags_and_set_go_before_the_file(gemsnn, data_file, settings, tmp_path):
    flags = ["--hidden", 4, "--compartments", 3, "--learning-rate", 0.05, "--decoder", "likelihood", "--epochs", 1]
    flags += ["--inference-compartments", 2, "--eval-every", 100, "--seed", 5, "--threads", 2, "--patience", 9]
    flags += [
        "--set",
        "hidden_bias=-1",
        "--set",
        "somatic_filter={kind = 'raised-cosine', duration = 5, n_basis = 2}",
        "--set",
        "rule.gain=5",
    ]
    code, _, err = gemsnn("train", "--data", data_file, "--out", tmp_path / "run", "--config", settings, *flags)
    assert code == 0, err
    config, _ = read_config(tmp_path / "run" / "config.toml")
    assert (config.n_hidden, config.n_compartments, config.rule.learning_rate) == (4, 3, 0.05)
    assert (config.decoder, config.inference_compartments, config.epochs, config.eval_every) == (
        "likelihood",
        2,
        1,
        100,
    )
    assert (config.seed, config.threads, config.patience, config.hidden_bias) == (5, 2, 9, -1)
    assert config.somatic_filter.taps.shape == (2, 5)
    assert config.rule == dataclasses.replace(toy.config().rule, learning_rate=0.05, gain=5)


def test_a_preset_can_be_asked_for(gemsnn, data_file, tmp_path):
    flags = ["--preset", "paper", "--hidden", 3, "--compartments", 2, "--epochs", 1]
    code, out, err = gemsnn("train", "--data", data_file, "--out", tmp_path / "run", *flags)
    assert code == 0, err
    assert "The paper reports the best on test" in out
    assert read_config(tmp_path / "run" / "config.toml")[0].rule.learning_rate == 1e-3


def test_the_run_s_own_settings_make_the_same_run_again(gemsnn, data_file, settings, tmp_path):
    gemsnn("train", "--data", data_file, "--out", tmp_path / "one", "--config", settings)
    gemsnn("train", "--config", tmp_path / "one" / "config.toml", "--out", tmp_path / "two")
    assert toy.results(tmp_path / "one") == toy.results(tmp_path / "two")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--compartments", "0"], "n_compartments = 0: must be a whole number, >= 1"),
        (["--set", "epocs=1"], "did you mean epochs?"),
        (["--set", "rule.lerning_rate=1"], "rule.lerning_rate: there is no such setting; did you mean learning_rate?"),
        (["--set", "kappa=1"], "kappa: is a setting of the rule since version 0.2: rule.kappa"),
        (["--rule", "gem", "--set", "rule.gain=1"], "rule.gain: there is no such setting"),
        (["--set", "epochs"], "FIELD=VALUE"),
        (["--preset", "article"], "preset = 'article'"),
        (["--config", "nowhere.toml"], "nowhere.toml: cannot be read"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(gemsnn, data_file, tmp_path, flags, message):
    code, _, err = gemsnn("train", "--data", data_file, "--out", tmp_path / "run", *flags)
    assert code == 2
    assert err.startswith("error: ")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_without_data_that_is_told(gemsnn, tmp_path):
    code, _, err = gemsnn("train", "--out", tmp_path / "run")
    assert (code, "--data is needed" in err) == (2, True)
    code, _, err = gemsnn("train", "--out", tmp_path / "run", "--data", tmp_path / "nothing.h5")
    assert (code, "nothing.h5: cannot be opened" in err) == (2, True)


def test_a_second_run_in_the_same_place_is_refused(gemsnn, data_file, settings, tmp_path):
    arguments = ["train", "--data", data_file, "--out", tmp_path / "run", "--config", settings]
    gemsnn(*arguments)
    code, _, err = gemsnn(*arguments)
    assert (code, "continue it with --resume" in err) == (2, True)


def test_resuming_with_another_setting_is_refused_by_name(gemsnn, data_file, settings, tmp_path):
    gemsnn("train", "--data", data_file, "--out", tmp_path / "run", "--config", settings)
    code, _, err = gemsnn("train", "--out", tmp_path / "run", "--resume", "--epochs", 9)
    assert (code, "epochs was 2 and is now 9" in err) == (2, True)
    other = toy.prepared(tmp_path / "other.h5", seed=3)
    code, _, err = gemsnn("train", "--out", tmp_path / "run", "--resume", "--data", other)
    assert (code, "the data had fingerprint" in err) == (2, True)


def test_a_damaged_checkpoint_is_a_warning_of_one_line(gemsnn, data_file, settings, tmp_path):
    run = tmp_path / "run"
    gemsnn("train", "--data", data_file, "--out", run, "--config", settings)
    newest = RunDirectory(run).checkpoints.paths()[0]
    newest.write_bytes(newest.read_bytes()[:-1])
    code, _, err = gemsnn("train", "--out", run, "--resume")
    assert code == 0, err
    assert re.fullmatch(r"warning: .*damaged.*the one before\n", err)


def test_tensorboard_can_be_switched_off_and_on(gemsnn, data_file, settings, tmp_path):
    pytest.importorskip("tensorboard")
    common = ["train", "--data", data_file, "--config", settings]
    gemsnn(*common, "--out", tmp_path / "off")
    gemsnn(*common, "--out", tmp_path / "on", "--tensorboard")
    assert not (tmp_path / "off" / "tensorboard").exists()
    assert list((tmp_path / "on" / "tensorboard").iterdir())
    assert toy.results(tmp_path / "on") == toy.results(tmp_path / "off")


def test_the_help_names_what_there_is(gemsnn):
    code, out, _ = gemsnn("train", "--help")
    assert code == 0
    for flag in ("--resume", "--compartments", "--config", "--set", "--preset"):
        assert flag in out


# ---- real processes


def start(*arguments):
    return subprocess.Popen(
        [GEMSNN, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )


LONG = toy.config(epochs=20, eval_every=None, test_limit=3, validation_limit=3)


@pytest.fixture(scope="module")
def untouched(data_file, tmp_path_factory):
    """What the long run ends in when nobody interrupts it."""
    directory = tmp_path_factory.mktemp("untouched") / "run"
    with open_prepared(data_file) as data:
        train(LONG, data, directory)
    return toy.results(directory)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_says_how_to_go_on_and_nothing_is_lost(data_file, untouched, tmp_path, gemsnn, sent, code):
    run = tmp_path / "run"
    settings = tmp_path / "long.toml"
    settings.write_text(write_config(LONG))
    process = start("train", "--data", data_file, "--config", settings, "--out", run)
    assert process.stdout is not None
    lines = []
    while not lines or "of 600 examples" not in lines[-1]:
        lines.append(process.stdout.readline())
        assert lines[-1], process.communicate()
    process.send_signal(sent)
    out, err = process.communicate()
    assert process.returncode == code, err
    told = re.search(r"Stopped at (\d+) of 600 examples; state saved\. Resume with: gemsnn (.*)\n", out)
    assert told
    assert told[2] == f"train --out {run} --resume"
    newest = RunDirectory(run).checkpoints.read_newest()
    assert newest.state.progress.position == int(told[1]) > 0
    assert gemsnn(*told[2].split())[0] == 0
    assert toy.results(run) == untouched


def test_a_second_process_on_the_same_run_is_refused_and_told_who_is_there(data_file, tmp_path, gemsnn):
    settings = tmp_path / "long.toml"
    settings.write_text(write_config(toy.config(epochs=100_000)))
    process = start("train", "--data", data_file, "--out", tmp_path / "run", "--config", settings)
    try:
        assert process.stdout is not None
        assert process.stdout.readline()
        code, _, err = gemsnn("train", "--out", tmp_path / "run", "--resume")
        assert code == 2
        assert f"process {process.pid} on " in err
    finally:
        process.kill()
        process.communicate()
