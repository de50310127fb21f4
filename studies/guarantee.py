"""What sets with a guarantee are worth: coverage, size, and the time and spikes that stopping early saves.

    python studies/guarantee.py --out study --real DIR --page docs/results/guarantee.md

``DIR`` holds the folders ``n-mnist`` and ``mnist-dvs`` as their archives unpack; without it only simulated digits are
used. Networks learn from one part of the recordings. The rest is split at random a few hundred times into recordings to
calibrate on and recordings to judge by. Then networks that were trained and calibrated on simulated digits look at what
a real camera saw, where nothing is promised. The study can be killed and started at will: OUT/guarantee has a run
directory for each network and a file for each measurement, and what is done is not done again. With ``--page`` the
tables and the figure of the page are written anew.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from carrying import study, train_and_measure
from numpy.typing import NDArray
from pages import figures_folder, put, table
from rich.console import Console

from gemsnn import metrics
from gemsnn.common.words import plus_minus
from gemsnn.events import find_nmnist, import_recordings, open_prepared, read_recording, simulate_prepared
from gemsnn.experiments import Measurement, Run, answers, own_folder
from gemsnn.experiments.statistics import estimate
from gemsnn.inference import AnytimePrediction, Guarantee, calibrate
from gemsnn.inference.guarantee import checkpoints_of, scores
from gemsnn.training import RunDirectory, TrainingConfig

DATA = {
    "simulated-012": "simulated 0, 1, 2",
    "simulated-10": "simulated, ten digits",
    "n-mnist-10": "N-MNIST, ten digits",
}
EPOCHS = {"simulated-012": 4, "simulated-10": 4, "n-mnist-10": 10}
PER_CLASS = {"simulated-012": (200, 200), "simulated-10": (200, 60)}  # to learn from, and the rest
N_MNIST_REST = 0.4
NETWORKS = 3
COMPARTMENTS = 5
ALPHAS = (0.05, 0.1, 0.2)
CHECKPOINTS = (1, 5, 10, 20, 40)
USUAL = 10
SPLITS = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; made if it is not there")
    parser.add_argument("--real", type=Path, help="folder with n-mnist and mnist-dvs")
    parser.add_argument("--jobs", type=int, help="networks at a time; as many as cores, if not given")
    parser.add_argument("--page", type=Path, help="page to write the tables and the figure into")
    arguments = parser.parse_args()
    real = None if arguments.real is None else arguments.real.absolute()
    console = Console()
    with study() as failed, own_folder(folder(arguments.out)):
        names = [name for name in DATA if real or name.startswith("simulated")]
        runs = [a_run(arguments.out, name, seed, real) for name in names for seed in range(NETWORKS)]
        failed += train_and_measure(runs, partial(measurement, real=real), console, workers=arguments.jobs)
    if arguments.page is not None:
        write_page(arguments.page, answers(folder(arguments.out)))


def folder(out: Path) -> Path:
    return out / "guarantee"


# ---- networks


def a_run(out: Path, name: str, seed: int, real: Path | None) -> Run:
    """A network to train; its data are made unless they are there."""
    file = out.absolute() / "guarantee-data" / f"{name}-{seed}.h5"
    if not file.exists():
        print(f"preparing {file}", flush=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial.h5")
        if name.startswith("simulated"):
            digits = (0, 1, 2) if name == "simulated-012" else tuple(range(10))
            simulate_prepared(partial, digits=digits, per_class=PER_CLASS[name], seed=100 + seed)
        else:
            assert real is not None
            inventory = find_nmnist(real / "n-mnist", tuple(range(10)))
            import_recordings(inventory, partial, split="stratified", test_fraction=N_MNIST_REST, seed=seed)
        partial.rename(file)
    config = TrainingConfig.make(
        epochs=EPOCHS[name], validation_fraction=0.0, inference_compartments=COMPARTMENTS, decoder="per-step", seed=seed
    )
    labels = {"data": name, "network": seed}
    return Run(f"{name}-{seed}", config, file, labels, folder(out).absolute())


def measurement(run: Run, real: Path | None) -> Measurement:
    """Told apart by the weights, and by whether there are real zeros to look at."""
    weights = hashlib.sha256(run.directory.model_path("final").read_bytes()).hexdigest()
    zeros = None if real is None or not run.name.startswith("simulated") else str(real / "mnist-dvs")
    arguments = {**run.labels, "file": str(run.data), "weights": weights, "zeros": zeros}
    return Measurement(run.name, measure, arguments, run.labels, run.folder)


# ---- what is measured


def measure(where: Path, data: str, network: int, file: str, weights: str, zeros: str | None) -> dict[str, Any]:
    model = RunDirectory(where / "runs" / f"{data}-{network}").load_model("final")
    decoder = {"decoder": "per-step", "compartments": COMPARTMENTS}
    with open_prepared(file) as prepared:
        rest = prepared.test.read(range(len(prepared.test)))
        labels = prepared.test.labels[:]
        bin_ms = prepared.preprocessing.bin_us / 1000 if prepared.preprocessing else 1.0
    found = model.predict_anytime(rest, **decoder)
    elsewhere = None
    if zeros is not None:
        recordings = sorted(Path(zeros).rglob("*.aedat"))
        elsewhere = model.predict_anytime(np.stack([model.bin(read_recording(path)) for path in recordings]), **decoder)
    T = rest.shape[1]
    rows = [
        {"alpha": alpha, "checkpoints": n, "thresholds": how, **over_splits(found, labels, alpha, n, how, elsewhere)}
        for alpha in ALPHAS
        for n in CHECKPOINTS
        for how in ("ranks", "shared")
        if n == USUAL or (alpha == 0.1 and how == "ranks")
    ]
    return {
        "data": data,
        "network": network,
        "recordings": len(labels),
        "n_steps": T,
        "bin_ms": bin_ms,
        "accuracy": metrics.accuracy(labels, found.classes[:, -1]),
        "hidden_spikes": float(found.hidden_spikes.sum(axis=1).mean()),
        "zeros": None if elsewhere is None else len(elsewhere.classes),
        "zeros_accuracy": None if elsewhere is None else float((elsewhere.classes[:, -1] == 0).mean()),
        "rows": rows,
    }


def over_splits(
    found: AnytimePrediction,
    labels: NDArray[np.int64],
    alpha: float,
    n: int,
    how: str,
    elsewhere: AnytimePrediction | None,
) -> dict[str, Any]:
    """Half of the recordings to calibrate on, the others to judge by, drawn anew each time."""
    rng = np.random.default_rng(0)
    T, half = found.classes.shape[1], len(labels) // 2
    steps = checkpoints_of(n, T)
    figures: dict[str, list[float]] = {}
    for _ in range(SPLITS):
        order = rng.permutation(len(labels))
        held, new = order[:half], order[half:]
        guarantee = thresholds(some(found, held), labels[held], alpha, steps, how)
        each = judged(guarantee, some(found, new), labels[new], found.hidden_spikes[new].sum(axis=1))
        if elsewhere is not None:
            zeros = np.zeros(len(elsewhere.classes), dtype=np.int64)
            there = judged(guarantee, elsewhere, zeros, elsewhere.hidden_spikes.sum(axis=1))
            each |= {f"zeros_{name}": value for name, value in there.items()}
            own = new[labels[new] == 0]
            here = judged(guarantee, some(found, own), labels[own], found.hidden_spikes[own].sum(axis=1))
            each["own_zeros_coverage"] = here["coverage"]
        for name, value in each.items():
            figures.setdefault(name, []).append(value)
    mean = {name: float(np.mean(values)) for name, values in figures.items()}
    low, high = np.quantile(figures["coverage"], [0.025, 0.975])
    return {**mean, "of_splits": [float(low), float(high)], "calibrated_on": half}


def judged(
    guarantee: Guarantee, found: AnytimePrediction, labels: NDArray[np.int64], whole: NDArray[np.float64]
) -> dict[str, float]:
    sets, stopped = guarantee.sets(found), guarantee.stop(found)
    always = np.take_along_axis(sets, labels[:, None, None], axis=-1)[..., 0].all(axis=1)
    return {
        "coverage": float(stopped.members[np.arange(len(labels)), labels].mean()),
        "at_the_worst_moment": float(always.mean()),
        "size": float(stopped.sizes.mean()),
        "empty": float((stopped.sizes == 0).mean()),
        "one": float((stopped.sizes == 1).mean()),
        "steps": float(stopped.steps.mean()),
        "spikes": float(stopped.hidden_spikes.mean() / whole.mean()),
    }


def thresholds(
    held: AnytimePrediction, labels: NDArray[np.int64], alpha: float, steps: tuple[int, ...], how: str
) -> Guarantee:
    """As gemsnn has them, by ranks; or, to compare, with alpha shared among the checkpoints."""
    if how == "ranks":
        return calibrate(held, labels, alpha, steps)
    m = len(labels)
    of_true = np.sort(scores(held.probabilities[np.arange(m)[:, None], np.array(steps) - 1, labels[:, None]]), axis=0)
    rank = min(math.ceil(round((1 - alpha / len(steps)) * (m + 1), 9)), m + 1)
    limits = of_true[rank - 1] if rank <= m else np.full(len(steps), 1e3)  # too few: all classes stay
    return Guarantee(alpha, steps, tuple(limits.tolist()), m)


def some(found: AnytimePrediction, which: NDArray[np.intp]) -> AnytimePrediction:
    return AnytimePrediction(*(values[which] for values in found))


# ---- the page

Measured = list[dict[str, Any]]


def write_page(page: Path, measured: Measured) -> None:
    text = page.read_text()
    for name, block in (
        ("coverage", coverage_table(measured)),
        ("checkpoints", checkpoints_table(measured)),
        ("shared", shared_table(measured)),
        ("zeros", zeros_table(measured)),
    ):
        text = put(text, name, block)
    draw(measured, figures_folder(page) / "guarantee.svg")
    page.write_text(text)


def rows(measured: Measured, data: str, **wanted: Any) -> list[dict[str, Any]]:
    """One row of each network, with what is known of the network."""
    return [
        {**of_network, **row}
        for of_network in measured
        if of_network["data"] == data
        for row in of_network["rows"]
        if all(row[name] == value for name, value in wanted.items())
    ]


def mean(found: list[dict[str, Any]], name: str, factor: float = 100, digits: int = 1) -> str:
    """Over networks, with the interval."""
    return plus_minus(estimate([row[name] for row in found]), factor, digits)


def time(found: list[dict[str, Any]], name: str = "steps") -> str:
    """In milliseconds, of how many."""
    bin_ms = found[0]["bin_ms"]
    return f"{np.mean([row[name] for row in found]) * bin_ms:.0f} of {found[0]['n_steps'] * bin_ms:.0f}"


def spread(found: list[dict[str, Any]]) -> str:
    low, high = (100 * np.mean([row["of_splits"][end] for row in found]) for end in (0, 1))
    return f"{low:.1f} to {high:.1f}"


def data_in(measured: Measured) -> list[str]:
    return [name for name in DATA if any(of_network["data"] == name for of_network in measured)]


def promised(alpha: float) -> str:
    return f"{100 * (1 - alpha):g}"


def coverage_table(measured: Measured) -> str:
    lines = []
    for data in data_in(measured):
        for alpha in ALPHAS:
            found = rows(measured, data, alpha=alpha, checkpoints=USUAL, thresholds="ranks")
            covered = [mean(found, "coverage"), spread(found), mean(found, "at_the_worst_moment")]
            spent = [mean(found, "size", 1, 2), time(found), mean(found, "spikes", 100, 0)]
            lines.append([DATA[data], mean(found, "accuracy"), promised(alpha), *covered, *spent])
    header = ["data", "accuracy, %", "promised, %", "coverage, %", "of single splits", "at the worst moment, %"]
    return table([*header, "classes", "time, ms", "hidden spikes, %"], lines)


def checkpoints_table(measured: Measured) -> str:
    lines = []
    for data in data_in(measured):
        for n in CHECKPOINTS:
            found = rows(measured, data, alpha=0.1, checkpoints=n, thresholds="ranks")
            cells = [mean(found, "coverage"), mean(found, "size", 1, 2), time(found), mean(found, "spikes", 100, 0)]
            lines.append([DATA[data], str(n), *cells])
    return table(["data", "checkpoints", "coverage, %", "classes in a set", "time, ms", "hidden spikes, %"], lines)


def shared_table(measured: Measured) -> str:
    lines = []
    for data in data_in(measured):
        for alpha in ALPHAS:
            for how, words in (("shared", "alpha shared among the checkpoints"), ("ranks", "ranks, as gemsnn has it")):
                found = rows(measured, data, alpha=alpha, checkpoints=USUAL, thresholds=how)
                cells = [mean(found, "coverage"), mean(found, "size", 1, 2), time(found)]
                lines.append([DATA[data], promised(alpha), words, *cells])
    return table(["data", "promised, %", "thresholds", "coverage, %", "classes in a set", "time, ms"], lines)


def zeros_table(measured: Measured) -> str:
    lines = []
    for data in data_in([of_network for of_network in measured if of_network["zeros"]]):
        for alpha in ALPHAS:
            found = rows(measured, data, alpha=alpha, checkpoints=USUAL, thresholds="ranks")
            shares = [mean(found, name) for name in ("own_zeros_coverage", "zeros_coverage", "zeros_empty")]
            cells = [*shares, mean(found, "zeros_size", 1, 2), time(found, "zeros_steps")]
            lines.append([DATA[data], mean(found, "zeros_accuracy"), promised(alpha), *cells])
    header = ["learned and calibrated on", "real zeros called 0, %", "promised for any digit, %"]
    header += ["simulated zeros covered, %", "real zeros covered, %", "empty sets, %", "classes in a set", "time, ms"]
    return table(header, lines)


def draw(measured: Measured, out: Path) -> None:
    """Coverage against what was promised; and what is spent for it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    promised = [100 * (1 - alpha) for alpha in ALPHAS]
    for data in data_in(measured):
        each = [rows(measured, data, alpha=alpha, checkpoints=USUAL, thresholds="ranks") for alpha in ALPHAS]
        covered = [100 * np.mean([row["coverage"] for row in found]) for found in each]
        ends = [[100 * np.mean([row["of_splits"][end] for row in found]) for found in each] for end in (0, 1)]
        spent = [100 * np.mean([row["steps"] / row["n_steps"] for row in found]) for found in each]
        (line,) = left.plot(promised, covered, "o-", label=DATA[data])
        left.fill_between(promised, *ends, color=line.get_color(), alpha=0.15, linewidth=0)
        right.plot(promised, spent, "o-", color=line.get_color())
        if each[0][0]["zeros"]:
            there = [100 * np.mean([row["zeros_coverage"] for row in found]) for found in each]
            left.plot(promised, there, "x:", color=line.get_color(), label=f"{DATA[data]}: real zeros")
    left.plot([75, 100], [75, 100], color="0.5", linewidth=0.8)
    left.set(xlabel="promised, %", ylabel="sets with the true class, %", xlim=(78, 97), ylim=(None, 101))
    right.set(xlabel="promised, %", ylabel="steps seen, % of the recording", xlim=(78, 97), ylim=(0, None))
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    for axes in (left, right):
        axes.set_xticks(promised)
        axes.spines[["top", "right"]].set_visible(False)
    out.parent.mkdir(exist_ok=True)
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
