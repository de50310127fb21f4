import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from gemsnn import DataError, ShapeError
from gemsnn.events import Preprocessing, mnist_dvs_preprocessing, open_prepared, write_prepared
from gemsnn.events.prepared import Example, PreparedWriter, example_from_events, stratified_split
from gemsnn.events.records import Events


def spikes(n: int = 12, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, 9, 7)) < 0.3


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    path = tmp_path / "mine.h5"
    write_prepared(path, spikes(), [5, 2, 9] * 4, split=["train"] * 8 + ["test"] * 4)
    return path


def test_what_is_written_is_read_back(prepared: Path) -> None:
    with open_prepared(prepared) as data:
        assert (data.n_steps, data.n_inputs, data.classes, data.n_classes) == (9, 7, (2, 5, 9), 3)
        assert (len(data.train), len(data.test)) == (8, 4)
        assert data.train.labels.tolist() == [1, 0, 2, 1, 0, 2, 1, 0]
        assert data.test.labels.tolist() == [2, 1, 0, 2]
        assert data.train[3].dtype == np.bool_
        assert (data.train[3] == spikes()[3]).all()
        assert (data.test[-1] == spikes()[11]).all()
        assert (data.train.read([7, 0, 7]) == spikes()[[7, 0, 7]]).all()
        assert (np.stack(list(data.test)) == spikes()[8:]).all()
        assert data.train.read([]).shape == (0, 9, 7)
        data.verify()


def test_an_index_out_of_range_is_an_index_error(prepared: Path) -> None:
    with open_prepared(prepared) as data:
        with pytest.raises(IndexError, match="example 8 of 8 in the train split"):
            data.train[8]
        with pytest.raises(ShapeError):
            data.train.read([[1, 2]])


def test_an_iterator_of_examples_is_enough(tmp_path: Path) -> None:
    write_prepared(tmp_path / "a.h5", (example.astype(np.int8) for example in spikes()), np.arange(12) % 2, split=0.5)
    write_prepared(tmp_path / "b.h5", spikes(), np.arange(12) % 2, split=0.5)
    with open_prepared(tmp_path / "a.h5") as a, open_prepared(tmp_path / "b.h5") as b:
        assert a.fingerprint == b.fingerprint
        assert (a.train.read(range(6)) == b.train.read(range(6))).all()


@pytest.mark.parametrize(
    ("X", "y", "split", "complaint"),
    [
        (spikes(), [1] * 11, 0.2, "X holds more examples than y"),
        (spikes(), [1] * 13, 0.2, "X holds 12 examples, y has 13"),
        (spikes(), [0.5] * 12, 0.2, "whole number"),
        (spikes() * 2, [1] * 12, 0.2, "other than 0 and 1"),
        (spikes(), [1] * 12, ["train"] * 11 + ["valid"], '"train" or "test"'),
        (spikes(), [1] * 12, 1.5, "share of test examples"),
        (spikes()[0], [1] * 9, 0.2, r"\(T, n_inputs\)"),
        ([np.zeros((3, 2)), np.zeros((4, 2))], [0, 1], ["train", "test"], r"shape \(4, 2\)"),
        ([], [1], 0.2, "no examples"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(
    tmp_path: Path, X: object, y: list[int], split: object, complaint: str
) -> None:
    with pytest.raises((DataError, ShapeError), match=complaint):
        write_prepared(tmp_path / "a.h5", X, y, split=split)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_stratified_split_takes_the_same_share_of_each_class_and_only_the_seed_moves_it() -> None:
    labels = np.repeat([0, 1, 2], [50, 20, 2])
    names = stratified_split(labels, 0.1, seed=3)
    assert [int((names[labels == c] == "test").sum()) for c in range(3)] == [5, 2, 1]
    assert (names == stratified_split(labels, 0.1, seed=3)).all()
    assert (names != stratified_split(labels, 0.1, seed=4)).any()


def test_recordings_keep_every_choice_and_bin_raw_events_alike(tmp_path: Path, dvs_events: Events) -> None:
    choices = mnist_dvs_preprocessing()
    with PreparedWriter(
        tmp_path / "a.h5",
        counts={"train": 1},
        classes=(0, 1),
        n_steps=80,
        n_inputs=676,
        attributes={"source": "test", "simulated": True},
        preprocessing=choices,
    ) as writer:
        writer.add(example_from_events(dvs_events, choices, "train", 1, "the one"))
    with open_prepared(tmp_path / "a.h5", expect={"bin_us": 25_000, "x_range": (48, 73), "simulated": True}) as data:
        assert data.preprocessing == choices
        assert Preprocessing.from_dict(json.loads(json.dumps(data.preprocessing.to_dict()))) == choices
        assert (data.train[0] == data.bin(dvs_events)).all()
        assert data.train.names == ("the one",)
        assert data.train.n_events is not None
        assert data.train.n_events.tolist() == [200]
        assert data.train.duration_us is not None
        assert data.train.duration_us.tolist() == [dvs_events["t"][-1] - dvs_events["t"][0]]
        assert (data.train.planes(0, (26, 26)) == choices.planes(dvs_events)).all()
        for key in ("source", "simulated", "bin_us", "n_steps", "polarity", "x_range", "y_range", "version"):
            assert key in data.attributes


def test_a_file_made_with_other_choices_than_asked_for_is_an_error(prepared: Path) -> None:
    with pytest.raises(DataError, match=r"n_steps is 9, 80 was asked for; bin_us is not recorded"):
        open_prepared(prepared, expect={"n_inputs": 7, "n_steps": 80, "bin_us": 25_000})


def test_a_file_made_from_arrays_cannot_bin_events(prepared: Path, dvs_events: Events) -> None:
    with open_prepared(prepared) as data, pytest.raises(DataError, match="no preprocessing"):
        data.bin(dvs_events)


def test_the_fingerprint_follows_content_and_not_time_or_place(tmp_path: Path) -> None:
    def made(name: str, X: np.ndarray, y: list[int]) -> str:
        write_prepared(tmp_path / name, X, y, split=0.25)
        with open_prepared(tmp_path / name) as data:
            return data.fingerprint

    first = made("a.h5", spikes(), [0, 1] * 6)
    assert made("b.h5", spikes(), [0, 1] * 6) == first
    assert made("c.h5", spikes(), [1, 0] * 6) != first
    changed = spikes()
    changed[4, 2, 2] ^= True
    assert made("d.h5", changed, [0, 1] * 6) != first


def test_a_changed_bit_is_found_out(prepared: Path) -> None:
    with h5py.File(prepared, "r+") as file:
        file["train/spikes"][2, 3] ^= 16
    with open_prepared(prepared) as data, pytest.raises(DataError, match="does not fit its fingerprint"):
        data.verify()


def test_files_that_are_not_ours_are_refused(tmp_path: Path, prepared: Path) -> None:
    (tmp_path / "noise.h5").write_bytes(b"no HDF5 at all" * 100)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    for name, complaint in (
        ("noise.h5", "not a prepared file"),
        ("other.h5", "not one of ours"),
        ("none.h5", "No such file"),
        ("", "directory"),
    ):
        with pytest.raises(DataError, match=complaint):
            open_prepared(tmp_path / name)


def test_a_damaged_file_is_an_error_and_no_other_exception(tmp_path: Path, prepared: Path) -> None:
    whole = prepared.read_bytes()
    rng = np.random.default_rng(0)
    damaged = tmp_path / "damaged.h5"
    mutants = [whole[: len(whole) * k // 40] for k in range(40)]
    for _ in range(150):
        mutant = bytearray(whole)
        at = int(rng.integers(0, len(whole) - 16))
        mutant[at : at + 8] = rng.bytes(8)
        mutants.append(bytes(mutant))
    refused = 0
    for mutant in mutants:
        damaged.write_bytes(mutant)
        try:
            with open_prepared(damaged) as data:
                data.verify()
        except DataError:
            refused += 1
    assert refused > 50


READ_TOGETHER = """
import sys
from gemsnn.events import open_prepared
with open_prepared(sys.argv[1]) as data:
    print("open", flush=True)
    sys.stdin.readline()
    print(int(data.train[0].sum()))
"""


def test_several_processes_read_at_once(prepared: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", READ_TOGETHER, str(prepared)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"  # all have it open before any goes on
    answers = {child.communicate("go\n", timeout=30)[0].strip() for child in children}
    assert answers == {str(int(spikes()[0].sum()))}


def test_an_open_file_can_be_pickled(prepared: Path) -> None:
    with open_prepared(prepared) as data, pickle.loads(pickle.dumps(data)) as copy:
        assert (copy.train[0] == data.train[0]).all()


READ_ALL = """
import resource, sys
import numpy as np
from gemsnn.events import open_prepared
with open_prepared(sys.argv[1]) as data:
    data.train[0]
    used = int(next(l for l in open("/proc/self/status") if l.startswith("VmData")).split()[1]) * 1024
    allowed = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_DATA, (used + allowed, used + allowed))
    try:
        np.ones(2 * allowed, dtype=np.uint8)
        sys.exit("the limit does not hold")
    except MemoryError:
        pass
    print(sum(int(example.sum()) for example in data.train))
"""


def test_a_file_ten_times_larger_than_the_memory_it_may_use_is_read(tmp_path: Path) -> None:
    path, allowed = tmp_path / "large.h5", 12 << 20
    rng = np.random.default_rng(0)
    block = rng.random((8, 1000, 2000)) < 0.5
    n = 10 * allowed // (1000 * 2000 // 8) + 1
    write_prepared(path, (block[i % 8] for i in range(n)), np.arange(n) % 2, split=["train"] * n)
    assert path.stat().st_size > 10 * allowed
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(path), str(allowed)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == sum(int(block[i % 8].sum()) for i in range(n))


WRITE_SLOWLY = """
import sys, time
import numpy as np
from gemsnn.events import write_prepared
def examples():
    for i in range(1000):
        print(i, flush=True)
        yield np.zeros((50, 50), dtype=bool)
        time.sleep(0.02)
write_prepared(sys.argv[1], examples(), [0, 1] * 500)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_writing_leaves_the_old_file_and_no_half_written_one(tmp_path: Path, how: signal.Signals) -> None:
    path = tmp_path / "data.h5"
    write_prepared(path, spikes(), [0, 1] * 6)
    before = path.read_bytes()
    child = subprocess.Popen(
        [sys.executable, "-c", WRITE_SLOWLY, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert child.stdout is not None
    while child.stdout.readline().strip() != "5":
        assert child.poll() is None
    assert len(list(tmp_path.iterdir())) == 2
    child.send_signal(how)
    child.communicate(timeout=30)
    assert child.returncode != 0
    assert path.read_bytes() == before
    left = [file.name for file in tmp_path.iterdir() if file != path]
    if how is signal.SIGINT:
        assert not left
    else:
        assert all(name.startswith(".data.h5.") and name.endswith(".partial") for name in left)


FILL_THE_DISK = """
import resource, signal, sys
import numpy as np
from gemsnn import DataError
from gemsnn.events import write_prepared
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    write_prepared(sys.argv[1], np.ones((100, 100, 100), dtype=bool), [0, 1] * 50)
except DataError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [1_000, 60_000, 124_000])
def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path, limit: int) -> None:
    command = [sys.executable, "-u", "-c", FILL_THE_DISK, str(tmp_path / "a.h5"), str(limit)]
    # Unmeasured: coverage would have to write its data to the full disk, too.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout.endswith("a.h5: cannot be written: File too large; is the disk full?\n"), done.stderr
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no/a\.h5: cannot be written"):
        write_prepared(tmp_path / "no" / "a.h5", spikes(), [0, 1] * 6)


def test_more_examples_than_announced_are_refused(tmp_path: Path) -> None:
    example = Example("train", 0, np.zeros((2, 3), dtype=bool))
    with PreparedWriter(
        tmp_path / "a.h5", counts={"train": 1}, classes=(0,), n_steps=2, n_inputs=3, attributes={}
    ) as writer:
        writer.add(example)
        with pytest.raises(DataError, match="more train examples than the 1 announced"):
            writer.add(example)
