"""How the time and the memory of learning grow with network and data: tables, and figures for the documentation.

    python benchmarks/scaling.py [--quick] [--figures docs/figures] [--markdown FILE]

One quantity grows, the others stay at the paper's (676 inputs, 200 hidden neurons, 80 steps, spike density 0.1), for
few and for many compartments, which the engine handles in two different forms. One thread, float32; all sizes of a
figure take turns.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from probes import megabytes
from rich.console import Console
from tables import Table, machine, other_load, write_markdown
from threadpoolctl import threadpool_limits
from timing import Contestant, Times, race
from workload import workload

import gemsnn


class Quantity(NamedTuple):
    """What grows."""

    argument: str
    name: str
    sizes: tuple[float, ...]
    remembers: bool = True  # whether memory can grow with it


QUANTITIES = {
    "inputs": Quantity("n_inputs", "inputs", (256, 676, 1024, 2048, 4096, 8192, 16384)),
    "hidden": Quantity("n_hidden", "hidden neurons", (50, 100, 200, 400, 800, 1600)),
    "steps": Quantity("T", "steps", (20, 40, 80, 160, 320, 640, 1280)),
    "compartments": Quantity("K", "compartments", (1, 2, 4, 8, 16, 32, 64)),
    "density": Quantity("density", "spikes per input and step", (0.003, 0.01, 0.03, 0.1, 0.3), remembers=False),
}
COMPARTMENTS = (1, 20)


def measured(quantity: Quantity, sizes: tuple[float, ...], turns: int) -> dict[tuple[int, float], Times]:
    """Times of learning one sequence, by compartments and size."""
    contestants: dict[Any, Contestant] = {}
    for K in COMPARTMENTS if quantity.argument != "K" else (0,):
        for size in sizes:
            changed = {} if quantity.argument == "K" else {quantity.argument: size}
            learn = partial(gemsnn.learn, *workload(**changed), n_compartments=K or size)
            contestants[K, size] = Contestant(learn, calls=2)
    with threadpool_limits(1, user_api="blas"):
        return race(contestants, turns)


def memory(quantity: Quantity, K: int, size: float) -> float:
    return megabytes(**{"K": K, quantity.argument: size})


def slope(sizes: list[float], values: list[float]) -> float:
    """The exponent of growth over the larger half of the sizes: time is proportional to size to this power."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(values[half:]), 1)[0])


def drawn(quantity: Quantity, times: dict[tuple[int, float], Times], path: Path) -> None:
    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for K in sorted({K for K, _ in times}):
        sizes = [size for each, size in times if each == K]
        milliseconds = [1e3 * times[K, size].best for size in sizes]
        growth = f"grows as size^{slope(sizes, milliseconds):.2f}"
        axes.plot(sizes, milliseconds, "o-", label=f"K = {K}, {growth}" if K else growth)
    axes.set(xscale="log", yscale="log", xlabel=quantity.name, ylabel="ms for one sequence")
    axes.grid(which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


def table(quantity: Quantity, times: dict[tuple[int, float], Times], with_memory: bool) -> Table:
    made = Table(
        f"Learning one sequence as {quantity.name} grow: one thread",
        ["K", quantity.name, "ms, shortest / median", "time, relative", "peak memory, MB"],
    )
    first: dict[int, float] = {}
    for (K, size), found in times.items():
        compartments = K or int(size)
        relative = found.best / first.setdefault(K, found.best)
        peak = f"{memory(quantity, compartments, size):.1f}" if with_memory and quantity.remembers else "-"
        made.rows.append([str(compartments), f"{size:,g}", str(found), f"{relative:.2f}x", peak])
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repetitions, and no memory")
    parser.add_argument("--only", nargs="+", choices=QUANTITIES, default=list(QUANTITIES), metavar="QUANTITY")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="write performance-QUANTITY.png there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables to this file")
    options = parser.parse_args()

    mpl.rcParams["font.size"] = 9
    console = Console(width=None if sys.stdout.isatty() else 140)
    heading = f"{machine()}; load {other_load():.1f} before the start"
    console.print(heading, "\n")
    tables = []
    for name in options.only:
        quantity = QUANTITIES[name]
        times = measured(quantity, quantity.sizes[: 4 if options.quick else None], turns=1 if options.quick else 5)
        tables.append(table(quantity, times, with_memory=not options.quick))
        tables[-1].show(console)
        if options.figures:
            options.figures.mkdir(parents=True, exist_ok=True)
            drawn(quantity, times, options.figures / f"performance-{name}.png")
    if options.markdown:
        write_markdown(options.markdown, heading, tables)


if __name__ == "__main__":
    main()
