"""Events become steps while they come."""

import numpy as np
import pytest

from gemsnn import DataError
from gemsnn.events import EVENT_DTYPE, OnlineBinner, Preprocessing


def recording(n=400, seed=0, last=100_000, size=(9, 7)):
    """In order of time, with a gap of several bins and events at the same time."""
    rng = np.random.default_rng(seed)
    events = np.zeros(n, dtype=EVENT_DTYPE)
    times = np.sort(rng.integers(5_000, last, n))
    times[n // 2 :] += 40_000
    times[10:14] = times[10]
    events["x"], events["y"] = rng.integers(0, size[0], n), rng.integers(0, size[1], n)
    events["t"], events["p"] = times, rng.integers(0, 2, n)
    return events


CHOICES = {
    "whole sensor": Preprocessing(sensor_size=(9, 7), bin_us=5000, n_steps=20),
    "longer than the recording": Preprocessing(sensor_size=(9, 7), bin_us=5000, n_steps=50),
    "crop": Preprocessing(sensor_size=(9, 7), bin_us=3300, n_steps=60, x_range=(2, 7), y_range=(1, 5), downsample=2),
    "polarities": Preprocessing(sensor_size=(9, 7), bin_us=5000, n_steps=20, polarity="separate"),
    "as long as it is": Preprocessing(sensor_size=(9, 7), bin_us=777, polarity="separate"),
    "own start": Preprocessing(sensor_size=(9, 7), bin_us=5000, n_steps=9, start_us=20_000),
    "turned": Preprocessing(sensor_size=(9, 7), bin_us=3300, x_range=(2, 7), rotate=90, flip="y", polarity="separate"),
    "early start": Preprocessing(sensor_size=(9, 7), bin_us=5000, start_us=-7_000),
}


def in_pieces(events, sizes, seed=1):
    """The events cut into arrays of random sizes, empty ones among them."""
    rng, start = np.random.default_rng(seed), 0
    while start < len(events):
        size = int(rng.integers(0, sizes + 1))
        yield events[start : start + size]
        start += size


def online(binner, pieces):
    steps = [step for piece in pieces for step in binner.feed(piece)]
    return np.array(steps + list(binner.finish()))


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("sizes", [1, 3, 1000])
def test_steps_are_those_of_the_whole_recording_however_it_is_cut(name, sizes):
    events = recording()
    found = online(OnlineBinner(CHOICES[name]), in_pieces(events, sizes))
    np.testing.assert_array_equal(found, CHOICES[name].bin(events))
    assert found.any()


@pytest.mark.parametrize("name", CHOICES)
def test_events_out_of_order_count_if_they_come_within_the_patience(name):
    events = recording()
    jitter = np.random.default_rng(2).integers(0, 4_000, len(events))
    jitter[0] = -10  # the first event is the first
    shuffled = events[np.argsort(events["t"] + jitter, kind="stable")]
    assert (np.diff(shuffled["t"]) < 0).any()
    patient = OnlineBinner(CHOICES[name], patience_us=4_000)
    np.testing.assert_array_equal(online(patient, in_pieces(shuffled, 7)), CHOICES[name].bin(events))
    assert patient.late == 0
    impatient = OnlineBinner(CHOICES[name])
    online(impatient, in_pieces(shuffled, 7))
    assert impatient.late > 0


@pytest.mark.parametrize("patience_us", [0, 1_300, 5_000, 7_200])
def test_how_events_are_cut_does_not_matter_even_when_they_are_late(patience_us):
    events = recording()
    jitter = np.random.default_rng(3).integers(0, 20_000, len(events))
    disorder = events[np.argsort(events["t"] + jitter, kind="stable")]
    results = []
    for sizes in (1, 2, 5, 400):
        binner = OnlineBinner(CHOICES["early start"], patience_us=patience_us)
        results.append((online(binner, in_pieces(disorder, sizes)), binner.late))
    for steps, late in results:
        np.testing.assert_array_equal(steps, results[0][0])
        assert late == results[0][1] > 0
    assert results[0][0].any()


def one(t, x=0, y=0, p=1):
    return np.array([(x, y, t, p)], dtype=EVENT_DTYPE)


def test_a_late_event_is_left_out_and_counted():
    binner = OnlineBinner(Preprocessing(sensor_size=(2, 1), bin_us=100))
    assert len(list(binner.feed(one(0)))) == 0
    assert len(list(binner.feed(one(250)))) == 2
    assert not list(binner.feed(one(150, x=1)))
    assert binner.late == 1
    np.testing.assert_array_equal(list(binner.finish()), [[True, False]])
    assert (binner.steps, binner.time_us) == (3, 300)


def test_events_before_a_start_that_was_chosen_are_not_late():
    binner = OnlineBinner(Preprocessing(sensor_size=(2, 1), bin_us=100, start_us=1000))
    assert not list(binner.feed(one(10)))
    assert binner.late == 0


def test_a_quiet_source_can_say_that_time_passes():
    binner = OnlineBinner(Preprocessing(sensor_size=(2, 1), bin_us=100), patience_us=50)
    assert not list(binner.wait_until(10_000))  # nothing has begun
    assert not list(binner.feed(one(1000)))
    assert not list(binner.wait_until(1099))
    np.testing.assert_array_equal(list(binner.wait_until(1100)), [[True, False]])
    np.testing.assert_array_equal(list(binner.wait_until(1350)), np.zeros((2, 2)))
    assert not list(binner.feed(one(1290)))
    assert binner.late == 1


def test_a_recording_without_events_is_silence():
    for choice, steps in ((CHOICES["whole sensor"], 20), (CHOICES["as long as it is"], 1)):
        empty = np.zeros(0, dtype=EVENT_DTYPE)
        np.testing.assert_array_equal(online(OnlineBinner(choice), [empty]), choice.bin(empty))
        assert len(choice.bin(empty)) == steps


def test_an_endless_binner_goes_on_after_the_last_step():
    events = recording()
    choice = CHOICES["own start"]
    found = online(OnlineBinner(choice, endless=True), [events])
    np.testing.assert_array_equal(found, choice.model_copy(update={"n_steps": None}).bin(events))
    assert len(found) > 9


def test_after_the_last_step_events_are_left_out_until_a_reset():
    events, choice = recording(), CHOICES["whole sensor"]
    binner = OnlineBinner(choice)
    first = np.array(list(binner.feed(events)))
    assert binner.ended
    assert not list(binner.feed(events[-5:]))
    assert not list(binner.finish())
    binner.reset()
    np.testing.assert_array_equal(list(binner.feed(events)), first)


def test_what_is_not_taken_out_at_once_comes_later():
    events, choice = recording(), CHOICES["as long as it is"]
    binner = OnlineBinner(choice)
    steps = [next(binner.feed(events))]
    steps += [next(binner.feed(events[:0])) for _ in range(3)]
    steps += list(binner.finish())
    np.testing.assert_array_equal(steps, choice.bin(events))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (one(30, x=9), "event 1 at x = 9, y = 0 lies outside the 9 x 7 sensor"),
        (one(30, y=-1), "event 1 at x = 0, y = -1 lies outside"),
        (one(30, p=2), "event 1 has polarity p = 2"),
        (one(60_000_011), "time jumps from 10 to 60000011 at event 1, by more than 60 s"),
        (one(2**63 - 1), "event 1 is at t = 9223372036854775807"),
        (one(-(2**63)), "event 1 is at t = -9223372036854775808"),
    ],
)
def test_a_wrong_event_is_named_and_left_out(wrong, words):
    binner = OnlineBinner(CHOICES["as long as it is"])
    list(binner.feed(one(10)))
    with pytest.raises(DataError, match=f"camera: .*{words}"):
        list(binner.feed(np.concatenate([wrong, one(777 + 10)]), "camera"))
    assert len(list(binner.feed(one(777 * 2 + 10)))) == 2
    assert len(list(binner.finish())) == 1


def test_a_recording_with_a_last_step_may_have_any_gap():
    events = np.concatenate([one(10), one(2**61 - 1)])
    choice = CHOICES["whole sensor"]
    np.testing.assert_array_equal(online(OnlineBinner(choice), [events]), choice.bin(events))


def test_any_array_of_events_will_do():
    events, choice = recording(), CHOICES["whole sensor"]
    bits = events.tobytes()
    other = np.zeros(len(events), dtype=[("t", "f8"), ("p", "?"), ("y", "u1"), ("x", "u4")])
    for field in ("x", "y", "t", "p"):
        other[field] = events[field]
    for array in (other, np.frombuffer(bits, EVENT_DTYPE), np.repeat(events, 2)[::2]):
        np.testing.assert_array_equal(online(OnlineBinner(choice), [array]), choice.bin(events))
    with pytest.raises(DataError, match="a one-dimensional structured array"):
        OnlineBinner(choice).feed(np.zeros((3, 4)))


@pytest.mark.parametrize("endless", [True, False])
@pytest.mark.parametrize("time", [2**63 - 1, 2**61, -(2**61), -(2**63)])
def test_a_time_at_the_edge_of_what_a_number_holds_is_an_error_and_no_endless_row_of_steps(time, endless):
    events = np.array([(1, 0, time, 1)], dtype=EVENT_DTYPE)
    for before in (0, 1):
        binner = OnlineBinner(Preprocessing(sensor_size=(2, 1), bin_us=100, n_steps=5), endless=endless)
        if before:
            list(binner.feed(np.array([(1, 0, 7, 1)], dtype=EVENT_DTYPE)))
        with pytest.raises(DataError, match=rf"event {before} is at t = {time}, out of range"):
            list(binner.feed(events))
    with pytest.raises(DataError, match="out of range for microseconds"):
        Preprocessing(sensor_size=(2, 1), bin_us=100, n_steps=5).bin(events)


def test_time_that_a_source_says_has_passed_may_not_jump_either():
    binner = OnlineBinner(Preprocessing(sensor_size=(2, 1), bin_us=100, n_steps=5), endless=True)
    list(binner.feed(np.array([(1, 0, 7, 1)], dtype=EVENT_DTYPE)))
    for time in (2**63 - 1, 100_000_000):
        with pytest.raises(DataError, match="time jumps from 7 to"):
            list(binner.wait_until(time))


def test_patience_needs_memory_that_exists():
    with pytest.raises(DataError, match="patience_us = 10000000000000"):
        OnlineBinner(CHOICES["whole sensor"], patience_us=10**13)
