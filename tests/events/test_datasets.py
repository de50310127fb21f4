"""Data sets by name: folders named after classes, and whatever tonic reads."""

import os
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from gemsnn import ConfigError, DataError
from gemsnn.events import find_dataset, find_folder, import_recordings, open_prepared, write_aedat
from gemsnn.events.datasets import DATASETS
from gemsnn.events.nmnist import encode_nmnist
from gemsnn.events.records import Events


def test_folders_are_classes_and_any_format_is_read(tmp_path: Path, dvs_events: Events) -> None:
    for label in ("cats", "dogs"):
        (tmp_path / label).mkdir()
        write_aedat(tmp_path / label / "1.aedat", dvs_events)
        np.save(tmp_path / label / "2.npy", dvs_events[:50])
        (tmp_path / label / "notes.md").write_text("not a recording")
        (tmp_path / label / ".hidden.npy").write_text("nor is this")
    (tmp_path / "readme.txt").write_text("at the root: not a recording")
    with pytest.raises(DataError, match="does not contain the size of the sensor"):
        find_folder(tmp_path)
    inventory = find_folder(tmp_path, sensor_size=(128, 128))
    assert [(r.label, r.name) for r in inventory.recordings] == [
        ("cats", "cats/1.aedat"),
        ("cats", "cats/2.npy"),
        ("dogs", "dogs/1.aedat"),
        ("dogs", "dogs/2.npy"),
    ]
    recorded = import_recordings(inventory, tmp_path / "a.h5", test_fraction=0.5)
    assert recorded["split"]["kind"] == "stratified"
    with open_prepared(tmp_path / "a.h5") as data:
        assert data.classes == ("cats", "dogs")
        assert (len(data.train), len(data.test)) == (2, 2)
        assert data.n_steps > 1


def test_folders_train_and_test_are_the_official_split(tmp_path: Path, dvs_events: Events) -> None:
    for split in ("Train", "test"):
        for label in "ab":
            (tmp_path / split / label).mkdir(parents=True)
            write_aedat(tmp_path / split / label / "1.aedat", dvs_events)
    inventory = find_dataset("folder", tmp_path)
    assert inventory.has_official_split()
    assert {(r.label, r.official_split) for r in inventory.recordings} == {
        (label, split) for label in "ab" for split in ("train", "test")
    }


def test_a_folder_without_recordings_says_where_they_should_be(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    with pytest.raises(DataError, match=r"they should be at CLASS/NAME .* The folder contains: pictures"):
        find_folder(tmp_path)


def make_folders(root: Path, events: Events, *places: str) -> None:
    for place in places:
        (root / place).mkdir(parents=True)
        write_aedat(root / place / "1.aedat", events)


def splits_of(root: Path) -> set[tuple[str, object]]:
    return {(r.name, r.official_split) for r in find_folder(root).recordings}


def test_a_validation_folder_is_for_training_or_for_testing_where_there_is_no_test(
    tmp_path: Path, dvs_events: Events
) -> None:
    make_folders(tmp_path / "three", dvs_events, *(f"{split}/a" for split in ("train", "Val", "test", "other")))
    expected = {("train/a/1.aedat", "train"), ("Val/a/1.aedat", "train"), ("test/a/1.aedat", "test")}
    assert splits_of(tmp_path / "three") == expected
    assert find_folder(tmp_path / "three").unread_lines() == [
        "not read: 1 (no ending): a folder beside the splits (other)"
    ]
    make_folders(tmp_path / "two", dvs_events, "train/a", "validation/a")
    assert splits_of(tmp_path / "two") == {("train/a/1.aedat", "train"), ("validation/a/1.aedat", "test")}
    make_folders(tmp_path / "classes", dvs_events, "val/", "sit/")  # names like any others
    assert splits_of(tmp_path / "classes") == {("val/1.aedat", None), ("sit/1.aedat", None)}


def test_whatever_is_not_read_is_listed_by_ending_and_reason(tmp_path: Path, dvs_events: Events) -> None:
    make_folders(tmp_path, dvs_events, "cats", "dogs")
    for i in range(5):
        (tmp_path / "dogs" / f"{i}.bs2").write_bytes(b"")
    (tmp_path / "readme.txt").write_text("at the root")
    (tmp_path / "cats/day2").mkdir()
    (tmp_path / "cats/gone.aedat").symlink_to(tmp_path / "nothing.aedat")
    os.mkfifo(tmp_path / "cats/pipe.aedat")
    (tmp_path / "birds").mkdir()
    (tmp_path / "fish").mkdir()
    (tmp_path / "fish/1.bs2").write_bytes(b"")
    inventory = find_folder(tmp_path)
    assert inventory.classes == ("cats", "dogs")
    lines = sorted(inventory.unread_lines())
    assert lines == [
        "not read: 1 (no ending): a folder where files are expected (cats/day2)",
        "not read: 1 .aedat: a dangling link (cats/gone.aedat)",
        "not read: 1 .aedat: a pipe or a device, not a file (cats/pipe.aedat)",
        "not read: 1 .txt: not in the folder of a class (readme.txt)",
        "not read: 2 (no ending): a folder without recordings, so not a class (birds, fish)",
        "not read: 6 .bs2: no reader for this ending (dogs/0.bs2, dogs/1.bs2, dogs/2.bs2, ...)",
    ]
    recorded = import_recordings(inventory, tmp_path / "a.h5", test_fraction=0.5)
    assert sorted(recorded["unread"]) == lines


def test_the_sensor_is_what_every_recording_says(tmp_path: Path, dvs_events: Events) -> None:
    def text(name: str, *lines: str) -> None:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("\n".join([*lines, "t,x,y,p", "1,2,3,1", "4,5,6,0"]))

    text("a/1.txt", "12 10")
    text("b/1.txt", "# 12, 10")
    assert find_folder(tmp_path).preprocessing.sensor_size == (12, 10)
    text("b/2.csv", "34 34")
    with pytest.raises(DataError, match=r"b/2\.csv: from a sensor of 34 x 34, but .*a/1\.txt from one of 12 x 10"):
        find_folder(tmp_path)
    text("b/2.csv")
    with pytest.raises(DataError, match=r"2\.csv: does not contain the size of the sensor.*at least 6 7"):
        find_folder(tmp_path)
    assert find_folder(tmp_path, sensor_size=(64, 64)).preprocessing.sensor_size == (64, 64)


@pytest.mark.parametrize("name", ["imagenet", "tonic", "tonic:", "folder:x"])
def test_unknown_data_sets_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"there are {', '.join(DATASETS)}:NAME"):
        find_dataset(name, tmp_path)


tonic = pytest.importorskip("tonic")


def test_what_tonic_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tonic has no such data set; it has .*DVSGesture"):
        find_dataset("tonic:Nonsense", tmp_path)


def test_gestures_come_in_through_tonic(tmp_path: Path) -> None:
    """Files as its archives unpack: arrays (n, 4) of x, y, p, t in milliseconds."""
    rng = np.random.default_rng(0)
    for part in ("Train", "Test"):
        folder = tmp_path / "DVSGesture" / f"ibmGesture{part}"
        (tmp_path / "DVSGesture").mkdir(exist_ok=True)
        (tmp_path / "DVSGesture" / f"ibmGesture{part}.tar.gz").write_bytes(b"")
        for user in range(10):
            place = folder / f"user{user:02d}_led"
            place.mkdir(parents=True)
            for gesture in range(11):
                events = rng.integers(0, 128, (40, 4))
                events[:, 2] = rng.integers(0, 2, 40)
                events[:, 3] = np.sort(rng.integers(0, 500 + 100 * user, 40))
                np.save(place / f"{gesture}.npy", events)
    inventory = find_dataset("tonic:DVSGesture", tmp_path)
    assert "Hand clapping" in inventory.classes
    assert len(inventory.recordings) == 220
    assert inventory.preprocessing.sensor_size == (128, 128)
    import_recordings(inventory, tmp_path / "a.h5")
    with open_prepared(tmp_path / "a.h5") as data:
        assert (len(data.train), len(data.test), data.n_classes) == (110, 110, 11)
        assert data.attributes["source"] == "tonic:DVSGesture"
        dataset = tonic.datasets.DVSGesture(save_to=str(tmp_path), train=True)
        events, target = dataset[7]
        assert data.classes[data.train.labels[7]] == dataset.classes[target]
        assert np.array_equal(data.train[7], data.bin(events))


def test_spoken_digits_come_in_through_tonic(tmp_path: Path) -> None:
    """SHD: lists of times in seconds and of units in HDF5; one row of 700 units, and no polarity to speak of."""
    rng = np.random.default_rng(0)
    (tmp_path / "SHD").mkdir()
    for part, n in (("train", 12), ("test", 6)):
        (tmp_path / "SHD" / f"shd_{part}.h5.zip").write_bytes(b"")
        with h5py.File(tmp_path / "SHD" / f"shd_{part}.h5", "w") as file:
            times = file.create_dataset("spikes/times", (n,), dtype=h5py.vlen_dtype("f2"))
            units = file.create_dataset("spikes/units", (n,), dtype=h5py.vlen_dtype("u2"))
            for i in range(n):
                times[i] = np.sort(rng.random(30)).astype("f2")
                units[i] = rng.integers(0, 700, 30)
            file["labels"] = np.arange(n) % 3
            file["extra/keys"] = np.array([b"zero", b"eins", b"zwei"])
            file["extra/speaker"] = np.zeros(n, dtype=int)
    inventory = find_dataset("tonic:SHD", tmp_path)
    assert inventory.classes == ("eins", "zero", "zwei")
    import_recordings(inventory, tmp_path / "a.h5")
    with open_prepared(tmp_path / "a.h5") as data:
        assert (len(data.train), len(data.test), data.n_inputs) == (12, 6, 700)
        assert [data.classes[label] for label in data.train.labels[:3]] == ["zero", "eins", "zwei"]
        assert 0 < data.train.density(0) < 0.01


def test_recordings_of_different_size_need_a_sensor(tmp_path: Path, nmnist_events: Events) -> None:
    """N-Caltech101: classes are folders; tonic takes it for unpacked if there are 8,709 files."""
    place = tmp_path / "NCALTECH101" / "Caltech101"
    (tmp_path / "NCALTECH101").mkdir()
    (tmp_path / "NCALTECH101" / "N-Caltech101-archive.zip").write_bytes(b"")
    for label in ("BACKGROUND_Google", "airplanes"):
        (place / label).mkdir(parents=True)
    content = encode_nmnist(nmnist_events[:20])
    for i in range(8709):
        (place / ("airplanes" if i % 2 else "BACKGROUND_Google") / f"image_{i:04d}.bin").write_bytes(content)
    with pytest.raises(DataError, match="recordings differ in size; give --sensor"):
        find_dataset("tonic:NCALTECH101", tmp_path)
    inventory = find_dataset("tonic:NCALTECH101", tmp_path, sensor_size=(240, 180))
    assert inventory.classes == ("BACKGROUND_Google", "airplanes")
    assert len(inventory.recordings) == 8709
    assert inventory.recordings[0].official_split is None
    assert len(inventory.recordings[0].read()) == 20


def test_cifar10_dvs_comes_in_through_tonic(tmp_path: Path) -> None:
    """AEDAT 4 in folders named after the classes; tonic takes it for unpacked if there are 1,000 of them."""
    pytest.importorskip("aedat")  # by which tonic reads such files
    faery = pytest.importorskip("faery")  # by which we write them
    place = tmp_path / "CIFAR10DVS"
    rng, names = np.random.default_rng(0), tuple(tonic.datasets.CIFAR10DVS.classes)
    for label in names:
        (place / label).mkdir(parents=True)
        events = np.zeros(50, dtype=faery.EVENTS_DTYPE)
        events["t"] = np.sort(rng.integers(1_000_000, 2_000_000, 50))
        events["x"], events["y"] = rng.integers(0, 128, 50), rng.integers(0, 128, 50)
        events["p"] = rng.integers(0, 2, 50).astype(bool)
        faery.events_stream_from_array(events, (128, 128)).to_file(place / label / "0.aedat4", file_type="aedat")
        for i in range(1, 100):
            (place / label / f"{i}.aedat4").hardlink_to(place / label / "0.aedat4")
    (place / "CIFAR10DVS.zip").write_bytes(b"")
    inventory = find_dataset("tonic:CIFAR10DVS", tmp_path)
    assert inventory.classes == names
    assert len(inventory.recordings) == 1000
    assert inventory.preprocessing.sensor_size == (128, 128)
    last = inventory.recordings[-1]
    assert last.label == "truck"
    same = find_dataset("folder", place, sensor_size=(128, 128)).recordings[-1]
    assert np.array_equal(last.read(), same.read())
    import_recordings(replace(inventory, recordings=inventory.recordings[::50]), tmp_path / "a.h5", test_fraction=0.5)
    with open_prepared(tmp_path / "a.h5") as data:
        assert (len(data.train), len(data.test), data.n_classes) == (10, 10, 10)
