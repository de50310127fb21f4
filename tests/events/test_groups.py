"""Recordings that belong together stay together: whatever is held out, whole groups are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gemsnn
from gemsnn import ConfigError, DataError
from gemsnn.cli.app import app
from gemsnn.common.splits import group_share
from gemsnn.events import import_recordings, open_prepared, write_prepared
from gemsnn.events.datasets import find_folder
from gemsnn.events.importing import grouped
from gemsnn.training import ArrayData, ArrayExamples, Partition, TrainingConfig
from gemsnn.training.calibration import held_out
from gemsnn.training.from_settings import partition_of

PEOPLE = ("anna", "bo", "cy", "dee", "eve")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two gestures of five people, three times each, as text."""
    rng = np.random.default_rng(0)
    for gesture in ("clap", "wave"):
        (tmp_path / "recordings" / gesture).mkdir(parents=True)
        for person in PEOPLE:
            for time in range(3):
                t = np.sort(rng.integers(0, 50_000, 60))
                lines = [f"{a},{b},{c},{d}" for a, b, c, d in zip(t, *rng.integers(0, 4, (2, 60)), t % 2, strict=True)]
                name = f"{person}_{time}.csv"
                (tmp_path / "recordings" / gesture / name).write_text("t,x,y,p\n" + "\n".join(lines) + "\n")
    return tmp_path / "recordings"


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_a_share_of_groups_tears_none_apart(fraction: float):
    groups = np.random.default_rng(0).choice(PEOPLE, 200)
    taken = group_share(groups, fraction, lambda _, n: np.arange(n))
    assert not set(groups[taken]) & set(groups[~taken])
    if 0 < fraction < 1:
        assert taken.any()
        assert not taken.all()
        assert abs(taken.mean() - fraction) <= 0.15


def test_imported_recordings_know_their_groups(folder: Path, tmp_path: Path):
    inventory = grouped(find_folder(folder, sensor_size=(4, 4)), r"/(\w+)_\d")
    recorded = import_recordings(inventory, tmp_path / "data.h5", test_fraction=0.4)
    assert recorded["split"]["groups"] == 2
    with open_prepared(tmp_path / "data.h5") as data:
        train, test = set(data.train.groups), set(data.test.groups)
        assert train | test == set(PEOPLE)
        assert not train & test
        for split in data.splits:
            assert [name.split("/")[1].split("_")[0] for name in split.names] == split.groups.tolist()
            assert split.example(0).group == split.groups[0]
        partition = partition_of(TrainingConfig.make(validation_fraction=0.3), data)
        assert len(partition.validation) == 6
        assert not set(data.train.groups[partition.training]) & set(data.train.groups[partition.validation])
        found = held_out(data, None, "test", 0.5, 0)
        assert found.about["groups"] == 1
        assert len(set(data.test.groups[found.indices])) == 1


def test_a_table_may_say_which_group(folder: Path, tmp_path: Path):
    names = [recording.name for recording in find_folder(folder, sensor_size=(4, 4)).recordings]
    table = tmp_path / "groups.csv"
    table.write_text("\n".join(f"{name},day {i % 2}" for i, name in enumerate(names)))
    found = grouped(find_folder(folder, sensor_size=(4, 4)), str(table))
    assert [recording.group for recording in found.recordings] == [f"day {i % 2}" for i in range(len(names))]
    table.write_text("\n".join(f"{name},day" for name in names[1:]))
    with pytest.raises(DataError, match=r"no line for clap/anna_0\.csv"):
        grouped(find_folder(folder, sensor_size=(4, 4)), str(table))


def test_what_does_not_name_a_group_is_refused(folder: Path):
    inventory = find_folder(folder, sensor_size=(4, 4))
    with pytest.raises(DataError, match=r"clap/anna_0\.csv: --group person\\d does not match"):
        grouped(inventory, r"person\d")
    with pytest.raises(ConfigError, match="not a regular expression"):
        grouped(inventory, "(")


def test_the_command_line_imports_groups(folder: Path, tmp_path: Path):
    out = tmp_path / "data.h5"
    told = CliRunner().invoke(
        app, ["data", "import", "folder", str(folder), "--out", str(out), "--sensor", "4", "4", "--group", r"/(\w+)_"]
    )
    assert told.exit_code == 0, told.output
    assert "5 groups" in told.output
    with open_prepared(out) as data:
        assert not set(data.train.groups) & set(data.test.groups)


def test_files_without_groups_have_none(tmp_path: Path):
    X = np.random.default_rng(0).random((10, 5, 3)) < 0.5
    write_prepared(tmp_path / "plain.h5", X, [0, 1] * 5)
    write_prepared(tmp_path / "grouped.h5", X, [0, 1] * 5, groups=["a", "a", "b", "b", "c"] * 2)
    with open_prepared(tmp_path / "plain.h5") as data:
        assert data.train.groups is None
        assert data.train.example(0).group is None
    with open_prepared(tmp_path / "grouped.h5") as data:
        assert not set(data.train.groups) & set(data.test.groups)
    with pytest.raises(DataError, match="the group of each of the 10 examples"):
        write_prepared(tmp_path / "wrong.h5", X, [0, 1] * 5, groups=["a"])


def test_a_group_that_was_learned_from_is_not_held_out_whatever_split_it_is_in(tmp_path: Path):
    X, y = np.random.default_rng(0).random((40, 5, 3)) < 0.5, [0, 1] * 20
    groups = np.array(["anna", "bo", "cy", "dee"]).repeat(10)
    split = np.where(np.arange(40) < 15, "train", "test")  # bo is in both
    write_prepared(tmp_path / "crossing.h5", X, y, split=split, groups=groups)
    with open_prepared(tmp_path / "crossing.h5") as data:
        found = held_out(data, data.fingerprint, "test", 1.0, 0)
        assert set(data.test.groups[found.indices]) == {"cy", "dee"}
        assert found.about["groups"] == 2
        assert set(data.test.groups[held_out(data, None, "test", 1.0, 0).indices]) == {"bo", "cy", "dee"}
    write_prepared(tmp_path / "known.h5", X, y, split=split, groups=["anna"] * 40)
    with open_prepared(tmp_path / "known.h5") as data, pytest.raises(DataError, match="learned from every group"):
        held_out(data, data.fingerprint, "test", 0.5, 0)


def test_of_a_single_group_nothing_can_be_held_out():
    X = np.zeros((30, 4, 2), np.uint8)
    data = ArrayData(ArrayExamples(X, np.arange(30) % 2, groups=["anna"] * 30), classes=[0, 1])
    with pytest.raises(ConfigError, match="with a single group none can be held out"):
        partition_of(TrainingConfig.make(validation_fraction=0.3), data)


def test_the_classifier_holds_out_whole_groups():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = rng.random((120, 10, 6)) < np.where(y == 0, 0.1, 0.4)[:, None, None]
    groups = np.arange(120) // 10
    classifier = gemsnn.SpikingClassifier(n_hidden=5, schedule={"epochs": 1}).fit(X, y, groups=groups)
    assert classifier.model_.certainty.about == {"recordings": 10, "groups": 1}
    with pytest.raises(DataError, match="groups has 3 entries"):
        classifier.fit(X, y, groups=[1, 2, 3])


def test_examples_of_weight_zero_belong_to_no_part():
    X, groups = np.zeros((30, 4, 2), np.uint8), np.arange(30) // 5
    data = ArrayData(ArrayExamples(X, np.arange(30) % 2, groups=groups), classes=[0, 1])
    weights = np.where(np.arange(30) < 10, 0.0, 1.0)
    found = Partition.stratified(data, weights, fraction=0.25, validation_limit=None, test_limit=None, seed=0)
    assert len(found.validation) == 5
    assert min(found.training.min(), found.validation.min()) >= 10
