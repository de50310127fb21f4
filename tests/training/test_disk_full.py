"""A disk that is full: a clear error, the earlier checkpoint intact, and the run goes on once there is space."""

import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest
import toy

from gemsnn import WriteError
from gemsnn.cli import main
from gemsnn.events import open_prepared
from gemsnn.training import RunDirectory, train

CONFIG = toy.config(n_hidden=40, checkpoint_seconds=0)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB."""
    mount = tmp_path / "small"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {made.stderr.decode().strip()}")
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory, data_file):
    directory = tmp_path_factory.mktemp("untouched") / "run"
    with open_prepared(data_file) as data:
        train(CONFIG, data, directory)
    return toy.results(directory)


class FillDisk:
    """An observer that fills the disk once so many examples are learned."""

    def __init__(self, mount, position, leave=0):
        self.filler, self.position, self.leave = mount / "filler", position, leave

    def learned(self, trainer, event, /):
        if event.position == self.position:
            free = shutil.disk_usage(self.filler.parent).free
            self.filler.write_bytes(b"0" * (free - self.leave))

    def evaluated(self, trainer, event, /):
        pass


@pytest.mark.parametrize("leave", [0, 8192])
@pytest.mark.parametrize("position", [15, 20])
def test_a_full_disk_is_told_and_the_run_goes_on_after_space_is_made(small_disk, data, untouched, position, leave):
    """At position 20 an evaluation writes models and metrics; with 8 kB left, checkpoints are cut in the middle."""
    directory = small_disk / "run"
    disk = FillDisk(small_disk, position, leave)
    with pytest.raises(WriteError, match=r"make space, then continue with --resume\. The run resumes from 0+\d+\.s"):
        train(CONFIG, data, directory, observers=[disk])
    intact = RunDirectory(directory).checkpoints.read_newest()
    assert intact.state.progress.position == position
    with pytest.raises(WriteError, match="the disk is full"):  # still full
        train(CONFIG, data, directory, resume=True)
    assert RunDirectory(directory).checkpoints.read_newest().state.progress.position == position
    disk.filler.unlink()
    assert train(CONFIG, data, directory, resume=True).status == "finished"
    assert toy.results(directory) == untouched


class RemoveFolder(FillDisk):
    """An observer that removes the run's folder."""

    def learned(self, trainer, event, /):
        if trainer.position == self.position:
            shutil.rmtree(self.filler.parent)


def test_nothing_is_promised_of_checkpoints_that_are_gone(data, tmp_path):
    directory = tmp_path / "run"
    with pytest.raises(WriteError) as error:
        train(CONFIG, data, directory, observers=[RemoveFolder(directory, 15)])
    assert "No checkpoint is left to resume from" in str(error.value)


@contextmanager
def files_of_at_most(size):
    """Writing more to any file fails, as on a full disk; Python ignores the signal that comes with it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_checkpoint_that_cannot_be_written_whole_leaves_the_earlier_ones(data, untouched, tmp_path):
    """Needs no small disk: the process may not write files as large as a checkpoint."""
    directory = tmp_path / "run"
    stop = iter([False] * 12 + [True])
    train(CONFIG, data, directory, stop=lambda: next(stop))
    before = {path: path.read_bytes() for path in directory.rglob("*.safetensors")}
    size = min(map(len, before.values()))
    with files_of_at_most(size // 2), pytest.raises(WriteError, match="cannot be written"):
        train(CONFIG, data, directory, resume=True)
    assert {path: path.read_bytes() for path in directory.rglob("*.safetensors")} == before
    assert not list(directory.rglob("*.partial"))
    train(CONFIG, data, directory, resume=True)
    assert toy.results(directory) == untouched


def test_the_command_line_says_it_in_one_message(data_file, tmp_path, monkeypatch, capsys):
    arguments = ["train", "--data", data_file, "--out", tmp_path / "run", "--hidden", 40]
    monkeypatch.setattr(sys, "argv", ["gemsnn", *map(str, arguments)])
    with files_of_at_most(4096), pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert "larger than this process may write" in told
    assert len(told.splitlines()) == 1
