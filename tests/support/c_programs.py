"""Exported C: compiled with every warning an error, and run on recordings."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
SANITIZED = (*STRICT, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to compile the exported C with")


def build(folder: Path, flags: Sequence[str] = SANITIZED) -> Path:
    """The program of an exported folder."""
    program = folder / "program"
    sources = [str(folder / name) for name in ("gemsnn.c", "main.c")]
    done = subprocess.run(["gcc", *flags, *sources, "-o", str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return program


def lines(inputs: np.ndarray) -> list[str]:
    """A (T, n_inputs) recording as the program reads it."""
    spikes = [f"{step} {index}" for step, index in np.argwhere(inputs)]
    return [*spikes, f"{len(inputs) - 1}"]


def answers(program: Path, recordings: Sequence[np.ndarray], keys: Sequence[int]) -> list[tuple[list[str], np.ndarray]]:
    """After every step of every recording: labels, and (T, C) probabilities."""
    text = "\n".join(
        line
        for inputs, key in zip(recordings, keys, strict=True)
        for line in (f"reset {key}", *lines(inputs))
    )  # fmt: skip
    done = subprocess.run([program], input=text + "\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [line.split() for line in done.stdout.splitlines()]
    steps = [0, *np.cumsum([len(inputs) for inputs in recordings]).tolist()]
    assert len(found) == steps[-1]
    parts = [found[first:last] for first, last in pairwise(steps)]
    return [
        ([words[1] for words in part], np.array([words[2:] for words in part], dtype=np.float64)) for part in parts
    ]  # fmt: skip
