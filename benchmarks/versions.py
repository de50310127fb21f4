"""One version of gemsnn, timed in a process of its own; whoever starts it decides by PYTHONPATH which version.

    PYTHONPATH=src python benchmarks/versions.py

:func:`started` starts it so. It reads one JSON line for each turn, `{"row": NAME, "calls": 3}`, and answers with the
seconds per example of each call. Version 0.2 understands all of it, so that both are timed by the same code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple


class Row(NamedTuple):
    """What is timed: examples as the trainer learns them or, for a stream, 50 steps."""

    n_inputs: int = 676
    n_hidden: int = 200
    n_visible: int = 3
    n_compartments: int = 1
    density: float = 0.1
    batch: int = 1  # examples that are learned together; version 0.2 learns one after the other
    threads: int = 1
    paper: bool = True  # raised cosines and GEM; else the default settings of `train`
    stream: str = ""  # "predicting" or "learning"


CAMERA = {"n_inputs": 2312, "n_visible": 10, "density": 0.04, "paper": False}
ROWS = {
    **{f"676-200-3, the paper's settings, K = {K}": Row(n_compartments=K) for K in (1, 5, 20, 50)},
    **{f"2312-200-10, default settings, K = {K}": Row(**CAMERA, n_compartments=K) for K in (1, 5, 20)},
    "676-1600-3, the paper's settings, K = 1": Row(n_hidden=1600),
    "stream 1156-200-10, K = 1, 50 steps predicting": Row(1156, n_visible=10, stream="predicting"),
    "stream 1156-200-10, K = 1, 50 steps learning": Row(1156, n_visible=10, stream="learning"),
}
BATCHES = {
    f"2312-200-10, default settings, K = {K}, batches of 8, {threads} thread{'s'[: threads - 1]}": Row(
        **CAMERA, n_compartments=K, batch=8, threads=threads
    )
    for K in (1, 20)
    for threads in (1, 2)
}
VERSION_0_2 = "24a803d"  # its commit
ROOT = Path(__file__).parents[1]
STEPS = 80  # of an example
STREAM_STEPS = 50


def version_0_2() -> Path | None:
    """The source of version 0.2, checked out beside the history; None where there is no history of it.

    It stays there, for its compiled kernels.
    """
    git = ["git", "-C", str(ROOT)]
    where = subprocess.run([*git, "rev-parse", "--git-common-dir"], capture_output=True, text=True, check=False)
    if where.returncode:
        return None
    folder = (ROOT / where.stdout.strip() / "gemsnn-0.2").resolve()
    if not (folder / "src").exists():
        add = [*git, "worktree", "add", "--force", "--detach", str(folder), VERSION_0_2]
        if subprocess.run(add, capture_output=True, check=False).returncode:
            return None
    return folder / "src"


def environment(source: Path) -> dict[str, str]:
    """For a process that imports gemsnn from there, with one thread for BLAS."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return {**os.environ, **one, "PYTHONPATH": str(source)}


@contextmanager
def started(source: Path) -> Iterator[Callable[[str, int], list[float]]]:
    """A process of that version; calling it with a row's name and a number gives the seconds of so many calls."""
    with subprocess.Popen(
        [sys.executable, __file__], env=environment(source), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def timed(row: str, calls: int) -> list[float]:
            process.stdin.write(json.dumps({"row": row, "calls": calls}) + "\n")
            process.stdin.flush()
            answer: list[float] = json.loads(process.stdout.readline())
            return answer

        yield timed
        process.stdin.close()


def made(row: Row) -> Callable[[], object]:
    """What is timed; each call goes on from the weights that the last one left."""
    import numpy as np

    import gemsnn
    from gemsnn.training import TrainingConfig

    settings: dict[str, Any] = {"n_compartments": row.n_compartments, "n_hidden": row.n_hidden}
    if not row.paper:  # as version 0.2 had it, which both can do: the same learning rate and target rate
        settings["rule"] = {"kind": "feedback", "learning_rate": 1e-3, "target_rate": 0.05}
    config = TrainingConfig.make("paper" if row.paper else None, **settings)
    network = config.network(row.n_inputs, row.n_visible)
    parameters, rule = config.initial_parameters(network), config.rule
    T, rng = STREAM_STEPS if row.stream else STEPS, np.random.default_rng(0)
    targets = np.zeros((T, row.n_visible), dtype=np.uint8)
    targets[:, 0] = 1
    inputs = [(rng.random((T, row.n_inputs)) < row.density).astype(np.uint8) for _ in range(row.batch)]
    if row.stream:
        stream = gemsnn.Stream(network, parameters, rule, row.n_compartments)

        def run() -> None:
            for t in range(T):
                stream.step(inputs[0][t], targets[t] if row.stream == "learning" else None)

        return run
    means = gemsnn.TraceMeans.zero(network) if config.mean_free else None
    if means is not None:
        means = means.after(network, inputs[0])
    now, learning = [parameters], gemsnn.learning

    def learn_batch() -> None:
        now[0], _ = lessons.learn(now[0], batch, means)

    def learn_each() -> None:  # as in version 0.2
        for example, spikes in enumerate(inputs):
            now[0] = lessons.learn(now[0], rule, spikes, targets, 0, example, means).parameters

    if not hasattr(learning, "Lesson"):
        lessons = learning.Lessons(network, row.n_compartments, T, row.threads)
        return learn_each
    lessons = learning.Lessons(network, row.n_compartments, T, threads=row.threads)
    batch = [learning.Lesson(spikes, targets, rule, example) for example, spikes in enumerate(inputs)]
    return learn_batch


def main() -> None:
    name, call = "", None
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["row"] != name:  # only one lives at a time
            call = None
            name, call = asked["row"], made((ROWS | BATCHES)[asked["row"]])
            call()  # compiles
        seconds = []
        for _ in range(asked["calls"]):
            begin = time.perf_counter()
            call()
            seconds.append((time.perf_counter() - begin) / (ROWS | BATCHES)[name].batch)
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
