"""A little torture with every run of the tests, and a look at whether the watch would notice."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from torture import TORTURES
from torture.mutations import mutated, mutated_json
from torture.torture import Torture
from torture.watch import attempt, scratch, watched

TRIALS = {
    "recordings": 20, "prepared": 60, "checkpoints": 15, "texts": 20, "settings": 50, "networks": 6, "kills": 2,
    "doors": 8, "encoders": 10, "exports": 2,
}  # fmt: skip


@pytest.fixture
def folder():
    import shutil

    made = scratch()
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("kind", TORTURES, ids=lambda kind: kind.name)
def test_nothing_but_valid_data_or_one_of_our_errors(kind, folder):
    torture, counts = kind(folder), Counter()
    try:
        failures = [failure for seed in range(TRIALS[kind.name]) for failure in attempt(torture, seed, counts)]
    finally:
        torture.close()
    assert not failures, failures[0]
    assert counts.total() >= TRIALS[kind.name]


class Raises(Torture):
    name, share = "raises", 1

    def trial(self, rng, counts):
        counts["tried"] += 1
        assert counts["tried"] != 3


class Dies(Raises):
    name = "dies"

    def trial(self, rng, counts):
        counts["tried"] += 1
        if counts["tried"] == 2:
            os.kill(os.getpid(), signal.SIGSEGV)


class Hangs(Raises):
    name, patience = "hangs", 0.5

    def trial(self, rng, counts):
        time.sleep(100)


class Devours(Raises):
    name, memory = "devours", 4 << 30

    def trial(self, rng, counts):
        bytearray(8 << 30)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Raises, r"^raises, seed 9:\n(.|\n)*AssertionError"),
        (Dies, r"^dies, seed 8: ended by SIGSEGV"),
        (Hangs, r"^hangs, seed 7: hangs for 0.5 s"),
        (Devours, r"^devours, seed 7:\n(.|\n)*MemoryError"),
    ],
)
def test_the_watch_notices_and_tells_the_seed(kind, told, monkeypatch, request):
    import re

    path = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "support")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")])))
    monkeypatch.setattr(kind, "__module__", "torture.test_torture")
    found = watched(kind, 60, 7, trials=3 if kind is Raises else 2 if kind is Dies else 1)
    assert len(found.failures) == 1
    assert re.search(told, found.failures[0])


def test_mutations_follow_from_the_seed_and_change_something():
    changed = [mutated(random.Random(seed), b"x" * 100) for seed in range(200)]
    assert changed == [mutated(random.Random(seed), b"x" * 100) for seed in range(200)]
    assert len(set(changed)) > 150
    value = {"a": [1, {"b": 2}], "c": "d"}
    others = [mutated_json(random.Random(seed), value) for seed in range(200)]
    assert repr(others) == repr([mutated_json(random.Random(seed), value) for seed in range(200)])
    assert sum(other != value for other in others) > 150
    assert value == {"a": [1, {"b": 2}], "c": "d"}
