"""How many real recordings it takes: from scratch, from a model, and with old recordings replayed.

    GEMSNN_REAL_DATA=DIR python studies/from_simulation.py --out study [--parts n-mnist gestures] [--splits 3]

`n-mnist`: ten digits. The model that learning begins from knows simulated recordings only; then it learns from so many
real ones, of every digit the same number or nearly. `gestures`: the model has learned five of eleven gestures from many
people; then so many recordings of each of the six others come. All settings are the defaults; nothing is chosen.
Everything can be killed at any time and goes on with the same command; results are lines of OUT/from-simulation.jsonl,
from which `--page FILE` writes tables and `--figures DIR` the figures.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import put
from task_data import Parts, Task, load

from gemsnn import FromModel
from gemsnn.events import Variation, nmnist_preprocessing, simulate_digits
from gemsnn.metrics import expected_calibration_error, negative_log_likelihood
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import Model, TrainingConfig, load_model, save_model, trainer_of

REAL = (10, 20, 50, 100, 300, 700)
"""Real recordings of N-MNIST to learn from; the rest of the thousand is tested on, or not used."""
OF_EACH = (3, 10, 30)
"""Recordings of each new gesture."""
FIRST = 5
"""Gestures that the model knows before."""
SIMULATED_PER_CLASS = 50
SHARE = 0.5
SETTINGS: dict[str, Any] = {"validation_fraction": 0.0, "threads": 1}


@dataclass(eq=False)
class Some:
    """Some examples of a task, with labels among some of its classes."""

    task: Task
    indices: NDArray[np.intp]
    labels: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.array([self.task.spikes[index].n_steps for index in self.indices])

    def __len__(self) -> int:
        return len(self.indices)

    def load(self, place: int, /) -> tuple[SpikeList, None]:
        return self.task.spikes[self.indices[place]], None


class Part:
    """Examples of a task as training data."""

    preprocessing = target_grid = None
    fingerprint = "study"

    def __init__(self, task: Task, indices: NDArray[np.intp], classes: Sequence[int] | None = None) -> None:
        known = list(range(len(task.classes)) if classes is None else classes)
        self.classes, self.n_inputs, self.grid = [task.classes[label] for label in known], task.n_inputs, task.grid
        labels = np.array([known.index(label) for label in task.labels[indices]], dtype=np.int64)
        self.train, self.test = Some(task, indices, labels), Some(task, indices[:0], labels[:0])
        self.n_visible, self.n_steps = len(known), int(self.train.lengths.max())


def learned(data: Part, seed: int, begin: FromModel | None = None) -> Model:
    """A model with the default settings."""
    trainer = trainer_of(TrainingConfig.make(seed=seed, **SETTINGS), data, from_model=begin)
    trainer.run()
    return trainer.model()


def figures(model: Model, task: Task, indices: NDArray[np.intp]) -> dict[str, float]:
    """Of a model on examples whose classes it may have in another order."""
    answers = model.predict(task.arrays(indices))
    names = [str(label) for label in model.classes]
    labels = np.array([names.index(task.classes[label]) for label in task.labels[indices]])
    found = answers.probabilities
    return {
        "accuracy": float((found.argmax(axis=1) == labels).mean()),
        "ece": float(expected_calibration_error(labels, found)),
        "nll": float(negative_log_likelihood(labels, found)),
    }


def balanced(task: Task, among: NDArray[np.intp], n: int, seed: int) -> NDArray[np.intp]:
    """n examples, of every class the same number or nearly; those for a smaller n are among them."""
    rng = np.random.default_rng([seed, 41])
    among = rng.permutation(among)
    place = np.zeros(len(among), dtype=int)  # how many of its class come before
    for label in np.unique(task.labels[among]):
        of = np.flatnonzero(task.labels[among] == label)
        place[of] = np.arange(len(of))
    return among[np.argsort(place, kind="stable")[:n]]


# ---- N-MNIST


def simulated() -> Task:
    """Ten digits before the simulated camera of N-MNIST, another one for each recording."""
    from gemsnn.events.calibration import N_MNIST

    choices = nmnist_preprocessing()
    count = (SIMULATED_PER_CLASS, 0)
    recordings = list(simulate_digits(range(10), count, seed=7, dvs=N_MNIST, vary=Variation(), workers=1))
    spikes = [choices.spikes(recording.events) for recording in recordings]
    labels = np.array([recording.digit for recording in recordings])
    return Task("simulated", spikes, labels, tuple(map(str, range(10))), choices.n_inputs, 5.0, choices.grid)


def n_mnist(out: Path, split: int) -> Iterator[tuple[str, int, Callable[[], dict[str, Any]]]]:
    real = load("n-mnist", out / "tasks")
    parts: Parts = real.split(split)
    old: dict[str, Any] = {}

    def before() -> tuple[Model, Part]:
        """The model that knows simulated recordings only, and these."""
        if not old:
            task = simulated()
            old["data"], file = Part(task, np.arange(len(task))), out / f"simulated-{split}.safetensors"
            if not file.exists():
                save_model(learned(old["data"], split), file)
            old["model"] = load_model(file)
        return old["model"], old["data"]

    yield "from simulation", 0, lambda: figures(before()[0], real, parts.test)
    for n in REAL:
        some = balanced(real, parts.learning, n, split)
        yield "from scratch", n, lambda s=some: figures(learned(Part(real, s), split), real, parts.test)
        yield (
            "from simulation", n,
            lambda s=some: figures(learned(Part(real, s), split, FromModel(before()[0])), real, parts.test),
        )  # fmt: skip
        yield (
            "with replay", n,
            lambda s=some: figures(
                learned(Part(real, s), split, FromModel(before()[0], replay=before()[1], replay_share=SHARE)),
                real, parts.test,
            ),
        )  # fmt: skip


# ---- gestures


def gestures(out: Path, split: int) -> Iterator[tuple[str, int, Callable[[], dict[str, Any]]]]:
    task = load("gestures", out / "tasks")
    parts = task.split(split)
    is_old = task.labels < FIRST
    old_data = Part(task, parts.learning[is_old[parts.learning]], range(FIRST))
    kept: dict[str, Model] = {}

    def before() -> Model:
        file = out / f"gestures-{split}.safetensors"
        if not file.exists():
            save_model(learned(old_data, split), file)
        return kept.setdefault("model", load_model(file))

    def both(model: Model) -> dict[str, Any]:
        """On gestures that it knew before, on the new ones, and on all."""
        found = {"all": figures(model, task, parts.test)}
        for name, which in (("old", is_old), ("new", ~is_old)):
            found[name] = figures(model, task, parts.test[which[parts.test]])
        return {**found["all"], "old": found["old"]["accuracy"], "new": found["new"]["accuracy"]}

    for n in OF_EACH:
        new = balanced(task, parts.learning[~is_old[parts.learning]], (len(task.classes) - FIRST) * n, split)
        data = Part(task, new, range(FIRST, len(task.classes)))
        whole = Part(task, np.sort(np.concatenate([old_data.train.indices, new])))
        yield "from scratch, all recordings", n, lambda d=whole: both(learned(d, split))
        yield "from the model", n, lambda d=data: both(learned(d, split, FromModel(before())))
        yield (
            "with replay", n,
            lambda d=data: both(learned(d, split, FromModel(before(), replay=old_data, replay_share=SHARE))),
        )  # fmt: skip


PARTS = {"n-mnist": n_mnist, "gestures": gestures}


# ---- results


def read(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def table_of(results: Sequence[Mapping[str, Any]], part: str, keys: Mapping[str, str]) -> str:
    """Markdown: a row for each number of recordings, a column for each method; means over splits."""
    mine = [one for one in results if one["part"] == part]
    methods = list(dict.fromkeys(one["method"] for one in mine))
    lines = ["| recordings | " + " | ".join(methods) + " |", "|---:|" + "---:|" * len(methods)]
    for n in sorted({one["n"] for one in mine}):
        cells = []
        for method in methods:
            found = [one for one in mine if one["n"] == n and one["method"] == method]
            means = {key: np.mean([one[key] for one in found]) for key in keys} if found else {}
            cells.append(", ".join(form.format(means[key]) for key, form in keys.items() if key in means))
        lines.append(f"| {n} | " + " | ".join(cells) + " |")
    splits = len({one["split"] for one in mine})
    return "\n".join([*lines, "", f"Means over {splits} split{'s' if splits > 1 else ''}."])


def draw(results: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Accuracy on N-MNIST by the number of real recordings."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    mine = [one for one in results if one["part"] == "n-mnist" and one["n"]]
    for method in dict.fromkeys(one["method"] for one in mine):
        by_n: dict[int, list[float]] = {}
        for one in mine:
            if one["method"] == method:
                by_n.setdefault(one["n"], []).append(100 * one["accuracy"])
        numbers = sorted(by_n)
        axes.plot(numbers, [np.mean(by_n[n]) for n in numbers], "o-", label=method)
    for one in results:
        if one["part"] == "n-mnist" and not one["n"] and one["split"] == 0:
            axes.axhline(100 * one["accuracy"], color="grey", linestyle=":", label="simulation only")
    axes.set(xscale="log", xlabel="real recordings", ylabel="accuracy on other real recordings (%)")
    axes.set_xticks(REAL, [str(n) for n in REAL])
    axes.minorticks_off()
    axes.legend(frameon=False)
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; made if it is not there")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--page", type=Path, help="page to write the tables into")
    parser.add_argument("--figure", type=Path, help="file to draw the learning curve to")
    options = parser.parse_args(given)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "from-simulation.jsonl"
    for split in range(options.splits):
        for part in options.parts:
            for method, n, run in PARTS[part](options.out, split):
                key = {"part": part, "split": split, "method": method, "n": n}
                if any(key.items() <= one.items() for one in read(file)):
                    continue
                line = {**key, **run()}
                with file.open("a") as stream:
                    stream.write(json.dumps(line) + "\n")
                print(line, flush=True)
    results = read(file)
    if options.page:
        text = options.page.read_text()
        text = put(text, "n-mnist", table_of(results, "n-mnist", {"accuracy": "{:.1%}", "nll": "NLL {:.2f}"}))
        text = put(text, "gestures", table_of(results, "gestures", {"old": "old {:.0%}", "new": "new {:.0%}"}))
        options.page.write_text(text)
    if options.figure:
        draw(results, options.figure)


if __name__ == "__main__":
    main()
