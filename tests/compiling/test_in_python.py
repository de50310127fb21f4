"""NUMBA_DISABLE_JIT=1: the kernels run as Python, so that a debugger can step through them, and compute the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CHOSEN = {
    "compiling/test_by_number.py": "",
    "contract/test_engines.py": "computes_what_the_reference or step_by_step",
    "contract/test_rules.py": "learns_the_same_on_every_engine",
    "engine/test_event_kernels.py": "bumps or free",
}


@pytest.mark.parametrize("file", CHOSEN)
def test_the_engine_without_compiling(file):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        str(TESTS / file),
        "-k",
        CHOSEN[file],
    ]
    done = subprocess.run(
        command, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, cwd=TESTS.parent
    )
    assert done.returncode == 0, done.stdout
