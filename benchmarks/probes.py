"""Measurements that need a process of their own: peak memory, and the first call after a start. They print JSON.

python benchmarks/probes.py memory --contestant gemsnn --compartments 20
NUMBA_CACHE_DIR=/some/empty/folder python benchmarks/probes.py start
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path


def peak_memory(contestant: str, n_compartments: int, n_inputs: int, n_hidden: int, T: int) -> dict[str, float]:
    """MB by which learning one sequence raises the process's peak resident memory.

    Network, parameters and data are there before; the kernels of the form that will be used are compiled and loaded by
    a tiny sequence. What remains is what ``learn`` allocates: working arrays, random draws, the new parameters and all
    results.
    """
    from workload import workload

    tiny, work = workload(n_inputs=4, n_hidden=3, T=5), workload(n_inputs, n_hidden, T=T)
    if contestant == "gemsnn":
        from gemsnn import learn
        from gemsnn.engine import compiled

        task = compiled.Task(work.network, work.rule, n_compartments, compiled.LIKELIHOOD)
        compiled.FORM = compiled.suitable_form(task, work.parameters.dtype, free=False, steps=T)
        learn(*tiny, n_compartments=2)
        compiled.FORM = None
    else:
        from torch_baseline import learn

        learn(*tiny, n_compartments=2)
    for array in (*vars(work.parameters).values(), work.inputs, work.targets):
        array.sum()  # touched, so that its pages count as resident before
    before = _restart_peak()
    result = learn(*work, n_compartments=n_compartments)
    after = _peak()
    return {"megabytes": (after - before) / 1e6, "steps": len(result.hidden)}


def _restart_peak() -> int:
    """Forget the highest resident memory so far, where the system can; the peak from which to count, in bytes."""
    with suppress(OSError):  # else it counts from the highest so far, and the result may come out too low
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    """Highest resident memory, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


def first_calls() -> dict[str, float]:
    """Seconds of the import, of the first and second learning, and of the first and second prediction."""
    begin = time.perf_counter()
    import gemsnn

    seconds = {"import": time.perf_counter() - begin}
    from workload import workload

    work = workload()
    for name, call in (
        ("learn", lambda: gemsnn.learn(*work, n_compartments=20)),
        ("predict", lambda: gemsnn.predict(work.network, work.parameters, work.inputs[None], 20)),
    ):
        for which in ("first", "second"):
            begin = time.perf_counter()
            call()
            seconds[f"{which} {name}"] = time.perf_counter() - begin
    return seconds


def sparse_graph(n_hidden: int, density: float) -> dict[str, float]:
    """ms of learning one sequence in place on a random graph of 100 synapses a neuron, and MB of the whole process."""
    import numpy as np
    from workload import spikes

    import gemsnn
    from gemsnn.learning import Lesson, Lessons

    network = gemsnn.Network(gemsnn.Topology.random(676, n_hidden, 3, 100 / (679 + n_hidden)))
    parameters, seconds = network.init(), []
    inputs, targets = spikes((80, 676), density), np.tile(np.array([1, 0, 0], dtype=np.uint8), (80, 1))
    lessons = Lessons(network, n_compartments=1, longest=80)
    for example in range(4):
        begin = time.perf_counter()
        parameters, _ = lessons.learn(parameters, [Lesson(inputs, targets, gemsnn.GEM(), example)])
        seconds.append(time.perf_counter() - begin)
    return {"milliseconds": 1e3 * min(seconds[1:]), "megabytes": _peak() / 1e6}


def megabytes(contestant: str = "gemsnn", K: int = 20, n_inputs: int = 676, n_hidden: int = 200, T: int = 80) -> float:
    """Peak memory of learning one sequence, in a process of its own."""
    arguments = (contestant, K, n_inputs, n_hidden, T)
    names = ("contestant", "compartments", "inputs", "hidden", "steps")
    options = [f"--{name}={value}" for name, value in zip(names, arguments, strict=True)]
    return float(probe("memory", *options)[0]["megabytes"])


def probe(*arguments: str, **environment: str) -> tuple[dict[str, float], str]:
    """What a probe measured, and what else the process printed."""
    run = subprocess.run(
        [sys.executable, __file__, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        sys.exit(f"{Path(__file__).name} {' '.join(arguments)} failed:\n{run.stderr}")
    *said, last = run.stdout.splitlines()
    return json.loads(last), "\n".join([*said, run.stderr]).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    memory = commands.add_parser("memory")
    memory.add_argument("--contestant", choices=("gemsnn", "torch"), default="gemsnn")
    memory.add_argument("--compartments", type=int, default=20)
    memory.add_argument("--inputs", type=int, default=676)
    memory.add_argument("--hidden", type=int, default=200)
    memory.add_argument("--steps", type=int, default=80)
    commands.add_parser("start")
    sparse = commands.add_parser("sparse")
    sparse.add_argument("--hidden", type=int, default=1000)
    sparse.add_argument("--density", type=float, default=0.1)
    options = parser.parse_args()
    if options.command == "memory":
        measured = peak_memory(options.contestant, options.compartments, options.inputs, options.hidden, options.steps)
    elif options.command == "sparse":
        measured = sparse_graph(options.hidden, options.density)
    else:
        measured = first_calls()
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
