"""One Ctrl-C is a wish, two are a command: real processes, real signals."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

GEMSNN = Path(sys.executable).with_name("gemsnn")


def started(data_file, directory, **options):
    """A run that would take hours, once it has begun to learn."""
    command = [GEMSNN, "train", "--data", data_file, "--out", directory, "--threads", "2"]
    command += ["--epochs", "1000000", "--hidden", "6", "--set", "checkpoint_seconds=0", "--set", "eval_every=200"]
    process = subprocess.Popen(command, **options)
    first = Path(directory) / "metrics.jsonl"
    while not first.exists() and process.poll() is None:
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_saves_and_says_how_to_go_on(data_file, tmp_path, number):
    process = started(data_file, tmp_path / "run", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.send_signal(number)
    told, problems = process.communicate(timeout=300)
    assert process.returncode == 128 + number
    assert "state saved. Resume with: gemsnn train" in told
    assert not problems


def test_the_second_ends_the_process_at_once(data_file, tmp_path):
    """Even one that is busy where Python cannot be interrupted; the first signal was noted, but not yet obeyed."""
    code = (
        "import ctypes, os, signal\n"
        "from gemsnn.training.signals import StopSignals\n"
        "with StopSignals() as stop:\n"
        "    print('ready', flush=True)\n"
        "    while not stop(): pass\n"
        "    print('noted', flush=True)\n"
        "    libc = ctypes.PyDLL(None)\n"  # holds the interpreter's lock, as a kernel that runs for minutes would
        "    while True: libc.usleep(100_000_000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "noted\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=300) == -signal.SIGINT


def test_the_cursor_comes_back_before_the_second(data_file, tmp_path):
    terminal, other = pty.openpty()
    process = started(data_file, tmp_path / "run", stdout=other, stderr=other, env={**os.environ, "TERM": "xterm"})
    os.close(other)
    process.send_signal(signal.SIGINT)
    shown = b""
    try:
        while b"\x1b[?25h" not in shown:
            shown += os.read(terminal, 1000)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
