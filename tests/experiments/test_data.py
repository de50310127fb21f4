"""Data of a reproduction: the simulator's file, and a split of its own for each seed."""

import numpy as np
import pytest

from gemsnn.errors import DataError
from gemsnn.events import open_prepared, simulate_prepared, write_prepared
from gemsnn.experiments import Protocol, plan
from gemsnn.experiments.data import check_usable, needs_resplit, resplit_files, simulated_file


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "simulated.h5"
    simulate_prepared(path, digits=(0, 1), per_class=(4, 2))
    return path


def content(path) -> dict[str, tuple[int, bytes, bytes]]:
    """Label, spikes and both polarities of each example, by its name."""
    with open_prepared(path) as data:
        shape = (data.preprocessing.n_rows, data.preprocessing.n_columns)
        return {
            split.names[i]: (int(split.labels[i]), split[i].tobytes(), split.planes(i, shape).tobytes())
            for split in data.splits
            for i in range(len(split))
        }


def test_a_new_split_holds_the_same_recordings(tmp_path, recordings) -> None:
    files = resplit_files(recordings, tmp_path / "splits", (0, 1), 0.25)
    for path in files.values():
        assert content(path) == content(recordings)
        with open_prepared(path) as data, open_prepared(recordings) as original:
            data.verify()
            assert np.bincount(data.test.labels).tolist() == [2, 2]  # a quarter of 6, rounded to even
            assert data.preprocessing == original.preprocessing
            assert data.attributes["simulated"] is True
            assert data.attributes["split"]["of"] == original.fingerprint


def test_each_seed_draws_another_split_and_the_same_one_again(tmp_path, recordings) -> None:
    def test_names(path):
        with open_prepared(path) as data:
            return sorted(data.test.names)

    files = resplit_files(recordings, tmp_path / "one", range(4), 0.3)
    again = resplit_files(recordings, tmp_path / "two", range(4), 0.3)
    drawn = [test_names(files[seed]) for seed in range(4)]
    assert drawn == [test_names(again[seed]) for seed in range(4)]
    assert len({tuple(names) for names in drawn}) > 1
    made = files[0].stat().st_mtime_ns
    assert resplit_files(recordings, tmp_path / "one", range(4), 0.3)[0].stat().st_mtime_ns == made


def test_only_splits_drawn_at_random_are_drawn_anew(tmp_path, recordings) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((10, 5, 3)) < 0.5, [0, 1] * 5
    write_prepared(tmp_path / "random.h5", X, y, split=0.4)
    write_prepared(tmp_path / "given.h5", X, y, split=["train", "train", "train", "test", "test"] * 2)
    write_prepared(tmp_path / "untested.h5", X, y, split=["train"] * 10)
    expected = {"random.h5": True, "given.h5": False, "untested.h5": True}
    for name, again in expected.items():
        with open_prepared(tmp_path / name) as data:
            assert needs_resplit(data) is again
    with open_prepared(recordings) as data:
        assert not needs_resplit(data)


def test_the_simulators_file_is_made_once(tmp_path) -> None:
    protocol = Protocol.make("quick", per_class=(2, 1), digits=(0, 1))
    path = simulated_file(tmp_path, protocol)
    made = path.stat().st_mtime_ns
    assert simulated_file(tmp_path, protocol) == path
    assert path.stat().st_mtime_ns == made
    with open_prepared(path) as data:
        assert (len(data.train), len(data.test)) == (4, 2)


def test_what_cannot_be_reproduced_on_is_refused(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((9, 5, 3)) < 0.5
    # No test example of class 2, and a split that was given.
    write_prepared(tmp_path / "lame.h5", X, [0, 1, 2] * 3, split=["test", "test", *["train"] * 7])
    protocol = Protocol.make("quick")
    with pytest.raises(DataError, match=r"lame\.h5: no test examples of 2; use --resplit"):
        plan(protocol, tmp_path / "out", tmp_path / "lame.h5")


def test_one_class_or_no_test_examples_are_refused(tmp_path) -> None:
    one, untested = tmp_path / "one.h5", tmp_path / "untested.h5"
    write_prepared(one, np.zeros((4, 5, 6), dtype=bool), [0, 0, 0, 0], split=0.5)
    write_prepared(untested, np.zeros((4, 5, 6), dtype=bool), [0, 1, 0, 1], split=["train"] * 4)
    with open_prepared(one) as data, pytest.raises(DataError, match=r"one\.h5: only one class"):
        check_usable(data)
    with open_prepared(untested) as data, pytest.raises(DataError, match=r"untested\.h5: no test examples; use --resp"):
        check_usable(data)
