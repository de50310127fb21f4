"""Settings that nobody means: one message that names the field, whatever stands in the file or on the command line."""

import os

import pytest
import toy

from gemsnn import ConfigError, GemsnnError
from gemsnn.training import TrainingConfig, read_config, trainer_of
from gemsnn.training.config import parse_assignment, write_config

DIGITS = "9" * 5000
TEXTS = {
    "the name of an argument": "cls = 1",
    "another": "self = 1\nsettings = 2",
    "a path": 'path = "x"',
    "a preset that is a number": "preset = 1",
    "a preset that is a list": "preset = [1]",
    "brackets": "n_hidden = " + "[" * 100_000,
    "tables within each other": "rule = " + "{a=" * 3000 + "1" + "}" * 3000,
    "a name of many parts": "x" + ".x" * 5000 + " = 1",
    "thousands of digits": f"n_hidden = {DIGITS}",
    "thousands of digits, hexadecimal": "n_hidden = 0x" + "f" * 5000,
    "thousands of digits in a rule": f"rule.learning_rate = {DIGITS[:4000]}",
    "thousands of digits in a filter": f"synaptic_filter.time_constants = [{DIGITS[:4000]}]",
    "hundreds of digits": f"hidden_bias = {DIGITS[:400]}",
    "a null character": 'dtype = "a\0b"',
    "a null character in a path": 'data = "a\\u0000b"',
    "a null character in a graph's path": 'topology.kind = "file"\ntopology.path = "a\\u0000b"',
    "a kind that is a list": 'rule.kind = ["a"]',
    "a rule that is a number": "rule = 3",
    "a learning rate that is a text": 'rule.learning_rate = "x"',
    "weights beyond any use": "weight_scale = 1e300",
    "a bias beyond any use": "hidden_bias = 1e308",
    "a filter of a hundred million steps": 'synaptic_filter = {kind = "exponential", duration = 100_000_000}',
    "a hundred thousand time constants": f"synaptic_filter.time_constants = [{'1.0,' * 100_000}]",
    "taps beyond any use": 'somatic_filter = {kind = "taps", taps = [[1e300, 1.0]]}',
    "a seed of a hundred digits": 'topology = {kind = "random", density = 0.5, seed = 1' + "0" * 99 + "}",
    "a hundred million hidden neurons": 'topology = {kind = "layers", sizes = [99999999]}',
    "a hundred thousand hidden neurons": "n_hidden = 100_000",
    "a thousand names": "\n".join(f"x{i} = 1" for i in range(1000)),
    "a grid of nothing": "shift = 1\ngrid = [1000000000000, 1]",
    "epochs beyond counting": "epochs = 1" + "0" * 400,
    "time beyond counting": "max_time_samples = 1" + "0" * 400,
    "points beyond counting": "eval_at = [1" + "0" * 400 + "]",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_settings_file_that_makes_no_sense_is_one_short_message(tmp_path, data, text):
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(GemsnnError) as error:  # noqa: PT012 (some are found only when the network is made)
        config, path = read_config(file)
        assert path is None
        trainer_of(config, data)
    assert len(str(error.value)) < 3000


@pytest.mark.parametrize(
    "text", ["cls=1", "preset=paper", "path=x", f"n_hidden={DIGITS}", "rule=" + "[" * 100_000, "rule.cls=1", "data=x"]
)
def test_so_is_an_assignment(text):
    with pytest.raises(ConfigError) as error:
        TrainingConfig.of(None, dict([parse_assignment(text)]))
    assert len(str(error.value)) < 3000


def test_a_pipe_is_no_settings_file_and_no_graph(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="pipe: cannot be read: it is a device or a pipe"):
        read_config(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="pipe: not a graph file: it is a device or a pipe"):
        TrainingConfig.make(topology={"kind": "file", "path": str(tmp_path / "pipe")}).network(3, 2)


def test_a_network_that_cannot_fit_is_refused_with_what_it_needs(data):
    with pytest.raises(ConfigError, match=r"n_hidden = 100000: a network of 30,00.* weights needs about 1 TB"):
        trainer_of(toy.config(n_hidden=100_000), data)


def test_a_graph_file_that_says_it_is_huge_is_refused(tmp_path):
    file = tmp_path / "graph.json"
    file.write_text('{"n_inputs": 3, "n_hidden": 90000000, "n_visible": 2, "synapses": []}')
    with pytest.raises(ConfigError, match=r"a graph of 3 inputs, 90,000,000 hidden .* needs about"):
        TrainingConfig.make(topology={"kind": "file", "path": str(file)}).network(3, 2)


def test_a_billion_epochs_begin_at_once(data):
    trainer = trainer_of(toy.config(epochs=10**9), data)
    trainer.run(stop=lambda: trainer.position >= 12)
    assert trainer.evaluations_left > 10**9


@pytest.mark.parametrize("path", ["/data/\x7f.h5", '/data/"quoted" \\ and\ttabs.h5', "/data/\u00fc\U0001f600.h5"])
def test_any_path_that_is_text_comes_back_from_the_settings_file(tmp_path, path):
    (tmp_path / "config.toml").write_text(write_config(toy.config(), path))
    assert str(read_config(tmp_path / "config.toml")[1]) == path


def test_a_path_that_is_no_text_is_left_out_of_the_settings_file(tmp_path):
    (tmp_path / "config.toml").write_bytes(write_config(toy.config(), "/data/\udcff.h5").encode())
    assert read_config(tmp_path / "config.toml") == (toy.config(), None)
