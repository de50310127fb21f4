"""Each instruction does what its name says, compiled and in Python."""

import os
import subprocess
import sys

PROGRAM = """
import numpy as np
from numba import njit
from gemsnn.compiling.instructions import count_ones, high_half, power_of_two, trailing_zeros

ones, zeros = njit(lambda word: count_ones(word)), njit(lambda word: trailing_zeros(word))
high, power = njit(lambda a, b: high_half(a, b)), njit(lambda exponent: power_of_two(exponent))
rng = np.random.default_rng(0)
words = [1, 2, 2**63, 2**64 - 1, *rng.integers(1, 2**64, 50, dtype=np.uint64).tolist()]
for word in words:
    assert int(ones(np.uint64(word))) == f"{word:b}".count("1")
    assert int(zeros(np.uint64(word))) == len(f"{word:b}") - len(f"{word:b}".rstrip("0"))
    for other in words:
        assert int(high(np.uint64(word), np.uint64(other))) == word * other // 2**64
for exponent in range(-1022, 1024):
    assert power(np.int64(exponent)) == 2.0**exponent
"""


def run(**environment):
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_compiled():
    run()


def test_in_python():
    run(NUMBA_DISABLE_JIT="1")
