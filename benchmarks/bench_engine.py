"""Speed and memory of the compiled engine beside version 0.2, PyTorch, and what the machine can do at best.

    python benchmarks/bench_engine.py [--quick] [--only versions learning ...] [--markdown FILE]

Everything is measured in this run. The section `versions` names its networks; the others have the paper's (676 inputs,
200 hidden, 3 visible neurons, 3 bases over 10 steps), sequences of 80 steps with spike density 0.1, in float32.
Contestants take turns; ratios are of shortest times, which other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from probes import megabytes, probe
from rich.console import Console
from tables import Table, machine, other_load, write_markdown
from threadpoolctl import threadpool_limits
from timing import Contestant, Times, milliseconds, race
from versions import BATCHES, ROOT, ROWS, environment, started, version_0_2
from workload import Workload, spikes, workload

import gemsnn
from gemsnn.engine import compiled

try:
    import torch
    import torch_baseline
except ImportError:
    torch = None


class Target(NamedTuple):
    """A figure with the bound it must keep."""

    what: str
    value: float
    bound: float
    at_least: bool
    unit: str = "x"

    def row(self) -> Sequence[str]:
        met = self.value >= self.bound if self.at_least else self.value <= self.bound
        sense = "at least" if self.at_least else "at most"
        unit = self.unit if self.unit == "x" else f" {self.unit}"
        return (
            self.what,
            f"{self.value:.3g}{unit}",
            f"{sense} {self.bound:g}{unit}",
            "[green]met[/]" if met else "[red]not met[/]",
        )


class Section(NamedTuple):
    tables: list[Table]
    targets: list[Target]


# ---- version 0.2 -----------------------------------------------------------------------------------------------------


def versions(quick: bool) -> Section:
    """The present version beside version 0.2, each in a process of its own; they take turns."""
    before, now = version_0_2(), ROOT / "src"
    turns, calls = (2, 2) if quick else (8, 3)
    times: dict[str, tuple[Times, Times]] = {}
    with started(now) as present, started(before or now) as past:
        for row in ROWS:
            times[row] = Times(), Times()
            for _ in range(turns):
                times[row][1].extend(present(row, calls))
                if before:
                    times[row][0].extend(past(row, calls))
    for name, code in STARTS.items():
        times[name] = Times(), Times()
        for _ in range(2 if quick else 7):
            times[name][1].append(_started_in(now, code))
            if before:
                times[name][0].append(_started_in(before, code))
    table = Table(
        "Beside version 0.2: ms, shortest / median",
        ["", "version 0.2", "now", "times faster"],
        note="One example of 80 steps with 10 % input spikes (2,312 inputs: 4 %) as the trainer learns it, one thread."
        + ("" if before else " The history of version 0.2 is not here, so its column is empty."),
    )
    for name, (old, new) in times.items():
        ratio = f"{old.best / new.best:.2f}x" if old else "-"
        table.rows.append([name, str(old) if old else "-", str(new), ratio])
    return Section([table], [])


def batches(quick: bool) -> Section:
    """What a second thread does for batches of eight examples, in the same run."""
    times = {row: Times() for row in BATCHES}
    with started(ROOT / "src") as present:
        for _ in range(2 if quick else 10):
            for row in BATCHES:
                times[row].extend(present(row, 2))
    table = Table("Batches: ms per example, shortest / median", ["", "ms"])
    for row in BATCHES:
        table.rows.append([row, str(times[row])])
    targets = []
    for (one, first), (_, second) in zip(*[iter(times.items())] * 2, strict=True):
        ratio = first.best / second.best
        targets.append(Target(f"{one.split(', 1 thread')[0]}: two threads over one", ratio, 1.6, at_least=True))
    return Section([table], targets)


STARTS = {
    "import gemsnn": "import gemsnn",
    "gemsnn --help": "import sys; from gemsnn.cli import main; sys.argv = ['gemsnn', '--help']; main()",
}


def _started_in(source: Path, code: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=environment(source), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


# ---- learning -------------------------------------------------------------------------------------------------------


def learning(quick: bool) -> Section:
    """One sequence, K = 1 to 50: gemsnn, PyTorch, and the machine's limit."""
    work = workload()
    sizes = (1, 5, 20) if quick else (1, 2, 5, 10, 20, 50)
    contestants: dict[Hashable, Contestant] = {}
    for K in sizes:
        for threads in (1, 2):
            contestants[K, "gemsnn", threads] = Contestant(partial(gemsnn.learn, *work, n_compartments=K))
            contestants[K, "training", threads] = Contestant(_lessons(work, K, threads))
            in_place = partial(torch_baseline.learn, *work, n_compartments=K)
            use_threads = partial(torch.set_num_threads, threads)
            contestants[K, "in place", threads] = Contestant(in_place, use_threads)
            if not (quick and threads == 2):
                contestants[K, "plain", threads] = Contestant(
                    partial(in_place, in_place=False), use_threads, turns=1 if quick else 2, calls=1
                )
        contestants[K, "pass"] = Contestant(*_eligibility_pass(work, K))
    contestants["products"] = Contestant(_products(work))
    with threadpool_limits(1, user_api="blas"):
        times = race(contestants, turns=2 if quick else 6)

    speed = Table(
        "Learning one sequence: ms, shortest / median",
        [
            "K",
            "gemsnn.learn 1 thread",
            "2 threads",
            "in training 1",
            "in training 2",
            "PyTorch in place 1",
            "in place 2",
            "PyTorch plain 1",
            "plain 2",
        ],
        note="gemsnn.learn: with everything that a single call costs, checks, a learner, random draws, results; in "
        "training one learner does all sequences. PyTorch: the same mathematics, full "
        "eligibility, all compartments in one tensor; 'in place' is the fastest formulation found, 'plain' writes the "
        "formula as it reads (benchmarks/torch_baseline.py).",
    )
    ratios = Table(
        "How many times faster than PyTorch, the same number of threads each; gain of the second thread",
        ["K", "in place 1", "in place 2", "plain 1", "plain 2", "gemsnn 2 threads over 1", "plain 1, in training"],
    )
    limits = Table(
        "Against the machine's limit, one thread: ms",
        ["K", "eligibility pass", "matrix products", "limit", "gemsnn", "gemsnn over limit"],
        note="The pass reads and writes the hidden eligibility once a step, in Numba; the products R W', R R' and A' R "
        "are done once a sequence, by BLAS. Their sum is what remains if all else were free.",
    )
    own = [("gemsnn", 1), ("gemsnn", 2), ("training", 1), ("training", 2)]
    columns = [*own, ("in place", 1), ("in place", 2), ("plain", 1), ("plain", 2)]
    faster: dict[Hashable, float] = {}
    for K in sizes:
        speed.rows.append([str(K), *(str(times.get((K, *column), "-")) for column in columns)])
        for name, threads in columns:
            if (K, name, threads) in times:
                faster[K, name, threads] = times[K, name, threads].best / times[K, "gemsnn", threads].best
        gain = times[K, "gemsnn", 1].best / times[K, "gemsnn", 2].best
        ratios.rows.append(
            [
                str(K),
                *(f"{faster[K, *key]:.1f}x" if (K, *key) in faster else "-" for key in columns[len(own) :]),
                f"{gain:.2f}x",
                f"{times[K, 'plain', 1].best / times[K, 'training', 1].best:.1f}x",
            ]
        )
        limit = times[K, "pass"].best + times["products"].best
        over = times[K, "gemsnn", 1].best / limit
        limits.rows.append(
            [
                str(K),
                *map(milliseconds, (times[K, "pass"].best, times["products"].best, limit)),
                milliseconds(times[K, "gemsnn", 1].best),
                f"{over:.2f}x",
            ]
        )
        if K == 20:
            above, two_threads = over, gain
    targets = []
    for K, bound in ((1, 15), (20, 40)):
        for name in ("in place", "plain"):
            if (K, name, 1) in faster:
                what = f"learning, K = {K}, one thread: faster than PyTorch, {name}"
                targets.append(Target(what, faster[K, name, 1], bound, at_least=True))
    targets += [
        Target("learning, K = 20, one thread: over the machine's limit", above, 2.5, at_least=False),
        Target("learning, K = 20: two threads over one", two_threads, 1.5, at_least=True),
    ]
    return Section([speed, ratios, limits], targets)


def _lessons(work: Workload, K: int, threads: int) -> Callable[[], None]:
    """A sequence as the trainer learns it: each goes on from the weights that the last one left."""
    lessons = gemsnn.learning.Lessons(work.network, K, len(work.inputs), threads=threads)
    parameters, lesson = [work.parameters], gemsnn.learning.Lesson(work.inputs, work.targets, work.rule)

    def run() -> None:
        parameters[0], _ = lessons.learn(parameters[0], [lesson])

    return run


def _eligibility_pass(work: Workload, K: int) -> tuple[Callable[[], None], Callable[[], None]]:
    network, T = work.network, len(work.inputs)
    array: list[Any] = []

    def prepare() -> None:  # only one lives at a time
        array[:] = [np.ones((network.n_neurons, K, network.n_hidden * network.synaptic_filter.n_basis), np.float32)]

    def run() -> None:
        _decay(array[0].reshape(-1), np.float32(0.9), T)

    return run, prepare


@njit
def _decay(array: Any, factor: Any, times: int) -> None:
    for _ in range(times):
        for c in range(array.size):
            array[c] *= factor


def _products(work: Workload) -> Callable[[], None]:
    rng = np.random.default_rng(0)
    n, width, T = work.network.n_neurons, work.network.n_inputs * work.network.synaptic_filter.n_basis, len(work.inputs)
    traces, weights, accumulated = (
        rng.standard_normal(shape, dtype=np.float32) for shape in ((T, width), (n, width), (n, T))
    )

    def run() -> None:
        _ = traces @ weights.T, traces @ traces.T, accumulated @ traces

    return run


# ---- the forms ------------------------------------------------------------------------------------------------------


def forms(quick: bool) -> Section:
    """Each network learned in every form that it has, beside the form that the engine chooses for it."""
    cases: dict[str, tuple[Workload, int]] = {}
    for K in (1, 5, 20) if quick else (1, 2, 5, 10, 20, 50):
        cases[f"the paper's network, K = {K}"] = workload(), K
    default = gemsnn.training.TrainingConfig().network(676, 3)
    for K in (1, 20) if quick else (1, 5, 20, 50):
        work = workload()
        rule = gemsnn.Feedback(learning_rate=1e-3)
        cases[f"default filters and Feedback, K = {K}"] = (
            work._replace(network=default, parameters=default.init(), rule=rule),
            K,
        )
    for density in (0.02,) if quick else (0.01, 0.05, 0.2):
        random = gemsnn.Network(gemsnn.Topology.random(676, 400, 3, density))
        work = workload()._replace(network=random, parameters=random.init())
        cases[f"random graph of 400 neurons, {density:.0%} of the synapses, K = 1"] = work, 1
    table = Table(
        "The forms of learning: ms, shortest of all turns, one thread",
        ["", "event", "sparse", "chosen", "slower than the best by"],
        note="The engine chooses by the sizes alone, before it has seen any data.",
    )
    worst = 0.0
    for name, (work, K) in cases.items():
        task = compiled.Task(work.network, work.rule, K, compiled.LIKELIHOOD)
        chosen = compiled.suitable_form(task, work.parameters.dtype, False, len(work.inputs))
        possible = [form for form in ("event", "sparse") if _has_form(work, form)]
        contestants: dict[Hashable, Contestant] = {}
        for form in possible:
            learn = partial(gemsnn.learn, *work, n_compartments=K)
            contestants[form] = Contestant(learn, partial(setattr, compiled, "FORM", form), calls=2)
        with threadpool_limits(1, user_api="blas"):
            times = race(contestants, turns=1 if quick else 5)
        compiled.FORM = None
        best = min(times[form].best for form in possible)
        loss = times[chosen].best / best - 1
        worst = max(worst, loss)
        shown = [milliseconds(times[form].best) if form in times else "-" for form in ("event", "sparse")]
        table.rows.append([name, *shown, chosen, f"{loss:.0%}"])
    what = "the chosen form: slower than the best form, at most"
    return Section([table], [Target(what, 100 * worst, 30, at_least=False, unit="%")])


def _has_form(work: Workload, form: str) -> bool:
    if form == "event":
        return compiled.event_plan(work.network, False, work.parameters.dtype) is not None
    return True


# ---- a large sparse graph -------------------------------------------------------------------------------------------


def large(quick: bool) -> Section:
    """Random graphs of up to 10,000 hidden neurons with 100 synapses each, each in a process of its own."""
    sizes = (1000, 2000) if quick else (1000, 2000, 5000, 10_000)
    table = Table(
        "Random graphs, 100 synapses a neuron: one example of 80 steps in place, K = 1",
        ["hidden neurons", "input spikes", "ms, shortest of three", "peak memory of the whole process, MB"],
        note="Graph, initial weights and learning together; the dense array of weights is most of the memory.",
    )
    for n in sizes:
        for density in (0.1,) if quick else (0.1, 0.01):
            found, _ = probe("sparse", f"--hidden={n}", f"--density={density}")
            table.rows.append(
                [f"{n:,}", f"{density:.0%}", f"{found['milliseconds']:,.0f}", f"{found['megabytes']:,.0f}"]
            )
    target = Target(f"{n:,} hidden neurons: peak memory", found["megabytes"] / 1074, 4, at_least=False, unit="GiB")
    return Section([table], [target])


# ---- memory ---------------------------------------------------------------------------------------------------------


def memory(quick: bool) -> Section:
    """Peak memory of learning one sequence, each in a process of its own."""
    sizes = (20,) if quick else (1, 2, 5, 10, 20, 50)
    table = Table(
        "Peak memory beyond network, parameters and data while learning one sequence: MB",
        ["K", "gemsnn", "PyTorch in place"],
        note="Rise of the process's highest resident memory (VmHWM), one thread, kernels loaded before; results "
        "included.",
    )
    for K in sizes:
        ours, theirs = (megabytes(contestant, K) for contestant in ("gemsnn", "torch"))
        table.rows.append([str(K), f"{ours:.1f}", f"{theirs:.1f}"])
        if K == 20:
            target = Target("learning, K = 20: peak memory beyond the inputs", ours, 40, at_least=False, unit="MB")
    return Section([table], [target])


# ---- inference ------------------------------------------------------------------------------------------------------

SMALL_BATCH = 10  # sequences; 200 rows fit the processor's own cache


def inference(quick: bool) -> Section:
    """Free running of 300 sequences with 20 compartments, to the votes."""
    n, K = (40 if quick else 300), 20
    work = workload()
    inputs = spikes((n, *work.inputs.shape))
    network, parameters = work.network, work.parameters
    contestants: dict[Hashable, Contestant] = {}
    for threads in (1, 2):
        use_threads = partial(torch.set_num_threads, threads)
        contestants["gemsnn", threads] = Contestant(
            partial(gemsnn.predict, network, parameters, inputs, K, threads=threads), calls=1
        )
        for batch in (n, SMALL_BATCH):
            contestants[batch, threads] = Contestant(
                partial(torch_baseline.predict, network, parameters, inputs, K, batch=batch), use_threads, calls=1
            )
    with threadpool_limits(1, user_api="blas"):
        times = race(contestants, turns=1 if quick else 3)
    table = Table(
        f"Inference of {n} sequences x {K} compartments: ms, shortest / median",
        ["threads", "gemsnn", "PyTorch, one batch", f"PyTorch, batches of {SMALL_BATCH}", "faster than the better"],
        note="Random draws and votes included; the exogenous drive is computed once an example by both.",
    )
    for threads in (1, 2):
        ours: Times = times["gemsnn", threads]
        theirs = min(times[batch, threads].best for batch in (n, SMALL_BATCH))
        table.rows.append(
            [
                str(threads),
                *(str(times[name, threads]) for name in ("gemsnn", n, SMALL_BATCH)),
                f"{theirs / ours.best:.2f}x",
            ]
        )
        if threads == 1:
            ratio = theirs / ours.best
    what = f"inference, {n} x {K}, one thread: faster than PyTorch, batched"
    return Section([table], [Target(what, ratio, 1, at_least=True)])


# ---- start ----------------------------------------------------------------------------------------------------------


def start(quick: bool) -> Section:
    """Compilation on the first call ever, and the start from the cache on disk."""
    with tempfile.TemporaryDirectory() as folder:
        runs = {name: probe("start", NUMBA_CACHE_DIR=folder) for name in ("empty cache", "from the cache")}
    names = list(runs["empty cache"][0])
    table = Table("Start of a process: seconds, K = 20", ["", *names, "says that it compiles"])
    for name, (seconds, said) in runs.items():
        notice = [line.strip() for line in said.splitlines() if "compil" in line.lower()]
        table.rows.append([name, *(f"{seconds[key]:.2f}" for key in names), notice[0] if notice else "no"])
    first = runs["empty cache"][0]
    compiling = max(first[f"first {call}"] - first[f"second {call}"] for call in ("learn", "predict"))
    target = Target("first call ever: compilation", compiling, 20, at_least=False, unit="s")
    return Section([table], [target])


# ---------------------------------------------------------------------------------------------------------------------

SECTIONS = {
    section.__name__: section for section in (versions, batches, learning, forms, large, memory, inference, start)
}
WITH_TORCH = (learning, memory, inference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repetitions")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables to this file")
    options = parser.parse_args()

    console = Console(width=None if sys.stdout.isatty() else 140)
    load = other_load()
    heading = machine() + (f"; load {load:.1f} before the start, so other work disturbs this" if load > 0.5 else "")
    console.print(heading, "\n")
    tables, summary = [], Table("Targets", ["", "measured", "target", ""])
    for name in options.only:
        if torch is None and SECTIONS[name] in WITH_TORCH:
            console.print(f"{name} compares with PyTorch: run `make bench`, or pip install 'gemsnn\\[bench]'\n")
            continue
        section = SECTIONS[name](options.quick)
        for table in section.tables:
            table.show(console)
        tables += section.tables
        summary.rows += [target.row() for target in section.targets]
    if summary.rows:
        summary.show(console)
        tables.append(summary)
    if options.markdown:
        write_markdown(options.markdown, heading, tables)


if __name__ == "__main__":
    main()
