"""A team of threads one of whom leaves must end: nobody may wait at a barrier for ever."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import toy

from gemsnn.engine.barrier import run_team, wait_for_all

SUPPORT = Path(toy.__file__).parent


def meet(thread, counter, size=3):
    for meeting in range(1, 50):
        wait_for_all(counter, size * meeting)


def test_a_team_meets_at_every_barrier():
    arrived = []

    def run(thread, counter):
        meet(thread, counter)
        arrived.append(thread)

    run_team(run, 3)
    assert sorted(arrived) == [0, 1, 2]


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError])
def test_if_the_first_leaves_the_others_end_too(problem):
    def run(thread, counter):
        if thread == 0:
            raise problem
        meet(thread, counter)

    before = threading.active_count()
    with pytest.raises(problem):
        run_team(run, 3)
    assert threading.active_count() == before


def test_if_a_thread_cannot_be_started_those_that_were_end(monkeypatch):
    start, started = threading.Thread.start, []

    def refuse(self):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="start new thread"):
        run_team(meet, 3)
    assert not started[0].is_alive()


def test_ctrl_c_at_any_instant_ends_a_process_that_learns_with_two_threads():
    path = os.pathsep.join(filter(None, [str(SUPPORT), os.environ.get("PYTHONPATH")]))
    rng = random.Random(0)
    with subprocess.Popen(
        [sys.executable, str(SUPPORT / "interrupted_learner.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
    ) as process:  # fmt: skip

        def ask(line):
            process.stdin.write(line)
            process.stdin.flush()
            return process.stdout.readline().strip()

        assert process.stdout.readline().strip() == "ready"
        for _ in range(15):
            child = int(ask("begin\n"))
            time.sleep(rng.uniform(0.005, 0.03))
            os.kill(child, signal.SIGINT)
            watch = threading.Timer(60, os.kill, (child, signal.SIGKILL))  # it hangs
            watch.start()
            status = int(ask("status\n"))
            watch.cancel()
            assert os.waitstatus_to_exitcode(status) == 7
