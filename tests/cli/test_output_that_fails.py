"""Where the output goes to may be full, closed or no terminal: one message, or the work goes on; never a traceback."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toy

from gemsnn.training import RunDirectory

GEMSNN = [sys.executable, "-m", "gemsnn"]
QUICK = ["--hidden", "4", "--epochs", "1"]


@pytest.fixture(scope="module")
def data_file(tmp_path_factory):
    return toy.prepared(tmp_path_factory.mktemp("data") / "toy.h5")


def test_a_full_device_is_told_in_one_line(data_file):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*GEMSNN, "data", "info", data_file], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_training_goes_on_when_nobody_reads_any_more(data_file, tmp_path):
    command = [*GEMSNN, "train", "--data", data_file, "--out", tmp_path / "run", *QUICK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()
    assert process.returncode == 0
    assert RunDirectory(tmp_path / "run").finished
    assert [line for line in told.splitlines() if "compiling" not in line] in (
        [], ["gemsnn: continuing without output (Broken pipe)"]
    )  # fmt: skip


def test_training_goes_on_where_the_output_is_full(data_file, tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*GEMSNN, "train", "--data", data_file, "--out", tmp_path / "run", *QUICK],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "gemsnn: continuing without output (No space left on device)"


def test_training_goes_on_where_the_output_is_closed(data_file, tmp_path):
    command = f'exec {" ".join(GEMSNN)} train --data "{data_file}" --out "{tmp_path}/run" {" ".join(QUICK)} >&-'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert RunDirectory(tmp_path / "run").finished


def test_names_that_are_no_text_and_names_with_markup_are_shown(data_file, tmp_path):
    folder = os.fsencode(tmp_path) + b"/odd-\xff-\x7f-\x1b[31m-[/red][bold]odd"
    os.makedirs(folder)
    (Path(os.fsdecode(folder)) / "toy.h5").write_bytes(data_file.read_bytes())
    done = subprocess.run(
        [*GEMSNN, "train", "--data", folder + b"/toy.h5", "--out", folder + b"/run", *QUICK],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "[/red][bold]odd" in done.stdout
    assert "\x1b[31m" not in done.stdout
    for file, code in ((b"toy.h5", 0), (b"absent.h5", 2)):
        done = subprocess.run([*GEMSNN, "data", "info", folder + b"/" + file], capture_output=True, text=True)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False)


# Says so once it is in main(): on a busy machine, that may be a while after the process began.
LOADING = """
import sys
class Note:
    def find_spec(name, path, target=None):
        if name == "gemsnn.cli.app":
            print("began", flush=True)
sys.meta_path.insert(0, Note)
from gemsnn.cli import main
main()
"""


@pytest.mark.parametrize("seconds", [0.05, 0.15, 0.3, 0.5])
def test_ctrl_c_while_it_is_still_loading_ends_it_without_a_traceback(data_file, tmp_path, seconds):
    command = [sys.executable, "-c", LOADING]
    command += ["train", "--data", data_file, "--out", tmp_path / "run", *QUICK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode in (1, 130, -signal.SIGINT), told
    assert "Traceback" not in told


def test_an_interruption_that_python_wrapped_in_another_error_is_still_one():
    code = (
        "import sys, gemsnn.cli.app as app\n"
        "class Interrupted:\n"
        "    def __set_name__(self, owner, name):\n"
        "        raise KeyboardInterrupt\n"
        "def run():\n"
        "    type('Made', (), {'x': Interrupted()})\n"
        "app.main = run\n"
        "from gemsnn.cli import main; main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_name_between_colons_is_no_picture(tmp_path):
    done = subprocess.run([*GEMSNN, "data", "info", tmp_path / ":x:.h5"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "/:x:.h5: " in done.stderr
