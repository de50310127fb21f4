"""What training costs over calling the engine in a bare loop, at the paper's size.

    python benchmarks/bench_trainer.py [--compartments 1 5 20]

A real run (prepared file, live display, a checkpoint every 5 seconds, six times as often as by default) is held after
every few examples, and the bare loop learns the same ones from memory, from the same weights on. Both must end in the
same bits. Neither evaluates. Two ratios are printed, of wall-clock and of processor time, each of totals: the second is
disturbed less by other work on the machine.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gemsnn.events import open_prepared, write_prepared
from gemsnn.inference import class_patterns
from gemsnn.learning import Lesson, Lessons
from gemsnn.learning.means import mean_trace
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import Evaluated, Learned, Trainer, TrainingConfig, train
from gemsnn.training.display import display
from gemsnn.training.from_settings import means_of
from gemsnn.training.randomness import epoch_order

N_INPUTS, N_STEPS, N_CLASSES = 676, 80, 3
DENSITY = 0.117  # of MNIST-DVS
CHUNK = 5  # examples between turns


class Race:
    """Watches a run, and lets the bare loop learn the same examples in turn."""

    def __init__(self, config: TrainingConfig, spikes: Any, labels: Any) -> None:
        self.config, self.spikes, self.labels = config, spikes, labels
        self.network = config.network(N_INPUTS, N_CLASSES)
        self.parameters = config.initial_parameters(self.network)
        self.lessons = Lessons(self.network, config.n_compartments, N_STEPS, seed=config.seed)
        self.means = means_of(config, self.network)
        self.patterns = class_patterns(N_CLASSES, N_STEPS)
        self.trainer_times, self.bare_times = np.zeros((0, 2)), np.zeros((0, 2))
        self.learned_so_far = 0
        self.mark = _clocks()

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        if event.position % CHUNK:
            return
        held = _clocks()
        self.learn_bare(event.position)
        done = _clocks()
        assert self.parameters == trainer.state.parameters, "both must learn the same, to the bit"
        if event.position > CHUNK:  # the first chunk compiles
            self.trainer_times = np.vstack([self.trainer_times, held - self.mark])
            self.bare_times = np.vstack([self.bare_times, done - held])
        self.mark = _clocks()

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        pass

    def learn_bare(self, until: int) -> None:
        for position in range(self.learned_so_far, until):
            rule, spikes = (
                self.config.schedule.rule_at(self.config.rule, position, len(self.labels)),
                self.spikes[position],
            )
            targets = self.patterns[self.labels[position]]
            lesson = Lesson(spikes, targets, rule, position)
            self.parameters, _ = self.lessons.learn(self.parameters, [lesson], self.means)
            if self.means is not None:
                self.means = self.means.moved(mean_trace(self.network, SpikeList.from_array(spikes, "spikes")))
        self.learned_so_far = until


def _clocks() -> Any:
    return np.array([time.perf_counter(), time.process_time()])


def race(n_compartments: int, n_examples: int, folder: Path) -> Race:
    config = TrainingConfig.make(
        n_compartments=n_compartments, epochs=1, validation_fraction=0, test_limit=0, checkpoint_seconds=5
    )
    spikes = np.random.default_rng(0).random((n_examples, N_STEPS, N_INPUTS)) < DENSITY
    labels = np.arange(n_examples) % N_CLASSES
    path = folder / f"{n_compartments}.h5"
    write_prepared(path, spikes, labels, split=0.0)
    order = epoch_order(n_examples, config.seed, 0)
    contest = Race(config, spikes[order], labels[order])
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with open_prepared(path) as data, ExitStack() as showing:
        train(
            config,
            data,
            folder / f"run-{n_compartments}",
            observers=lambda run, trainer: [showing.enter_context(display(console, trainer)), contest],
        )
    return contest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compartments", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--examples", type=int, default=400)
    arguments = parser.parse_args()

    table = Table(title=f"{arguments.examples} examples, 676 inputs, 200 hidden neurons, T = 80, one thread")
    for column in ("K", "bare loop, CPU ms/example", "trainer, CPU ms/example", "ratio, CPU", "ratio, wall clock"):
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        for K in arguments.compartments:
            contest = race(K, arguments.examples, Path(folder))
            bare, full = contest.bare_times.sum(axis=0), contest.trainer_times.sum(axis=0)
            each = 1000 / (len(contest.bare_times) * CHUNK)
            wall, processor = full / bare
            table.add_row(str(K), f"{bare[1] * each:.2f}", f"{full[1] * each:.2f}", f"{processor:.3f}", f"{wall:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
