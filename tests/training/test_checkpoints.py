import warnings

import numpy as np
import pytest
import toy

from gemsnn import CheckpointError
from gemsnn.training import CheckpointWarning, RunDirectory, train, trainer_of
from gemsnn.training import checkpoints as module
from gemsnn.training.checkpoints import Checkpoint, Checkpoints
from gemsnn.training.tensors import read_tensors, write_tensors

CONFIG = toy.config(average_last=0.9)


@pytest.fixture
def trainer(data):
    return trainer_of(CONFIG, data)


def checkpoint(trainer, position):
    trainer.run(stop=lambda: trainer.position >= position)
    return Checkpoint(trainer.state, CONFIG.identity(), trainer.data.fingerprint, 17, "ab" * 32)


@pytest.fixture
def saved(trainer, tmp_path):
    """Checkpoints of positions 5, 10 and 15, of which the first is gone."""
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    for position in (5, 10, 15):
        checkpoints.write(checkpoint(trainer, position))
    return checkpoints


def test_a_checkpoint_gives_back_all_of_the_state(trainer, tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    written = checkpoint(trainer, 25)
    checkpoints.write(written)
    found = checkpoints.read_newest()
    assert found.state.parameters == trainer.state.parameters
    assert found.state.weight_sum == trainer.state.weight_sum
    assert found.state.progress == trainer.state.progress
    assert found._replace(state=None) == written._replace(state=None)


def test_the_last_two_are_kept_and_the_newest_is_used(saved):
    assert [path.name for path in saved.paths()] == ["000000000015.safetensors", "000000000010.safetensors"]
    assert saved.read_newest().state.progress.position == 15


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-50] ^= 4
    path.write_bytes(content)


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [cut, flip, empty])
def test_a_damaged_newest_checkpoint_is_put_aside_with_a_warning_and_the_one_before_is_used(saved, damage):
    newest, before = saved.paths()
    damage(newest)
    damaged = newest.read_bytes()
    with pytest.warns(CheckpointWarning, match=rf"{newest}: damaged.*Resuming from {before.name}"):
        assert saved.read_newest().state.progress.position == 10
    assert saved.paths() == [before]
    assert newest.with_name(newest.name + ".damaged").read_bytes() == damaged


def test_a_damaged_checkpoint_that_was_put_aside_never_pushes_out_a_good_one(saved, trainer, data):
    cut(saved.paths()[0])
    with pytest.warns(CheckpointWarning):
        found = saved.read_newest()
    saved.write(checkpoint(trainer_of(CONFIG, data, found.state), 12))
    assert [path.name for path in saved.paths()] == ["000000000012.safetensors", "000000000010.safetensors"]


def test_if_all_are_damaged_that_is_told_and_nothing_is_changed(saved):
    for path in saved.paths():
        flip(path)
    before = {path: path.read_bytes() for path in saved.directory.iterdir()}
    with pytest.raises(CheckpointError, match="every checkpoint is damaged") as error:
        saved.read_newest()
    assert all(path.name in str(error.value) for path in saved.paths())
    assert {path: path.read_bytes() for path in saved.directory.iterdir()} == before


def test_a_checkpoint_from_the_future_is_refused_rather_than_passed_over(saved, trainer, monkeypatch):
    monkeypatch.setattr(module, "VERSION", 3)
    saved.write(checkpoint(trainer, 20))
    monkeypatch.undo()
    with warnings.catch_warnings(), pytest.raises(CheckpointError, match="version 3 is from the future"):
        saved.read_newest()
    assert len(saved.paths()) == 2


def test_files_of_other_names_are_never_touched_and_displace_nothing(trainer, saved):
    names = ("000000000130-mybackup", "1-backup", "99", "0000000000010", "\u0661" * 12, "000000000015.old")
    for name in names:
        (saved.directory / f"{name}.safetensors").write_bytes(b"precious")
    (saved.directory / ".notes.2024.partial").write_bytes(b"precious")
    assert saved.read_newest().state.progress.position == 15
    saved.write(checkpoint(trainer, 20))
    assert [path.name for path in saved.paths()] == ["000000000020.safetensors", "000000000015.safetensors"]
    for name in (*(f"{name}.safetensors" for name in names), ".notes.2024.partial"):
        assert (saved.directory / name).read_bytes() == b"precious"


def test_a_folder_with_nothing_but_a_users_files_holds_no_run(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints/1-backup.safetensors").write_bytes(b"precious")
    assert not RunDirectory(tmp_path).started


def test_no_checkpoints_is_told(tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoints here"):
        Checkpoints(tmp_path / "nothing").read_newest()


def test_half_written_files_are_cleared_away(saved):
    leftover = saved.directory / ".000000000020.safetensors.4711.0a1b2c3d.partial"
    leftover.write_bytes(b"half")
    saved.read_newest()
    assert not leftover.exists()


def not_a_number(name, array):
    return np.full_like(array, np.nan) if name == "bias" else array


def too_small(name, array):
    return array[:-1]


def too_precise(name, array):
    return array.astype(np.float64)


def one_in_double(name, array):
    return array.astype(np.float64) if name == "somatic" else array


@pytest.mark.parametrize(
    ("change", "what", "message"),
    [
        (too_small, "parameters", r"parameters\.synaptic has shape .*this network needs"),
        (too_precise, "parameters", "the weights are float64, but the settings say float32"),
        (one_in_double, "parameters", r"parameters\.somatic is float64"),
        (not_a_number, "parameters", r"parameters\.bias holds NaN"),
        (too_small, "weight_sum", r"parameters\.synaptic has shape .*this network needs"),
        (not_a_number, "weight_sum", r"parameters\.bias holds NaN"),
    ],
)
def test_a_checkpoint_whose_arrays_do_not_fit_is_refused(trainer, data, tmp_path, change, what, message):
    """Whole and with a correct checksum, as somebody may have made it who knows how."""
    run = tmp_path / "run"
    stop = iter([False] * 30 + [True])
    train(CONFIG, data, run, stop=lambda: next(stop))
    path = Checkpoints(run / "checkpoints").paths()[0]
    header, arrays = read_tensors(path, module.FORMAT, module.VERSION)
    del header["format"], header["version"]  # they are written anew
    changed = {
        name: change(name.rpartition(".")[2], array) if name.startswith(what) else array
        for name, array in arrays.items()
    }
    write_tensors(path, module.FORMAT, module.VERSION, header, changed)
    with pytest.raises(CheckpointError, match=rf"the checkpoint does not fit the network: .*{message}"):
        train(CONFIG, data, run, resume=True)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_means_of_another_precision_are_refused_and_not_learned_from(data, tmp_path, dtype):
    run = tmp_path / "run"
    config = toy.config(mean_free=True)
    stop = iter([False] * 30 + [True])
    train(config, data, run, stop=lambda: next(stop))
    path = Checkpoints(run / "checkpoints").paths()[0]
    header, arrays = read_tensors(path, module.FORMAT, module.VERSION)
    del header["format"], header["version"]
    arrays["means"] = arrays["means"].astype(dtype)
    write_tensors(path, module.FORMAT, module.VERSION, header, arrays)
    with pytest.raises(CheckpointError, match=f"does not fit the network: means are {dtype}, but float64 is needed"):
        train(config, data, run, resume=True)


def test_weights_come_back_in_their_precision(data, tmp_path):
    trainer = trainer_of(toy.config(dtype="float64"), data)
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    checkpoints.write(checkpoint(trainer, 2))
    assert checkpoints.read_newest().state.parameters.dtype == np.float64
