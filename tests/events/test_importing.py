from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gemsnn import ConfigError, DataError
from gemsnn.events import (
    DamageWarning,
    find_mnist_dvs,
    find_nmnist,
    import_recordings,
    mnist_dvs_preprocessing,
    nmnist_preprocessing,
    open_prepared,
    read_aedat,
    write_aedat,
)
from gemsnn.events.aedat import SIMULATED_LINE
from gemsnn.events.nmnist import encode_nmnist
from gemsnn.events.records import Events, make_events


def events_for(seed: int, side: int = 128, duration: int = 2_000_000) -> Events:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, side, (2, 300))
    return make_events(x, y, np.sort(rng.integers(0, duration, 300)), rng.integers(0, 2, 300))


def make_mnist_dvs(
    root: Path, numbers: dict[int, Sequence[int]], scale: int = 4, comments: tuple[str, ...] = ()
) -> Path:
    for digit, some in numbers.items():
        folder = root / f"grabbed_data{digit}" / f"scale{scale}"
        folder.mkdir(parents=True, exist_ok=True)
        for number in some:
            name = f"mnist_{digit}_scale{scale:02d}_{number:04d}.aedat"
            write_aedat(folder / name, events_for(1000 * digit + number), comments=comments)
    return root


def make_nmnist(root: Path, train: dict[int, int], test: dict[int, int]) -> Path:
    for name, numbers in (("Train", train), ("Test", test)):
        for digit, n in numbers.items():
            folder = root / name / str(digit)
            folder.mkdir(parents=True)
            for i in range(n):
                (folder / f"{10 * i + digit:05d}.bin").write_bytes(encode_nmnist(events_for(i, 34, 300_000)))
    return root


def test_mnist_dvs_is_found_as_it_unpacks_and_what_is_missing_is_said(tmp_path: Path) -> None:
    make_mnist_dvs(tmp_path, {3: [1, 2, 5, 901], 7: [1]})
    (tmp_path / "grabbed_data3/scale4/notes.txt").write_text("not a recording")
    inventory = find_mnist_dvs(tmp_path, [7, 3, 8])
    assert inventory.classes == (3, 7, 8)
    assert [(r.label, r.name, r.official_split) for r in inventory.recordings] == [
        (3, "grabbed_data3/scale4/mnist_3_scale04_0001.aedat", "train"),
        (3, "grabbed_data3/scale4/mnist_3_scale04_0002.aedat", "train"),
        (3, "grabbed_data3/scale4/mnist_3_scale04_0005.aedat", "train"),
        (3, "grabbed_data3/scale4/mnist_3_scale04_0901.aedat", "test"),
        (7, "grabbed_data7/scale4/mnist_7_scale04_0001.aedat", "train"),
    ]
    assert inventory.missing[3] == "recordings 3-4, 6-900, 902-1000"
    assert inventory.missing[8] == "no grabbed_data8/scale4/*.aedat"
    assert inventory.missing_classes == (8,)


def test_recordings_901_to_1000_are_the_test_split(tmp_path: Path) -> None:
    make_mnist_dvs(tmp_path, {0: [1, 900, 901, 1000], 1: [17, 950]})
    recorded = import_recordings(find_mnist_dvs(tmp_path, [0, 1]), tmp_path / "a.h5")
    assert recorded["split"] == {"kind": "official"}
    with open_prepared(tmp_path / "a.h5", expect={"source": "mnist-dvs", "scale": 4, "simulated": False}) as data:
        assert data.train.labels.tolist() == [0, 0, 1]
        assert data.test.labels.tolist() == [0, 0, 1]
        assert data.test.names[0] == "grabbed_data0/scale4/mnist_0_scale04_0901.aedat"
        raw = read_aedat(tmp_path / data.test.names[0])
        assert (data.test[0] == mnist_dvs_preprocessing().bin(raw)).all()
        assert (data.test[0] == data.bin(raw)).all()


@pytest.mark.parametrize("scale", [8, 16])
def test_other_scales_give_as_many_inputs(tmp_path: Path, scale: int) -> None:
    make_mnist_dvs(tmp_path, {0: [1, 901]}, scale=scale)
    import_recordings(find_mnist_dvs(tmp_path, [0], scale), tmp_path / "a.h5")
    with open_prepared(tmp_path / "a.h5", expect={"scale": scale}) as data:
        assert data.n_inputs == 2 * 676
    with pytest.raises(DataError, match=r"grabbed_data0/scale4/mnist_0_scale04_0001\.aedat and so on"):
        find_mnist_dvs(tmp_path, [0], 4)
    with pytest.raises(ConfigError, match="scale 5"):
        find_mnist_dvs(tmp_path, [0], 5)


def test_without_an_official_test_split_one_is_drawn_by_the_seed(tmp_path: Path) -> None:
    make_mnist_dvs(tmp_path, {0: range(1, 11), 1: range(1, 21)})
    inventory = find_mnist_dvs(tmp_path, [0, 1])
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        recorded = import_recordings(inventory, tmp_path / f"{name}.h5", test_fraction=0.2, seed=seed)
        assert recorded["split"] == {"kind": "stratified", "test_fraction": 0.2, "seed": seed}
    with (
        open_prepared(tmp_path / "a.h5") as a,
        open_prepared(tmp_path / "b.h5") as b,
        open_prepared(tmp_path / "c.h5") as c,
    ):
        assert np.bincount(a.test.labels).tolist() == [2, 4]
        assert a.fingerprint == b.fingerprint != c.fingerprint
        assert not set(a.train.names) & set(a.test.names)


def test_a_class_without_recordings_is_refused_unless_told_so(tmp_path: Path) -> None:
    make_mnist_dvs(tmp_path, {0: [1, 901], 2: [1, 901]})
    inventory = find_mnist_dvs(tmp_path, [0, 1, 2])
    with pytest.raises(DataError, match="no recordings of 1; pass --digits 0,2"):
        import_recordings(inventory, tmp_path / "a.h5")
    assert not (tmp_path / "a.h5").exists()
    import_recordings(inventory, tmp_path / "a.h5", allow_missing=True)
    with open_prepared(tmp_path / "a.h5") as data:
        assert data.classes == (0, 1, 2)
        assert data.train.labels.tolist() == [0, 2]


def test_real_and_simulated_recordings_are_never_mixed(tmp_path: Path) -> None:
    make_mnist_dvs(tmp_path, {0: [1, 901]})
    make_mnist_dvs(tmp_path, {1: [1, 901]}, comments=(SIMULATED_LINE,))
    with pytest.raises(DataError, match=r"mnist_1_scale04_0001\.aedat: a simulated recording among real ones"):
        import_recordings(find_mnist_dvs(tmp_path, [0, 1]), tmp_path / "a.h5")
    assert not list(tmp_path.glob("*.h5*"))
    import_recordings(find_mnist_dvs(tmp_path, [1]), tmp_path / "a.h5")
    with open_prepared(tmp_path / "a.h5", expect={"simulated": True}) as data:
        assert "simulator" in data.attributes["source"]


def test_a_damaged_recording_stops_the_import_or_is_left_out_and_named(tmp_path: Path) -> None:
    make_mnist_dvs(tmp_path, {0: [1, 2, 901]})
    bad = tmp_path / "grabbed_data0/scale4/mnist_0_scale04_0002.aedat"
    bad.write_bytes(b"")
    inventory = find_mnist_dvs(tmp_path, [0])
    with pytest.raises(DataError, match=r"0002\.aedat: the file is empty"):
        import_recordings(inventory, tmp_path / "a.h5")
    assert not list(tmp_path.glob("*.h5*"))
    assert not list(tmp_path.glob(".*"))
    import_recordings(inventory, tmp_path / "a.h5", skip_damaged=True)
    with open_prepared(tmp_path / "a.h5") as data:
        assert len(data.train) == 1
        assert "0002.aedat: the file is empty" in data.attributes["skipped"][0]


def test_a_cut_recording_is_imported_with_a_warning(tmp_path: Path) -> None:
    make_mnist_dvs(tmp_path, {0: [1, 901]})
    file = tmp_path / "grabbed_data0/scale4/mnist_0_scale04_0001.aedat"
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.warns(DamageWarning, match=r"0001\.aedat: cut inside a record"):
        import_recordings(find_mnist_dvs(tmp_path, [0]), tmp_path / "a.h5")


def test_nmnist_uses_its_own_test_folder_or_draws_a_split(tmp_path: Path) -> None:
    make_nmnist(tmp_path / "whole", {0: 3, 1: 3}, {0: 2, 1: 1})
    assert find_nmnist(tmp_path / "whole", [0, 1]).missing == {}
    import_recordings(find_nmnist(tmp_path / "whole", [0, 1]), tmp_path / "a.h5")
    make_nmnist(tmp_path / "half", {0: 10, 1: 10}, {})
    inventory = find_nmnist(tmp_path / "half", [0, 1])
    assert inventory.missing == {0: "no Test/0/*.bin", 1: "no Test/1/*.bin"}
    import_recordings(inventory, tmp_path / "b.h5", test_fraction=0.3)
    with open_prepared(tmp_path / "a.h5") as a, open_prepared(tmp_path / "b.h5") as b:
        assert (len(a.train), len(a.test)) == (6, 3)
        assert a.attributes["split"] == {"kind": "official"}
        assert np.bincount(b.test.labels).tolist() == [3, 3]
        assert a.n_inputs == nmnist_preprocessing().n_inputs == 2 * 34 * 34


@pytest.mark.parametrize("find", [find_mnist_dvs, find_nmnist])
def test_a_folder_without_the_data_set_says_what_it_holds_instead(tmp_path: Path, find: object) -> None:
    assert callable(find)
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(DataError, match=r"The folder contains: holiday\.jpg"):
        find(tmp_path)
    with pytest.raises(DataError, match="no such directory"):
        find(tmp_path / "none")
    with pytest.raises(DataError, match="not a directory"):
        find(tmp_path / "holiday.jpg")
    with pytest.raises(ConfigError, match=r"0\.\.9"):
        find(tmp_path, [11])


def test_every_recording_is_reported_to_the_progress_bar(tmp_path: Path) -> None:
    make_mnist_dvs(tmp_path, {0: [1, 2, 901]})
    calls: list[int] = []
    import_recordings(find_mnist_dvs(tmp_path, [0]), tmp_path / "a.h5", advance=lambda: calls.append(1))
    assert len(calls) == 3


def test_real_recordings_are_imported(real_data: Path, tmp_path: Path) -> None:
    inventory = find_mnist_dvs(real_data / "mnist-dvs")
    assert inventory.missing_classes == tuple(range(1, 10))
    with pytest.raises(DataError, match="no recordings of 1, 2, 3"):
        import_recordings(inventory, tmp_path / "a.h5")
    import_recordings(find_mnist_dvs(real_data / "mnist-dvs", [0]), tmp_path / "a.h5")
    import_recordings(find_nmnist(real_data / "n-mnist", [0, 1, 2]), tmp_path / "b.h5")
    with open_prepared(tmp_path / "a.h5") as a, open_prepared(tmp_path / "b.h5") as b:
        assert (len(a.train), len(a.test)) == (90, 10)
        merged = [x.reshape(len(x), 2, -1).any(axis=1).mean() for x in a.train]
        assert np.mean(merged) == pytest.approx(0.117, abs=0.005)
        assert len(b.train) + len(b.test) == 97 + 116 + 99


def test_nothing_but_damaged_recordings_is_an_error(tmp_path: Path) -> None:
    for number in (1, 901):
        place = tmp_path / "grabbed_data0" / "scale4" / f"mnist_0_scale04_{number:04d}.aedat"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"")
    with pytest.raises(DataError, match=r"no recording can be read; the first says: .*_0001\.aedat"):
        import_recordings(find_mnist_dvs(tmp_path, [0]), tmp_path / "a.h5", skip_damaged=True)
    assert not (tmp_path / "a.h5").exists()
