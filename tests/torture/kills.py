"""``kill -9`` at random instants of train, import and reproduce: whatever is left is whole, and ends in the same bits.

This process is warm: it has imported and compiled everything. Children forked from it start at once, and are killed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import toy

from gemsnn.events import find_dataset, import_recordings, open_prepared
from gemsnn.events.aedat import encode_aedat
from gemsnn.experiments import Protocol, plan
from gemsnn.experiments.results import gather, read_results, to_json, write_results
from gemsnn.experiments.sweep import locally, sweep
from gemsnn.training import RunDirectory, train
from torture.recordings import some_events
from torture.torture import Torture

SETTINGS: tuple[dict[str, Any], ...] = (
    {"checkpoint_seconds": 0, "average_last": 0.5, "eval_every": 100},
    {"checkpoint_seconds": 0.02, "rule": "gem", "validation_fraction": 0.3},
    {"checkpoint_seconds": 0, "dtype": "float64", "patience": 1, "n_compartments": 1, "average_last": 1.0},
    {"checkpoint_seconds": 0, "batch_size": 4, "average_last": 0.5},
    {"checkpoint_seconds": 0.02, "batch_size": 3, "topology": {"kind": "random", "density": 0.4}, "rule": "feedback"},
)
PROTOCOL = Protocol.make(
    "quick", compartments=[1, 2], seeds=[0, 1], n_hidden=2, epochs=1, realisations=2, evaluation_points=[0.5, 1.0]
)
MOST_STARTS = 200


class Kills(Torture):
    name, share, memory, patience = "kills", 0.3, None, 900.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.data = toy.prepared(folder / "toy.h5")
        self.untouched, self.seconds = [], []
        for number, settings in enumerate(SETTINGS):
            self._train(settings, folder / f"warm-{number}")
            begin = time.monotonic()
            self._train(settings, folder / f"untouched-{number}")
            self.seconds.append(time.monotonic() - begin)
            self.untouched.append(toy.results(folder / f"untouched-{number}"))
        self.recordings = _recordings(folder / "recordings")
        begin = time.monotonic()
        self._import(folder / "untouched.h5")
        self.seconds_of_import = time.monotonic() - begin
        self.imported = (folder / "untouched.h5").read_bytes()
        begin = time.monotonic()
        self._reproduce(folder / "untouched-sweep", 1)
        self.seconds_of_sweep = time.monotonic() - begin
        self.measured = _left_by_sweep(folder / "untouched-sweep")

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        place = self.folder / "trial"
        place.mkdir()
        try:
            kind = rng.choices((self._kill_train, self._kill_import, self._kill_reproduce), (0.55, 0.3, 0.15))[0]
            kind(place, rng, counts)
        finally:
            shutil.rmtree(place)

    # ---- train

    def _train(self, settings: dict[str, Any], directory: Path, threads: int = 1) -> None:
        with open_prepared(self.data) as data:
            train(toy.config(**settings, threads=threads), data, directory, resume=True)

    def _kill_train(self, place: Path, rng: random.Random, counts: Counter[str]) -> None:
        which = rng.randrange(len(SETTINGS))
        run = RunDirectory(place / "run")

        def look() -> None:
            counts["kills of train"] += 1
            counts["in the middle of writing"] += bool(list(place.rglob(".*.partial")))
            records = run.read_metrics()
            assert [record["position"] for record in records] == sorted({record["position"] for record in records})
            for name in ("best", "final", "best_on_test"):
                if run.model_path(name).exists():  # type: ignore[arg-type]
                    run.load_model(name)  # type: ignore[arg-type]

        def work() -> None:
            self._train(SETTINGS[which], run.path, threads=rng.choice((1, 2)))

        self._until_done(work, rng, 0.4 * self.seconds[which], look)
        assert toy.results(run.path) == self.untouched[which]
        assert not list(run.path.rglob("*.partial"))
        counts["runs that ended in the same bits"] += 1

    # ---- import

    def _import(self, out: Path) -> None:
        inventory = find_dataset("folder", self.recordings, sensor_size=(128, 128))
        import_recordings(inventory, out, preprocessing=inventory.preprocessing, split="auto", test_fraction=0.3)

    def _kill_import(self, place: Path, rng: random.Random, counts: Counter[str]) -> None:
        out = place / "imported.h5"
        before = rng.choice((None, b"something of the user's"))
        if before is not None:
            out.write_bytes(before)

        def look() -> None:
            counts["kills of import"] += 1
            counts["in the middle of writing"] += bool(list(place.rglob(".*.partial")))
            assert (out.read_bytes() if out.exists() else None) in (before, self.imported)

        self._until_done(lambda: self._import(out), rng, 0.4 * self.seconds_of_import, look)
        assert out.read_bytes() == self.imported
        counts["files that ended in the same bits"] += 1

    # ---- reproduce

    def _reproduce(self, folder: Path, workers: int) -> None:
        from rich.console import Console

        with open(os.devnull, "w") as nowhere:
            made = plan(PROTOCOL, folder, self.data)
            ended = sweep(made.runs, locally(workers), Console(file=nowhere))
            assert all(end.status == "done" for end in ended), ended
            about = {"data": made.data, "commands": [], "versions": {}, "when": ""}
            results = gather(made.protocol, made.runs, ended, about)
            write_results(folder / "results.json", to_json(results, []))

    def _kill_reproduce(self, place: Path, rng: random.Random, counts: Counter[str]) -> None:
        folder, workers = place / "sweep", 2 if rng.random() < 0.3 else 1  # processes of their own start slowly

        def look() -> None:
            counts["kills of reproduce"] += 1
            counts["kills of reproduce with two workers"] += workers == 2

        mean = 0.4 * self.seconds_of_sweep if workers == 1 else 10.0
        self._until_done(lambda: self._reproduce(folder, workers), rng, mean, look)
        assert _left_by_sweep(folder) == self.measured
        counts["sweeps that ended in the same bits"] += 1

    # ---- killing

    def _until_done(self, work: Callable[[], None], rng: random.Random, mean: float, look: Callable[[], None]) -> None:
        """Start the work in a child and kill it, again and again, until a child comes to the end."""
        for _ in range(MOST_STARTS):
            child = os.fork()
            if child == 0:
                _as_child(work, self.folder / "problem.txt")
            time.sleep(rng.expovariate(1 / mean))
            os.kill(child, signal.SIGKILL)  # still there, if only as a zombie
            status = os.waitpid(child, 0)[1]
            if os.WIFEXITED(status):
                assert os.WEXITSTATUS(status) == 0, (self.folder / "problem.txt").read_text()
                return
            assert os.WTERMSIG(status) == signal.SIGKILL, f"the child was ended by signal {os.WTERMSIG(status)}"
            look()
            mean *= 1.2  # so that the end is reached, however slow the machine is
        raise AssertionError(f"not done after {MOST_STARTS} starts")


def _as_child(work: Callable[[], None], problem: Path) -> None:
    code = 1
    try:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
        work()
        code = 0
    except BaseException:
        problem.write_text(traceback.format_exc())
    os._exit(code)


def _recordings(folder: Path) -> Path:
    rng = random.Random(0)
    for label in ("left", "right"):
        (folder / label).mkdir(parents=True)
        for number in range(8):
            (folder / label / f"{number}.aedat").write_bytes(encode_aedat(some_events(rng, 128)))
    return folder


def _left_by_sweep(folder: Path) -> dict[str, Any]:
    """All that must not depend on interruptions."""
    left: dict[str, Any] = {run.name: toy.results(run) for run in sorted((folder / "runs").iterdir())}
    results, _ = read_results(folder / "results.json")
    left["results"] = json.dumps([vars(run) for run in results.runs], sort_keys=True)
    left["data"] = sorted(path.name for path in (folder / "data").glob("*.h5")) if (folder / "data").exists() else []
    assert np.all([len(run.records) for run in results.runs])
    return left
