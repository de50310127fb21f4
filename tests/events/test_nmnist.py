from pathlib import Path

import numpy as np
import pytest

from gemsnn import DataError
from gemsnn.events import DamageWarning, read_nmnist, read_recording, write_aedat
from gemsnn.events.nmnist import encode_nmnist, parse_nmnist
from gemsnn.events.records import Events, make_events


def record(x: int, y: int, p: int, t: int) -> bytes:
    return bytes([x, y, (p << 7) | (t >> 16), (t >> 8) & 0xFF, t & 0xFF])


def test_five_bytes_hold_x_y_polarity_and_time() -> None:
    events = parse_nmnist(record(3, 33, 1, 70_000) + record(0, 1, 0, 80_001), "r")
    assert events.tolist() == [(3, 33, 70_000, 1), (0, 1, 80_001, 0)]


def test_what_is_encoded_is_read_back(tmp_path: Path, nmnist_events: Events) -> None:
    (tmp_path / "a.bin").write_bytes(encode_nmnist(nmnist_events))
    assert (read_nmnist(tmp_path / "a.bin") == nmnist_events).all()


def test_overflow_marks_move_the_clock_and_are_no_events() -> None:
    data = record(1, 1, 1, 8_000) + record(0, 240, 0, 0) + record(2, 2, 1, 100)
    assert parse_nmnist(data, "r").tolist() == [(1, 1, 8_000, 1), (2, 2, 8_292, 1)]
    with pytest.raises(DataError, match="no event"):
        parse_nmnist(record(0, 240, 0, 0), "r")


def test_a_larger_sensor_of_the_same_format_is_read_when_asked_for() -> None:
    assert parse_nmnist(record(200, 150, 1, 5), "r", (240, 180)).tolist() == [(200, 150, 5, 1)]


def test_a_clock_that_wraps_runs_on() -> None:
    assert parse_nmnist(record(0, 0, 0, 2**23 - 1) + record(0, 0, 0, 4), "r")["t"].tolist() == [2**23 - 1, 2**23 + 4]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", r"empty \(byte 0\)"),
        (b"abc", "cut one of 3 bytes at byte 0"),
        (record(0, 0, 0, 1) + record(34, 0, 0, 2), r"x = 34, y = 0 at byte 5 \(event 1\)"),
        (np.random.default_rng(0).bytes(1000), "lies outside the 34 x 34 sensor"),
    ],
)
def test_damage_that_leaves_nothing_to_trust_is_an_error(data: bytes, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        parse_nmnist(data, "r")


def test_what_comes_before_a_cut_or_a_jump_back_is_read_with_a_warning() -> None:
    whole = record(0, 0, 0, 10) + record(1, 0, 0, 20)
    with pytest.warns(DamageWarning, match="cut inside a record at byte 10"):
        assert len(parse_nmnist(whole + b"ab", "r")) == 2
    with pytest.warns(DamageWarning, match="time jumps back at byte 10"):
        assert parse_nmnist(whole + record(2, 0, 0, 15) + record(3, 0, 0, 30), "r")["t"].tolist() == [10, 20]


def test_the_ending_of_a_file_picks_the_reader(tmp_path: Path, nmnist_events: Events, dvs_events: Events) -> None:
    (tmp_path / "a.BIN").write_bytes(encode_nmnist(nmnist_events))
    write_aedat(tmp_path / "a.aedat", dvs_events)
    assert (read_recording(tmp_path / "a.BIN") == nmnist_events).all()
    assert (read_recording(tmp_path / "a.aedat") == dvs_events).all()
    with pytest.raises(DataError, match=r"the ending \.avi is not known"):
        read_recording(tmp_path / "a.avi")


@pytest.mark.parametrize(
    ("x", "t", "message"),
    [
        ([240, 1], [0, 1], "x and y must lie in 0..239"),
        ([1, 1], [0, 1 << 23], "times must lie in 0..2\\^23 - 1"),
        ([1, 1], [5, 4], "never go back; sort the events by t"),
    ],
)
def test_what_the_format_cannot_hold_is_refused(x: list[int], t: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        encode_nmnist(make_events(np.array(x), np.array([1, 1]), np.array(t), np.array([0, 1])), "mine")
