"""Tables and figures of docs/results/settings.md, from what the studies measured; and README's table of accuracies.

    python studies/page.py study --page docs/results/settings.md [--readme README.md]

Rewrites the text between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``, and the figures; everything else in the
page stays. What has not been measured yet is left out.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from baselines import PENALTIES_ON_SPIKES
from pages import figures_folder, put, table
from settings import BUDGETS, CURVE, HALF, ROWS, TWICE

from gemsnn.common.words import counted, plus_minus
from gemsnn.experiments import answers
from gemsnn.experiments.statistics import estimate

Runs = list[dict[str, Any]]
NAMES = {
    "simulated-012": "simulated 0/1/2",
    "simulated-10": "simulated, ten digits",
    "n-mnist-012": "N-MNIST 0/1/2",
    "n-mnist-10": "N-MNIST, ten digits",
}
GEMSNN = "gemsnn, defaults"
METHODS = {"snntorch": "snnTorch", "logistic": "logistic regression", "cnn": "convolutional network"}
COLOURS = {
    GEMSNN: "#1f6feb",
    "snnTorch": "#d9730d",
    "logistic regression": "#8a8a8a",
    "convolutional network": "#c0c0c0",
}
AIMS = {"simulated-012": (98.5, 0.015), "simulated-10": (97.0, 0.012), "n-mnist-10": (93.0, 0.03)}  # accuracy, ECE
LAST_EPOCH = 0.5  # points that the last epoch may be worse than the best
STOP = 0.95  # confidence in the table
LIMIT = 12  # points of accuracy that the figure has room for


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="folder of the study")
    parser.add_argument("--page", type=Path, required=True, help="page to write into")
    parser.add_argument("--readme", type=Path, help="file with a block called accuracy to write into as well")
    arguments = parser.parse_args(given)
    runs, others, anytime = (answers(arguments.study / name) for name in ("settings", "baselines", "anytime"))
    text = arguments.page.read_text()
    for name, block in {
        "others": others_table(runs, others),
        "versus": versus_table(runs, others),
        "aims": aims_table(runs),
        "settings": settings_table(runs),
        "curve": curve_table(runs, others),
        "budget": budget_table(runs),
        "decoders": decoders_table(runs),
        "stopping": stopping_table(anytime),
    }.items():
        text = put(text, name, block)
    arguments.page.write_text(text)
    if arguments.readme:
        arguments.readme.write_text(put(arguments.readme.read_text(), "accuracy", readme_table(runs, others)))
    folder = figures_folder(arguments.page)
    draw_others(runs, others, folder / "settings-others.png")
    draw_settings(runs, folder / "settings-differences.png")
    draw_curve(runs, others, folder / "settings-curve.png")
    draw_anytime(anytime, folder / "settings-anytime.png")


def of(runs: Runs, data: str, setting: str = "default") -> Runs:
    return sorted((run for run in runs if (run["data"], run["setting"]) == (data, setting)), key=lambda r: r["split"])


def by(others: Runs, data: str, method: str) -> Runs:
    """What a method did on the splits of some data, in their order."""
    found = (run for run in others if run["method"] == method and re.fullmatch(rf"{data}-\d\.h5", run["data"]))
    return sorted(found, key=lambda run: run["data"])


def split_of(run: dict[str, Any]) -> int:
    """Of another method's run, whose data are a file."""
    return int(Path(run["data"]).stem.rpartition("-")[2])


def compared(runs: Runs, others: Runs, data: str) -> dict[str, Runs]:
    """Runs of each method that was tried on some data."""
    found = {GEMSNN: of(runs, data), **{title: by(others, data, method) for method, title in METHODS.items()}}
    return {title: these for title, these in found.items() if these}


def value(run: dict[str, Any], name: str) -> float:
    """``accuracy``, or a path through the tables such as ``test.scaled.ece``."""
    found: Any = run
    for part in name.split("."):
        found = found[part]
    return float(found)


def mean(found: Runs, name: str, scale: float = 1) -> float:
    return scale * float(np.mean([value(run, name) for run in found]))


def interval(found: Runs, name: str, scale: float = 1, digits: int = 1) -> str:
    """Mean and half width of the 95 % interval."""
    return plus_minus(estimate([value(run, name) for run in found]), scale, digits)


# ---- tables ----------------------------------------------------------------------------------------------------------


def others_table(runs: Runs, others: Runs) -> str:
    rows = []
    for data, name in NAMES.items():
        for title, found in compared(runs, others, data).items():
            spikes = mean(found, "hidden_spikes")
            splits = len(of(runs, data))
            if title == GEMSNN:
                title = f"**{name}**, {splits} splits, {found[0]['n_test']} to test on<br>{title}"
            rows.append(
                [
                    title if len(found) == splits else f"{title} (so far {counted(len(found), 'split')})",
                    interval(found, "test.accuracy", 100),
                    interval(found, "test.ece", 1, 3),
                    f"{mean(found, 'test.scaled.ece'):.3f}",
                    interval(found, "test.nll", 1, 3),
                    f"{mean(found, 'test.scaled.nll'):.3f}",
                    f"{spikes:,.0f}" if spikes else "",
                    f"{mean(found, 'train_seconds'):.0f}",
                    f"{mean(found, 'answer_seconds.one', 1000):.1f}",
                ]
            )
    header = ["", "accuracy, %", "ECE", "with temperature", "NLL", "with temperature"]
    return table([*header, "hidden spikes", "s to train", "ms to answer"], rows)


def aims_table(runs: Runs) -> str:
    rows = []

    def add(aim: str, found: str, met: bool) -> None:
        rows.append([aim, found, "yes" if met else "**no**"])

    for data, (accuracy, ece) in AIMS.items():
        if found := of(runs, data):
            a, e = mean(found, "test.accuracy", 100), mean(found, "test.ece")
            add(f"{NAMES[data]}: at least {accuracy:g} %", f"{a:.1f} %", a >= accuracy)
            add(f"{NAMES[data]}: ECE at most {ece:g}", f"{e:.3f}", e <= ece)
    for data, name in NAMES.items():
        if found := of(runs, data):
            lost = [max(accuracies(run)) - accuracies(run)[-1] for run in found]
            add(
                f"{name}: last epoch",
                " ".join(f"{one:.1f}" for one in lost),
                round(float(np.mean(lost)), 1) <= LAST_EPOCH,
            )
    return table(["aim", "found", "met"], rows)


COLUMNS = {  # where it is found, and whether more of it is better
    "accuracy": ("test.accuracy", True),
    "ECE": ("test.ece", False),
    "ECE with temperature": ("test.scaled.ece", False),
    "NLL": ("test.nll", False),
    "hidden spikes": ("hidden_spikes", False),
    "time to train": ("train_seconds", False),
    "time to answer": ("answer_seconds.one", False),
}


def versus_table(runs: Runs, others: Runs) -> str:
    """Where gemsnn is ahead of snnTorch, and where the splits do not tell the two apart."""
    rows = []
    for data, name in NAMES.items():
        theirs = {split_of(run): run for run in by(others, data, "snntorch")}
        both = [(run, theirs[run["split"]]) for run in of(runs, data) if run["split"] in theirs]
        if not both:
            continue
        verdicts = []
        for path, more in COLUMNS.values():
            pairs = [(value(ours, path), value(its, path)) for ours, its in both]
            gained = estimate([a - b if more else b - a for a, b in pairs])
            word = "ahead" if gained.mean >= 0 else "behind"
            told_apart = gained.above > 0 or gained.below < 0
            verdicts.append(f"**{word}**" if told_apart else f"{word}, level")
        rows.append([name, *verdicts])
    return table(["gemsnn is", *COLUMNS], rows)


def accuracies(run: dict[str, Any]) -> list[float]:
    """On the test recordings, after each epoch, %."""
    return [100 * entry["accuracy"] for entry in run["history"]]


def settings_table(runs: Runs) -> str:
    rows = []
    for data in ("n-mnist-10", "simulated-10"):
        for setting in ("default", *ROWS):
            if found := of(runs, data, setting):
                first = f"**{NAMES[data]}**, {len(found)} splits<br>" if setting == "default" else ""
                rows.append(
                    [
                        first + setting,
                        interval(found, "test.accuracy", 100),
                        interval(found, "test.ece", 1, 3),
                        interval(found, "test.nll", 1, 3),
                        f"{mean(found, 'hidden_spikes'):,.0f}",
                    ]
                )
    return table(["changed", "accuracy, %", "ECE", "NLL", "hidden spikes"], rows)


def on_curve(runs: Runs, others: Runs, data: str) -> dict[str, list[tuple[str, Runs]]]:
    """Points of the curves, each method's from few spikes to many."""
    ours = [("default", of(runs, data)), *((setting, of(runs, data, setting)) for setting in CURVE)]
    ours.append(("no target rate", of(runs, data, "no target rate")))
    theirs = [("no penalty", by(others, data, "snntorch"))]
    theirs += [(f"penalty {p:g}", by(others, data, f"snntorch-{p:g}")) for p in PENALTIES_ON_SPIKES]
    curves = {GEMSNN: ours, "snnTorch": theirs}
    return {
        title: sorted((point for point in points if point[1]), key=lambda point: mean(point[1], "hidden_spikes"))
        for title, points in curves.items()
    }


def curve_table(runs: Runs, others: Runs) -> str:
    rows = [
        [
            f"{'gemsnn' if title == GEMSNN else title}, {label}",
            f"{mean(found, 'hidden_spikes'):,.0f}",
            interval(found, "test.accuracy", 100),
            interval(found, "test.ece", 1, 3),
            interval(found, "test.nll", 1, 3),
        ]
        for title, points in on_curve(runs, others, "n-mnist-10").items()
        for label, found in points
    ]
    return table(["N-MNIST, ten digits", "hidden spikes", "accuracy, %", "ECE", "NLL"], rows)


def budget_table(runs: Runs) -> str:
    rows = []
    for data, n in BUDGETS.items():
        for setting in (HALF, "default", TWICE):
            if found := of(runs, data, setting):
                rows.append(
                    [
                        f"{n:,} recordings, {setting}",
                        f"{mean(found, 'presented') / found[0]['n_learned']:.0f}",
                        f"{mean(found, 'best_epoch'):.0f}",
                        interval(found, "test.accuracy", 100),
                        interval(found, "test.ece", 1, 3),
                        interval(found, "test.nll", 1, 3),
                        f"{mean(found, 'train_seconds'):.0f}",
                    ]
                )
    return table(["", "epochs", "best by validation", "accuracy, %", "ECE", "NLL", "s to train"], rows)


def decoders_table(runs: Runs) -> str:
    rows = []
    for data in ("simulated-10", "n-mnist-10"):
        found, name = of(runs, data), NAMES[data]
        for decoder in ("per-step", "likelihood", "vote") if found else ():
            of_K = {K: f"decoders.{decoder}.{K}" for K in found[0]["decoders"][decoder]}
            pairs = [(mean(found, f"{at}.accuracy", 100), mean(found, f"{at}.ece")) for at in of_K.values()]
            cells = [f"{accuracy:.1f} / {ece:.3f}" for accuracy, ece in pairs]
            rows.append([f"{name}: {decoder}", *cells])
    return table(["accuracy, % / ECE", "1 compartment", "5", "20"], rows)


def stopping_table(anytime: Runs) -> str:
    rows = []
    for data, name in NAMES.items():
        found = [run for run in anytime if run["data"] == data]
        if not found:
            continue
        T, bin_ms = found[0]["n_steps"], found[0]["bin_ms"]
        rules = [next(rule for rule in run["stopping"] if rule["confidence"] == STOP) for run in found]
        steps = mean(rules, "steps")
        spared = [1 - entry["hidden_spikes"] / run["hidden_spikes"] for entry, run in zip(rules, found, strict=True)]
        off = np.mean([abs(entry["mean_confidence"] - entry["accuracy"]) for entry in rules])
        rows.append(
            [
                name,
                f"{100 * np.mean([run['accuracy'][-1] for run in found]):.1f}",
                f"{mean(rules, 'accuracy', 100):.1f}",
                f"{off:.3f}",
                f"{steps * bin_ms:.0f} of {T * bin_ms:.0f}",
                f"{100 * np.mean(spared):.0f} %",
            ]
        )
    header = ["", "accuracy, %", f"stopped at {STOP:g}", "confidence off by", "ms seen", "hidden spikes saved"]
    return table(header, rows)


def readme_table(runs: Runs, others: Runs) -> str:
    rows = []
    for data, name in NAMES.items():
        found = compared(runs, others, data)
        if not found:
            continue
        cells = []
        for title in (GEMSNN, *METHODS.values()):
            these = found.get(title, [])
            cells.append(f"{mean(these, 'test.accuracy', 100):.1f} %, {mean(these, 'test.ece'):.3f}" if these else "")
        for path in ("hidden_spikes", "train_seconds"):
            pair = [f"{mean(found[title], path):,.0f}" for title in (GEMSNN, "snnTorch") if title in found]
            cells.append(" / ".join(pair))
        rows.append([name, *cells])
    header = ["", "gemsnn", *METHODS.values(), "hidden spikes, gemsnn / snnTorch", "s to train, gemsnn / snnTorch"]
    return table(header, rows)


# ---- figures ---------------------------------------------------------------------------------------------------------


def draw_others(runs: Runs, others: Runs, path: Path) -> None:
    """Four panels, the lower the better: mistakes, calibration error, hidden spikes, time to train."""
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
    panels: tuple[tuple[str, Callable[[dict[str, Any]], float]], ...] = (
        ("mistakes, %", lambda run: 100 * (1 - run["test"]["accuracy"])),
        ("calibration error", lambda run: run["test"]["ece"]),
        ("hidden spikes per answer", lambda run: run["hidden_spikes"]),
        ("seconds to train", lambda run: run["train_seconds"]),
    )
    tried = [data for data in NAMES if compared(runs, others, data)]
    width = 0.2
    for axis, (title, measure) in zip(axes, panels, strict=True):
        for group, data in enumerate(tried):
            found = compared(runs, others, data)
            shown = [title for title in COLOURS if title in found and np.mean([measure(r) for r in found[title]]) > 0]
            for place, method in enumerate(shown):
                values = [measure(run) for run in found[method]]
                x = group + (place - (len(shown) - 1) / 2) * width
                axis.bar(x, np.mean(values), 0.9 * width, color=COLOURS[method])
                axis.plot([x] * len(values), values, ".", ms=3, color="black", alpha=0.5)
        axis.set_title(title, fontsize=11)
        axis.set_xticks(
            range(len(tried)),
            [NAMES[data].replace(" 0/1/2", "\n0/1/2").replace(", ", "\n") for data in tried],
            fontsize=8,
        )
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.02)
    axes[3].set_yscale("log")
    drawn = [title for title in COLOURS if any(title in compared(runs, others, data) for data in tried)]
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[title]) for title in drawn]
    figure.legend(handles, drawn, loc="outside upper center", ncols=4, frameon=False, title="the lower the better")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_settings(runs: Runs, path: Path) -> None:
    """Difference of each setting to the default, split by split."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.8), sharey=True, layout="constrained")
    drawn = {"n-mnist-10": "#1f6feb", "simulated-10": "#d9730d"}
    for axis, measure, scale in zip(axes, ("accuracy", "ece"), (100, 1), strict=True):
        for place, setting in enumerate(ROWS):
            for shift, (data, colour) in enumerate(drawn.items()):
                base, changed = (
                    {run["split"]: scale * run["test"][measure] for run in of(runs, data, name)}
                    for name in ("default", setting)
                )
                both = sorted(set(base) & set(changed))
                if not both:
                    continue
                differences = [changed[split] - base[split] for split in both]
                middle, y = float(np.mean(differences)), -place - 0.25 * (shift - 0.5)
                if middle < -LIMIT:
                    axis.plot(-LIMIT, y, "<", ms=6, color=colour)
                    axis.annotate(f"{middle:.0f}", (-LIMIT + 0.6, y), va="center", fontsize=7)
                else:
                    axis.plot([min(differences), max(differences)], [y, y], color=colour, lw=1.5)
                    axis.plot(middle, y, "o", ms=5, color=colour)
        axis.axvline(0, color="grey", lw=0.8)
        axis.set_xlabel("accuracy less the default's, points" if measure == "accuracy" else "ECE less the default's")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks([-place for place in range(len(ROWS))], ROWS)
    axes[0].set_xlim(left=-LIMIT - 1)
    for data, colour in drawn.items():
        axes[1].plot([], [], "o-", color=colour, label=NAMES[data])
    axes[1].legend(frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_curve(runs: Runs, others: Runs, path: Path) -> None:
    """Accuracy and calibration error against hidden spikes."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, measure, scale in zip(axes, ("accuracy", "ece"), (100, 1), strict=True):
        for title, points in on_curve(runs, others, "n-mnist-10").items():
            x = [mean(found, "hidden_spikes") for _, found in points]
            y = [mean(found, f"test.{measure}", scale) for _, found in points]
            axis.plot(x, y, "o-", ms=5, color=COLOURS[title], label=title.split(",")[0])
            for (label, _), *place in zip(points, x, y, strict=True):
                if label == "default" or (label == "no penalty" and measure == "accuracy"):
                    axis.annotate(label, place, xytext=(4, -11), textcoords="offset points", fontsize=8)
        axis.set(xlabel="hidden spikes per answer", xscale="log")
        axis.set_ylabel("test accuracy, %" if measure == "accuracy" else "test ECE")
        axis.spines[["top", "right"]].set_visible(False)
    if axes[0].lines:
        axes[0].legend(frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_anytime(anytime: Runs, path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for data, colour in zip(NAMES, plt.rcParams["axes.prop_cycle"].by_key()["color"], strict=False):
        found = [run for run in anytime if run["data"] == data]
        if not found:
            continue
        seen = 100 * (np.arange(found[0]["n_steps"]) + 1) / found[0]["n_steps"]
        for axis, measure, scale in zip(axes, ("accuracy", "ece"), (100, 1), strict=True):
            curves = scale * np.array([run[measure] for run in found])
            axis.plot(seen, curves.mean(axis=0), color=colour, label=NAMES[data])
            axis.fill_between(seen, curves.min(axis=0), curves.max(axis=0), color=colour, alpha=0.15, lw=0)
    for axis, label in zip(axes, ("test accuracy, %", "test ECE"), strict=True):
        axis.set(xlabel="share of the recording seen, %", ylabel=label)
        axis.spines[["top", "right"]].set_visible(False)
    if anytime:
        axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
