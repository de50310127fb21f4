"""`gemsnn data` as a user meets it: a real process, its output, its exit code, the files it leaves."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gemsnn.cli import main
from gemsnn.events import open_prepared, read_aedat, write_prepared


def gemsnn(*arguments: object, width: int = 200) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from gemsnn.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": str(width)}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


class Here:
    """Runs the command in this process, which spares loading everything anew."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["gemsnn", *map(str, arguments)])
        self.monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as stop:
            main()
        output = self.capsys.readouterr()
        return int(stop.value.code or 0), output.out, output.err


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sim.h5 and the same recordings in raw/."""
    folder = tmp_path_factory.mktemp("simulated")
    done = gemsnn(
        *("data", "simulate", "--out", folder / "sim.h5", "--digits", "0,1,2", "--per-class", 3, 1),
        *("--seed", 4, "--aedat", folder / "raw"),
    )
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout
    assert "simulating: 12 of 12" in done.stderr  # no terminal: plain lines
    return folder


def test_simulate_writes_what_was_asked_for(simulated: Path) -> None:
    with open_prepared(simulated / "sim.h5", expect={"simulated": True, "seed": 4, "digits": [0, 1, 2]}) as data:
        assert data.train.labels.tolist() == [0] * 3 + [1] * 3 + [2] * 3
        assert data.test.labels.tolist() == [0, 1, 2]
        assert (data.n_steps, data.n_inputs) == (80, 2 * 676)


def test_import_takes_the_digits_that_are_asked_for(simulated: Path, tmp_path: Path, here: Here) -> None:
    raw = simulated / "raw"
    assert here("data", "import", "mnist-dvs", raw, "--digits", "0,2", "--out", tmp_path / "0.h5")[0] == 0
    with open_prepared(tmp_path / "0.h5") as data:
        assert data.classes == (0, 2)
        assert len(data.train) == 6


def test_import_says_what_it_found_and_what_is_missing(simulated: Path, tmp_path: Path) -> None:
    done = gemsnn("data", "import", "mnist-dvs", simulated / "raw", "--out", tmp_path / "a.h5")
    assert done.returncode == 2
    assert "no grabbed_data3/scale4/*.aedat" in done.stdout
    assert "recordings 4-900, 902-1000" in done.stdout
    assert done.stderr.count("error:") == 1
    assert "--digits 0,1,2" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_import_with_other_choices_records_them(simulated: Path, tmp_path: Path, here: Here) -> None:
    code, _, _ = here(
        *("data", "import", "mnist-dvs", simulated / "raw", "--digits", 0, "--out", tmp_path / "a.h5"),
        *("--bin-ms", 12.5, "--steps", 40, "--polarity", "separate"),
    )
    assert code == 0
    with open_prepared(tmp_path / "a.h5", expect={"bin_us": 12_500, "polarity": "separate"}) as data:
        assert (data.n_steps, data.n_inputs) == (40, 2 * 676)


def test_a_damaged_recording_is_one_warning_line(simulated: Path, tmp_path: Path, here: Here) -> None:
    source = next((simulated / "raw/grabbed_data0/scale4").glob("*_0001.aedat"))
    folder = tmp_path / "grabbed_data0/scale4"
    folder.mkdir(parents=True)
    for number in (1, 901):
        (folder / f"mnist_0_scale04_{number:04d}.aedat").write_bytes(source.read_bytes()[: -3 if number == 1 else None])
    code, _, error = here("data", "import", "mnist-dvs", tmp_path, "--digits", 0, "--out", tmp_path / "a.h5")
    assert code == 0
    warned = [line for line in error.splitlines() if line.startswith("warning:")]
    assert len(warned) == 1
    assert "mnist_0_scale04_0001.aedat: cut inside a record at byte" in warned[0]


def test_info_is_a_table_of_classes_splits_density_duration_and_source(simulated: Path, here: Here) -> None:
    code, out, _ = here("data", "info", simulated / "sim.h5", "--verify")
    assert code == 0
    for word in ("SIMULATED", "train", "test", "density", "duration", "gemsnn simulator", "25000", "verified"):
        assert word in out
    assert out.count(" ms ") == 6


def test_info_on_a_users_own_arrays(tmp_path: Path, here: Here) -> None:
    write_prepared(tmp_path / "mine.h5", np.zeros((4, 5, 6), dtype=bool), [0, 1, 0, 1], source="my lab")
    code, out, _ = here("data", "info", tmp_path / "mine.h5")
    assert code == 0
    assert "my lab" in out
    assert "SIMULATED" not in out


def test_show_draws_pictures(simulated: Path, tmp_path: Path, here: Here) -> None:
    from PIL import Image

    raw = next((simulated / "raw").rglob("*.aedat"))
    for arguments in (
        (simulated / "sim.h5", "--index", 3, "--out", tmp_path / "a.png"),
        (simulated / "sim.h5", "--index", 0, "--test", "--out", tmp_path / "b.pdf"),
        (raw, "--out", tmp_path / "c.png"),
    ):
        assert here("data", "show", *arguments)[0] == 0
    for name in ("a.png", "c.png"):
        with Image.open(tmp_path / name) as picture:
            colours = np.asarray(picture.convert("RGB")).reshape(-1, 3).astype(int)
            assert (colours[:, 0] > colours[:, 2] + 80).any(), "no red for ON"
            assert (colours[:, 2] > colours[:, 0] + 80).any(), "no blue for OFF"
    assert (tmp_path / "b.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["info", "{}/none.h5"], "none.h5: cannot be opened"),
        (["show", "{}/sim.h5", "--index", "99", "--out", "{}/x.png"], "--index 99: the train split"),
        (["show", "{}/sim.h5", "--out", "{}/x.bmp"], "pictures must end in"),
        (["show", "{}/sim.h5", "--out", "{}/none/x.png"], "cannot be written"),
        (["import", "n-mnist", "{}/raw", "--out", "{}/x.h5"], "no N-MNIST recordings"),
        (["import", "mnist-dvs", "{}/none", "--out", "{}/x.h5"], "there is no such directory"),
        (["simulate", "--out", "{}/x.h5", "--per-class", "500", "1"], "there are 500 images"),
        (["simulate", "--out", "{}/x.h5", "--digits", "12"], "0..9"),
        (["simulate", "--out", "{}/x.h5", "--digits", "0;2"], "separated by commas"),
        (["simulate", "--out", "{}/none/x.h5", "--per-class", "1", "1"], "cannot be written"),
        (["simulate", "--out", "{}/x.h5", "--bin-ms", "0"], "bin_us"),
        (["simulate", "--out", "{}/x.h5", "--bin-ms", "nan"], "--bin-ms nan: a time bin has a finite width"),
        (["simulate", "--out", "{}/x.h5", "--bin-ms", "inf"], "--bin-ms inf: a time bin has a finite width"),
        (
            ["simulate", "--out", "{}/x.h5", "--bin-ms", "1e300"],
            "a whole number (or left out), > 0 and < 2305843009213693952",
        ),
        (
            ["simulate", "--out", "{}/x.h5", "--steps", "1000000000000"],
            "must be a whole number (or left out), > 0 and < 2147483648",
        ),
        (["simulate", "--out", "{}/x.h5", "--steps", "1000000000"], "would take 1,259 GB as an array"),
        (["import", "nonsense", "{}/raw", "--out", "{}/x.h5"], "there are mnist-dvs, n-mnist, folder, tonic:NAME"),
        (["import", "n-mnist", "{}/raw", "--out", "{}/x.h5", "--scale", "8"], "it has no option scale"),
        (["import", "folder", "{}/raw/none", "--out", "{}/x.h5"], "there is no such directory"),
        (["import", "folder", "{}/raw/grabbed_data0", "--out", "{}/x.h5", "--seed", "-1"], "seed -1"),
    ],
)
def test_what_the_user_can_mend_is_one_message_and_exit_code_2(
    simulated: Path, arguments: list[str], complaint: str, here: Here
) -> None:
    code, _, error = here("data", *(argument.format(simulated) for argument in arguments))
    assert code == 2
    assert error.startswith("error: ")
    assert complaint in error
    assert not (simulated / "x.h5").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_simulation_leaves_no_half_written_file(tmp_path: Path, how: signal.Signals) -> None:
    raw = tmp_path / "raw"
    command = [sys.executable, "-c", "from gemsnn.cli import main; main()", "data", "simulate"]
    command += ["--out", str(tmp_path / "a.h5"), "--digits", "0", "--aedat", str(raw)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(raw.rglob("*_0003.aedat")):
        assert child.poll() is None
        time.sleep(0.02)
    child.send_signal(how)
    assert child.wait(timeout=300) != 0
    left = [file.name for file in tmp_path.iterdir() if file != raw]
    if how is signal.SIGINT:
        assert not left
    else:
        assert all(name.startswith(".a.h5.") and name.endswith(".partial") for name in left)
    for file in raw.rglob("*.aedat"):
        assert len(read_aedat(file)) > 1000  # each file that is there is whole


def test_a_terminal_gets_a_progress_bar(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from gemsnn.cli import main; main()", "data", "simulate"]
    command += ["--out", str(tmp_path / "a.h5"), "--digits", "0", "--per-class", "2", "1"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert child.wait(timeout=300) == 0
    assert "━" in shown.decode()
    assert "3/3" in shown.decode()


def test_help_is_quick_to_load_because_heavy_libraries_are_not_imported() -> None:
    code = "import sys, gemsnn.cli.data; print([m for m in ('matplotlib', 'h5py') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[]", done.stderr


def test_arrays_are_drawn_on_their_grid_or_as_a_raster_and_absent_classes_have_no_density(
    tmp_path: Path, here: Here
) -> None:
    X = np.random.default_rng(0).random((4, 5, 6)) < 0.5
    write_prepared(tmp_path / "mine.h5", X, ["[/red]", "$b$"] * 2, split=["train"] * 4)
    write_prepared(tmp_path / "grid.h5", X, [0, 1, 0, 1], split=["train"] * 4, grid=(2, 3))
    assert here("data", "show", tmp_path / "mine.h5", "--out", tmp_path / "a.png", "--index", 1)[0] == 0
    assert here("data", "show", tmp_path / "grid.h5", "--out", tmp_path / "b.png")[0] == 0
    for name in ("a.png", "b.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    code, _, error = here("data", "show", tmp_path / "mine.h5", "--out", tmp_path / "a.gif")
    assert (code, "pictures must end in" in error) == (2, True)
    code, out, _ = here("data", "info", tmp_path / "mine.h5")
    assert code == 0
    assert "[/red]" in out
    assert [line.split("│")[3].strip() for line in out.splitlines() if "│ test" in line] == ["0", "0"]


def test_several_labels_and_spike_patterns_are_told_and_drawn(tmp_path: Path, here: Here) -> None:
    X = np.random.default_rng(0).random((4, 5, 6)) < 0.5
    write_prepared(tmp_path / "several.h5", X, [[1, 1], [0, 1], [0, 0], [1, 0]], classes=["cat", "dog"], split=0.5)
    write_prepared(
        tmp_path / "pattern.h5",
        [x[: 3 + i % 3] for i, x in enumerate(X)],
        targets=[x[: 3 + i % 3] for i, x in enumerate(X)],
    )
    for name, told in (("several.h5", "dog"), ("pattern.h5", "(spike patterns)")):
        code, out, _ = here("data", "info", tmp_path / name, "--verify")
        assert code == 0
        assert told in out
        assert here("data", "show", tmp_path / name, "--out", tmp_path / "a.png", "--force")[0] == 0


def test_an_existing_file_is_replaced_only_when_told_so(tmp_path: Path, here: Here) -> None:
    (tmp_path / "a.h5").write_text("precious")
    simulate = ("data", "simulate", "--out", tmp_path / "a.h5", "--digits", 0, "--per-class", 1, 1)
    code, _, error = here(*simulate)
    assert code == 2
    assert "a.h5: this file exists already; use --force" in error
    assert here("data", "import", "folder", tmp_path, "--out", tmp_path / "a.h5")[0] == 2
    assert (tmp_path / "a.h5").read_text() == "precious"
    assert here(*simulate, "--force")[0] == 0
    assert here("data", "info", tmp_path / "a.h5")[0] == 0


def test_a_folder_of_recordings_in_text_becomes_a_prepared_file_and_guesses_are_said_once(
    tmp_path: Path, here: Here
) -> None:
    rng = np.random.default_rng(0)
    for label in ("left", "right hand"):
        (tmp_path / "raw" / label).mkdir(parents=True)
        for i in range(5):
            rows = [f"{1000 * k},{rng.integers(8)},{rng.integers(6)},{rng.integers(2)}" for k in range(30 + i)]
            (tmp_path / "raw" / label / f"{i}.csv").write_text("\n".join(["time_us,x,y,polarity", *rows]))
    arguments = ("data", "import", "folder", tmp_path / "raw", "--out", tmp_path / "a.h5", "--bin-ms", 5)
    code, _, error = here(*arguments)
    assert code == 2
    assert "give it with --sensor COLUMNS ROWS (at least 8 6 for this recording)" in error
    code, out, error = here(
        *arguments, "--sensor", 8, 6, "--polarity", "separate", "--downsample", 2, "--test-fraction", 0.4
    )
    assert code == 0, error
    assert (out + error).count("t from 'time_us', x from 'x', y from 'y', p from 'polarity'; times are in us") == 1
    with open_prepared(tmp_path / "a.h5") as data:
        assert data.classes == ("left", "right hand")
        assert (len(data.train), len(data.test), data.n_inputs, data.grid) == (6, 4, 2 * 4 * 3, (3, 4))
        assert set(data.train.lengths.tolist()) <= {6, 7}
    assert here("data", "show", tmp_path / "raw/left/0.csv", "--out", tmp_path / "a.png")[0] == 0


def test_crop_flip_and_rotate_are_choices_that_are_recorded(tmp_path: Path, here: Here) -> None:
    for label in "ab":
        (tmp_path / "raw" / label).mkdir(parents=True)
        for i in range(2):
            rows = [f"{1000 * k},{k % 12},{k % 8},{k % 2}" for k in range(40)]
            (tmp_path / "raw" / label / f"{i}.csv").write_text("\n".join(["12 8", "t,x,y,p", *rows]))
    arguments = ("data", "import", "folder", tmp_path / "raw", "--test-fraction", 0.5, "--out", tmp_path / "a.h5")
    code, out, error = here(*arguments, "--crop", 2, 1, 6, 4, "--flip", "x", "--rotate", 90)
    assert code == 0, error
    assert "0.5 ms per step: the median recording of 39 ms has 79 steps; --bin-ms gives another width" in out
    expected = {"x_range": (2, 7), "y_range": (1, 4), "flip": "x", "rotate": 90, "bin_us": 500}
    with open_prepared(tmp_path / "a.h5", expect=expected) as data:
        assert data.grid == (6, 4)
    code, _, error = here(*arguments, "--force", "--crop", 2, 1, 11, 4)
    assert (code, "x_range = (2, 12) must be (first, last) inside 0..11" in error) == (2, True)


def test_where_memory_is_short_for_a_network_downsampling_is_suggested(tmp_path: Path, here: Here) -> None:
    (tmp_path / "raw/a").mkdir(parents=True)
    (tmp_path / "raw/a/1.csv").write_text("t,x,y,p\n" + "\n".join(f"{k},0,0,1" for k in range(5000)))
    arguments = ("data", "import", "folder", tmp_path / "raw", "--out", tmp_path / "a.h5")
    _, _, error = here(*arguments, "--sensor", 32768, 32767, "--bin-ms", 1)
    assert "2,147,418,112 inputs: a network of the default size needs about" in error
    factor = int(error.split("--downsample ")[1].split()[0])
    _, _, error = here(*arguments, "--force", "--sensor", 32768, 32767, "--bin-ms", 1, "--downsample", factor)
    assert "--downsample" not in error


def test_what_is_not_read_is_said(tmp_path: Path, here: Here) -> None:
    (tmp_path / "raw/a").mkdir(parents=True)
    for i in range(2):
        (tmp_path / f"raw/a/{i}.csv").write_text("9 9\nt,x,y,p\n1,2,3,1\n900,2,3,0")
    (tmp_path / "raw/a/1.bs2").write_bytes(b"")
    code, out, error = here("data", "import", "folder", tmp_path / "raw", "--out", tmp_path / "a.h5")
    assert code == 0, error
    assert "not read: 1 .bs2: no reader for this ending (a/1.bs2)" in out


def test_recordings_that_were_left_out_are_named(simulated: Path, tmp_path: Path, here: Here) -> None:
    source = next((simulated / "raw/grabbed_data0/scale4").glob("*_0001.aedat"))
    folder = tmp_path / "grabbed_data0/scale4"
    folder.mkdir(parents=True)
    for number in (1, 2, 901):
        content = b"" if number == 2 else source.read_bytes()
        (folder / f"mnist_0_scale04_{number:04d}.aedat").write_bytes(content)
    arguments = ("data", "import", "mnist-dvs", tmp_path, "--digits", 0, "--out", tmp_path / "a.h5")
    code, out, error = here(*arguments, "--skip-damaged")
    assert code == 0
    assert "left out: " in out + error
    assert "mnist_0_scale04_0002.aedat" in out + error
