import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gemsnn import CheckpointError, WriteError
from gemsnn.training.lock import locked

HOLDER = """
import sys, time
from pathlib import Path
from gemsnn.training.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_process_is_refused_and_told_who_the_first_is(holder, tmp_path):
    told = rf"process {holder.pid} on \S+ \(since .*\) is working on this run"
    with pytest.raises(CheckpointError, match=told), locked(tmp_path):
        pytest.fail("two processes hold the lock")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_of_a_dead_process_does_not_block(holder, tmp_path, end):
    os.kill(holder.pid, end)
    holder.wait()
    assert str(holder.pid) in (tmp_path / "lock").read_text()
    with locked(tmp_path):
        assert str(os.getpid()) in (tmp_path / "lock").read_text()


def test_locks_of_processes_that_were_killed_one_after_the_other_do_not_block(tmp_path):
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "held\n"
        assert (tmp_path / "lock").read_text().startswith(f'{{"pid": {process.pid}, ')
        process.kill()
        process.communicate()
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("kind", ["text", "link", "pipe", "folder"])
def test_what_others_keep_under_that_name_is_left_as_it_is(tmp_path, kind):
    mine, lock = tmp_path / "mine.txt", tmp_path / "lock"
    mine.write_text("a diary")
    if kind == "text":
        lock.write_text("a diary")
    elif kind == "link":
        lock.symlink_to(mine)
    elif kind == "pipe":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    with pytest.raises((CheckpointError, WriteError), match="lock"), locked(tmp_path):
        pass
    assert mine.read_text() == "a diary"
    assert kind != "text" or lock.read_text() == "a diary"


def test_the_lock_can_be_taken_again_and_again(tmp_path):
    for _ in range(3):
        with locked(tmp_path):
            pass


def test_a_directory_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(WriteError, match="lock: cannot be written"), locked(Path(tmp_path / "missing")):
        pass
