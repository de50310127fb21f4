"""Data sets by name: folders named after classes, and whatever tonic reads."""

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
    with pytest.raises(DataError, match="do not tell the size of the sensor"):
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
    with pytest.raises(DataError, match=r"they should lie at CLASS/NAME .* The folder holds: pictures"):
        find_folder(tmp_path)


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
