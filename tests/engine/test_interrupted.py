"""Ctrl-C ends a process that learns, whatever it is doing at that instant."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import toy
from numba.experimental import function_type

import gemsnn
from gemsnn.engine import compiled

SUPPORT = Path(toy.__file__).parent


def test_a_kernel_asks_python_for_nothing_when_it_is_handed_the_functions_of_a_rule(monkeypatch):
    """Numba does by itself, and Ctrl-C in the middle of that became a TypeError."""
    network = gemsnn.Network.fully_connected(4, 6, 2)
    inputs, targets = np.ones((5, 4), np.uint8), np.ones((5, 2), np.uint8)
    for form in ("sparse", "event"):
        monkeypatch.setattr(compiled, "FORM", form)
        gemsnn.learn(network, network.init(), gemsnn.GEM(), inputs, targets, 2)
        with monkeypatch.context() as patched:
            for name in ("_get_wrapper_address", "_get_jit_address"):
                patched.setattr(function_type, name, None, raising=False)
            gemsnn.learn(network, network.init(), gemsnn.GEM(), inputs, targets, 2)


def test_no_kernel_calls_python_while_it_learns(monkeypatch):
    """To return an array Numba calls a function in Python, and Ctrl-C in the middle of that became a SystemError."""
    network = gemsnn.Network.fully_connected(4, 6, 2)
    inputs, targets = np.ones((5, 4), np.uint8), np.ones((5, 2), np.uint8)
    called, before = [], sys.getprofile()

    def note(frame, event, _):
        if event == "call" and f"{os.sep}numba{os.sep}" in frame.f_code.co_filename:
            called.append(frame.f_code.co_qualname)

    for form in ("sparse", "event"):
        monkeypatch.setattr(compiled, "FORM", form)
        gemsnn.learn(network, network.init(), gemsnn.GEM(), inputs, targets, 2)
        sys.setprofile(note)
        try:
            gemsnn.learn(network, network.init(), gemsnn.GEM(), inputs, targets, 2)
        finally:
            sys.setprofile(before)
    assert not called


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
