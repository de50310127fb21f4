"""`.raw` and `.aedat4` files, written by faery."""

import sys
import warnings

import numpy as np
import pytest

from gemsnn import DataError
from gemsnn.events import EVENT_DTYPE, DamageWarning, read_recording

faery = pytest.importorskip("faery")


def some_events(n=3000, seed=0):
    rng, events = np.random.default_rng(seed), np.zeros(n, dtype=EVENT_DTYPE)
    events["x"], events["y"] = rng.integers(0, 128, n), rng.integers(0, 100, n)
    events["t"], events["p"] = np.sort(rng.integers(5_000_000, 7_000_000, n)), rng.integers(0, 2, n)
    return events


def write(path, events, **options):
    made = np.zeros(len(events), dtype=faery.EVENTS_DTYPE)
    for field in ("t", "x", "y", "p"):
        made[field] = events[field]
    faery.events_stream_from_array(made, (128, 100)).to_file(path, **options)
    return path


@pytest.mark.parametrize(
    ("name", "options"), [("a.aedat4", {}), ("a.raw", {"version": "evt2"}), ("B.RAW", {"version": "evt3"})]
)
def test_events_come_back_as_they_were_written(tmp_path, name, options):
    events = some_events()
    options = options | {"file_type": "aedat" if name.endswith("4") else "evt"}
    np.testing.assert_array_equal(read_recording(write(tmp_path / name, events, **options)), events)


def test_raw_files_are_read_as_their_makers_describe_them(tmp_path):
    """Words of EVT 2.0 and 3.0, put together by hand."""
    events = some_events(200)
    words = []
    for e in events:  # type, low 6 bits of the time, x, y; the time's high bits come before
        words.append(0x8 << 28 | int(e["t"]) >> 6)
        words.append(int(e["p"]) << 28 | (int(e["t"]) & 63) << 22 | int(e["x"]) << 11 | int(e["y"]))
    header = b"% evt 2.0\n% format EVT2;height=100;width=128\n% geometry 128x100\n% end\n"
    (tmp_path / "two.raw").write_bytes(header + np.array(words, dtype="<u4").tobytes())
    np.testing.assert_array_equal(read_recording(tmp_path / "two.raw"), events)
    words = []
    for e in events:
        words.append(0x8 << 12 | (int(e["t"]) >> 12) & 0xFFF)
        words.append(0x6 << 12 | int(e["t"]) & 0xFFF)
        words.append(int(e["y"]))
        words.append(0x2 << 12 | int(e["p"]) << 11 | int(e["x"]))
    header = b"% evt 3.0\n% format EVT3;height=100;width=128\n% geometry 128x100\n% end\n"
    (tmp_path / "three.raw").write_bytes(header + np.array(words, dtype="<u2").tobytes())
    np.testing.assert_array_equal(read_recording(tmp_path / "three.raw"), events)


def test_what_comes_before_the_damage_is_read(tmp_path):
    events = some_events(50_000)
    path = write(tmp_path / "a.raw", events, version="evt2")
    path.write_bytes(path.read_bytes() + np.array([0x1 << 28 | 2047 << 11] * 9, dtype="<u4").tobytes())
    with pytest.warns(DamageWarning, match=r"a.raw: damaged \(x overflow .*\); the \d+ events before the damage"):
        found = read_recording(path)
    assert len(found) > 10_000
    np.testing.assert_array_equal(found, events[: len(found)])


def test_a_damaged_file_is_read_up_to_the_damage_or_refused_and_never_ends_the_process(tmp_path):
    events = some_events(400)
    rng, outcomes = np.random.default_rng(0), set()
    for name in ("a.aedat4", "a.raw"):
        whole = write(tmp_path / name, events).read_bytes()
        for cut in (10, len(whole) // 2):
            (tmp_path / name).write_bytes(whole[:cut])
            outcomes.add(outcome(tmp_path / name))
        for _ in range(4):
            damaged = bytearray(whole)
            for place in rng.integers(0, len(whole), 3):
                damaged[place] ^= 1 << int(rng.integers(0, 8))
            (tmp_path / name).write_bytes(damaged)
            outcomes.add(outcome(tmp_path / name))
    assert "refused" in outcomes


def outcome(path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            read_recording(path)
        except DataError:
            return "refused"
    assert all("events before the damage were read" in str(one.message) for one in caught)
    return "damaged" if caught else "read"


def test_a_process_that_dies_is_a_damaged_file(tmp_path, monkeypatch):
    """As it does in one of some hundred damaged AEDAT 4 files."""
    path = write(tmp_path / "a.aedat4", some_events())
    dying = tmp_path / "dying"
    dying.write_text(f"#!{sys.executable}\nimport os\nos.abort()\n")
    dying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(dying))
    with pytest.raises(DataError, match="no events could be read: faery crashed"):
        read_recording(path)


def test_what_is_no_file_of_events_is_refused(tmp_path):
    (tmp_path / "a.raw").write_bytes(b"")
    with pytest.raises(DataError, match=r"a.raw: no events could be read"):
        read_recording(tmp_path / "a.raw")
    with pytest.raises(DataError, match="there is no such file"):
        read_recording(tmp_path / "missing.aedat4")
    (tmp_path / "b.raw").mkdir()
    with pytest.raises(DataError, match="it is a directory"):
        read_recording(tmp_path / "b.raw")


def test_without_faery_it_is_said_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path / "a.raw", some_events())
    monkeypatch.setattr("gemsnn.events.faery_files.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"to read .raw files, install .* pip install 'gemsnn\[faery\]'"):
        read_recording(path)
