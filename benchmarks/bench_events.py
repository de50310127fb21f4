"""How fast recordings are read and simulated.

    python benchmarks/bench_events.py [--real DIR]

Compares `read_aedat` with a plain Python loop over the same events (on the real recordings in DIR, or on simulated ones
written to `.aedat` files), and times the simulation of 1,500 recordings (digits 0, 1, 2; 400 + 100 each).
"""

import argparse
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from gemsnn.events import find_mnist_dvs, read_aedat, simulate_prepared


def read_by_loop(path: Path) -> list[tuple[int, int, int, int]]:
    """What one writes first: read and decode one event after the other."""
    events = []
    with path.open("rb") as file:
        skip_header(file)
        while len(record := file.read(8)) == 8:
            address, time_us = struct.unpack(">II", record)
            events.append((127 - ((address >> 1) & 0x7F), (address >> 8) & 0x7F, time_us, ~address & 1))
    return events


def read_by_unpacking(path: Path) -> list[tuple[int, int, int, int]]:
    """The quickest loop we know: the whole file at once, decoded in a comprehension."""
    with path.open("rb") as file:
        skip_header(file)
        records = struct.iter_unpack(">II", file.read())
        return [(127 - ((a >> 1) & 0x7F), (a >> 8) & 0x7F, t, ~a & 1) for a, t in records]


def skip_header(file: BinaryIO) -> None:
    position = file.tell()
    while file.readline().startswith(b"#"):
        position = file.tell()
    file.seek(position)


def seconds(run: Callable[[], object], repeats: int) -> float:
    """Best of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path, help="folder that holds grabbed_data0/scale4/*.aedat")
    parser.add_argument("--no-simulation", action="store_true", help="leave the 1,500 recordings out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.real
        if folder is None:
            folder = Path(temporary) / "simulated"
            simulate_prepared(Path(temporary) / "a.h5", digits=[0], per_class=(40, 0), aedat_folder=folder)
        files = [recording.path for recording in find_mnist_dvs(folder, [0]).recordings]
        loops = {"per-event loop": read_by_loop, "unpacking loop": read_by_unpacking}
        for loop in loops.values():
            assert all(read_aedat(file).tolist() == loop(file) for file in files[:3])
        ours = sum(seconds(lambda file=file: read_aedat(file), repeats=10) for file in files)
        n_events = sum(len(read_aedat(file)) for file in files)
        print(f"reading {len(files)} {'real' if arguments.real else 'simulated'} recordings, {n_events} events")
        print(f"  read_aedat      {1000 * ours / len(files):8.3f} ms a recording")
        for name, loop in loops.items():
            took = sum(seconds(lambda file=file, loop=loop: loop(file), repeats=3) for file in files)
            print(f"  {name}  {1000 * took / len(files):8.3f} ms a recording, {took / ours:.0f} x as long")
        if not arguments.no_simulation:
            start, cpu = time.perf_counter(), time.process_time()
            simulate_prepared(Path(temporary) / "b.h5", digits=[0, 1, 2], per_class=(400, 100))
            took, cpu = time.perf_counter() - start, time.process_time() - cpu
            print(f"simulating 1,500 recordings into one prepared file, compilation included: {took:.0f} s,")
            print(f"  {cpu:.0f} s of processor time over all threads")


if __name__ == "__main__":
    main()
