import os
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

from gemsnn import DataError
from gemsnn.events import DamageWarning, read_aedat, write_aedat
from gemsnn.events.aedat import SIMULATED_LINE, encode_aedat, parse_aedat, read_aedat_header
from gemsnn.events.records import Events

HEADER = b"#!AER-DAT2.0\r\n# a comment\r\n"


def records(*pairs: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">II", address, time) for address, time in pairs)


def test_address_bits_are_polarity_mirrored_x_and_y() -> None:
    events = parse_aedat(HEADER + records(((37 << 8) | (100 << 1) | 1, 5), ((2 << 8) | (0 << 1), 9)), "r")
    assert events.tolist() == [(27, 37, 5, 0), (127, 2, 9, 1)]


def test_what_is_written_is_read_back(tmp_path: Path, dvs_events: Events) -> None:
    write_aedat(tmp_path / "a.aedat", dvs_events, comments=("made by a test",))
    assert (read_aedat(tmp_path / "a.aedat") == dvs_events).all()
    header = read_aedat_header(tmp_path / "a.aedat")
    assert header.lines[0] == "!AER-DAT2.0"
    assert "made by a test" in header.lines
    assert not header.simulated
    assert [file.name for file in tmp_path.iterdir()] == ["a.aedat"]


def test_a_file_says_that_it_is_simulated(tmp_path: Path, dvs_events: Events) -> None:
    write_aedat(tmp_path / "a.aedat", dvs_events, comments=(SIMULATED_LINE,))
    assert read_aedat_header(tmp_path / "a.aedat").simulated


def test_version_1_has_six_bytes_an_event_with_or_without_header() -> None:
    body = b"".join(struct.pack(">HI", (35 << 8) | (i << 1), 1000 * i) for i in range(7))  # y = 35 is "#"
    for data in (body, b"#!AER-DAT1.0\r\n" + body):
        events = parse_aedat(data, "r")
        assert events["y"].tolist() == [35] * 7
        assert events["x"].tolist() == [127 - i for i in range(7)]
        assert events["t"].tolist() == [1000 * i for i in range(7)]


def test_header_lines_may_end_in_plain_newlines_and_hold_other_letters() -> None:
    data = b"#!AER-DAT2.0\n# ticks of 1 \xc2\xb5s\n#End Of ASCII Header\r\n" + records((0, 1), (2, 3))
    assert len(parse_aedat(data, "r")) == 2


@pytest.mark.parametrize("version", ["3.1", "4.0", "3"])
def test_later_versions_are_refused_by_name_with_advice(version: str) -> None:
    with pytest.raises(DataError, match=rf"AEDAT {version} file.*bin_events"):
        parse_aedat(f"#!AER-DAT{version}\r\n".encode() + bytes(100), "new.aedat")


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(DataError, match=r"unknown AEDAT version 7\.5"):
        parse_aedat(b"#!AER-DAT7.5\r\n" + bytes(80), "r")


def test_an_empty_file_is_an_error() -> None:
    with pytest.raises(DataError, match=r"r: the file is empty \(byte 0\)"):
        parse_aedat(b"", "r")


def test_a_header_without_events_is_an_error_that_says_where() -> None:
    with pytest.raises(DataError, match=f"no events at byte {len(HEADER)}"):
        parse_aedat(HEADER, "r")
    with pytest.raises(DataError, match=f"cut one of 5 bytes at byte {len(HEADER)}"):
        parse_aedat(HEADER + bytes(5), "r")


def test_a_cut_record_is_left_out_with_a_warning_that_says_where() -> None:
    data = HEADER + records((0, 1), (2, 3), (4, 5))
    with pytest.warns(DamageWarning, match=f"r: cut inside a record at byte {len(HEADER) + 16}; the 2 events"):
        events = parse_aedat(data[:-3], "r")
    assert events["t"].tolist() == [1, 3]


def test_an_address_outside_the_sensor_is_an_error_that_says_where() -> None:
    with pytest.raises(DataError, match=rf"address 0x8000 at byte {len(HEADER) + 8} \(event 1\).*128 x 128"):
        parse_aedat(HEADER + records((0, 1), (0x8000, 2), (0, 3)), "r")


def test_binary_noise_is_an_error() -> None:
    noise = np.random.default_rng(0).bytes(4096)
    with pytest.raises(DataError, match="at byte"):
        parse_aedat(noise, "r")
    with pytest.raises(DataError, match="at byte"):
        parse_aedat(HEADER + noise, "r")


def test_a_time_that_jumps_back_ends_the_recording_with_a_warning_that_says_where() -> None:
    data = HEADER + records((0, 10), (2, 30), (4, 20), (6, 40))
    with pytest.warns(DamageWarning, match=f"time jumps back at byte {len(HEADER) + 16}; the 2 events"):
        events = parse_aedat(data, "r")
    assert events["t"].tolist() == [10, 30]


def test_one_wild_timestamp_ends_the_recording_before_it() -> None:
    data = HEADER + records((0, 10), (2, 4_000_000_000), (4, 20))
    with pytest.warns(DamageWarning, match=f"byte {len(HEADER) + 8}"):
        assert parse_aedat(data, "r")["t"].tolist() == [10]


def test_a_clock_that_wraps_runs_on() -> None:
    top = 2**32
    data = HEADER + records((0, top - 20), (2, top - 5), (4, 5), (6, 30))
    assert parse_aedat(data, "r")["t"].tolist() == [top - 20, top - 5, top + 5, top + 30]


def test_the_sign_bit_of_the_clock_is_no_jump() -> None:
    half = 2**31
    assert parse_aedat(HEADER + records((0, half - 5), (2, half + 5)), "r")["t"].tolist() == [half - 5, half + 5]


def test_a_directory_a_missing_file_and_a_pipe_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="it is a directory"):
        read_aedat(tmp_path)
    with pytest.raises(DataError, match=r"nothing\.aedat: there is no such file"):
        read_aedat(tmp_path / "nothing.aedat")
    os.mkfifo(tmp_path / "pipe.aedat")
    with pytest.raises(DataError, match="it is a device or a pipe, not a file"):
        read_aedat(tmp_path / "pipe.aedat")
    with pytest.raises(DataError, match="cannot be read"):
        read_aedat("a\0b.aedat")


def test_a_file_without_permission_is_an_error(tmp_path: Path, dvs_events: Events) -> None:
    file = tmp_path / "mine.aedat"
    write_aedat(file, dvs_events)
    file.chmod(0)
    was_root = os.geteuid() == 0
    if was_root:  # root may read everything: be somebody else for a moment
        for folder in [tmp_path, *tmp_path.parents][:3]:
            folder.chmod(0o755)
        os.seteuid(65534)
    try:
        with pytest.raises(DataError, match=r"mine\.aedat: no permission to read"):
            read_aedat(file)
    finally:
        if was_root:
            os.seteuid(0)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"x": 128}, "x = 128"),
        ({"y": -1}, "y = -1"),
        ({"t": 3_000_000}, "never go back"),
        ({"t": -5}, "never go back"),
    ],
)
def test_events_that_the_format_cannot_hold_are_not_written(
    tmp_path: Path, dvs_events: Events, change: dict[str, int], complaint: str
) -> None:
    for field, value in change.items():
        dvs_events[field][3 if value > 0 else 0] = value
    with pytest.raises(DataError, match=complaint):
        write_aedat(tmp_path / "a.aedat", dvs_events)
    assert not list(tmp_path.iterdir())


def test_a_comment_cannot_break_out_of_the_header(dvs_events: Events) -> None:
    with pytest.raises(DataError, match="comments"):
        encode_aedat(dvs_events, comments=("two\nlines",))


def test_whole_files_are_read_without_a_warning(dvs_events: Events) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_aedat(encode_aedat(dvs_events), "r")
