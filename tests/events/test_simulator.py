import threading
from pathlib import Path

import numpy as np
import pytest

from gemsnn import ConfigError, ShapeError
from gemsnn.events import (
    DVS,
    EVENT_DTYPE,
    Variation,
    find_mnist_dvs,
    import_recordings,
    mnist_dvs_preprocessing,
    nmnist_preprocessing,
    open_prepared,
    read_aedat,
    simulate_digits,
    simulate_prepared,
    simulate_recording,
)
from gemsnn.events.aedat import read_aedat_header
from gemsnn.events.calibration import MNIST_DVS_SCALE_4, N_MNIST
from gemsnn.events.records import Events
from gemsnn.events.simulated import Simulated, mnist_images, plan
from gemsnn.events.simulator import path_of


def changed(**values: float) -> DVS:
    return MNIST_DVS_SCALE_4.model_copy(update=values)


QUIET = changed(noise_rate=0.0)


def bar() -> np.ndarray:
    """A bright horizontal bar."""
    image = np.zeros((28, 28))
    image[12:16, 4:24] = 1.0
    return image


def same(a: Simulated, b: Simulated) -> bool:
    return a[:4] == b[:4] and np.array_equal(a.events, b.events)


@pytest.fixture(scope="module")
def zeros() -> list[Events]:
    return [simulate_recording(image, i) for i, image in enumerate(mnist_images()[0][:30])]


def test_a_recording_looks_like_one_that_was_read(zeros: list[Events]) -> None:
    for events in zeros:
        assert events.dtype == EVENT_DTYPE
        assert events["t"][0] == 0
        assert (np.diff(events["t"]) >= 0).all()
        assert events["x"].min() >= 0
        assert events["y"].max() <= 127
        assert 1_900_000 < events["t"][-1] <= 2_500_000


def test_simulated_zeros_have_the_real_ones_count_density_and_polarity(zeros: list[Events]) -> None:
    choices = mnist_dvs_preprocessing()
    assert np.median([len(e) for e in zeros]) == pytest.approx(16_483, rel=0.15)
    merged = [choices.planes(e).any(axis=1).mean() for e in zeros]
    assert np.median(merged) == pytest.approx(0.1157, rel=0.15)
    assert np.median([e["p"].mean() for e in zeros]) == pytest.approx(0.509, rel=0.15)


def test_digits_stand_upright() -> None:
    image = np.zeros((28, 28))
    image[5:23, 4:8] = image[5:9, 4:22] = 1.0  # a long stroke on the left, a shorter one at the top
    choices = mnist_dvs_preprocessing()
    picture = choices.upright(choices.planes(simulate_recording(image, 0, QUIET)).sum(axis=(0, 1))).astype(float)
    rows, columns = np.average(np.mgrid[:26, :26], axis=(1, 2), weights=np.broadcast_to(picture, (2, 26, 26)))
    assert rows < 12
    assert columns < 12
    assert not picture[20:, 20:].any()


def test_the_same_seed_gives_the_same_events_and_another_seed_others() -> None:
    image = mnist_images()[3][0]
    first = simulate_recording(image, 5)
    assert np.array_equal(first, simulate_recording(image, 5))
    assert not np.array_equal(first[:100], simulate_recording(image, 6)[:100])


def test_the_number_of_workers_changes_nothing() -> None:
    one = list(simulate_digits([0, 7], (3, 2), seed=1, workers=1))
    three = list(simulate_digits([0, 7], (3, 2), seed=1, workers=3))
    assert len(one) == 10
    assert all(same(a, b) for a, b in zip(one, three, strict=True))


def test_a_recording_does_not_depend_on_what_else_is_simulated() -> None:
    few = {(r.digit, r.number): r for r in simulate_digits([7], (2, 1), seed=1)}
    more = {(r.digit, r.number): r for r in simulate_digits([0, 7], (3, 2), seed=1)}
    assert few.keys() <= more.keys()
    assert all(same(few[key], more[key]) for key in few)


def test_training_and_test_never_share_an_image() -> None:
    jobs = plan([4, 9], (400, 100), seed=0)
    for digit in (4, 9):
        assert sorted(job.image for job in jobs if job.digit == digit) == list(range(500))
        assert [job.split for job in jobs if job.digit == digit] == ["train"] * 400 + ["test"] * 100
    assert {len(images) for images in mnist_images().values()} == {500}
    with pytest.raises(ConfigError, match="never share an image"):
        plan([4], (401, 100), seed=0)


def test_a_larger_training_split_leaves_the_test_split_as_it_was() -> None:
    small, large = ([job for job in plan([4], (n, 50), seed=2) if job.split == "test"] for n in (100, 400))
    assert small == large


def test_an_edge_that_brightens_gives_on_and_one_that_darkens_off() -> None:
    # The picture moves down until row_turn + period / 2: the bar's lower edge brightens, its upper one darkens.
    dvs = changed(noise_rate=0.0, row_turn=0.0, start_jitter=0.0, column_swing=0.0, threshold_noise=0.0)
    events = simulate_recording(bar(), 0, dvs)
    early = events[(events["t"] > 100_000) & (events["t"] < 250_000)]
    on, off = early[early["p"] == 1], early[early["p"] == 0]
    assert len(on) > 100
    assert len(off) > 100
    assert np.median(on["x"]) > np.median(off["x"]) + 3


def test_a_still_picture_gives_background_noise_alone() -> None:
    still = changed(row_swing=0.0, column_swing=0.0, noise_rate=0.5, noise_spread=0.0, noise_on_share=0.8)
    counts = [len(simulate_recording(bar(), seed, still)) for seed in range(8)]
    seconds = 8 * MNIST_DVS_SCALE_4.duration
    assert sum(counts) == pytest.approx(0.5 * 128 * 128 * seconds, rel=0.1)
    events = simulate_recording(bar(), 0, still)
    assert events["p"].mean() == pytest.approx(0.8, abs=0.02)
    silent = still.model_copy(update={"noise_rate": 0.0})
    assert len(simulate_recording(bar(), 0, silent)) == 0


def test_a_pixel_is_blind_for_its_refractory_time() -> None:
    dvs = changed(noise_rate=0.0, refractory_us=4_000.0, refractory_mismatch=0.0, threshold_on=0.05, threshold_off=0.05)
    events = simulate_recording(bar(), 0, dvs)
    pixel = events["x"].astype(int) * 128 + events["y"]
    order = np.lexsort((events["t"], pixel))
    gaps = np.diff(events["t"][order])[np.diff(pixel[order]) == 0]
    assert gaps.min() >= 3_999  # times are cut to whole microseconds
    assert gaps.min() < 4_100


def test_higher_thresholds_and_less_contrast_give_fewer_events() -> None:
    usual = len(simulate_recording(bar(), 0, QUIET))
    assert len(simulate_recording(bar(), 0, changed(noise_rate=0.0, threshold_on=1.0, threshold_off=1.0))) < usual
    assert len(simulate_recording(bar(), 0, changed(noise_rate=0.0, dark=0.5))) < usual
    fewer_on = simulate_recording(bar(), 0, changed(noise_rate=0.0, threshold_on=1.0))
    assert fewer_on["p"].mean() < simulate_recording(bar(), 0, QUIET)["p"].mean() - 0.1


def test_a_pixels_sensitivity_is_its_own_and_the_same_in_all_recordings_and_polarities() -> None:
    def occupancy(seed: int, dvs: DVS) -> np.ndarray:
        """Events of each pixel in six recordings, OFF and ON apart, (2, 128, 128)."""
        picture = np.zeros((2, 128, 128))
        for i in range(6):
            events = simulate_recording(bar(), 100 * seed + i, dvs)
            np.add.at(picture, (events["p"].astype(int), events["x"], events["y"]), 1)
        return picture

    dvs = changed(noise_rate=0.0, threshold_mismatch=0.4)
    equal = occupancy(0, changed(noise_rate=0.0, threshold_mismatch=0.0))
    busy = equal.min(axis=0) > 10
    assert busy.sum() > 100
    first, again, other = (
        (occupancy(seed, camera) / np.maximum(equal, 1))[:, busy]
        for seed, camera in ((1, dvs), (2, dvs), (2, dvs.model_copy(update={"sensor_seed": 5})))
    )
    assert first.std() > 0.2
    assert np.corrcoef(first[0], first[1])[0, 1] > 0.8
    assert np.corrcoef(first.ravel(), again.ravel())[0, 1] > 0.8
    assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.4


def test_only_mnist_sized_images_are_taken() -> None:
    with pytest.raises(ShapeError, match=r"\(28, 28\)"):
        simulate_recording(np.zeros((32, 32)), 0)


def test_simulated_data_says_so_and_comes_back_the_same_from_aedat_files(tmp_path: Path) -> None:
    simulate_prepared(tmp_path / "a.h5", digits=[0, 1], per_class=(2, 1), seed=3, aedat_folder=tmp_path / "raw")
    files = sorted((tmp_path / "raw").rglob("*.aedat"))
    assert len(files) == 6
    assert all(read_aedat_header(file).simulated for file in files)
    assert len(read_aedat(files[0])) > 5000
    import_recordings(find_mnist_dvs(tmp_path / "raw", [0, 1]), tmp_path / "b.h5")
    with open_prepared(tmp_path / "a.h5") as a, open_prepared(tmp_path / "b.h5") as b:
        assert a.attributes["simulated"] is b.attributes["simulated"] is True
        for one, other in zip(a.splits, b.splits, strict=True):  # only names and attributes differ
            assert one.labels.tolist() == other.labels.tolist()
            assert [spikes.tobytes() for spikes in one] == [spikes.tobytes() for spikes in other]
        assert a.attributes["seed"] == 3
        assert DVS(**a.attributes["dvs"]) == MNIST_DVS_SCALE_4


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"digits": []}, "0..9"),
        ({"per_class": (0, 0)}, "nothing to simulate"),
        ({"per_class": (-1, 5)}, "nothing to simulate"),
        ({"seed": -1}, "seed -1"),
        ({"workers": -2}, "-2 workers"),
    ],
)
def test_impossible_wishes_are_refused_and_leave_no_file(
    tmp_path: Path, arguments: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        simulate_prepared(tmp_path / "a.h5", **{"per_class": (1, 1), **arguments})  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_leaving_a_simulation_early_stops_its_threads() -> None:
    others = set(threading.enumerate())
    recordings = simulate_digits([0], (50, 0), workers=2)
    next(recordings)
    recordings.close()
    assert set(threading.enumerate()) <= others


# ---- cameras and scenes that differ


def test_a_varied_camera_is_another_for_every_seed_and_the_same_for_the_same_seed() -> None:
    image = mnist_images()[4][0]
    first = simulate_recording(image, 1, vary=Variation())
    assert np.array_equal(first, simulate_recording(image, 1, vary=Variation()))
    assert not np.array_equal(first[:50], simulate_recording(image, 1)[:50])
    drawn = [Variation().draw(MNIST_DVS_SCALE_4, np.random.default_rng(seed)) for seed in range(200)]
    for name in ("threshold_on", "period", "row_swing", "centre_row", "scale", "turned", "dark", "edge_level"):
        values = np.array([getattr(camera, name) for camera in drawn])
        assert len(set(values)) == 200, name
        around = np.median(values) - getattr(MNIST_DVS_SCALE_4, name)
        assert abs(around) < 0.4 * values.std(), name  # around the camera that it varies
    assert len({camera.sensor_seed for camera in drawn}) == 200


def test_no_variation_is_the_camera_itself_but_for_its_specimen() -> None:
    still = Variation().scaled(0.0).draw(MNIST_DVS_SCALE_4, np.random.default_rng(0))
    assert still.model_copy(update={"sensor_seed": MNIST_DVS_SCALE_4.sensor_seed}) == MNIST_DVS_SCALE_4
    assert Variation().draw(N_MNIST, np.random.default_rng(0)).saccades != N_MNIST.saccades


def test_strokes_are_thicker_where_less_brightness_counts_as_white() -> None:
    image = mnist_images()[0][0]

    def reach(edge_level: float) -> int:
        """Pixels that a zero passes."""
        events = simulate_recording(image, 0, changed(noise_rate=0.0, edge_level=edge_level))
        return len(np.unique(events[["x", "y"]]))

    assert reach(0.1) > reach(0.35) > reach(0.8)


def test_a_turned_picture_is_turned_and_a_slanted_one_leans() -> None:
    choices = mnist_dvs_preprocessing()

    def lean(**values: float) -> float:
        """Correlation of row and column over the events of an upright stroke."""
        stroke = np.zeros((28, 28))
        stroke[4:24, 13:15] = 1.0
        planes = choices.planes(simulate_recording(stroke, 0, changed(noise_rate=0.0, column_swing=0.0, **values)))
        row, column = np.nonzero(choices.upright(planes.sum(axis=(0, 1))))
        return float(np.corrcoef(row, column)[0, 1])

    assert abs(lean()) < 0.2
    assert lean(turned=0.3) * lean(turned=-0.3) < 0
    assert lean(slanted=0.3) * lean(slanted=-0.3) < 0
    assert abs(lean(turned=0.3)) > 0.5


def test_hot_pixels_send_events_all_the_time() -> None:
    events = simulate_recording(np.zeros((28, 28)), 0, changed(noise_rate=0.0, hot_pixels=3, hot_rate=200.0))
    _, counts = np.unique(events["x"].astype(int) * 128 + events["y"], return_counts=True)
    assert len(counts) == 3
    assert counts == pytest.approx(200 * MNIST_DVS_SCALE_4.duration, rel=0.3)


def test_only_training_recordings_vary(tmp_path: Path) -> None:
    for name, vary in (("plain", None), ("varied", Variation())):
        simulate_prepared(tmp_path / f"{name}.h5", digits=[0, 1], per_class=(1, 1), vary=vary)
    with open_prepared(tmp_path / "plain.h5") as plain, open_prepared(tmp_path / "varied.h5") as varied:
        assert [a.tobytes() for a in plain.test] == [a.tobytes() for a in varied.test]
        assert [a.tobytes() for a in plain.train] != [a.tobytes() for a in varied.train]
        assert plain.attributes["vary"] is None
        assert Variation(**varied.attributes["vary"]) == Variation()


def test_saccades_lead_from_place_to_place_and_rest_in_between() -> None:
    at = path_of(N_MNIST, np.array([0.0, 0.09, 0.1, 0.2, 0.3])) - [N_MNIST.centre_row, N_MNIST.centre_column]
    first, second, third = ([s.row, s.column] for s in N_MNIST.saccades)
    np.testing.assert_allclose(at, [third, first, first, second, third], atol=1e-9)


def test_the_camera_of_n_mnist_looks_like_it(tmp_path: Path) -> None:
    recordings = [simulate_recording(mnist_images()[digit][0], digit, N_MNIST) for digit in range(10)]
    choices = nmnist_preprocessing()
    assert np.median([len(e) for e in recordings]) == pytest.approx(4100, rel=0.35)
    merged = choices.model_copy(update={"polarity": "merged"})
    assert np.mean([merged.bin(e).mean() for e in recordings]) == pytest.approx(0.05, rel=0.35)
    assert max(e["x"].max() for e in recordings) <= 33
    simulate_prepared(tmp_path / "a.h5", digits=[0, 1], per_class=(1, 1), camera="n-mnist")
    with open_prepared(tmp_path / "a.h5") as data:
        assert data.preprocessing == choices
        assert data.attributes["camera"] == "n-mnist"
    with pytest.raises(ConfigError, match="camera"):
        simulate_prepared(tmp_path / "b.h5", camera="eye")
    with pytest.raises(ConfigError, match="aedat"):
        simulate_prepared(tmp_path / "b.h5", camera="n-mnist", aedat_folder=tmp_path)
