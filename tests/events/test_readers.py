"""Readers of events with named columns: text, NumPy, HDF5."""

import io
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.lib.recfunctions import repack_fields

from gemsnn import DataError
from gemsnn.events import GuessWarning, read_hdf5, read_numpy, read_recording, read_text
from gemsnn.events.recordings import sensor_size_of
from gemsnn.events.records import Events


def write_csv(path: Path, events: Events, header: str = "t,x,y,p", delimiter: str = ",") -> None:
    columns = np.column_stack([events[field].astype(np.int64) for field in ("t", "x", "y", "p")])
    np.savetxt(path, columns, fmt="%d", delimiter=delimiter, header=header, comments="")


def write_npz(path: Path, events: Events) -> None:
    np.savez_compressed(path, **{field: events[field] for field in ("t", "x", "y", "p")})


def write_h5(path: Path, events: Events, group: str = "/") -> None:
    with h5py.File(path, "w") as file:
        for field in ("t", "x", "y", "p"):
            file[f"{group}/{field}"] = events[field]


WRITERS: list[tuple[str, Callable[[Path, Events], None]]] = [
    ("a.csv", write_csv),
    ("spaces.txt", lambda path, events: write_csv(path, events, "# t  x y p", " ")),
    ("tabs.txt", lambda path, events: write_csv(path, events, "t\tx\ty\tp", "\t")),
    ("semicolon.CSV", lambda path, events: write_csv(path, events, "t; x; y; p", ";")),
    ("a.npy", lambda path, events: np.save(path, events)),
    ("other_order.npy", lambda path, events: np.save(path, repack_fields(events[["p", "t", "y", "x"]]))),
    ("columns.npz", write_npz),
    ("one.npz", lambda path, events: np.savez(path, events=events)),
    ("root.h5", write_h5),
    ("group.hdf5", lambda path, events: write_h5(path, events, "events")),
    ("compound.h5", lambda path, events: h5py.File(path, "w").create_dataset("events", data=events).file.close()),
]


@pytest.mark.parametrize(("name", "write"), WRITERS, ids=[name for name, _ in WRITERS])
def test_events_come_back_as_they_were_and_nothing_is_guessed(
    name: str, write: Callable[[Path, Events], None], tmp_path: Path, dvs_events: Events
) -> None:
    write(tmp_path / name, dvs_events)
    assert (read_recording(tmp_path / name) == dvs_events).all()


@pytest.mark.parametrize(
    ("header", "scale", "told"),
    [
        (
            "timestamp,x,y,polarity",
            1,
            "t from 'timestamp', x from 'x', y from 'y', p from 'polarity'; times are in micro",
        ),
        ("Time_ms,X,Y,Pol", 1000, "t from 'Time_ms', x from 'X', y from 'Y', p from 'Pol'; times are in ms"),
        ("t (s),col,row,p", 10**6, "x from 'col', y from 'row', p from 'p'; times are in s"),
    ],
)
def test_other_names_are_guessed_and_said(tmp_path: Path, header: str, scale: int, told: str) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\n1,2,3,0\n4,5,6,1\n")
    with pytest.warns(GuessWarning) as said:
        events = read_text(tmp_path / "a.csv")
    assert told in str(said[0].message)
    assert events["t"].tolist() == [scale, 4 * scale]
    assert events["x"].tolist() == [2, 5]


@pytest.mark.parametrize("first", ["128 128", "# 128 128", "128,128", "128;  128"])
def test_a_first_line_of_two_numbers_is_the_sensor(tmp_path: Path, first: str, dvs_events: Events) -> None:
    write_csv(tmp_path / "a.txt", dvs_events, f"{first}\nt,x,y,p")
    assert (read_text(tmp_path / "a.txt") == dvs_events).all()
    assert sensor_size_of(tmp_path / "a.txt") == (128, 128)
    write_csv(tmp_path / "b.txt", dvs_events)
    assert sensor_size_of(tmp_path / "b.txt") is None


def test_fractional_times_are_seconds_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("t x y p\n0.003811 96 133 0\n0.003820 17 108 1\n")
    with pytest.warns(GuessWarning, match="times are in seconds"):
        assert read_text(tmp_path / "a.txt")["t"].tolist() == [3811, 3820]


def test_events_out_of_order_are_put_in_order_of_time(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,x,y,p,note\n9,1,1,1,b\n3,2,2,-1,a\n")
    events = read_text(tmp_path / "a.csv")
    assert events["t"].tolist() == [3, 9]
    assert events["p"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the file is empty"),
        ("\n1,2,3,0\n", "the first line must name the columns"),
        ("1,2,3,0\n4,5,6,1\n", "4 columns without names, which are ambiguous; name them t"),
        ("1 2 3 0 5\n4 5 6 1 5\n", "5 columns without names"),
        ("1 2 3 0\n4 5 six 1\n", "not a table of numbers"),
        ("t,x,y\n1,2,3\n", "no column for p among t, x, y"),
        ("t,time,x,y,p\n1,1,2,3,0\n", "2 columns for t among t, time, x, y, p"),
        ("t,x,y,p\n1,2,three,0\n", "column 'y' holds no numbers"),
        ("t,x,y,p\n1,2,3\n", "column 'p' holds no numbers"),
        ("t,x,y,p\n", "no events"),
        ("t,x,y,p\n1,2.5,3,0\n", "event 0 has x = 2.5"),
        ("t,x,y,p\n1,2,3,7\n", "event 0 has polarity p = 7"),
        ("t,x,y,p\nnan,2,3,0\n", "event 0 has t = nan"),
    ],
)
def test_text_that_cannot_be_read_is_one_clear_error(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=complaint) as error:
        read_text(tmp_path / "a.csv")
    assert "a.csv" in str(error.value)


@pytest.mark.parametrize("order", ["txyp", "xypt", "ptxy"])
@pytest.mark.parametrize("unit", ["microseconds", "seconds"])
def test_columns_without_names_are_guessed_by_what_they_hold_and_that_is_said(
    tmp_path: Path, dvs_events: Events, order: str, unit: str
) -> None:
    columns = {field: dvs_events[field].astype(np.float64) for field in "txyp"}
    columns["t"] /= 1 if unit == "microseconds" else 1e6
    table = np.column_stack([columns[field] for field in order])
    np.savetxt(
        tmp_path / "a.txt", table, fmt=["%.6f" if field == "t" and unit == "seconds" else "%d" for field in order]
    )
    np.save(tmp_path / "a.npy", table)
    for name in ("a.txt", "a.npy"):
        with pytest.warns(GuessWarning) as said:
            events = read_recording(tmp_path / name)
        told = ", ".join(f"{field} from 'column {order.index(field) + 1}'" for field in "txyp")
        assert str(said[0].message) == f"columns of events: {told}; times are in {unit}"
        assert (events == dvs_events).all()


def test_columns_without_names_that_could_be_read_in_two_ways_are_refused(tmp_path: Path, dvs_events: Events) -> None:
    t, x, y, p = (dvs_events[field].astype(np.int64) for field in "txyp")
    for columns in ((t, x, y, x), (t, x, p, p), (t[::-1], x, y, p), (t, t, y, p), (t, x, y)):
        np.save(tmp_path / "a.npy", np.column_stack(columns))
        with pytest.raises(DataError, match="columns without names, which are ambiguous"):
            read_numpy(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.zeros(5))
    with pytest.raises(DataError, match=r"\(5,\) columns without names"):
        read_numpy(tmp_path / "a.npy")


def test_pickles_and_cut_files_are_refused(tmp_path: Path, dvs_events: Events) -> None:
    np.save(tmp_path / "pickle.npy", np.array([{"x": 1}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "cut.npy", dvs_events)
    whole = (tmp_path / "cut.npy").read_bytes()
    (tmp_path / "cut.npy").write_bytes(whole[:-5])
    (tmp_path / "declared.npy").write_bytes(whole.replace(b"(200,), }     ", b"(20000000,), }"))
    for name, complaint in (
        ("pickle.npy", "pickled objects"),
        ("cut.npy", "a damaged one"),
        ("declared.npy", "it is cut off"),
    ):
        with pytest.raises(DataError, match=complaint):
            read_numpy(tmp_path / name)


def test_however_well_real_events_compress_they_are_read(tmp_path: Path) -> None:
    """Times in steps of 5 ms, and a polarity that is always 1: columns that shrink 600-fold."""
    n = 200_000
    t = np.sort(np.random.default_rng(0).integers(0, 800, n)) * 5000
    events = {"t": t, "x": np.arange(n) % 64, "y": np.arange(n) // 64 % 64, "p": np.ones(n, dtype=np.int32)}
    np.savez_compressed(tmp_path / "a.npz", **events)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for field, column in events.items():
            file.create_dataset(field, data=column, compression="gzip", compression_opts=9)
    for name in ("a.npz", "a.h5"):
        assert (tmp_path / name).stat().st_size * 30 < n * 28
        assert len(read_recording(tmp_path / name)) == n


BOMB = """
import resource, sys
from pathlib import Path
from gemsnn import DataError
from gemsnn.events import read_recording
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 400_000_000,) * 2)
try:
    read_recording(sys.argv[1])
except DataError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["bomb.npz", "bomb.h5"])
def test_a_bomb_is_refused_by_what_the_memory_can_hold(tmp_path: Path, name: str) -> None:
    import subprocess
    import sys

    if name == "bomb.npz":
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            content = io.BytesIO()
            np.save(content, np.zeros(200_000_000, dtype=np.uint8))
            archive.writestr("t.npy", content.getvalue())
    else:
        with h5py.File(tmp_path / name, "w") as file:
            for field in "txyp":
                file.create_dataset(field, (25_000_000,), dtype="i8", chunks=(2**16,), compression="gzip")
    assert (tmp_path / name).stat().st_size < 1_000_000
    done = subprocess.run([sys.executable, "-c", BOMB, tmp_path / name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "600 MB of memory" in done.stdout
    assert "is it damaged?" in done.stdout


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.csv"])
def test_whatever_bytes_are_damaged_the_answer_is_events_or_an_error(
    name: str, tmp_path: Path, dvs_events: Events
) -> None:
    write = {"a.npy": lambda path, events: np.save(path, events), "a.npz": write_npz, "a.csv": write_csv}[name]
    write(tmp_path / name, dvs_events[:20])
    whole = (tmp_path / name).read_bytes()
    rng = np.random.default_rng(0)
    damaged, refused = tmp_path / f"damaged{Path(name).suffix}", 0
    for k in range(160):
        mutant = bytearray(whole[: len(whole) * k // 20] if k < 20 else whole)
        if k >= 20:
            at = int(rng.integers(0, len(whole)))
            mutant[at : at + int(rng.integers(1, 5))] = rng.bytes(int(rng.integers(1, 5)))
        damaged.write_bytes(bytes(mutant))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GuessWarning)
                read_recording(damaged)
        except DataError:
            refused += 1
    assert refused > 30


def test_hdf5_that_points_to_other_files_is_refused(tmp_path: Path, dvs_events: Events) -> None:
    write_h5(tmp_path / "real.h5", dvs_events)
    with h5py.File(tmp_path / "link.h5", "w") as file:
        for field in "txyp":
            file[field] = h5py.ExternalLink("real.h5", field)
    with h5py.File(tmp_path / "soft.h5", "w") as file:
        file["events"] = h5py.SoftLink("/nowhere")
    with h5py.File(tmp_path / "external.h5", "w") as file:
        for field in "txyp":
            file.create_dataset(field, (4,), dtype="u1", external=[("/etc/passwd", 0, 4)])
    layout = h5py.VirtualLayout((200,), dtype="i8")
    layout[:] = h5py.VirtualSource(tmp_path / "real.h5", "t", (200,))
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        for field in "txyp":
            file.create_virtual_dataset(field, layout)
    for name, complaint in (
        ("link.h5", "is a link, and links are not followed"),
        ("soft.h5", "is a link, and links are not followed"),
        ("external.h5", "is stored in another file"),
        ("virtual.h5", "is stored in another file"),
    ):
        with pytest.raises(DataError, match=f"/{name}: .*{complaint}"):
            read_hdf5(tmp_path / name)


def test_hdf5_without_events_says_what_it_holds(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["pictures"] = [1, 2]
    with pytest.raises(DataError, match=r"contains pictures, and no events"):
        read_hdf5(tmp_path / "a.h5")
    (tmp_path / "b.h5").write_bytes(b"nothing")
    with pytest.raises(DataError, match="cannot be read as HDF5"):
        read_hdf5(tmp_path / "b.h5")
    os.mkfifo(tmp_path / "pipe.h5")
    with pytest.raises(DataError, match="a device or a pipe"):
        read_hdf5(tmp_path / "pipe.h5")


def test_times_at_both_ends_of_what_a_number_holds_are_put_in_order(tmp_path):
    file = tmp_path / "far.csv"
    file.write_text(f"t,x,y,p\n{2**63 - 1},1,1,1\n{-(2**63)},2,2,0\n")
    assert read_recording(file)["x"].tolist() == [2, 1]


FAR_LETTERS = """
import sys
from pathlib import Path
from gemsnn import DataError
from gemsnn.events import read_text
for number in range(0x10000, 0x110000, 0x800):
    Path(sys.argv[1]).write_text(f"t,x,y,p\\n1,2,3,1\\n2{chr(number)},4,5,0\\n", encoding="utf-8")
    try:
        print("read", read_text(sys.argv[1]))
    except DataError:
        pass
Path(sys.argv[1]).write_text("t,x,y,p,what\\n# größer 𝟜\\n1,2,3,1,\U0010ffff\\n", encoding="utf-8")
print(read_text(sys.argv[1]))
"""


def test_letters_from_the_far_end_of_unicode_end_in_an_error_and_not_the_process(tmp_path: Path) -> None:
    """NumPy reads memory that is not its own there, which is not always noticed: two processes, hundreds of letters."""
    import subprocess
    import sys

    for _ in range(2):
        command = [sys.executable, "-c", FAR_LETTERS, str(tmp_path / "far.csv")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "[(2, 3, 1, 1)]\n", "")
