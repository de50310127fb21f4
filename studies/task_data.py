"""Real tasks that spike, each as lists of spikes: what `tasks.py` compares methods on, and what defaults are chosen on.

    from task_data import load
    task = load("braille")
    parts = task.split(seed=0)                  # indices: train, validation, test; groups are never torn apart
    task.arrays(parts.train)                    # [(T_i, n_inputs) of bool, ...]

The folder that `GEMSNN_REAL_DATA` names holds the recordings. `rhythms`, `electrodes` and `simulated-digits` need none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.files import replacing
from gemsnn.events import Preprocessing, find_nmnist, nmnist_preprocessing, read_recording, simulate_digits
from gemsnn.events.datasets import mnist_dvs_preprocessing
from gemsnn.model.spike_list import SpikeList

VALIDATION = 0.15  # of what is not test


class Parts(NamedTuple):
    """Indices of examples, disjoint."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]
    test: NDArray[np.intp]

    @property
    def learning(self) -> NDArray[np.intp]:
        """All that is not test."""
        return np.sort(np.concatenate([self.train, self.validation]))


@dataclass(frozen=True)
class Task:
    """A classification task: n examples with a label each."""

    name: str
    spikes: Sequence[SpikeList]
    labels: NDArray[np.int64]
    """(n,) class indices."""
    classes: tuple[str, ...]
    n_inputs: int
    ms_per_step: float | None = None
    grid: tuple[int, int] | None = None
    """Rows and columns that the inputs lie on, plane by plane."""
    groups: NDArray[np.int64] | None = None
    """(n,): examples of one group (a person, a day) are more alike than others, and stay in one part."""
    test_fraction: float = 0.2

    def __len__(self) -> int:
        return len(self.labels)

    def split(self, seed: int) -> Parts:
        """A fresh split: whole groups where there are some, else the same share of each class."""
        rng = np.random.default_rng([seed, 2611])
        test = self._drawn(np.arange(len(self)), self.test_fraction, rng)
        rest = np.setdiff1d(np.arange(len(self)), test)
        validation = self._drawn(rest, VALIDATION, rng)
        return Parts(np.setdiff1d(rest, validation), validation, test)

    def arrays(self, indices: Iterable[int]) -> list[NDArray[np.bool_]]:
        """(T, n_inputs) each."""
        return [self.spikes[index].to_array(self.n_inputs) for index in indices]

    def _drawn(self, among: NDArray[np.intp], share: float, rng: np.random.Generator) -> NDArray[np.intp]:
        if self.groups is not None:
            groups = np.unique(self.groups[among])
            taken = rng.permutation(groups)[: max(1, round(share * len(groups)))]
            return among[np.isin(self.groups[among], taken)]
        drawn = []
        for label in range(len(self.classes)):
            members = rng.permutation(among[self.labels[among] == label])
            drawn.append(members[: max(1, round(share * len(members)))])
        return np.sort(np.concatenate(drawn))


def real_data() -> Path:
    """The folder of real recordings."""
    folder = os.environ.get("GEMSNN_REAL_DATA")
    if not folder:
        raise SystemExit("error: set GEMSNN_REAL_DATA to the folder with the real recordings")
    return Path(folder)


def n_mnist() -> Task:
    return _n_mnist("n-mnist", "n-mnist", range(10))


def n_mnist_789() -> Task:
    return _n_mnist("n-mnist-789", "n-mnist-789", (7, 8, 9), test_fraction=0.25)


def _n_mnist(name: str, folder: str, digits: Sequence[int], test_fraction: float = 0.2) -> Task:
    choices = nmnist_preprocessing()
    found = find_nmnist(real_data() / folder, classes=tuple(digits))
    labels = np.array([found.classes.index(recording.label) for recording in found.recordings])
    spikes = [choices.spikes(recording.read(), recording.name) for recording in found.recordings]
    return _recorded(name, spikes, labels, found.classes, choices, test_fraction=test_fraction)


def gestures() -> Task:
    """Eleven gestures, 32 x 32 pixels, 80 steps of 50 ms. A trial is a person and a light: trials stay together."""
    choices = Preprocessing(sensor_size=(64, 64), downsample=2, bin_us=50_000, n_steps=80, start_us=0)
    files = sorted((real_data() / "gesture").glob("*/trial*.npz"))
    spikes = []
    for file in files:
        columns = np.load(file)
        events = np.empty(len(columns["t"]), dtype=[("x", "i2"), ("y", "i2"), ("t", "i8"), ("p", "i1")])
        for field in ("x", "y", "t", "p"):
            events[field] = columns[field]
        events["p"] = 0  # merged in the files already
        spikes.append(choices.spikes(events, str(file)))
    names = sorted({file.parent.name for file in files})
    labels = np.array([names.index(file.parent.name) for file in files])
    groups = np.array([int(file.stem.removeprefix("trial")) for file in files])
    return _recorded("gestures", spikes, labels, names, choices, groups=groups)


def braille() -> Task:
    """Seven letters read by twelve tactile sensors, 256 steps."""
    content = np.load(real_data() / "braille" / "braille7.npz")
    dense = np.unpackbits(content["spikes"], axis=-1)[..., :12]
    letters = tuple(f"letter {number}" for number in range(7))
    return Task("braille", [_listed(one) for one in dense], content["labels"].astype(np.int64), letters, 12)


def auditory() -> Task:
    """Which of 18 sounds is heard, from 51 cells of auditory cortex; 500 bins with at most one spike each."""
    content = np.load(real_data() / "auditory" / "auditory18.npz")
    spikes = []
    for cells in content["cell"]:
        steps = np.flatnonzero(cells)
        spikes.append(SpikeList.from_pairs(steps, cells[steps].astype(np.int64) - 1, len(cells)))
    sounds = tuple(f"sound {number}" for number in range(1, 19))
    return Task("auditory", spikes, content["sound"].astype(np.int64) - 1, sounds, 51)


def poker_dvs() -> Task:
    """Four suits of cards flipped in 5 to 32 ms; 0.25 ms a step, so that recordings differ in length."""
    choices = Preprocessing(
        sensor_size=(128, 128), x_range=(96, 127), y_range=(1, 32), bin_us=250, polarity="separate"
    )  # fmt: skip
    files = sorted((real_data() / "poker-dvs").glob("*/*.aedat"))
    names = sorted({file.parent.name for file in files})
    labels = np.array([names.index(file.parent.name) for file in files])
    spikes = [choices.spikes(read_recording(file), str(file)) for file in files]
    return _recorded("poker-dvs", spikes, labels, names, choices, test_fraction=0.25)


def simulated_digits(per_class: int = 200) -> Task:
    """Ten digits before the simulated camera of MNIST-DVS."""
    choices = mnist_dvs_preprocessing(4).model_copy(update={"polarity": "separate"})
    recordings = list(simulate_digits(range(10), (per_class, 0), seed=26, workers=1))
    labels = np.array([recording.digit for recording in recordings])
    spikes = [choices.spikes(recording.events) for recording in recordings]
    return _recorded("simulated-digits", spikes, labels, list(map(str, range(10))), choices, test_fraction=0.25)


def rhythms(per_class: int = 100) -> Task:
    """Six channels, four classes that differ only in the order in which the channels fire; made up.

    Every 18 steps a volley runs over the channels, three steps from one to the next. Spikes come a step early or late,
    one in five is lost, and noise adds one in twenty steps. Counts say nothing of the class.
    """
    rng = np.random.default_rng(2612)
    orders = np.array([[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [0, 2, 4, 1, 3, 5], [3, 0, 4, 1, 5, 2]])
    labels = np.repeat(np.arange(4), per_class)
    spikes = []
    for label in labels:
        dense = rng.random((200, 6)) < 0.05
        for start in range(int(rng.integers(-18, 0)), 200, 18):
            steps = start + 3 * np.arange(6) + rng.integers(-1, 2, 6)
            kept = (steps >= 0) & (steps < 200) & (rng.random(6) < 0.8)
            dense[steps[kept], orders[label][kept]] = True
        spikes.append(_listed(dense))
    return Task("rhythms", spikes, labels, ("up", "down", "odd", "mixed"), 6, ms_per_step=5.0)


def electrodes(per_class: int = 80) -> Task:
    """32 Poisson channels at 5 ms for one second, five classes with rates of their own; made up."""
    rng = np.random.default_rng(2613)
    rates = rng.uniform(5, 15, (1, 32)) * np.exp(0.5 * rng.standard_normal((5, 32)))  # spikes per second
    labels = np.repeat(np.arange(5), per_class)
    spikes = [_listed(rng.random((200, 32)) < 0.005 * rates[label]) for label in labels]
    return Task("electrodes", spikes, labels, tuple("ABCDE"), 32, ms_per_step=5.0)


TASKS: dict[str, Callable[[], Task]] = {
    "n-mnist": n_mnist,
    "n-mnist-789": n_mnist_789,
    "gestures": gestures,
    "braille": braille,
    "auditory": auditory,
    "poker-dvs": poker_dvs,
    "simulated-digits": simulated_digits,
    "rhythms": rhythms,
    "electrodes": electrodes,
}


@cache
def load(name: str, keep: Path | None = None) -> Task:
    """A task by its name in `TASKS`; its spikes are kept in a file in the folder `keep`, which is faster to read."""
    if name not in TASKS:
        raise SystemExit(f"error: there is no task {name!r}; there are {', '.join(TASKS)}")
    if keep is None:
        return TASKS[name]()
    file = keep / f"{name}.npz"
    if not file.exists():
        keep.mkdir(parents=True, exist_ok=True)
        task = TASKS[name]()
        about = {field.name: getattr(task, field.name) for field in fields(Task)}
        spikes = about.pop("spikes")
        about["labels"], groups = about["labels"].tolist(), about["groups"]
        about["groups"] = None if groups is None else groups.tolist()
        with replacing(file) as whole:
            np.savez_compressed(
                whole,
                about=json.dumps(about),
                spikes=np.concatenate([one.spikes for one in spikes]),
                n_spikes=[len(one.spikes) for one in spikes],
                n_steps=[one.n_steps for one in spikes],
            )
    content = np.load(file)
    about = json.loads(str(content["about"]))
    spikes = np.split(content["spikes"], np.cumsum(content["n_spikes"])[:-1])
    about["spikes"] = [SpikeList(one, int(T)) for one, T in zip(spikes, content["n_steps"], strict=True)]
    about["labels"], groups = np.array(about["labels"]), about["groups"]
    about["groups"] = None if groups is None else np.array(groups)
    for name in ("classes", "grid"):
        about[name] = None if about[name] is None else tuple(about[name])
    return Task(**about)


def _listed(dense: NDArray[np.generic]) -> SpikeList:
    return SpikeList.from_pairs(*np.nonzero(dense), len(dense))


def _recorded(
    name: str,
    spikes: Sequence[SpikeList],
    labels: NDArray[np.integer],
    classes: Sequence[object],
    choices: Preprocessing,
    groups: NDArray[np.integer] | None = None,
    test_fraction: float = 0.2,
) -> Task:
    return Task(
        name,
        spikes,
        labels.astype(np.int64),
        tuple(map(str, classes)),
        choices.n_inputs,
        choices.bin_us / 1000,
        choices.grid,
        None if groups is None else groups.astype(np.int64),
        test_fraction,
    )
