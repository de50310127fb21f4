"""Does a classifier know what it does not know? Trained on some classes, it is shown others, noise, and nothing at all.

    python studies/unknown.py --out study                  # measures, resumes, prints
    python studies/unknown.py --out study --page docs      # and writes the tables of docs/sure.md, and its figure

Each experiment is a task of `task_data.py` of which some classes are left out. Each method learns from the recordings
of the other classes, and is judged on unseen ones, and on what belongs to no class that it knows. Each experiment,
method and split leaves a file in OUT/unknown/measured; what is there already is not done again. The method `snnTorch`
needs the extra `bench` and is left out without it. The folder that `GEMSNN_REAL_DATA` names holds the recordings.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from carrying import study
from numpy.typing import NDArray
from rich.console import Console
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from task_data import Parts, Task, load, real_data

import gemsnn
from gemsnn import metrics
from gemsnn.events import Preprocessing, find_nmnist
from gemsnn.experiments import Measurement, answers, carry_out, failures, own_folder

N_BINS = 10
COPIES = 200  # at most, of each kind of recording that is made up
Spikes = list[NDArray[np.bool_]]


class Shown(NamedTuple):
    """What a method is judged on."""

    known: Spikes
    labels: NDArray[np.int64]
    others: dict[str, Spikes]


@dataclass(frozen=True)
class Experiment:
    """A task, and which of its classes are left out; or another task whose recordings are shown."""

    name: str
    task: str
    left_out: tuple[int, ...] = ()
    called: str = "classes left out"
    strangers: Callable[[Task], Spikes] | None = None


def other_digits(task: Task) -> Spikes:
    """N-MNIST's digits 0 to 6."""
    digits = load("n-mnist")
    return digits.arrays(np.flatnonzero(digits.labels < 7)[::4])


def the_other_camera(task: Task) -> Spikes:
    """N-MNIST's recordings as those of the simulated camera are prepared: 26 x 26 pixels, 80 steps."""
    choices = Preprocessing(
        sensor_size=(34, 34), x_range=(4, 29), y_range=(4, 29), bin_us=3750, n_steps=80, polarity="separate"
    )  # fmt: skip
    found = find_nmnist(real_data() / "n-mnist").recordings[::5]
    return [choices.spikes(one.read(), one.name).to_array(task.n_inputs) for one in found]


EXPERIMENTS = {
    one.name: one
    for one in (
        Experiment("n-mnist", "n-mnist", (8, 9), "digits 8 and 9"),
        Experiment("n-mnist-789", "n-mnist-789", (), "digits 0 to 6", other_digits),
        Experiment("gestures", "gestures", (8, 9), "two gestures"),
        Experiment("braille", "braille", (5, 6), "two letters"),
        Experiment("simulated-digits", "simulated-digits", (), "the other camera", the_other_camera),
    )
}


# ---- what is shown


def shown(experiment: Experiment, task: Task, indices: NDArray[np.intp], seed: int) -> Shown:
    """Unseen recordings of the classes that were learned, and what is of none of them."""
    random = np.random.default_rng([seed, 2614])
    known = indices[~np.isin(task.labels[indices], experiment.left_out)]
    spikes, labels = task.arrays(known), task.labels[known]
    some = [spikes[i] for i in random.permutation(len(spikes))[:COPIES]]
    order = random.permutation(task.n_inputs)
    strangers = (
        task.arrays(np.flatnonzero(np.isin(task.labels, experiment.left_out)))
        if experiment.strangers is None
        else experiment.strangers(task)
    )
    others: dict[str, Spikes] = {experiment.called: strangers}
    if task.grid is not None:
        others["mirrored"] = [_turned(one, task, -1) for one in some]
        others["upside down"] = [_turned(one, task, -2) for one in some]
    others["time reversed"] = [one[::-1] for one in some]
    others["inputs scrambled"] = [one[:, order] for one in some]
    others["noise"] = [random.random(one.shape) < one.mean() for one in some]
    others["5 % of the events"] = [one & (random.random(one.shape) < 0.05) for one in some]
    others["one event"] = [_one_event(one, random) for one in some]
    others["empty"] = [np.zeros_like(one) for one in some[:20]]
    return Shown(spikes, _numbered(labels), others)


def _turned(spikes: NDArray[np.bool_], task: Task, axis: int) -> NDArray[np.bool_]:
    assert task.grid is not None
    planes = spikes.reshape(len(spikes), -1, *task.grid)
    return np.ascontiguousarray(np.flip(planes, axis)).reshape(spikes.shape)


def _one_event(spikes: NDArray[np.bool_], random: np.random.Generator) -> NDArray[np.bool_]:
    found, cells = np.zeros_like(spikes), np.flatnonzero(spikes)
    if len(cells):
        found.reshape(-1)[random.choice(cells)] = True
    return found


def _numbered(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Class indices that count the classes that are there."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


# ---- the methods: each learns, and returns what answers with probabilities (n, C) and, if it has them, p-values (n,)

Answering = Callable[[Spikes], tuple[NDArray[np.float64], NDArray[np.float64] | None]]


def _gemsnn(task: Task, spikes: Spikes, labels: NDArray[np.int64], seed: int, **schedule: Any) -> Answering:
    network = {} if task.grid is None else {"grid": task.grid}
    classifier = gemsnn.SpikingClassifier(
        inference_compartments=5, network=network, schedule=schedule, random_state=seed, threads=1
    )
    classifier.fit(spikes, labels)

    def answer(some: Spikes) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        found = classifier.model_.predict(list(some), threads=1)
        return found.probabilities, found.usual

    return answer


def with_lessons(task: Task, spikes: Spikes, labels: NDArray[np.int64], seed: int) -> Answering:
    return _gemsnn(task, spikes, labels, seed)


def without_lessons(task: Task, spikes: Spikes, labels: NDArray[np.int64], seed: int) -> Answering:
    return _gemsnn(task, spikes, labels, seed, nothing_share=0.0)


def logistic_regression(task: Task, spikes: Spikes, labels: NDArray[np.int64], seed: int) -> Answering:
    """On the number of spikes of each input in each quarter of the recording."""

    def features(some: Spikes) -> NDArray[np.float64]:
        return np.array([[part.sum(axis=0) for part in np.array_split(one, 4)] for one in some], float).reshape(
            len(some), -1
        )

    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e-3, max_iter=500)).fit(features(spikes), labels)
    return lambda some: (model.predict_proba(features(some)), None)


def snntorch(task: Task, spikes: Spikes, labels: NDArray[np.int64], seed: int) -> Answering:
    """Leaky integrate-and-fire neurons, 200 hidden, trained by backpropagation; the SoftMax of the counted spikes."""
    import snntorch as snn
    import torch
    from snntorch import surrogate

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    C, slope = int(labels.max()) + 1, surrogate.fast_sigmoid(slope=25)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(task.n_inputs, 200), torch.nn.Linear(200, C)
            self.hidden = snn.Leaky(beta=0.9, spike_grad=slope, learn_beta=True)
            self.visible = snn.Leaky(beta=0.9, spike_grad=slope, learn_beta=True)

        def forward(self, x: Any) -> Any:  # (T, n, inputs)
            a, b = self.hidden.init_leaky(), self.visible.init_leaky()
            total = 0.0
            for one in x:
                spike, a = self.hidden(self.first(one), a)
                spike, b = self.visible(self.second(spike), b)
                total = total + spike
            return total

    longest = max(map(len, spikes))

    def batch(some: Spikes) -> Any:
        out = np.zeros((longest, len(some), task.n_inputs), dtype=np.float32)
        for n, one in enumerate(some):
            out[: len(one), n] = one[:longest]
        return torch.from_numpy(out)

    net, random = Net(), np.random.default_rng(seed)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(20):
        for some in np.array_split(random.permutation(len(spikes)), max(1, len(spikes) // 32)):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(
                net(batch([spikes[i] for i in some])), torch.from_numpy(labels[some])
            )
            loss.backward()
            optimiser.step()

    def answer(some: Spikes) -> tuple[NDArray[np.float64], None]:
        with torch.no_grad():
            found = [torch.softmax(net(batch(some[n : n + 64])), 1).numpy() for n in range(0, len(some), 64)]
        return np.concatenate(found).astype(np.float64), None

    return answer


METHODS: dict[str, Callable[[Task, Spikes, NDArray[np.int64], int], Answering]] = {
    "gemsnn": with_lessons,
    "gemsnn without lessons about nothing": without_lessons,
    "logistic regression": logistic_regression,
    "snnTorch": snntorch,
}


# ---- measuring


def measure(where: Path, experiment: str, method: str, split: int, part: str) -> dict[str, Any]:
    """Of one method on one split; JSON values."""
    chosen = EXPERIMENTS[experiment]
    task = load(chosen.task, where.parent / "tasks")
    parts: Parts = task.split(split)
    learned = parts.learning if part == "test" else parts.train
    learned = learned[~np.isin(task.labels[learned], chosen.left_out)]
    answer = METHODS[method](task, task.arrays(learned), _numbered(task.labels[learned]), split)
    asked = shown(chosen, task, parts.test if part == "test" else parts.validation, split)
    p, usual = answer(asked.known)
    truth, n = asked.labels, np.arange(len(asked.labels))
    result: dict[str, Any] = {
        "experiment": experiment,
        "method": method,
        "split": split,
        "part": part,
        "classes": p.shape[1],
        "learned": len(learned),
        "known": {
            "examples": len(truth),
            "accuracy": metrics.accuracy(truth, p.argmax(axis=1)),
            "ece": metrics.expected_calibration_error(truth, p, n_bins=N_BINS),
            "nll": float(-np.log(np.maximum(p[n, truth], 1e-12)).mean()),
            **_sureness(p, usual),
        },
        "others": {},
    }
    for name, spikes in asked.others.items():
        q, unusual = answer(spikes)
        found = {"examples": len(spikes), **_sureness(q, unusual), **_told_apart(p.max(axis=1), q.max(axis=1))}
        if usual is not None and unusual is not None and not np.isnan(usual).any():
            found["p_value"] = _told_apart(usual, unusual)
        result["others"][name] = found
    return result


def _sureness(p: NDArray[np.float64], usual: NDArray[np.float64] | None) -> dict[str, float]:
    found = {"confidence": float(p.max(axis=1).mean())}
    if usual is not None and not np.isnan(usual).any():
        found["unusual"] = float((usual < gemsnn.inference.UNUSUAL).mean())
    return found


def _told_apart(known: NDArray[np.float64], other: NDArray[np.float64]) -> dict[str, float]:
    """By a score that is high for what is known: the area under the curve; and which share of the others is taken for
    known where 95 % of what is known is."""
    area = roc_auc_score(np.r_[np.ones(len(known)), np.zeros(len(other))], np.r_[known, other])
    return {"auroc": float(area), "accepted": float((other >= np.quantile(known, 0.05)).mean())}


def measurement(where: Path, experiment: str, method: str, split: int, part: str) -> Measurement:
    labels = {"experiment": experiment, "method": method, "split": split, "part": part}
    name = re.sub(r"\W+", "-", f"{experiment}-{method}-{part}-{split}")
    return Measurement(name, measure, labels, labels, where)


# ---- the page


def table(found: Sequence[dict[str, Any]], experiment: str) -> str:
    """What each method says of everything that is shown in an experiment, as Markdown."""
    runs = [one for one in found if one["experiment"] == experiment]
    methods = [name for name in METHODS if any(one["method"] == name for one in runs)]
    of = {name: [one for one in runs if one["method"] == name] for name in methods}
    lines = ["| shown | " + " | ".join(methods) + " |", "|---|" + "---|" * len(methods)]
    known = [[one["known"] for one in of[name]] for name in methods]
    lines.append(
        "| known classes: accuracy, ECE, mean confidence | "
        + " | ".join(
            f"{100 * _mean(each, 'accuracy'):.1f} %, {_mean(each, 'ece'):.3f}, {_mean(each, 'confidence'):.2f}"
            for each in known
        )
        + " |"
    )
    for kind in runs[0]["others"]:
        cells = []
        for name in methods:
            each = [one["others"][kind] for one in of[name]]
            cell = f"{_mean(each, 'confidence'):.2f}; {_mean(each, 'auroc'):.3f}, {100 * _mean(each, 'accepted'):.0f} %"
            if "p_value" in each[0]:
                p = [one["p_value"] for one in each]
                cell += f"; p-value {_mean(p, 'auroc'):.3f}, {100 * _mean(p, 'accepted'):.0f} %"
            cells.append(cell)
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _mean(each: Sequence[dict[str, Any]], key: str) -> float:
    return float(np.mean([one[key] for one in each]))


def draw(found: Sequence[dict[str, Any]], experiment: str, file: Path) -> None:
    """How sure each method is of everything that is shown in an experiment."""
    from matplotlib.figure import Figure

    runs = [one for one in found if one["experiment"] == experiment]
    methods = [name for name in METHODS if any(one["method"] == name for one in runs)]
    kinds = ["known classes", *runs[0]["others"]]
    figure = Figure(figsize=(7, 0.4 * len(kinds) + 1), layout="constrained")
    axes = figure.subplots()
    for place, name in enumerate(methods):
        of = [one for one in runs if one["method"] == name]
        sure = [_mean([one["known"] for one in of], "confidence")]
        sure += [_mean([one["others"][kind] for one in of], "confidence") for kind in kinds[1:]]
        height = 0.8 / len(methods)
        axes.barh(np.arange(len(kinds)) + (place - (len(methods) - 1) / 2) * height, sure, height, label=name)
    axes.axvline(1 / runs[0]["classes"], color="grey", linestyle=":")
    axes.set_yticks(range(len(kinds)), kinds)
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel="mean confidence (dotted: any class)")
    axes.legend(loc="lower right", fontsize="small")
    figure.savefig(file, metadata={"Date": None})


def write_page(found: Sequence[dict[str, Any]], docs: Path) -> None:
    """Put the tables between the page's marks, and the figure beside the others."""
    names = [name for name in EXPERIMENTS if any(one["experiment"] == name for one in found)]
    page, (begin, end) = docs / "sure.md", ("<!-- measured -->\n", "<!-- end -->\n")
    before, _, rest = page.read_text().partition(begin)
    text = "\n".join(f"### {name}\n\n{table(found, name)}\n" for name in names)
    draw(found, names[0], docs / "figures" / "unknown.svg")
    picture = "![How sure each method is of what it is shown](figures/unknown.svg)"
    page.write_text(f"{before}{begin}\n{picture}\n\n{text}\n{end}{rest.partition(end)[2]}")


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study")
    parser.add_argument("--experiments", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--splits", type=int, default=2, help="how often recordings are split anew")
    parser.add_argument("--part", choices=("validation", "test"), default="test", help="what to judge on")
    parser.add_argument("--jobs", type=int, default=1, help="measurements at a time")
    parser.add_argument("--page", type=Path, metavar="DOCS", help="write the tables and the figure into this folder")
    arguments = parser.parse_args(given)
    methods = [name for name in arguments.methods if name != "snnTorch" or importlib.util.find_spec("snntorch")]
    where = arguments.out / "unknown"
    with study() as failed, own_folder(where):
        work = [
            measurement(where.absolute(), experiment, method, split, arguments.part)
            for split in range(arguments.splits)
            for experiment in arguments.experiments
            for method in methods
        ]
        failed += failures(carry_out(work, Console(), workers=arguments.jobs))
    found = [one for one in answers(where) if one["part"] == arguments.part]
    for experiment in arguments.experiments:
        if any(one["experiment"] == experiment for one in found):
            print(f"\n## {experiment}\n\n{table(found, experiment)}")
    if arguments.page is not None and found:
        write_page(found, arguments.page)


if __name__ == "__main__":
    main()
