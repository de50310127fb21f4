"""Files that are whole, with a checksum that fits, and make no sense: refused before anything is done with them."""

import json
import shutil

import numpy as np
import pytest
import toy

from gemsnn import CheckpointError, GemsnnError
from gemsnn.common.sealed import seal
from gemsnn.events import open_prepared
from gemsnn.training import RunDirectory, load_model, train
from gemsnn.training import checkpoints as checkpoint_format
from gemsnn.training import model as model_format
from gemsnn.training.tensors import read_tensors, write_tensors


@pytest.fixture(scope="module")
def config():
    return toy.config(average_last=0.9)


@pytest.fixture(scope="module")
def runs(config, data_file, tmp_path_factory):
    """A run that was stopped after 25 examples, 20 of which were followed by evaluations; and one that is finished."""
    folder, stop = tmp_path_factory.mktemp("runs"), iter([False] * 27 + [True])
    with open_prepared(data_file) as data:
        train(config, data, folder / "stopped", stop=lambda: next(stop))
        train(config, data, folder / "finished")
    return folder


@pytest.fixture
def stopped(runs, tmp_path):
    return RunDirectory(shutil.copytree(runs / "stopped", tmp_path / "run"))


@pytest.fixture
def finished(runs, tmp_path):
    return RunDirectory(shutil.copytree(runs / "finished", tmp_path / "run"))


def rewritten(path, kind, change):
    """Change header and arrays of a file, and sign it anew."""
    header, arrays = read_tensors(path, kind.FORMAT, kind.VERSION)
    del header["format"], header["version"]
    change(header, arrays)
    write_tensors(path, kind.FORMAT, kind.VERSION, header, arrays)


def as_is(header, arrays):
    pass


def fewer_rows(header, arrays):
    arrays["parameters.somatic"] = arrays["parameters.somatic"][:1]


def one_more_array(header, arrays):
    arrays["more"] = np.zeros(3, np.float32)


def huge(header, arrays):
    arrays["parameters.bias"] = np.full_like(arrays["parameters.bias"], 3e38)


def no_sum(header, arrays):
    del arrays["weight_sum.bias"]


def sum_in_single(header, arrays):
    for name in [name for name in arrays if name.startswith("weight_sum")]:
        arrays[name] = arrays[name].astype(np.float32)


def state(**fields):
    def change(header, arrays):
        header["state"] |= fields

    return change


def top(**fields):
    def change(header, arrays):
        header |= fields

    return change


@pytest.mark.parametrize(
    "change",
    [
        fewer_rows, one_more_array, huge, no_sum, sum_in_single,
        state(position=-1), state(position="25"), state(position=26), state(position=10**30), state(position=2.5),
        state(averaged=3), state(averaged=0), state(time_samples=0), state(evaluated=19), state(evaluated=24),
        state(last=None), state(last=3), state(best=[]), state(best={"position": 20}), state(stale=None),
        state(log_likelihood_sum="x"), state(log_likelihood_sum=None), state(unknown=1), state(evaluated=0, last=None),
        top(metrics_bytes=-1), top(metrics_bytes=10**17), top(metrics_sha256="abc"), top(config=[]), top(data=7),
        top(state=None), top(config={"n_hidden": {"a": {"b": 1}}}),
    ],
)  # fmt: skip
def test_a_checkpoint_that_makes_no_sense_is_refused_and_nothing_is_changed(config, data, stopped, change):
    for path in stopped.checkpoints.paths():
        rewritten(path, checkpoint_format, change)
    before = {path: path.read_bytes() for path in stopped.path.rglob("*") if path.is_file() and path.name != "lock"}
    with pytest.raises(GemsnnError) as error:
        train(config, data, stopped.path, resume=True)
    assert len(str(error.value)) < 3000
    assert before == {
        path: path.read_bytes() for path in stopped.path.rglob("*") if path.is_file() and path.name != "lock"
    }


def test_a_checkpoint_that_was_only_signed_anew_goes_on_to_the_same_bits(config, data, stopped, runs):
    for path in stopped.checkpoints.paths():
        rewritten(path, checkpoint_format, as_is)
    train(config, data, stopped.path, resume=True)
    assert toy.results(stopped.path) == toy.results(runs / "finished")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_inputs", -1), ("n_hidden", 10**12), ("n_hidden", 5), ("n_visible", "3"), ("visible_memory", 1),
        ("circuits", [{"neurons": [900], "silent": False}]), ("circuits", 3), ("circuits", [{"neurons": [6]}]),
        ("classes", [1, 1, 2]), ("classes", [1, 2]), ("classes", [None, 2, 3]), ("classes", [[1], 2, 3]),
        ("decoder", {"kind": "vote", "compartments": 10**9}), ("decoder", {"kind": "x"}), ("decoder", None),
        ("n_steps", -5), ("n_steps", 1e300), ("seed", -1), ("seed", 1 << 70), ("preprocessing", {"bin_us": 0}),
        ("preprocessing", []), ("about", 7), ("about", {"position": "x"}), ("about", {"communication": [1]}),
    ],
)  # fmt: skip
def test_a_model_that_makes_no_sense_is_refused(stopped, field, value):
    path = stopped.model_path("best")
    rewritten(path, model_format, top(**{field: value}))
    with pytest.raises(CheckpointError, match=r"best\.safetensors: not a usable model"):
        load_model(path)


@pytest.mark.parametrize("name", ["synaptic", "somatic", "bias", "mask", "synaptic_taps", "somatic_taps"])
@pytest.mark.parametrize(
    "change",
    [
        lambda array: array[:-1],
        lambda array: array[None],
        lambda array: array.astype(np.int16),
        lambda array: np.full_like(array, 3e38) if array.dtype != bool else np.ones_like(array),
        lambda array: array[:0],
    ],
)
def test_so_is_one_with_an_array_that_does_not_fit(stopped, name, change):
    path = stopped.model_path("best")
    rewritten(path, model_format, lambda header, arrays: arrays.update({name: change(arrays[name])}))
    with pytest.raises(CheckpointError, match=r"best\.safetensors: not a usable model"):
        load_model(path)


@pytest.mark.parametrize(
    "change", [{"final": None}, {"version": "2"}, {"communication": 3}, {"best": {}}, {"config": 0}, {"version": None}]
)
def test_a_summary_that_makes_no_sense_is_refused(finished, change):
    finished.summary.write_bytes(seal({**finished.read_summary(), **change}))
    with pytest.raises(CheckpointError, match=r"summary\.json: cannot be believed"):
        finished.read_summary()


@pytest.mark.parametrize("line", [b"{}", b"[]", b"7", b"{", b"[" * 100_000, b'{"position": NaN}', b"\xff", b""])
def test_a_line_of_metrics_that_makes_no_sense_is_refused_with_its_number(stopped, line):
    stopped.metrics.write_bytes(stopped.metrics.read_bytes() + line + b"\n")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: line 3 is no evaluation, or damaged"):
        stopped.read_metrics()


def test_a_best_model_that_was_lost_is_not_replaced_by_another(finished):
    finished.model_path("best").unlink()
    with pytest.raises(CheckpointError, match=r"best\.safetensors: the run's best model is missing; put it back"):
        finished.load_model()
    assert finished.load_model("final").n_steps == toy.N_STEPS


def test_a_run_whose_best_model_was_lost_is_not_resumed_as_if_nothing_had_happened(config, data, stopped):
    stopped.model_path("best").unlink()
    with pytest.raises(CheckpointError, match=r"best\.safetensors: is missing, though example \d+ gave one"):
        train(config, data, stopped.path, resume=True)


def test_metrics_are_those_that_the_checkpoint_knows(config, data, stopped):
    lines = stopped.metrics.read_bytes().splitlines(keepends=True)
    record = json.loads(lines[0])
    record["test"]["accuracy"] = 0.123
    stopped.metrics.write_bytes(json.dumps(record).encode() + b"\n" + b"".join(lines[1:]))
    with pytest.raises(CheckpointError, match="was changed since the checkpoint"):
        train(config, data, stopped.path, resume=True)
