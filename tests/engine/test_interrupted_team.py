"""A team of threads one of whom leaves must end: nobody may wait at a barrier for ever."""

import _thread
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import toy
from numba.experimental import function_type

import gemsnn
from gemsnn.engine import compiled
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
@pytest.mark.parametrize("who", [0, 1, 2])
def test_if_one_leaves_the_others_end_too(problem, who):
    begun, ended = [], []

    def run(thread, counter):
        if thread == who:
            raise problem
        begun.append(thread)
        meet(thread, counter)
        ended.append(thread)

    with pytest.raises(problem):
        run_team(run, 3)
    assert sorted(begun) == sorted(ended)


def test_if_a_thread_cannot_be_started_those_that_were_end(monkeypatch):
    start, left = _thread.start_new_thread, []

    def refuse(function, arguments):
        if arguments == (2,):
            while not left:  # the first is at work
                time.sleep(0.001)
            raise RuntimeError("can't start new thread")
        return start(function, arguments)

    def run(thread, counter):
        left.append("begun")
        meet(thread, counter)
        left.append("ended")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with pytest.raises(RuntimeError, match="start new thread"):
        run_team(run, 3)
    assert left == ["begun", "ended"]


def test_a_helper_that_begins_after_the_team_has_ended_does_nothing(monkeypatch):
    start, ran, late = _thread.start_new_thread, [], []

    def interrupted(function, arguments):  # as Ctrl-C does it while the new thread is on its way
        late.append(lambda: function(*arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(_thread, "start_new_thread", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_team(lambda thread, counter: ran.append(thread), 2)
    monkeypatch.setattr(_thread, "start_new_thread", start)
    late[0]()
    assert ran == []


def test_a_kernel_asks_python_for_nothing_when_it_is_handed_the_functions_of_a_rule(monkeypatch):
    """Numba does by itself, and Ctrl-C in the middle of that became a TypeError."""
    network = gemsnn.Network.fully_connected(4, 6, 2)
    inputs, targets = np.ones((5, 4), np.uint8), np.ones((5, 2), np.uint8)
    for form in ("direct", "event"):
        monkeypatch.setattr(compiled, "FORM", form)
        gemsnn.learn(network, network.init(), gemsnn.GEM(), inputs, targets, 2)
        with monkeypatch.context() as patched:
            for name in ("_get_wrapper_address", "_get_jit_address"):
                patched.setattr(function_type, name, None, raising=False)
            gemsnn.learn(network, network.init(), gemsnn.GEM(), inputs, targets, 2)


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
