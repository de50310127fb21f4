"""What exported C takes beside Python's stream: memory, operations and time per step.

    python benchmarks/bench_export.py [--steps N] [--markdown FILE]

A network of the default settings and N-MNIST's size (2,312 inputs, 200 hidden neurons, 10 classes) with initial
weights; 2 % of the inputs spike. C is compiled by gcc -O2 and timed by the processor time of the process.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from bench_stream import make_model
from numpy.typing import NDArray
from rich.console import Console
from tables import Table, machine, other_load, write_markdown
from workload import spikes

from gemsnn.export import export_c
from gemsnn.metrics import step_cost
from gemsnn.training import Model

N_INPUTS, DENSITY = 2312, 0.02
TIMER = """
#include <stdio.h>
#include <time.h>
#include "gemsnn.h"
#include "given.h"
int main(void) {
    double least = 1e9;
    for (int round = 0; round < 5; round++) {
        gemsnn_reset(0);
        clock_t began = clock();
        for (int t = 0; t < STEPS; t++)
            gemsnn_step(given + first[t], (size_t)(first[t + 1] - first[t]));
        double taken = (double)(clock() - began) / CLOCKS_PER_SEC / STEPS;
        if (taken < least) least = taken;
    }
    printf("%.9f %.6f\\n", least, gemsnn_confidence());
    return 0;
}
"""


def time_c(folder: Path, inputs: NDArray[np.uint8]) -> tuple[float, int]:
    """Seconds of a step, and bytes of code."""
    step, index = np.nonzero(inputs)
    first = np.searchsorted(step, np.arange(len(inputs) + 1))
    given = ",".join(map(str, index))
    (folder / "given.h").write_text(
        f"#define STEPS {len(inputs)}\nstatic const uint32_t given[] = {{{given}}};\n"
        f"static const int first[] = {{{','.join(map(str, first))}}};\n"
    )
    (folder / "timer.c").write_text(TIMER)
    sources = [str(folder / name) for name in ("gemsnn.c", "timer.c")]
    subprocess.run(["gcc", "-std=c99", "-O2", *sources, "-o", str(folder / "timer")], check=True)
    small = ["gcc", "-std=c99", "-Os", "-c", str(folder / "gemsnn.c"), "-o", str(folder / "gemsnn.o")]
    subprocess.run(small, check=True)
    sections = subprocess.run(["size", "-A", str(folder / "gemsnn.o")], capture_output=True, text=True, check=True)
    code = next(int(line.split()[1]) for line in sections.stdout.splitlines() if line.startswith(".text"))
    done = subprocess.run([folder / "timer"], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0]), code


def time_python(model: Model, inputs: NDArray[np.uint8]) -> float:
    """Seconds of a step."""
    live, least = model.stream(), np.inf
    for _ in range(5):
        live.reset(0)
        began = time.process_time()
        for row in inputs:
            live.step(row)
        least = min(least, time.process_time() - began)
    return least / len(inputs)


def export_table(n_steps: int) -> Table:
    table = Table(
        f"A step of {N_INPUTS:,} inputs, 200 hidden neurons, 10 classes",
        ("", "code, bytes", "constants, kB", "state, kB", "additions a step", "microseconds a step", "Python's stream"),
        note=f"{n_steps} steps, {DENSITY:.0%} of the inputs spike, processor time. {machine()}. "
        f"Other load: {other_load():.1f}",
    )
    inputs = spikes((n_steps, N_INPUTS), DENSITY)
    for K in (1, 5, 20):
        model = make_model(N_INPUTS, K)
        in_python = time_python(model, inputs)
        live = model.stream()
        fired = np.stack([(live.step(row), live.spikes)[1] for row in inputs])
        additions = step_cost(model.network, inputs[None], fired[None]).effective_acs.mean()
        for weights in ("float32", "int16", "int8"):
            with tempfile.TemporaryDirectory() as folder:
                written = export_c(model, folder, weights=weights)
                taken, code = time_c(Path(folder), inputs)
            table.rows.append(
                (
                    f"K = {K}, {weights}", f"{code:,}", f"{written.constant_bytes / 1e3:,.0f}",
                    f"{written.state_bytes / 1e3:,.0f}", f"{additions:,.0f}", f"{1e6 * taken:.1f}",
                    f"{1e6 * in_python:.1f}",
                )
            )  # fmt: skip
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000, help="steps of each row")
    parser.add_argument("--markdown", type=Path, help="write the table to this file, too")
    arguments = parser.parse_args()
    table = export_table(arguments.steps)
    table.show(Console(width=160))
    if arguments.markdown:
        write_markdown(arguments.markdown, "# Export", [table])


if __name__ == "__main__":
    main()
