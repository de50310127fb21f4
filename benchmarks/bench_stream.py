"""How long a step of a live stream takes, and how many events a second become steps.

    python benchmarks/bench_stream.py [--steps N] [--markdown FILE]

A model with the default settings and N-MNIST's size (34 x 34 pixels) answers after every step, and learns from every
step. Each step is timed by the clock on the wall, and by the processor time of the thread, which does not count what
other programs took from it in the meantime.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from tables import Table, machine, other_load, write_markdown
from workload import spikes

from gemsnn.events import EVENT_DTYPE, OnlineBinner, Preprocessing
from gemsnn.training import DecoderSettings, LiveModel, Model, TrainingConfig

COMPARTMENTS = (1, 5, 20)
DENSITY = 0.02
SENSORS = {"34 x 34": (34, 34), "128 x 128": (128, 128), "1280 x 720": (1280, 720)}


def make_model(n_inputs: int, K: int) -> Model:
    config = TrainingConfig.make(n_compartments=K, inference_compartments=K)
    network = config.network(n_inputs, 10)
    about = {"config": config.identity(), "position": 0}
    how = DecoderSettings(kind="per-step", compartments=K)
    return Model(network, config.initial_parameters(network), tuple(range(10)), how, 60, 0, None, about)


def time_steps(live: LiveModel, inputs: NDArray[np.uint8], learn: bool) -> tuple[NDArray, NDArray]:
    """Seconds of each step: by the clock, and of the processor."""
    clock, processor = np.zeros(len(inputs)), np.zeros(len(inputs))
    for t, step in enumerate(inputs):
        began, worked = time.perf_counter_ns(), time.thread_time_ns()
        live.step(step, 3 if learn else None)
        clock[t], processor[t] = time.perf_counter_ns() - began, time.thread_time_ns() - worked
    return clock / 1e9, processor / 1e9


def steps_table(n_inputs: int, n_steps: int) -> Table:
    table = Table(
        f"A step of {n_inputs} inputs, 200 hidden neurons, 10 classes: ms by the clock (by the processor)",
        ("", "steps a second", "median", "99 %", "99.9 %", "longest"),
        note=f"{n_steps} steps, {DENSITY:.0%} of the inputs spike. {machine()}. Other load: {other_load():.1f}",
    )
    inputs = spikes((n_steps, n_inputs), DENSITY)
    for K in COMPARTMENTS:
        model = make_model(n_inputs, K)
        model.predict_anytime(inputs[None, :200])
        began = time.thread_time()
        model.predict_anytime(inputs[None])
        bulk = (time.thread_time() - began) / n_steps
        for learn in (False, True):
            live = model.stream(learning=learn)
            many = inputs[: n_steps // 4] if learn else inputs
            time_steps(live, inputs[:200], learn)
            clock, processor = time_steps(live, many, learn)
            both = [
                f"{1e3 * np.percentile(clock, share):.3f} ({1e3 * np.percentile(processor, share):.3f})"
                for share in (50, 99, 99.9, 100)
            ]
            name = f"K = {K}, {'predicting and learning' if learn else 'predicting'}"
            table.rows.append((name, f"{1 / processor.mean():,.0f}", *both))
        table.rows.append((f"K = {K}, the same answers in bulk", f"{1 / bulk:,.0f}", f"({1e3 * bulk:.3f})", "", "", ""))
    return table


def recording(sensor: tuple[int, int], n: int) -> NDArray[np.void]:
    rng, events = np.random.default_rng(0), np.zeros(n, dtype=EVENT_DTYPE)
    events["x"], events["y"] = rng.integers(0, sensor[0], n), rng.integers(0, sensor[1], n)
    events["t"], events["p"] = np.sort(rng.integers(0, 2_000_000, n)), rng.integers(0, 2, n)
    return events


def events_table(n_events: int) -> Table:
    table = Table(
        f"The binner: {n_events:,} events of two seconds, in arrays of 1,000",
        ("sensor, bin", "million events a second", "of which per step: ms"),
        note="In bulk: the same by Preprocessing.spikes. Processor time.",
    )
    for name, sensor in SENSORS.items():
        events = recording(sensor, n_events)
        parts = [events[i : i + 1000] for i in range(0, n_events, 1000)]
        for bin_us in (1_000, 25_000):
            choice = Preprocessing(sensor_size=sensor, bin_us=bin_us, polarity="separate")
            binner = OnlineBinner(choice)
            seconds = []
            for _ in range(3):
                binner.reset()
                began = time.thread_time()
                steps = sum(1 for part in parts for _ in binner.feed(part)) + sum(1 for _ in binner.finish())
                seconds.append(time.thread_time() - began)
            fastest = min(seconds)
            rate, per_step = n_events / fastest / 1e6, 1e3 * fastest / steps
            table.rows.append((f"{name}, {bin_us / 1000:g} ms", f"{rate:.0f}", f"{per_step:.4f}"))
        began = time.thread_time()
        Preprocessing(sensor_size=sensor, bin_us=25_000, polarity="separate").spikes(events)
        seconds_in_bulk = time.thread_time() - began
        table.rows.append((f"{name}, 25 ms, in bulk", f"{n_events / seconds_in_bulk / 1e6:.0f}", ""))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20_000, help="steps of each row; a quarter of it for learning")
    parser.add_argument("--inputs", type=int, default=1156, help="inputs of the network")
    parser.add_argument("--events", type=int, default=1_000_000, help="events for the binner")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file, too")
    arguments = parser.parse_args()
    tables = [steps_table(arguments.inputs, arguments.steps), events_table(arguments.events)]
    for table in tables:
        table.show(Console(width=160))
    if arguments.markdown:
        write_markdown(arguments.markdown, "# Streams", tables)


if __name__ == "__main__":
    main()
