"""A run that a newer version of gemsnn wrote is refused by every command, with what to do, and stays as it is."""

import json
import shutil

import pytest
import toy

from gemsnn.common.sealed import SEAL, seal
from gemsnn.events import open_prepared
from gemsnn.training import RunDirectory, checkpoints, model, train
from gemsnn.training.tensors import read_tensors, write_tensors


@pytest.fixture(scope="module")
def runs(tmp_path_factory, data_file):
    """A run that was stopped, and one that is finished."""
    folder = tmp_path_factory.mktemp("runs")
    stop = iter([False] * 30 + [True])
    with open_prepared(data_file) as data:
        train(toy.config(), data, folder / "stopped", stop=lambda: next(stop))
        train(toy.config(), data, folder / "finished")
    return folder


def newer_tensors(path, kind):
    header, arrays = read_tensors(path, kind.FORMAT, kind.VERSION)
    del header["format"], header["version"]
    write_tensors(path, kind.FORMAT, kind.VERSION + 1, {**header, "what_it_adds": [1]}, arrays)


def newer_summary(path):
    summary = json.loads(path.read_text())
    del summary[SEAL]
    path.write_bytes(seal({**summary, "version": summary["version"] + 1, "what_it_adds": [1]}))


def bytes_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def run(runs, tmp_path):
    """A run all of whose files are from a newer version."""

    def made(kind):
        run = RunDirectory(shutil.copytree(runs / kind, tmp_path / "run"))
        for path in run.path.glob("*.safetensors"):
            newer_tensors(path, model)
        for path in run.checkpoints.paths():
            newer_tensors(path, checkpoints)
        if run.finished:
            newer_summary(run.summary)
        return run.path

    return made


@pytest.mark.parametrize("kind", ["stopped", "finished"])
@pytest.mark.parametrize("command", ["evaluate", "predict", "calibrate", "export", "watch", "train"])
def test_every_command_says_so_and_changes_nothing(gemsnn, run, data_file, tmp_path, command, kind):
    run = run(kind)
    before = bytes_of(run)
    arguments = {
        "evaluate": [run, "--data", data_file],
        "predict": [run, data_file],
        "calibrate": [run, "--data", data_file, "--alpha", "0.5"],
        "export": [run, "--to", "c", "--out", tmp_path / "c", "--data", data_file],
        "watch": [run, data_file, "--out", tmp_path / "watch.html"],
        "train": ["--data", data_file, "--out", run, "--resume"],
    }[command]
    code, _, told = gemsnn(command, *arguments)
    assert code == 2, told
    assert "newer gemsnn" in told
    assert bytes_of(run) == before
