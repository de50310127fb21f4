import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsnn import ConfigError, DataError
from gemsnn.events import Preprocessing, bin_events, mnist_dvs_preprocessing, nmnist_preprocessing
from gemsnn.events.records import Events, make_events


def bin_one_by_one(events: Events, choices: Preprocessing) -> np.ndarray:
    """The definition, an event at a time."""
    planes = 1 if choices.polarity == "merged" else 2
    out = np.zeros((choices.n_steps, planes, choices.n_rows, choices.n_columns), dtype=bool)
    start = min(int(t) for t in events["t"]) if choices.start_us is None else choices.start_us
    for x, y, t, p in events.tolist():
        step, row, column = (t - start) // choices.bin_us, y - choices.rows[0], x - choices.columns[0]
        row, column = row // choices.downsample, column // choices.downsample
        if 0 <= step < choices.n_steps and 0 <= row < choices.n_rows and 0 <= column < choices.n_columns:
            out[step, p if planes == 2 else 0, row, column] = True
    return out.reshape(choices.n_steps, -1)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 60),
    crop=st.tuples(st.integers(0, 9), st.integers(0, 11)),
    downsample=st.integers(1, 3),
    polarity=st.sampled_from(["merged", "separate"]),
    start=st.sampled_from([None, 0, 250]),
)
def test_binning_is_what_its_definition_says(
    seed: int, n: int, crop: tuple[int, int], downsample: int, polarity: str, start: int | None
) -> None:
    rng = np.random.default_rng(seed)
    events = make_events(
        rng.integers(0, 12, n), rng.integers(0, 15, n), np.sort(rng.integers(100, 1500, n)), rng.integers(0, 2, n)
    )
    choices = (
        Preprocessing(
            sensor_size=(12, 15),
            x_range=(crop[0], 11),
            y_range=(0, 14 - crop[1]),
            downsample=downsample,
            bin_us=90,
            n_steps=11,
            polarity=polarity,
            start_us=start,
        )
        if min(12 - crop[0], 15 - crop[1]) >= downsample
        else Preprocessing(sensor_size=(12, 15), bin_us=90, n_steps=11)
    )
    spikes = choices.bin(events)
    assert spikes.shape == (11, choices.n_inputs)
    assert spikes.dtype == np.bool_
    assert (spikes == bin_one_by_one(events, choices)).all()


def test_columns_run_fastest_and_off_comes_before_on() -> None:
    events = make_events([2, 0], [1, 0], [0, 10], [1, 0])
    spikes = bin_events(events, sensor_size=(3, 2), bin_us=10, n_steps=3, polarity="separate")
    assert np.argwhere(spikes).tolist() == [[0, 6 + 1 * 3 + 2], [1, 0]]


def test_flipping_and_turning_are_numpys(dvs_events: Events) -> None:
    """As a person sees a picture whose rows run downwards: first the mirror, then clockwise."""
    usual: dict[str, Any] = {
        "sensor_size": (128, 128), "x_range": (3, 100), "y_range": (9, 88), "downsample": 3, "bin_us": 20_000
    }  # fmt: skip
    plain = Preprocessing(**usual).planes(dvs_events)
    for flip, axis in (("x", 3), ("y", 2), (None, ())):
        for rotate in (0, 90, 180, 270):
            choice = Preprocessing(**usual, flip=flip, rotate=rotate)
            expected = np.rot90(np.flip(plain, axis), -rotate // 90, axes=(2, 3))
            assert choice.grid == expected.shape[2:]
            np.testing.assert_array_equal(choice.planes(dvs_events), expected)
            separate = Preprocessing(**usual, flip=flip, rotate=rotate, polarity="separate").bin(dvs_events)
            np.testing.assert_array_equal(separate, expected.reshape(len(expected), -1))


def test_the_unsorted_are_binned_as_the_sorted(dvs_events: Events) -> None:
    shuffled = np.random.default_rng(0).permutation(dvs_events)
    choices = mnist_dvs_preprocessing()
    assert (choices.bin(shuffled) == choices.bin(dvs_events)).all()


def test_a_short_recording_is_padded_with_silence_and_an_empty_one_is_silence() -> None:
    events = make_events([60], [60], [0], [1])
    spikes = mnist_dvs_preprocessing().bin(events)
    assert spikes.shape == (80, 2 * 676)
    assert spikes.sum() == 1
    assert not mnist_dvs_preprocessing().bin(events[:0]).any()


def test_choices_survive_json(dvs_events: Events) -> None:
    for choices in (mnist_dvs_preprocessing(4), mnist_dvs_preprocessing(16), nmnist_preprocessing()):
        again = Preprocessing.from_dict(json.loads(json.dumps(choices.to_dict())))
        assert again == choices
        assert Preprocessing(**json.loads(json.dumps(choices.to_dict()))) == choices
    assert mnist_dvs_preprocessing(8).n_inputs == mnist_dvs_preprocessing(16).n_inputs == 2 * 676


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"bin_us": 0}, "bin_us"),
        ({"n_steps": -3}, "n_steps"),
        ({"x_range": (5, 200)}, "x_range"),
        ({"y_range": (9, 5)}, "y_range"),
        ({"downsample": 129}, "downsample"),
        ({"polarity": "both"}, "polarity"),
        ({"colour": True}, "colour"),
    ],
)
def test_impossible_choices_are_named(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Preprocessing.from_dict({"sensor_size": (128, 128), "bin_us": 10, "n_steps": 4, **change})


def test_events_outside_the_sensor_are_an_error(dvs_events: Events) -> None:
    with pytest.raises(DataError, match="lies outside the 34 x 34 sensor"):
        nmnist_preprocessing().bin(dvs_events)


def test_without_a_number_of_steps_a_recording_has_as_many_as_its_last_event_needs() -> None:
    choices = Preprocessing(sensor_size=(4, 4), bin_us=1000)
    events = make_events([0, 1, 2], [0, 0, 0], [500, 1500, 7000], [1, 1, 1])
    assert choices.bin(events).shape == (7, 16)
    assert choices.bin(events[:1]).shape == choices.bin(events[:0]).shape == (1, 16)


def test_times_that_no_recording_has_are_an_error() -> None:
    choices = Preprocessing(sensor_size=(4, 4), bin_us=1000, n_steps=3)
    with pytest.raises(DataError, match="are out of range for microseconds"):
        choices.bin(make_events([0, 1], [0, 0], [-(2**63), 2**63 - 1], [1, 1]))
    with pytest.raises(DataError, match=r"would take .* GB as an array; use wider time bins"):
        Preprocessing(sensor_size=(1280, 720), bin_us=1).bin(make_events([0, 1], [0, 0], [0, 10**7], [1, 1]))


def test_merging_polarities_is_forgetting_the_plane() -> None:
    rng = np.random.default_rng(0)
    events = make_events(*rng.integers(0, 6, (2, 80)), np.sort(rng.integers(0, 5000, 80)), rng.integers(0, 2, 80))
    merged = Preprocessing(sensor_size=(6, 6), bin_us=1000, n_steps=5)
    apart = merged.model_copy(update={"polarity": "separate"})
    assert np.array_equal(merged.planes(events), apart.planes(events))
    assert np.array_equal(apart.bin(events), apart.planes(events).reshape(5, -1))
    assert np.array_equal(merged.bin(events), merged.planes(events).any(axis=1).reshape(5, -1))
