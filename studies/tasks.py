"""Defaults and baselines on every task of `task_data.py`, on fresh splits, by one command.

    python studies/tasks.py --out tasks [--tasks rhythms braille] [--methods gemsnn logistic] [--splits 3]
    python studies/tasks.py --out tasks --page docs/tasks.md          # the table and the figure, nothing is run

gemsnn is used as a new user would, with the defaults. The others choose their settings by the validation part: logistic
regression and a random forest on spike counts in 1, 4 or 16 windows of time, snnTorch with its learning rate and the
epoch it stops at. Each task, method and split leaves a file in OUT/measured and is not done again. Test parts are used
once, to judge. snnTorch needs ``pip install 'gemsnn[bench]'``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from baselines import Recordings, answering, check_snntorch, descend, evaluated, one_thread, spiking
from judging import figures, logs
from numpy.typing import NDArray
from pages import put, table
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from task_data import TASKS, Parts, Task, load
from threadpoolctl import threadpool_limits

from gemsnn import SpikingClassifier
from gemsnn.common.files import write_whole
from gemsnn.experiments.statistics import estimate
from gemsnn.model.spike_list import SpikeList

WINDOWS = (1, 4, 16)
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)
STEPS = (5e-4, 1e-3, 3e-3)
EPOCHS, PATIENCE = 60, 15
MOST_MOVED = 2  # pixels, on a camera's grid

PUBLISHED = {
    "n-mnist": ("98.8 %", "spiking layers of 800 neurons (STBP, Wu et al. 2018), all 60,000 recordings"),
    "gestures": ("98.6 %", "a convolutional spiking network (TA-SNN, Yao et al. 2021), the whole DVS128 Gesture"),
    "braille": ("97.1 %", "L2MU (Leto et al.), by backpropagation through time, on the authors' split"),
    "poker-dvs": ("98.5 %", "histograms of oriented events (Negri 2018, arXiv 1802.03327), no spiking network"),
}
"""What others report, and who. Their splits, and how much they learn from, differ."""


class Answer(NamedTuple):
    """What a method gives for the test part, and what it cost."""

    probabilities: NDArray[np.float64]
    chosen: dict[str, Any]
    """Settings that the validation part, or the data, decided."""
    hidden_spikes: float | None = None
    """Per recording."""


# ---- methods


def gemsnn(task: Task, parts: Parts, seed: int) -> Answer:
    """The classifier with all defaults: it holds out its own validation examples from all that is not test."""
    learning = parts.learning
    classifier = SpikingClassifier(network={"grid": task.grid}, random_state=seed, threads=1)
    groups = None if task.groups is None else task.groups[learning]
    classifier.fit(task.arrays(learning), task.labels[learning], groups=groups)
    tested = classifier.model_.predict(task.arrays(parts.test))
    steps = np.array([task.spikes[index].n_steps for index in parts.test])
    spikes = float((tested.hidden_spikes_per_step * steps).mean())
    chosen = {"learning rate": classifier.learning_rate_, "shown": classifier.n_examples_seen_}
    return Answer(tested.probabilities, chosen, spikes)


def logistic(task: Task, parts: Parts, seed: int) -> Answer:
    return _on_counts(
        task,
        parts,
        {f"C = {C:g}": make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=3000)) for C in PENALTIES},
    )


def forest(task: Task, parts: Parts, seed: int) -> Answer:
    return _on_counts(task, parts, {"500 trees": RandomForestClassifier(500, random_state=seed)})


def _on_counts(task: Task, parts: Parts, models: dict[str, Any]) -> Answer:
    """The model and the windows with the lowest cross-entropy on the validation part."""
    best: tuple[float, str, Any, int] | None = None
    with threadpool_limits(1):
        for windows in WINDOWS:
            train, held_out = (_counts(task, part, windows) for part in (parts.train, parts.validation))
            for name, model in models.items():
                model.fit(train, task.labels[parts.train])
                loss = figures(task.labels[parts.validation], _smoothed(model.predict_proba(held_out)))["nll"]
                if best is None or loss < best[0]:
                    probabilities = _smoothed(model.predict_proba(_counts(task, parts.test, windows)))
                    best = loss, f"{name}, {windows} windows", probabilities, windows
    assert best is not None
    return Answer(best[2], {"model": best[1], "validation NLL": best[0]})


def _counts(task: Task, part: Sequence[int] | NDArray[np.intp], windows: int) -> NDArray[np.float64]:
    """(n, windows * n_inputs): each recording is cut into windows of equal length."""
    found = np.zeros((len(part), windows, task.n_inputs))
    for row, index in enumerate(part):
        one: SpikeList = task.spikes[index].folded(task.n_inputs)
        window = one.spikes["step"].astype(np.intp) * windows // one.n_steps
        np.add.at(found[row], (window, one.spikes["index"].astype(np.intp)), 1)
    return found.reshape(len(part), -1)


def _smoothed(probabilities: NDArray[np.float64], share: float = 1e-3) -> NDArray[np.float64]:
    """Never quite 0, which a forest would say of a class and be infinitely wrong."""
    return (1 - share) * probabilities + share / probabilities.shape[1]


def snntorch(task: Task, parts: Parts, seed: int) -> Answer:
    """Recurrent leaky neurons, by surrogate gradients; the validation part chooses learning rate and epoch."""
    check_snntorch()
    recordings = Recordings(
        _padded(task, np.arange(len(task))),
        task.labels,
        parts.train,
        parts.validation,
        _padded(task, parts.test),
        task.labels[parts.test],
        task.grid,
    )
    shift = MOST_MOVED if task.grid is not None and min(task.grid) >= 16 else 0
    tried = []
    for rate in STEPS:
        one_thread(seed)
        network = spiking(task.n_inputs, 200, len(task.classes), beta=0.9, slope=25.0)
        how = {"learning_rate": rate, "batch_size": 32, "epochs": EPOCHS, "patience": PATIENCE, "shift": shift}
        _, found = descend(network, recordings, seed, **how)
        tried.append((found["validation_loss"], rate, found, network))
    _, rate, found, network = min(tried, key=lambda one: one[0])
    spikes = evaluated(network, recordings.test)[1].double().mean().item()
    return Answer(np.exp(answering(network)(recordings.test)), {"learning rate": rate, **found}, spikes)


def _padded(task: Task, part: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(n, T, n_inputs), shorter recordings followed by silence."""
    longest = max(one.n_steps for one in task.spikes)
    dense = np.zeros((len(part), longest, task.n_inputs), dtype=np.bool_)
    for row, index in enumerate(part):
        task.spikes[index].write_to(dense[row, : task.spikes[index].n_steps])
    return dense


METHODS: dict[str, Callable[[Task, Parts, int], Answer]] = {
    "gemsnn": gemsnn,
    "snntorch": snntorch,
    "logistic": logistic,
    "forest": forest,
}


def measured(task: Task, method: str, split: int) -> dict[str, Any]:
    parts, begin = task.split(split), time.process_time()
    answer = METHODS[method](task, parts, split)
    seconds = time.process_time() - begin
    return {
        "task": task.name,
        "method": method,
        "split": split,
        "learned from": len(parts.learning),
        "tested on": len(parts.test),
        **figures(task.labels[parts.test], np.exp(logs(answer.probabilities))),
        "hidden spikes": answer.hidden_spikes,
        "seconds": round(seconds, 1),
        "chosen": answer.chosen,
    }


# ---- the page


def page_of(results: Sequence[dict[str, Any]]) -> str:
    """The table: a row for each task and method."""
    rows = []
    for task, method in sorted({(one["task"], one["method"]) for one in results}, key=_order):
        of_it = [one for one in results if (one["task"], one["method"]) == (task, method)]
        spikes = [one["hidden spikes"] for one in of_it if one["hidden spikes"] is not None]
        rows.append(
            [
                f"{task}: {method}",
                str(len(of_it)),
                _mean(of_it, "accuracy", 100, 1),
                _mean(of_it, "ece", 1, 3),
                _mean(of_it, "nll", 1, 3),
                f"{fmean(spikes):,.0f}" if spikes else "",
                f"{fmean(one['seconds'] for one in of_it):,.0f}",
            ]
        )
    published = [f"{task}: {figure}, {who}." for task, (figure, who) in PUBLISHED.items()]
    header = ["task: method", "splits", "accuracy, %", "ECE", "NLL", "spikes per recording", "seconds"]
    return "\n\n".join([table(header, rows), "Published elsewhere. " + " ".join(published)])


def _order(pair: tuple[str, str]) -> tuple[int, int]:
    return list(TASKS).index(pair[0]), list(METHODS).index(pair[1])


def _mean(results: Sequence[dict[str, Any]], name: str, factor: float, digits: int) -> str:
    from gemsnn.common.words import plus_minus

    return plus_minus(estimate([one[name] for one in results]), factor, digits)


def draw(results: Sequence[dict[str, Any]], file: Path) -> None:
    """Accuracy of each method on each task, a point a split."""
    import matplotlib.pyplot as plt

    names = [name for name in TASKS if any(one["task"] == name for one in results)]
    figure, axes = plt.subplots(figsize=(8, 0.6 * len(names) + 1.2), layout="constrained")
    for n, method in enumerate(METHODS):
        points = [one for one in results if one["method"] == method]
        if not points:
            continue
        heights = [names.index(one["task"]) + 0.15 * (n - 1.5) for one in points]
        axes.plot([100 * one["accuracy"] for one in points], heights, "o", label=method, markersize=5)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("accuracy on unseen recordings, %")
    axes.legend(loc="best")
    figure.savefig(file)
    plt.close(figure)


# ---- the command


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder; made if it is not there")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--page", type=Path, help="write what was measured into this page, and run nothing")
    options = parser.parse_args(given)
    folder = options.out / "measured"
    if options.page is None:
        for name in options.tasks:
            for split in range(options.splits):
                for method in options.methods:
                    file = folder / f"{name}-{method}-{split}.json"
                    if not file.exists():
                        one = measured(load(name, options.out / "data"), method, split)
                        folder.mkdir(parents=True, exist_ok=True)
                        write_whole(file, (json.dumps(one, indent=1) + "\n").encode())
        print(page_of(read(folder)))
        return
    results = read(folder)
    picture = options.page.parent / "figures" / "tasks.svg"
    picture.parent.mkdir(parents=True, exist_ok=True)
    draw(results, picture)
    block = f"![Accuracy of each method on each task](figures/{picture.name})\n\n{page_of(results)}"
    options.page.write_text(put(options.page.read_text(), "tasks", block))


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]


if __name__ == "__main__":
    main()
