"""Where events come from while they happen."""

import io
import socket
import threading
import time
import warnings

import numpy as np
import pytest

from gemsnn import ConfigError, DataError
from gemsnn.events import EVENT_DTYPE, GuessWarning, OnlineBinner, Preprocessing, write_aedat
from gemsnn.events.sources import RECORD_DTYPE, UdpSender, UdpSource, from_bytes, from_text, play, to_bytes


def some_events(n=300, seed=0, last=20_000):
    rng, events = np.random.default_rng(seed), np.zeros(n, dtype=EVENT_DTYPE)
    events["x"], events["y"] = rng.integers(0, 128, n), rng.integers(0, 128, n)
    events["t"], events["p"] = np.sort(rng.integers(0, last, n)), rng.integers(0, 2, n)
    return events


def together(parts):
    return np.concatenate([part for part in parts if part is not None])


# ---- played back


@pytest.mark.parametrize("speed", [None, 50.0])
def test_a_recording_is_played_whole_and_in_order(speed):
    events = some_events()
    parts = list(play(events[np.random.default_rng(1).permutation(300)], speed))
    played = together(parts)
    assert (np.diff(played["t"]) >= 0).all()
    np.testing.assert_array_equal(np.sort(played), np.sort(events))
    if speed is None:
        assert len(parts) == 20
    assert all(len(part) for part in parts)


def test_a_recording_is_played_in_its_time():
    events = some_events(last=200_000)
    began = time.monotonic()
    for part in play(events, speed=2.0):
        assert time.monotonic() - began >= (part["t"][-1] - events["t"][0]) / 2e6  # never before its time
    assert time.monotonic() - began >= 0.1 * 0.95


def test_who_is_slow_gets_more_at_a_time():
    parts = []
    for part in play(some_events(last=100_000), speed=1.0):
        parts.append(part)
        time.sleep(0.05)
    assert len(parts) < 20
    assert len(together(parts)) == 300


def test_any_readable_file_can_be_played(tmp_path):
    events = some_events()
    write_aedat(tmp_path / "a.aedat", events)
    np.testing.assert_array_equal(together(play(tmp_path / "a.aedat", None))["t"], events["t"])
    assert not list(play(events[:0]))
    for speed in (0, -1.0, float("nan"), "fast"):
        with pytest.raises(ConfigError, match="speed must be a number above 0"):
            play(events, speed)
    with pytest.raises(DataError, match="there is no such file"):
        play(tmp_path / "missing.aedat")


# ---- text


def lines_of(events, separator=","):
    return "".join(separator.join(map(str, (e["t"], e["x"], e["y"], e["p"]))) + "\n" for e in events).encode()


@pytest.mark.parametrize("separator", [",", " ", "\t", "; "])
def test_lines_are_events(separator):
    events = some_events()
    np.testing.assert_array_equal(together(from_text(io.BytesIO(lines_of(events, separator)))), events)


class Trickle(io.RawIOBase):
    """Hands out a few bytes at a time, as a pipe may."""

    def __init__(self, content, size):
        self._rest, self._size = content, size

    def read1(self, _):
        part, self._rest = self._rest[: self._size], self._rest[self._size :]
        return part


@pytest.mark.parametrize("size", [1, 7, 100])
def test_lines_may_arrive_in_pieces(size):
    events = some_events(40)
    content = b"# made by a camera\nx y t p\n" + b"".join(
        b"%d %d %d %d  # noted\n" % (e["x"], e["y"], e["t"], e["p"]) for e in events
    )
    np.testing.assert_array_equal(together(from_text(Trickle(content, size))), events)


@pytest.mark.parametrize(
    ("order", "head", "scale", "told"),
    [
        (
            "xypt",
            b"",
            1,
            "t from 'column 4', x from 'column 1', y from 'column 2', p from 'column 3'; times are in micro",
        ),
        ("xytp", b"128 128\n", 1, "t from 'column 3'"),
        ("txyp", b"", 1e-6, "p from 'column 4'; times are in seconds"),
        (
            "ptxy",
            b"polarity;time_ms;col;row\n",
            1e-3,
            "t from 'time_ms', x from 'col', y from 'row', p from 'polarity'",
        ),
        ("txyp", b"t (s), x, y, p\n", 1e-6, "times are in s"),
    ],
)
def test_columns_are_guessed_as_on_import_and_that_is_said(order, head, scale, told):
    events = some_events()
    rows = (
        ";".join(f"{e[field] * scale:.6f}" if field == "t" and scale < 1 else str(e[field]) for field in order)
        for e in events
    )
    content = head + "\n".join(rows).encode()
    with pytest.warns(GuessWarning) as said:
        np.testing.assert_array_equal(together(from_text(Trickle(content, 3000))), events)
    assert len(said) == 1
    assert told in str(said[0].message)


@pytest.mark.parametrize("head", [b"", b"128, 128\n", b"note t x y p\n", b"128 128\nP,Y,X,T\n"])
def test_what_is_as_it_should_be_is_not_guessed(head):
    events = some_events(30)
    order = ["p", "y", "x", "t"] if b"P" in head else ["t", "x", "y", "p"]
    rows = "".join(" ".join([*("-" * (b"note" in head)), *(str(e[field]) for field in order)]) + "\n" for e in events)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if b"P" not in head else "ignore")  # capitals are said
        np.testing.assert_array_equal(together(from_text(Trickle(head + rows.encode(), 40))), events)


def test_an_empty_line_ends_a_recording():
    events = some_events(10)
    content = lines_of(events[:4]) + b"\n" + lines_of(events[4:])[:-1]  # the last line without its end
    parts = list(from_text(io.BytesIO(content)))
    assert parts[1] is None
    np.testing.assert_array_equal(parts[0], events[:4])
    np.testing.assert_array_equal(together(parts[2:]), events[4:])


@pytest.mark.parametrize("line", [b"1,2,3", b"1,2,3,4,5", b"1,2,x,0", b"1.5,2,3,0", b"99999999999999999999,1,1,1"])
def test_a_line_that_is_no_event_is_named(line):
    with pytest.raises(DataError, match=r"camera: '.*' in line 3 is not an event; a line has four whole numbers"):
        list(from_text(io.BytesIO(b"0,1,1,1\n\n" + line + b"\n5,1,1,1\n"), "camera"))


def test_a_value_that_no_event_has_is_named():
    with pytest.raises(DataError, match="camera, after line 1: event 0 has x = 70000"):
        list(from_text(io.BytesIO(b"t,x,y,p\n0,70000,1,1\n"), "camera"))


# ---- bytes


@pytest.mark.parametrize("size", [1, 12, 13, 100, 10**6])
def test_bytes_are_events(size):
    events = some_events(50)
    np.testing.assert_array_equal(together(from_bytes(Trickle(to_bytes(events), size))), events)


def test_bytes_that_end_inside_an_event_are_told():
    source = from_bytes(io.BytesIO(to_bytes(some_events(2))[:-3]), "camera")
    assert len(next(source)) == 1
    with pytest.raises(DataError, match="camera: ends inside an event: 10 of 13 bytes are there"):
        next(source)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ((0, 65535, 0, 0), "x = 65535"),
        ((0, 0, 40000, 0), "y = 40000"),
        ((2**63, 0, 0, 0), "t = 9223372036854775808"),
        ((0, 0, 0, 255), "p = 255"),
        ((0, 0, 0, 2), "p = 2"),
    ],
)
def test_numbers_that_no_event_has_are_named_as_they_are(record, told):
    content = np.array([record], dtype=RECORD_DTYPE).tobytes()
    with pytest.raises(DataError, match=f"camera: event 0 has .*{told}"):
        list(from_bytes(io.BytesIO(content), "camera"))


# ---- datagrams


def test_datagrams_are_events_and_an_empty_one_ends_a_recording():
    events = some_events(6_000)
    with UdpSource(port=0) as source, UdpSender(source.port) as sender:
        arriving = iter(source)
        for part in (events[:5_500], events[5_500:]):
            sender.send(part)
            sender.end()
        parts, ends = [], 0
        while ends < 2:
            part = next(arriving)
            parts.append(part)
            ends += part is None
        assert (source.lost, source.refused) == (0, 0)
    first = parts.index(None) if parts[0] is None else next(i for i, part in enumerate(parts) if part is None)
    np.testing.assert_array_equal(together(parts[:first]), events[:5_500])
    np.testing.assert_array_equal(together(parts[first:]), events[5_500:])


def test_lost_and_malformed_datagrams_are_counted():
    content = to_bytes(some_events(3))
    with UdpSource(port=0) as source, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as raw:

        def send(number, body=content):
            raw.sendto((b"" if number is None else number.to_bytes(4, "little")) + body, ("127.0.0.1", source.port))

        for number in (7, 8, 11, 10, 0, 1, 2**32 - 1, 0):  # 9 and 10 are missing, 10 comes late; then begun anew twice
            send(number)
        send(None)
        send(None, b"12345")
        send(None, b"")
        parts, arriving = [], iter(source)
        while not parts or parts[-1] is not None:
            parts.append(next(arriving))
        assert len(together(parts)) == 9 * 3
        assert (source.lost, source.refused) == (2, 1)


def arrived(source, n_ends, *datagrams):
    """Times in datagrams, given as records of t, x, y, p, and None where a recording ends, of which there are so many.

    A datagram without events comes last.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as raw:
        for records in datagrams:
            raw.sendto(np.array(records, dtype=RECORD_DTYPE).tobytes(), ("127.0.0.1", source.port))
        raw.sendto(b"", ("127.0.0.1", source.port))
    times, arriving = [], iter(source)
    while times.count(None) < n_ends:
        part = next(arriving)
        times += [None] if part is None else part["t"].tolist()
    return times


MINUTE = 60_000_000


@pytest.mark.parametrize(
    "bad",
    [
        (5, 128, 0, 1), (5, 0, 96, 1), (5, 65535, 0, 1), (5, 0, 0, 2), (5, 0, 0, 255), (2**63, 0, 0, 1),
        (2**62, 0, 0, 1), (2 * MINUTE, 0, 0, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("alone", [True, False])
def test_no_single_datagram_ends_the_stream_or_a_recording(bad, alone):
    with UdpSource(port=0, sensor_size=(128, 96)) as source:
        bad_one = [bad] if alone else [(5, 127, 95, 0), bad]
        assert arrived(source, 1, [(1, 1, 1, 1)], bad_one, [(9, 1, 1, 1)]) == [1, 9, None]
        assert source.refused == 1


def test_where_a_second_datagram_agrees_that_time_has_jumped_a_recording_begins():
    for back_or_forth in (2 * MINUTE, -2 * MINUTE):
        begin = 10 * MINUTE
        with UdpSource(port=0) as source:
            times = (begin, begin + 5, begin + back_or_forth, begin + back_or_forth + 5)
            found = arrived(source, 2, *([(t, 1, 1, 1)] for t in times))
            assert found == [begin, begin + 5, None, begin + back_or_forth + 5, None]
            assert source.refused == 1


def test_whoever_waits_is_woken_up_when_the_source_is_closed():
    source, parts = UdpSource(port=0), []
    waiting = threading.Thread(target=lambda: parts.extend(source))
    waiting.start()
    time.sleep(0.05)
    source.close()
    waiting.join(10)
    assert not waiting.is_alive()
    assert all(part is None for part in parts)


def test_a_port_that_is_taken_or_impossible_is_told():
    with UdpSource(port=0) as source, pytest.raises(ConfigError, match=r"cannot listen on UDP port .*: .*in use"):
        UdpSource(source.port)
    for port, host in ((70_000, "127.0.0.1"), (1, "no.such.host.invalid")):
        with pytest.raises(ConfigError, match="cannot listen on UDP port"):
            UdpSource(port, host)


# ---- faery


def faery_events(events):
    faery = pytest.importorskip("faery")
    made = np.zeros(len(events), dtype=faery.EVENTS_DTYPE)
    for field in ("t", "x", "y", "p"):
        made[field] = events[field]
    return faery, made


def test_a_stream_of_faery_is_a_source():
    events = some_events()
    faery, made = faery_events(events)
    choice = Preprocessing(sensor_size=(128, 128), bin_us=1000)
    binner = OnlineBinner(choice)
    steps = [step for part in faery.events_stream_from_array(made, (128, 128)) for step in binner.feed(part)]
    np.testing.assert_array_equal(steps + list(binner.finish()), choice.bin(events))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it leaves its socket to the garbage
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_what_faery_sends_over_udp_is_understood():
    events = some_events(3000)
    faery, made = faery_events(events)
    with UdpSource(port=0) as source:
        faery.events_stream_from_array(made, (128, 128)).to_udp(("127.0.0.1", source.port))
        arriving, parts = iter(source), []
        while sum(map(len, parts)) < 3000:
            parts.append(next(arriving))
        assert (source.lost, source.refused) == (0, 0)
    np.testing.assert_array_equal(together(parts), events)


@pytest.mark.parametrize("text", [b"1" * 100_000, b"0,1,1,1\n" + b"9" * 5000 + b",1,1,1\n", b"#" * 100_000])
def test_a_line_without_end_is_refused_and_does_not_fill_the_memory(text):
    with pytest.raises(DataError, match="is too long for an event"):
        list(from_text(io.BytesIO(text)))
