"""The first author's public code for GEM beside ours, on the paper's network; for who has a checkout of it.

    git clone https://github.com/hrjang357/multi-sample-SNN /some/folder
    python benchmarks/authors_code.py /some/folder

Their functions are called as they are. Both learn the same number of sequences of 80 steps with spike density 0.1, with
676 inputs, 200 hidden and 3 visible neurons and 3 basis functions over 10 steps, on one thread. Theirs also connects
the visible neurons among each other and has one basis function for self-memory; building its networks is not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
import types
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from tables import Table, machine, other_load
from timing import Times
from workload import workload

import gemsnn

ABSENT = ("tables", "scipy.misc", "torch.utils.tensorboard")  # what their files import and learning does not use


def theirs(folder: Path, K: int, inputs: np.ndarray, targets: np.ndarray) -> float:
    """Seconds for one sequence: those of three less those of one, halved."""
    ours = {name: sys.modules.pop(name) for name in ("tables",) if name in sys.modules}
    sys.path.insert(0, str(folder))
    for name in ABSENT:
        sys.modules.setdefault(name, types.ModuleType(name))
    from SNN import SNNetwork
    from utils.training_multi_utils import train_ml_multi_nols_online
    from utils.training_utils import make_network_parameters

    sys.path.pop(0)
    sys.modules.update(ours)

    def seconds(n: int) -> float:
        settings = make_network_parameters(
            inputs.shape[1], targets.shape[1], 200, 1, "train_ml_multi_nols", n_basis_ff=3, tau_ff=10, tau_fb=10
        )
        network = SNNetwork(**settings)
        x, y = (
            torch.from_numpy(spikes.T.astype(np.float32))[None, :, None].repeat(n, 1, 1, 1)
            for spikes in (inputs, targets)
        )
        begin = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            train_ml_multi_nols_online(network, x, y, x, y, 1e-3, 1.0, 0.9, 0.05, K, [0, 0], 1, 1, "majority", None, "")
        return time.perf_counter() - begin

    return (seconds(3) - seconds(1)) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a checkout of hrjang357/multi-sample-SNN")
    parser.add_argument("--compartments", type=int, nargs="+", default=[1, 5, 20])
    options = parser.parse_args()
    torch.set_num_threads(1)
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(f"{machine()}; load {other_load():.1f} before the start\n")
    table = Table(
        "GEM, one sequence: ms", ["K", "the first author's code", "gemsnn, shortest / median", "times faster"]
    )
    work = workload()
    for K in options.compartments:
        gemsnn.learn(*work, n_compartments=K)
        ours = Times()
        for _ in range(10):
            begin = time.perf_counter()
            gemsnn.learn(*work, n_compartments=K)
            ours.append(time.perf_counter() - begin)
        seconds = theirs(options.folder, K, work.inputs, work.targets)
        table.rows.append([str(K), f"{1e3 * seconds:,.0f}", str(ours), f"{seconds / ours.best:,.0f}x"])
    table.show(console)


if __name__ == "__main__":
    main()
