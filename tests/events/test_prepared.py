import copy
import hashlib
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gemsnn import DataError, ShapeError, WriteError
from gemsnn.events import Preprocessing, mnist_dvs_preprocessing, open_prepared, write_prepared
from gemsnn.events.container import FORMAT, USER_BLOCK
from gemsnn.events.prepared import Content, PreparedWriter, example_from_events, resplit, stratified_split
from gemsnn.events.records import Events, make_events


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
        (spikes(), [1] * 11, 0.2, "X contains more examples than y"),
        (spikes(), [1] * 13, 0.2, "X contains 12 examples, y has 13"),
        (spikes(), [0.5] * 12, 0.2, "one integer or string"),
        (spikes() * 2, [1] * 12, 0.2, "other than 0 and 1"),
        (spikes(), [1] * 12, ["train"] * 11 + ["valid"], '"train" or "test"'),
        (spikes(), [1] * 12, 1.5, "fraction of test examples"),
        (spikes()[0], [1] * 9, 0.2, r"\(T, n_inputs\)"),
        ([np.zeros((3, 2)), np.zeros((4, 3))], [0, 1], ["train", "test"], r"shape \(4, 3\)"),
        ([np.zeros((3, 2)), np.zeros((0, 2))], [0, 1], ["train", "test"], r"shape \(0, 2\)"),
        (spikes(), np.array([2**64 - 1, 0] * 6, dtype=np.uint64), 0.2, r"larger than 2\^63 - 1"),
        (spikes(), ["left", 3] * 6, 0.2, "mixes strings and numbers"),
        (spikes(), np.full((12, 2), 2), 0.2, "0 or 1 for each example and class"),
        (spikes(), np.zeros((12, 2, 2), dtype=int), 0.2, "integer or string"),
        (spikes(), None, 0.2, "either y, the labels, or targets"),
        (np.zeros((2, 3, 4), dtype=complex), [0, 1], 0.2, "other than 0 and 1"),
        (np.full((2, 3, 4), np.nan), [0, 1], 0.2, "other than 0 and 1"),
        ([[[1, 0], [1]]], [0], 0.2, r"example 0 is not an array \(T, n_inputs\)"),
        ([], [1], 0.2, "no examples"),
        (5, [1], 0.2, r"X must be an array \(n, T, n_inputs\), or yield arrays \(T, n_inputs\), not 5"),
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
    content = Content.of_recordings((0, 1), choices, {"source": "test", "simulated": True})
    with PreparedWriter(tmp_path / "a.h5", content) as writer:
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
    with pytest.raises(DataError, match=r"n_steps is 9, 80 was expected; bin_us is not recorded"):
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


def test_a_changed_bit_is_found_out_by_whoever_reads_the_example(prepared: Path) -> None:
    with h5py.File(prepared, "r+") as file:
        begin = file["train/begin"][2]
        spike = file["spikes"][begin]
        spike["index"] ^= 1
        file["spikes"][begin] = spike
    with open_prepared(prepared) as data:
        assert (data.train[1] == spikes()[1]).all()
        for read in (lambda: data.train[2], lambda: data.train.read([0, 2]), data.verify):
            with pytest.raises(DataError, match=r"mine\.h5: damaged: train example 2 \(example 2\) does not match its"):
                read()


@pytest.mark.parametrize("table", ["label", "name", "length", "count"])
def test_a_changed_table_is_found_out_at_once(prepared: Path, table: str) -> None:
    with h5py.File(prepared, "r+") as file:
        rows = file[f"train/{table}"]
        rows[0] = b"another" if table == "name" else rows[0] + 1
    with pytest.raises(DataError, match=f"damaged: the table train/{table} does not match its checksum"):
        open_prepared(prepared)


def test_a_file_that_is_replaced_while_open_goes_on_giving_the_old_data(prepared: Path) -> None:
    with open_prepared(prepared) as data:
        write_prepared(prepared, spikes(seed=1), [5, 2, 9] * 4, split=["train"] * 8 + ["test"] * 4)
        assert (data.train[3] == spikes()[3]).all()
        with pytest.raises(DataError, match="replaced by another"):
            pickle.loads(pickle.dumps(data))


def test_a_file_that_is_overwritten_or_cut_while_open_is_noticed(prepared: Path) -> None:
    whole = prepared.read_bytes()
    with open_prepared(prepared) as data:
        for content in (b"\0" * len(whole), whole[:1600]):
            prepared.write_bytes(content)
            with pytest.raises(DataError, match="train example 0"):
                data.train[0]


def test_files_that_are_not_ours_are_refused(tmp_path: Path, prepared: Path) -> None:
    (tmp_path / "noise.h5").write_bytes(b"no HDF5 at all" * 100)
    (tmp_path / "empty.h5").write_bytes(b"")
    (tmp_path / "newer.h5").write_bytes(prepared.read_bytes().replace(b"format 2", b"format 3", 1))
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    os.mkfifo(tmp_path / "pipe.h5")
    for name, complaint in (
        ("noise.h5", "not a prepared file"),
        ("empty.h5", "not a prepared file"),
        ("newer.h5", "format 3, which this gemsnn cannot read; install a newer one"),
        ("other.h5", r"not a prepared one, or prepared by gemsnn 0\.1; make it again"),
        ("none.h5", "No such file"),
        ("pipe.h5", "a device or a pipe, not a file"),
        ("", "directory"),
    ):
        with pytest.raises(DataError, match=complaint):
            open_prepared(tmp_path / name)


def everything(path: Path) -> list[object]:
    """All that a file says, as one value that can be compared."""
    with open_prepared(path) as data:
        told: list[object] = [data.classes, data.n_inputs, data.n_steps, data.fingerprint, repr(data.attributes)]
        for split in data.splits:
            told += [split.names, repr(split.labels), split.lengths.tolist()]
            for i in range(len(split)):
                target, planes = split.target(i), split.planes(i)
                told += [array.tobytes() for array in (split[i], target, planes) if array is not None]
        return told


@pytest.fixture(params=["label", "labels", "pattern"])
def ragged(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small file of each kind."""
    rng = np.random.default_rng(0)
    X = [rng.random((3 + i, 6)) < 0.3 for i in range(5)]
    wanted: dict[str, Any] = {
        "label": {"y": ["a", "b", "a", "b", "a"]},
        "labels": {"y": rng.integers(0, 2, (5, 3)), "classes": ["x", "y", "z"]},
        "pattern": {"targets": [rng.random((3 + i, 2)) < 0.5 for i in range(5)]},
    }[request.param]
    write_prepared(tmp_path / "ragged.h5", X, **wanted, split=0.4, grid=(2, 3), attributes={"who": "me"})
    return tmp_path / "ragged.h5"


def test_whatever_bytes_are_damaged_the_data_are_right_or_refused(ragged: Path) -> None:
    """Byte by byte, bit by bit, pieces overwritten, cut out and cut off."""
    whole, right = ragged.read_bytes(), everything(ragged)
    rng = np.random.default_rng(0)
    mutants = [whole[: len(whole) * k // 40] for k in range(40)]
    for _ in range(300):  # make torture tries many more
        mutant = bytearray(whole)
        at, kind = int(rng.integers(0, len(whole))), rng.integers(0, 4)
        if kind == 0:
            mutant[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            mutant[at] = int(rng.integers(0, 256))
        elif kind == 2:
            mutant[at : at + 8] = rng.bytes(8)
        else:
            del mutant[at : at + int(rng.integers(1, 40))]
        mutants.append(bytes(mutant))
    damaged, refused = ragged.with_name("damaged.h5"), 0
    for mutant in mutants:
        damaged.write_bytes(mutant)
        try:
            assert everything(damaged) == right
        except DataError:
            refused += 1
    assert refused > 120


ODD: list[Any] = [
    None, True, 0, -1, 1, 3, 2**31 - 1, 2**33, 2**59, 2**70, 1.5, "", "x", [], [0], {}, {"a": 1}, ["a", "a"], "<f8",
    "|O8", "|S999999999", [2**33], [5, 2**33], [[[]]], "train/begin", {"at": 0},
]  # fmt: skip


def signed(whole: bytes, header: Any) -> bytes:
    """A file with another header and valid checksums."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    place = {"at": len(whole), "size": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    return (FORMAT + json.dumps(place).encode()).ljust(USER_BLOCK) + whole[USER_BLOCK:] + text


def header_of(whole: bytes) -> dict[str, Any]:
    place = json.loads(whole[len(FORMAT) : USER_BLOCK])
    header: dict[str, Any] = json.loads(whole[place["at"] : place["at"] + place["size"]])
    return header


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(below, (*path, key))


def test_whatever_a_header_with_valid_checksums_says_the_answer_is_data_or_an_error(ragged: Path) -> None:
    """Each value in turn is replaced by some of the odd ones, or left out. What opens is read whole."""
    whole = ragged.read_bytes()
    header, refused, opened = header_of(whole), 0, 0
    damaged, rng = ragged.with_name("damaged.h5"), random.Random(0)
    for path in places_in(header):
        for odd in (*rng.sample(ODD, 5), "left out"):
            mutant = copy.deepcopy(header)
            place = mutant
            for key in path[:-1]:
                place = place[key]
            if odd == "left out":
                del place[path[-1]]
            else:
                place[path[-1]] = odd
            damaged.write_bytes(signed(whole, mutant))
            try:
                everything(damaged)
                opened += 1
            except DataError:
                refused += 1
    assert refused > 10 * opened > 0


@pytest.mark.parametrize("table", ["begin", "count", "target_count", "length", "sha256", "label", "name"])
def test_whatever_a_table_with_valid_checksums_says_the_answer_is_data_or_an_error(ragged: Path, table: str) -> None:
    whole = ragged.read_bytes()
    header = header_of(whole)
    noted = header["tables"].get(f"train/{table}")
    if noted is None:
        pytest.skip("patterns have no labels")
    rng = np.random.default_rng(0)
    damaged = ragged.with_name("damaged.h5")
    size = int(np.prod(noted["shape"])) * np.dtype(noted["dtype"]).itemsize
    for _ in range(20):
        raw = bytearray(whole[noted["at"] : noted["at"] + size])
        at = int(rng.integers(0, size))
        raw[at : at + 8] = bytes([int(rng.choice([0, 255, 127, 1]))] * len(raw[at : at + 8]))
        noted["sha256"] = hashlib.sha256(raw).hexdigest()
        changed = whole[: noted["at"]] + bytes(raw) + whole[noted["at"] + size :]
        damaged.write_bytes(signed(changed, header))
        with suppress(DataError):
            everything(damaged)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b"[" * 100_000, b'{"version": ' + b"9" * 5000 + b"}", b"\xff", b"NaN"]
)
def test_a_header_that_is_no_header_is_an_error(ragged: Path, text: bytes) -> None:
    ragged.write_bytes(signed(ragged.read_bytes(), text))
    with pytest.raises(DataError, match="its header cannot be read"):
        open_prepared(ragged)


READ_TOGETHER = """
import sys
import time
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
    answers = {child.communicate("go\n", timeout=300)[0].strip() for child in children}
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
    block = rng.random((8, 1000, 2000)) < 0.05
    n = 10 * allowed // (8 * 95_000) + 1
    write_prepared(path, (block[i % 8] for i in range(n)), np.arange(n) % 2, split=["train"] * n)
    assert path.stat().st_size > 10 * allowed
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(path), str(allowed)], capture_output=True, text=True, timeout=300
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
    child.communicate(timeout=300)
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
from gemsnn import WriteError
from gemsnn.events import write_prepared
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    write_prepared(sys.argv[1], np.ones((100, 100, 10), dtype=bool), [0, 1] * 50)
except WriteError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [1_000, 60_000, 801_500, 803_000, 815_000])
def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path, limit: int) -> None:
    command = [sys.executable, "-u", "-c", FILL_THE_DISK, str(tmp_path / "a.h5"), str(limit)]
    # Unmeasured: coverage would have to write its data to the full disk, too.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert "a.h5: cannot be written: the file would be larger than this process may write" in done.stdout, done.stderr
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"no/a\.h5: cannot be written: No such file or directory"):
        write_prepared(tmp_path / "no" / "a.h5", spikes(), [0, 1] * 6)


def test_an_hdf5_tool_reads_everything(tmp_path: Path) -> None:
    X = [spikes()[i][: 5 + i % 4] for i in range(12)]
    write_prepared(tmp_path / "mine.h5", X, ["yes", "nö"] * 6, split=["train"] * 12)
    with h5py.File(tmp_path / "mine.h5", "r") as file:
        header = json.loads(file["header"][()])
        assert header["content"]["classes"] == ["nö", "yes"]
        group = file["train"]
        for i in range(12):
            listed = file["spikes"][group["begin"][i] : group["begin"][i] + group["count"][i]]
            found = np.zeros((group["length"][i], header["content"]["n_inputs"]), dtype=bool)
            found[listed["step"], listed["index"]] = True
            assert (found == X[i]).all()
        assert group["name"][3].decode() == "example 3"
        assert group["label"][:2].tolist() == [1, 0]


cells = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=6).map(np.array)
words = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


def many(strategy: st.SearchStrategy[Any], n: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(strategy, min_size=n, max_size=n)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    X=st.lists(cells, min_size=1, max_size=5),
    kind=st.sampled_from(["text", "number", "several", "pattern"]),
    data=st.data(),
)
def test_examples_of_any_length_and_anything_desired_come_back_as_they_were(
    tmp_path: Path, X: list[np.ndarray], kind: str, data: st.DataObject
) -> None:
    n, path = len(X), tmp_path / "any.h5"
    parts = data.draw(many(st.sampled_from(["train", "test"]), n))
    names = data.draw(many(st.text(alphabet=st.characters(exclude_characters="\0")), n))
    y: Any = None
    targets = None
    if kind == "text":
        y = data.draw(many(words, n))
    elif kind == "number":
        y = data.draw(many(st.integers(-(2**63), 2**63 - 1), n))
    elif kind == "several":
        y = np.array(data.draw(many(many(st.integers(0, 1), 2), n)))
    else:
        targets = [np.array(data.draw(many(many(st.booleans(), 2), len(x)))) for x in X]
    write_prepared(path, X, y, targets=targets, split=parts, names=names)
    with open_prepared(path) as read:
        found = {"train": 0, "test": 0}
        for i, part in enumerate(parts):
            split, k = getattr(read, part), found[part]
            found[part] += 1
            assert np.array_equal(split[k], X[i])
            assert split.lengths[k] == len(X[i])
            assert split.names[k].encode() == names[i].encode("utf-8", "backslashreplace")
            if targets is not None:
                assert np.array_equal(split.target(k), targets[i])
                assert split.labels is None
            elif kind == "several":
                assert split.labels[k].tolist() == y[i].tolist()
                assert read.classes == (0, 1)
            else:
                assert read.classes[split.labels[k]] == y[i]
                assert split.target(k) is None
        assert read.n_steps == max(map(len, X))
        assert read.n_visible == (2 if kind in ("several", "pattern") else len(set(y)))
        read.verify()


def test_classes_can_be_named_and_ordered(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write_prepared(path, spikes(), ["b", "a"] * 6, classes=["c", "b", "a"], split=["train"] * 12)
    with open_prepared(path) as data:
        assert (data.classes, data.n_visible) == (("c", "b", "a"), 3)
        assert data.train.labels.tolist() == [1, 2] * 6
    write_prepared(path, spikes(), [1, 0] * 6, classes=["left", "right"], split=["train"] * 12)
    with open_prepared(path) as data:
        assert (data.classes, data.train.labels.tolist()) == (("left", "right"), [1, 0] * 6)
    with pytest.raises(DataError, match=r"label 2 is not among the classes \['left', 'right'\]"):
        write_prepared(path, spikes(), [1, 2] * 6, classes=["left", "right"])
    with pytest.raises(DataError, match="classes contains duplicates"):
        write_prepared(path, spikes(), [1, 2] * 6, classes=[1, 2, 2])


def test_a_grid_comes_along_with_its_planes(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((4, 5, 12)) < 0.4
    write_prepared(tmp_path / "a.h5", X, [0, 1] * 2, grid=(2, 3), split=["train"] * 4)
    with open_prepared(tmp_path / "a.h5") as data:
        assert data.grid == (2, 3)
        assert np.array_equal(data.train.planes(1), X[1].reshape(5, 2, 2, 3))
    with pytest.raises(ShapeError, match=r"grid = \(5, 3\): 12 inputs do not form planes"):
        write_prepared(tmp_path / "a.h5", X, [0, 1] * 2, grid=(5, 3))


@pytest.mark.parametrize("polarity", ["merged", "separate"])
@pytest.mark.parametrize("n_steps", [None, 7])
def test_recordings_of_ones_own_are_binned_and_keep_their_polarities(
    tmp_path: Path, polarity: str, n_steps: int | None, dvs_events: Events
) -> None:
    choices = Preprocessing(sensor_size=(128, 128), bin_us=100_000, n_steps=n_steps, downsample=4, polarity=polarity)  # type: ignore[arg-type]
    recordings = [dvs_events, dvs_events[:100], dvs_events[:1], dvs_events[:0]]
    write_prepared(tmp_path / "a.h5", recordings, [0, 1, 0, 1], preprocessing=choices, split=["train"] * 4)
    with open_prepared(tmp_path / "a.h5") as data:
        assert data.preprocessing == choices
        assert data.train.n_events is not None
        assert data.train.n_events.tolist() == [200, 100, 1, 0]
        for i, events in enumerate(recordings):
            assert np.array_equal(data.train[i], choices.bin(events))
            assert np.array_equal(data.train.planes(i), choices.planes(events))
            assert len(data.train[i]) == data.train.lengths[i] == (n_steps or len(choices.bin(events)))
        if n_steps is None:
            assert len(set(data.train.lengths.tolist())) > 1
            with pytest.raises(ShapeError, match="read them one by one"):
                data.train.read([0, 2])
    with pytest.raises(DataError, match="give their preprocessing"):
        write_prepared(tmp_path / "a.h5", recordings, [0, 1, 0, 1])


def test_a_large_sensor_costs_what_its_events_cost(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    events = make_events(
        rng.integers(0, 1280, n), rng.integers(0, 720, n), np.sort(rng.integers(0, 10**6, n)), rng.integers(0, 2, n)
    )
    choices = Preprocessing(sensor_size=(1280, 720), bin_us=20_000, n_steps=50, polarity="separate")
    write_prepared(tmp_path / "a.h5", [events] * 4, [0, 1] * 2, preprocessing=choices)
    assert (tmp_path / "a.h5").stat().st_size < 4 * 9 * n + 20_000
    with open_prepared(tmp_path / "a.h5") as data:
        assert data.n_inputs == 2 * 1280 * 720
        assert np.array_equal(data.test[0], choices.bin(events))


def test_the_fingerprint_covers_everything_that_is_believed(tmp_path: Path) -> None:
    def made(**changes: Any) -> str:
        given: dict[str, Any] = {"X": spikes(4), "y": [0, 1, 0, 1], "split": ["train"] * 4} | changes
        write_prepared(tmp_path / "a.h5", **given)
        with open_prepared(tmp_path / "a.h5") as data:
            return data.fingerprint

    assert made() == made()
    changes: list[dict[str, Any]] = [
        {}, {"names": list("abcd")}, {"classes": [1, 0]}, {"classes": [0, 1, 2]}, {"grid": (7, 1)}, {"grid": (1, 7)},
        {"attributes": {"a": 1}}, {"source": "elsewhere"}, {"split": ["train", "train", "train", "test"]},
        {"y": None, "targets": np.zeros((4, 9, 2))}, {"X": np.pad(spikes(4), ((0, 0), (0, 1), (0, 0)))},
    ]  # fmt: skip
    assert len({made(**change) for change in changes}) == len(changes)


def test_a_new_split_of_the_same_examples_keeps_all_else(tmp_path: Path, ragged: Path) -> None:
    with open_prepared(ragged) as data:
        resplit(data, tmp_path / "new.h5", 0.6, seed=1)
        with open_prepared(tmp_path / "new.h5") as new:
            assert new.attributes["split"] == {
                "kind": "stratified",
                "test_fraction": 0.6,
                "seed": 1,
                "of": data.fingerprint,
            }
            assert (new.classes, new.grid, new.n_visible, new.attributes["who"]) == (
                data.classes,
                data.grid,
                data.n_visible,
                "me",
            )
            old_ones = {split.names[i]: split.example(i) for split in data.splits for i in range(len(split))}
            new_ones = {split.names[i]: split.example(i) for split in new.splits for i in range(len(split))}
    assert old_ones.keys() == new_ones.keys()
    for name, old in old_ones.items():
        assert old.spikes.spikes.tobytes() == new_ones[name].spikes.spikes.tobytes()
        assert (old.target is None) == (new_ones[name].target is None)


def test_targets_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match=r"the target of example 1 has shape \(8, 2\), but .* \(9, 2\) is needed"):
        write_prepared(tmp_path / "a.h5", spikes(2), targets=[np.zeros((9, 2)), np.zeros((8, 2))])
    with pytest.raises(DataError, match="the target of example 0 holds values other than 0 and 1"):
        write_prepared(tmp_path / "a.h5", spikes(2), targets=np.full((2, 9, 2), 0.5))
    assert not list(tmp_path.iterdir())


def test_equal_content_gives_equal_bytes_whenever_it_is_written(tmp_path):
    X, y = np.random.default_rng(0).random((4, 5, 6)) < 0.3, [0, 1, 0, 1]
    write_prepared(tmp_path / "now.h5", X, y)
    begin = time.time()
    while int(time.time()) == int(begin):  # libhdf5 would note the second
        time.sleep(0.05)
    write_prepared(tmp_path / "later.h5", X, y)
    assert (tmp_path / "now.h5").read_bytes() == (tmp_path / "later.h5").read_bytes()
