"""Prophesee's `.dat` files: by their makers' description, and as faery writes them."""

import numpy as np
import pytest

from gemsnn import DataError
from gemsnn.events import DamageWarning, GuessWarning, read_recording, write_aedat
from gemsnn.events.recordings import sensor_size_of

HEADER = b"% Data file containing Event2D events.\n% Version 2\n% Date 2017-9-1 12:00:00\n% Height 100\n% Width 120\n"


def dat(records, header=HEADER, kind=(0, 8)):
    """A file as the format's description says: x in bits 0-13, y in bits 14-27, p in bits 28-31."""
    words = [(t, x | y << 14 | p << 28) for t, x, y, p in records]
    return header + bytes(kind) + np.array(words, dtype="<u4").tobytes()


RECORDS = [(7, 3, 4, 1), (9, 119, 99, 0), (2_000_000, 0, 50, 1)]


def as_rows(events):
    return [tuple(int(event[field]) for field in "txyp") for event in events]


@pytest.mark.parametrize("kind", [(0, 8), (12, 8)])
def test_events_are_read_as_their_makers_describe_them(tmp_path, kind):
    (tmp_path / "a.dat").write_bytes(dat(RECORDS, kind=kind))
    assert as_rows(read_recording(tmp_path / "a.dat")) == RECORDS
    assert sensor_size_of(tmp_path / "a.dat") == (120, 100)


@pytest.mark.parametrize("version", ["dat1", "dat2"])
def test_events_come_back_as_faery_wrote_them(tmp_path, version):
    faery = pytest.importorskip("faery")
    rng, n = np.random.default_rng(0), 2000
    made = np.zeros(n, dtype=faery.EVENTS_DTYPE)
    made["x"], made["y"] = rng.integers(0, 304, n), rng.integers(0, 240, n)
    made["t"], made["p"] = np.sort(rng.integers(0, 10**7, n)), rng.integers(0, 2, n)
    made["t"][0] = 0  # else it is written as a time zero of its own
    faery.events_stream_from_array(made, (304, 240)).to_file(tmp_path / "a.dat", file_type="dat", version=version)
    events = read_recording(tmp_path / "a.dat")
    for field in "txyp":
        np.testing.assert_array_equal(events[field], made[field])
    assert sensor_size_of(tmp_path / "a.dat") == (304, 240)


def test_a_file_without_a_version_is_told_by_its_words_and_that_is_said(tmp_path):
    (tmp_path / "two.dat").write_bytes(dat(RECORDS, b"% Data file\n"))
    words = [(t, x | y << 9 | p << 17) for t, x, y, p in RECORDS]
    (tmp_path / "one.dat").write_bytes(b"% Data file\n\x00\x08" + np.array(words, dtype="<u4").tobytes())
    for name, version in (("two.dat", 2), ("one.dat", 1)):
        with pytest.warns(GuessWarning, match=f"version {version}"):
            assert as_rows(read_recording(tmp_path / name)) == RECORDS
        assert sensor_size_of(tmp_path / name) is None


def test_aedat_with_the_same_ending_is_still_read(tmp_path, dvs_events):
    write_aedat(tmp_path / "a.aedat", dvs_events)
    (tmp_path / "a.aedat").rename(tmp_path / "a.dat")
    np.testing.assert_array_equal(read_recording(tmp_path / "a.dat"), dvs_events)
    assert sensor_size_of(tmp_path / "a.dat") == (128, 128)


def test_a_clock_that_wraps_runs_on(tmp_path):
    (tmp_path / "a.dat").write_bytes(dat([(2**32 - 5, 1, 1, 1), (4, 2, 2, 0)]))
    assert read_recording(tmp_path / "a.dat")["t"].tolist() == [2**32 - 5, 2**32 + 4]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (HEADER, r"type and size \[\] at byte"),
        (dat(RECORDS, kind=(14, 8)), r"type and size \[14, 8\]"),
        (dat(RECORDS, kind=(0, 12)), r"type and size \[0, 12\]"),
        (dat([]), "no events at byte"),
        (dat([(0, 120, 4, 1)]), "x = 120, y = 4 of polarity 1 on a 120 x 100 sensor at byte 103"),
        (dat([(0, 1, 4, 1), (0, 1, 4, 3)]), r"polarity 3 .*\(event 1\)"),
        (dat(RECORDS, HEADER.replace(b"Version 2", b"Version 3")), "version 3 of the format"),
    ],
)
def test_what_cannot_be_right_is_an_error_that_says_where(tmp_path, content, complaint):
    (tmp_path / "a.dat").write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        read_recording(tmp_path / "a.dat")


def test_a_cut_file_and_a_jump_back_leave_what_came_before(tmp_path):
    (tmp_path / "cut.dat").write_bytes(dat(RECORDS)[:-3])
    (tmp_path / "back.dat").write_bytes(dat([*RECORDS, (5, 1, 1, 1)]))
    for name, n in (("cut.dat", 2), ("back.dat", 3)):
        with pytest.warns(DamageWarning):
            assert as_rows(read_recording(tmp_path / name)) == RECORDS[:n]
