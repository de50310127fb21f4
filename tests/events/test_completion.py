"""Completion tasks: what is given and what is desired are the recording, cut in two."""

from pathlib import Path

import numpy as np
import pytest

from gemsnn.errors import ConfigError, DataError, ShapeError
from gemsnn.events import Preprocessing, complete_prepared, open_prepared, write_prepared
from gemsnn.events.completion import HALVES, whole_pictures
from gemsnn.events.records import make_events
from gemsnn.training import Shift, TrainingConfig, trainer_of


def recording(seed: int) -> np.ndarray:
    """300 events of a 12 x 12 sensor, 200 ms."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 12, (2, 300))
    return make_events(x, y, np.sort(rng.integers(0, 200_000, 300)), rng.integers(0, 2, 300))


EVENTS = [recording(seed) for seed in range(6)]
SPLIT = ["train"] * 4 + ["test"] * 2


def choices(**changes: object) -> Preprocessing:
    usual = {"sensor_size": (12, 12), "x_range": (1, 11), "y_range": (2, 11), "bin_us": 20_000, "n_steps": 9}
    return Preprocessing.from_dict({**usual, **changes})


def whole(folder: Path, **changes: object) -> Path:
    path = folder / "whole.h5"
    labels = [0, 1, 0, 1, 0, 1]
    write_prepared(path, EVENTS, labels, split=SPLIT, preprocessing=choices(**changes))
    return path


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("orientation", ["image", "mnist-dvs"])
@pytest.mark.parametrize("polarity", ["merged", "separate"])
@pytest.mark.parametrize("downsample", [1, 2])
def test_given_and_desired_half_together_are_the_recording(tmp_path, half, orientation, polarity, downsample):
    path = whole(tmp_path, orientation=orientation, polarity=polarity, downsample=downsample)
    complete_prepared(path, tmp_path / "halves.h5", half=half)
    with open_prepared(path) as before, open_prepared(tmp_path / "halves.h5") as after:
        assert after.n_inputs + after.n_visible == before.n_inputs
        assert [len(split) for split in after.splits] == [4, 2]
        assert after.test.names == before.test.names
        for old, new in zip(before.splits, after.splits, strict=True):
            for i in range(len(old)):
                picture = whole_pictures(after, new[i], new.target(i))
                seen = before.preprocessing.upright(old.planes(i)).any(axis=1)
                np.testing.assert_array_equal(picture.any(axis=1), seen)
                assert old[i].sum() == new[i].sum() + new.target(i).sum()
        height, width = seen.shape[1:]
        desired = picture[:, 1].any(axis=0)
        places = np.argwhere(desired)[:, 1 if half in ("left", "right") else 0]
        middle = (width if half in ("left", "right") else height) // 2
        assert (places < middle).all() if half in ("left", "top") else (places >= middle).all()


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("orientation", ["image", "mnist-dvs"])
def test_a_recording_is_binned_to_the_half_that_is_given(tmp_path, half, orientation):
    path = whole(tmp_path, orientation=orientation, downsample=2)
    complete_prepared(path, tmp_path / "halves.h5", half=half)
    with open_prepared(tmp_path / "halves.h5") as data:
        for i in range(4):
            np.testing.assert_array_equal(data.bin(EVENTS[i]), data.train[i])
        assert (data.preprocessing.grid, data.preprocessing.n_inputs) == (data.grid, data.n_inputs)
        planes = data.train.planes(0)  # polarities are still there for pictures
        assert planes.shape == (9, 2, *data.grid)
        assert planes.sum() > data.train[0].sum()


def test_any_range_of_inputs_can_become_the_target(tmp_path):
    X = np.random.default_rng(0).random((5, 7, 10)) < 0.4
    write_prepared(tmp_path / "whole.h5", [x[: 3 + i] for i, x in enumerate(X)], list("abcab"), split=["train"] * 5)
    complete_prepared(tmp_path / "whole.h5", tmp_path / "part.h5", inputs=(2, 6))
    with open_prepared(tmp_path / "part.h5") as data:
        assert (data.n_inputs, data.n_visible, data.classes, data.grid) == (6, 4, (), None)
        for i in range(5):
            np.testing.assert_array_equal(data.train[i], X[i, : 3 + i, [0, 1, 6, 7, 8, 9]].T)
            np.testing.assert_array_equal(data.train.target(i), X[i, : 3 + i, 2:6])
        assert whole_pictures(data, data.train[0], data.train.target(0)) is None
        assert data.attributes["completion"]["classes"] == ["a", "b", "c"]


def test_planes_of_arrays_stay_apart(tmp_path):
    X = np.random.default_rng(0).random((2, 3, 24)) < 0.5  # three planes of 2 x 4
    write_prepared(tmp_path / "whole.h5", X, [0, 1], split=["train"] * 2, grid=(2, 4))
    complete_prepared(tmp_path / "whole.h5", tmp_path / "halves.h5", half="left")
    with open_prepared(tmp_path / "halves.h5") as data:
        planes = X.reshape(2, 3, 3, 2, 4)
        np.testing.assert_array_equal(data.train[0].reshape(3, 3, 2, 2), planes[0, ..., 2:])
        np.testing.assert_array_equal(data.train.target(0).reshape(3, 3, 2, 2), planes[0, ..., :2])


def test_what_cannot_be_cut_is_refused_with_what_to_do(tmp_path):
    X = np.zeros((2, 3, 6), dtype=bool)
    write_prepared(tmp_path / "flat.h5", X, [0, 1], split=["train"] * 2)
    write_prepared(tmp_path / "thin.h5", X, [0, 1], split=["train"] * 2, grid=(6, 1))
    out = tmp_path / "out.h5"
    with pytest.raises(DataError, match=r"flat\.h5: its inputs are not on a grid.*give a range of inputs"):
        complete_prepared(tmp_path / "flat.h5", out)
    with pytest.raises(DataError, match="cannot be halved in this direction"):
        complete_prepared(tmp_path / "thin.h5", out, half="right")
    for inputs in ((0, 7), (3, 3), (-1, 2)):
        with pytest.raises(ConfigError, match="has inputs 0 to 5"):
            complete_prepared(tmp_path / "flat.h5", out, inputs=inputs)
    with pytest.raises(ConfigError, match="all of its 6 inputs"):
        complete_prepared(tmp_path / "flat.h5", out, inputs=(0, 6))
    with pytest.raises(ConfigError, match="not both"):
        complete_prepared(tmp_path / "flat.h5", out, half="left", inputs=(0, 2))
    with pytest.raises(ConfigError, match="half = 'middle'"):
        complete_prepared(tmp_path / "thin.h5", out, half="middle")
    assert not out.exists()
    complete_prepared(tmp_path / "thin.h5", out, half="top")
    with pytest.raises(DataError, match="spike patterns already"):
        complete_prepared(out, tmp_path / "again.h5")


def test_targets_of_ones_own_may_lie_on_a_grid(tmp_path):
    X = np.zeros((2, 3, 6), dtype=bool)
    write_prepared(tmp_path / "own.h5", X, targets=X[..., :4], target_grid=(2, 2))
    with open_prepared(tmp_path / "own.h5") as data:
        assert data.target_grid == (2, 2)
    with pytest.raises(ShapeError, match="target_grid = "):
        write_prepared(tmp_path / "own.h5", X, targets=X, target_grid=(2, 2))
    with pytest.raises(DataError, match="labels have none"):
        write_prepared(tmp_path / "own.h5", X, [0, 1], target_grid=(2, 3))


def test_the_given_half_does_not_move_away_from_the_other(tmp_path):
    X = np.random.default_rng(0).random((4, 3, 16 * 40)) < 0.2
    write_prepared(tmp_path / "whole.h5", X, [0, 1, 0, 1], split=["train"] * 4, grid=(16, 40))
    complete_prepared(tmp_path / "whole.h5", tmp_path / "halves.h5")
    small = {"n_hidden": 2, "epochs": 1, "validation_fraction": 0}
    for file, expected in (("whole.h5", [Shift(2, (16, 40))]), ("halves.h5", [])):
        with open_prepared(tmp_path / file) as data:
            shifts = [
                one for one in trainer_of(TrainingConfig.make(**small), data).augmentation if isinstance(one, Shift)
            ]
            assert shifts == expected
    with open_prepared(tmp_path / "halves.h5") as data, pytest.raises(ConfigError, match="shift = 1: the targets are"):
        trainer_of(TrainingConfig.make(shift=1, **small), data)
