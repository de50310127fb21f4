"""The width of time bins where nobody gives it."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import gemsnn
from gemsnn import ConfigError, DataError
from gemsnn.events import GuessWarning, Preprocessing, find_folder, import_recordings, open_prepared, write_prepared
from gemsnn.events.bin_width import FEWEST, MOST, chosen, width_for
from gemsnn.events.records import make_events


def recording(duration_us, start_us=0, n=50, seed=0):
    rng = np.random.default_rng(seed)
    t = np.sort(rng.integers(0, duration_us + 1, n))
    t[0], t[-1] = 0, duration_us
    return make_events(rng.integers(0, 8, n), rng.integers(0, 8, n), start_us + t, rng.integers(0, 2, n))


def test_whatever_the_recordings_last_the_median_one_has_forty_to_eighty_steps_of_a_round_width():
    for median_us in np.geomspace(200, 1e13, 500):
        width = width_for(float(median_us))
        assert FEWEST <= width.n_steps <= MOST
        assert int(median_us // width.bin_us) + 1 == width.n_steps
        digits = str(width.bin_us).rstrip("0")
        assert digits in ("1", "2", "5", "25")


@pytest.mark.parametrize(
    ("median_us", "bin_us"),
    [
        (306_000, 5_000),
        (3_995_000, 50_000),
        (15_000, 250),
        (1_000_000, 20_000),
        (0, 1),
        (30, 1),
        (166, 2),
        (1e18, 5 * 10**12),
    ],
)
def test_widths_of_known_durations(median_us, bin_us):
    assert width_for(median_us).bin_us == bin_us


def test_steps_that_are_given_hold_the_median_recording():
    for n_steps in (1, 7, 40, 100):
        width = width_for(306_000, n_steps)
        assert width.n_steps <= n_steps < 2.5 * width.n_steps + 2


def test_empty_and_damaged_recordings_do_not_decide(dvs_events):
    def damaged():
        raise DataError("damaged")

    open_choice = Preprocessing(sensor_size=(128, 128))
    readers = [damaged, lambda: dvs_events[:0], lambda: recording(1_000_000)]
    found, width = chosen(open_choice, readers)
    assert (found.bin_us, width.n_steps) == (20_000, 51)
    given = Preprocessing(sensor_size=(128, 128), bin_us=7)
    assert chosen(given, readers) == (given, None)


def test_a_start_of_its_own_counts():
    choice = Preprocessing(sensor_size=(8, 8), start_us=0)
    found, _ = chosen(choice, [lambda: recording(100_000, start_us=900_000)])
    assert found.bin_us == 20_000


def test_without_a_width_nothing_is_binned():
    with pytest.raises(ConfigError, match="bin_us, the width of a time bin in microseconds, is not given"):
        Preprocessing(sensor_size=(8, 8)).bin(recording(1000))


def test_an_import_chooses_says_and_records_the_width(tmp_path):
    for label in "ab":
        (tmp_path / "raw" / label).mkdir(parents=True)
        for i, duration in enumerate((280_000, 300_000, 310_000)):
            np.save(tmp_path / "raw" / label / f"{i}.npy", recording(duration, seed=i))
    inventory = find_folder(tmp_path / "raw", sensor_size=(8, 8))
    recorded = import_recordings(inventory, tmp_path / "a.h5", test_fraction=0.4)
    assert recorded["bin_width"] == "5 ms per step: the median recording of 300 ms has 61 steps"
    with open_prepared(tmp_path / "a.h5", expect={"bin_us": 5000}) as data:
        assert set(data.train.lengths.tolist()) | set(data.test.lengths.tolist()) == {57, 61, 63}
    given = inventory.preprocessing.model_copy(update={"bin_us": 50_000})
    assert "bin_width" not in import_recordings(inventory, tmp_path / "b.h5", preprocessing=given)


def test_recordings_of_ones_own_are_given_a_width_too(tmp_path):
    recordings = [recording(20_000, seed=i) for i in range(6)]
    choice = Preprocessing(sensor_size=(8, 8))
    with pytest.warns(GuessWarning, match=r"0\.5 ms per step: the median recording of 20 ms has 41 steps"):
        write_prepared(tmp_path / "a.h5", recordings, [0, 1] * 3, preprocessing=choice)
    with open_prepared(tmp_path / "a.h5", expect={"bin_us": 500}):
        pass
    with pytest.raises(DataError, match="X can be read only once"):
        write_prepared(tmp_path / "b.h5", iter(recordings), [0, 1] * 3, preprocessing=choice)


def test_a_classifier_chooses_once_and_keeps_the_width(tmp_path):
    recordings = [recording(20_000, seed=i) for i in range(12)]
    files = []
    for i, one in enumerate(recordings):
        np.save(tmp_path / f"{i}.npy", one)
        files.append(tmp_path / f"{i}.npy")
    y = [0, 1] * 6
    classifier = gemsnn.SpikingClassifier(
        n_hidden=3, schedule={"epochs": 1}, preprocessing=Preprocessing(sensor_size=(8, 8))
    )
    with pytest.warns(GuessWarning, match=r"0\.5 ms per step: the median recording of 20 ms has 41 steps"):
        classifier.fit(files, y)
    assert classifier.preprocessing.bin_us is None  # a setting is never changed
    assert classifier.preprocessing_.bin_us == classifier.model_.preprocessing.bin_us == 500
    longer = [recording(80_000, seed=i) for i in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier.predict_proba(longer)
        classifier.partial_fit(longer, [0, 1, 0])
        classifier.save(tmp_path / "model.safetensors")
    again = gemsnn.SpikingClassifier.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_proba(longer), classifier.predict_proba(longer))
    with pytest.warns(GuessWarning):
        other = clone(classifier).partial_fit(longer, [0, 1, 0], classes=[0, 1])
    assert other.preprocessing_.bin_us == 2000


def test_spikes_need_no_width():
    X = np.random.default_rng(0).random((8, 10, 64)) < 0.2
    choice = Preprocessing(sensor_size=(8, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gemsnn.SpikingClassifier(n_hidden=3, schedule={"epochs": 1}, preprocessing=choice).fit(list(X), [0, 1] * 4)
