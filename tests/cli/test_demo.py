"""`gemsnn demo` as a user runs it, with few recordings and small networks."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gemsnn.cli import demo

PAPER = {"compartments": [1, 3], "n_hidden": 4, "epochs": 1, "per_class": [5, 2], "realisations": 3}
SMALL = {
    "DIGITS": (0, 1, 7),
    "SIMULATION": ("--per-class", "6", "3", "--polarity", "separate"),
    "STREAM": ("--brief", "--speed", "0"),
    "SETTINGS": ("--set", "test_limit=0", "--epochs", "2", "--hidden", "20"),
    "PAPER": ("--quick", "--seeds", "2", *(word for name in PAPER for word in ("--set", f"{name}={PAPER[name]}"))),
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setattr(demo, name, value)


def linked(page: str) -> list[str]:
    return re.findall(r'<a href="([^"]+)"', page)


@pytest.mark.usefixtures("small")
def test_from_nothing_to_a_page_and_on_to_the_next_commands(gemsnn, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = gemsnn("demo", "--no-paper")
    assert code == 0, err
    assert "$ gemsnn evaluate demo/run --data demo/data/digits.h5 --page demo/evaluation.html" in out
    assert "demo/recordings/unknown/not_a_digit.aedat" in out.split("$ gemsnn predict")[1]  # an unknown recording
    streamed = out.split("$ gemsnn stream")[1].splitlines()
    assert any(line.endswith("end") for line in streamed)  # a live stream
    assert "a pixel sends an event when it gets brighter or darker" in (tmp_path / "demo" / "index.html").read_text()
    page = (tmp_path / "demo" / "index.html").read_text()
    assert linked(page) == ["evaluation.html"]
    scenes = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])["scenes"]
    assert [scene["name"].endswith(".aedat") for scene in scenes] == [True] * 4 + [False] * 9

    # The same again makes nothing again, and adds what is missing.
    made = (tmp_path / "demo" / "run" / "timing.jsonl").stat().st_mtime_ns
    code, out, err = gemsnn("demo")
    assert code == 0, err
    assert (tmp_path / "demo" / "run" / "timing.jsonl").stat().st_mtime_ns == made
    page = (tmp_path / "demo" / "index.html").read_text()
    assert linked(page) == ["evaluation.html", "paper/report.html"]
    assert all((tmp_path / "demo" / address).exists() for address in linked(page))

    # What it says to do next works.
    (asked,) = re.findall(r"^  gemsnn (predict .+)$", out, re.MULTILINE)
    (watched,) = re.findall(r"^  gemsnn (watch .+watch.html)$", out, re.MULTILINE)
    code, out, err = gemsnn(*asked.split())
    assert code == 0, err
    assert out.count(".aedat") == len(SMALL["DIGITS"]) + 1
    code, out, err = gemsnn(*watched.split())
    assert code == 0, err
    assert (tmp_path / "watch.html").exists()


@pytest.mark.usefixtures("small")
def test_a_damaged_recording_is_named(gemsnn, tmp_path: Path) -> None:
    assert gemsnn("demo", "--no-paper", "--out", tmp_path / "demo")[0] == 0
    file = tmp_path / "demo" / "recordings" / demo.UNKNOWN
    file.write_bytes(b"#!AER-DAT2.0\r\n")
    code, _, err = gemsnn("demo", "--no-paper", "--out", tmp_path / "demo")
    assert code == 2
    assert str(file) in err
    assert "gemsnn predict failed: remove the file that it names" in err


@pytest.mark.usefixtures("small")
def test_a_folder_that_holds_something_else_is_left_alone(gemsnn, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    code, _, err = gemsnn("demo", "--out", tmp_path)
    assert code == 2
    assert "holds something else already (thesis.tex)" in err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_ctrl_c_saves_and_the_same_command_goes_on(tmp_path: Path) -> None:
    settings = (*SMALL["SETTINGS"], "--epochs", "100")
    code = (
        "import gemsnn.cli.demo as demo\n"
        f"demo.DIGITS, demo.SIMULATION, demo.SETTINGS = (0, 1), {SMALL['SIMULATION']}, {settings}\n"
        "from gemsnn.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "demo", "--no-paper", "--out", str(tmp_path / "demo")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "demo" / "run" / "metrics.jsonl").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode in (130, -signal.SIGINT), err
    assert "gemsnn demo command resumes" in out
    assert "Traceback" not in err
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "index.html").exists()
