"""Tables and figures of docs/choosing-settings.md, from what the studies measured.

    python studies/page.py study --page docs/choosing-settings.md

Writes the text between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->`` anew, and the pictures beside the page;
everything else in the page is left alone.
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
from settings import DIGITS, SETTINGS

from gemsnn.common.words import plus_minus
from gemsnn.experiments import answers
from gemsnn.experiments.statistics import estimate

Runs = list[dict[str, Any]]
NAMES = {
    "simulated-012": "simulated 0/1/2",
    "simulated-012-fresh": "simulated 0/1/2, fresh splits",
    "simulated-10": "simulated, ten digits",
    "n-mnist-012": "N-MNIST 0/1/2",
    "n-mnist-10": "N-MNIST, ten digits",
}
MOST = "20"  # compartments at inference
OTHERS = (
    ("logistic regression on counts", "logistic"),
    ("snnTorch", "snntorch"),
    ("snnTorch, shift", "snntorch-shift"),
)
LIMIT = 25  # points of accuracy that the figure has room for


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="folder of the study")
    parser.add_argument("--page", type=Path, required=True, help="page to write into")
    arguments = parser.parse_args()
    runs, baselines, anytime = (answers(arguments.study / name) for name in ("settings", "baselines", "anytime"))
    text = arguments.page.read_text()
    for name, table in {
        "settings": lambda: settings_table(runs),
        "decoders": lambda: decoders_table(runs),
        "compartments": lambda: compartments_table(runs),
        "epochs": lambda: epochs_table(runs),
        "others": lambda: others_table(runs, baselines),
        "stopping": lambda: stopping_table(anytime),
    }.items():
        text = put(text, name, table())
    arguments.page.write_text(text)
    folder = arguments.page.parent / "figures"
    draw_settings(runs, folder / "settings-differences.png")
    draw_epochs(runs, folder / "settings-epochs.png")
    draw_anytime(anytime, folder / "settings-anytime.png")


def put(text: str, name: str, block: str) -> str:
    pattern = re.compile(rf"(<!-- begin: {name} -->\n).*?(<!-- end: {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"the page has no <!-- begin: {name} --> ... <!-- end: {name} -->")
    return pattern.sub(lambda match: f"{match[1]}\n{block}\n\n{match[2]}", text)


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def of(runs: Runs, data: str, setting: str) -> Runs:
    return sorted((run for run in runs if (run["data"], run["setting"]) == (data, setting)), key=lambda r: r["split"])


def figure_of(decoder: str, name: str, compartments: str = MOST) -> Callable[[dict[str, Any]], float]:
    return lambda run: run["test"][decoder][compartments][name]


def interval(values: list[float], scale: float = 1, digits: int = 1) -> str:
    """Mean and half width of the 95 % interval."""
    if not values:
        return ""
    return plus_minus(estimate(values), scale, digits)


def decoder_of(setting: str) -> str:
    """The paper's own; with self-memory the posterior, because single steps then say little; else the default."""
    return {"paper": "vote", "self-memory on": "likelihood"}.get(setting, "per-step")


def settings_table(runs: Runs) -> str:
    rows = []
    for data, title in NAMES.items():
        for setting in SETTINGS:
            found = of(runs, data, setting)
            if not found:
                continue
            decoder = decoder_of(setting)
            label = setting if decoder == "per-step" else f"{setting} ({decoder} decoder)"
            accuracy, ece, nll = (
                [figure_of(decoder, name)(run) for run in found] for name in ("accuracy", "ece", "nll")
            )
            rate = [run["test"][decoder]["1"]["hidden_spikes"] / run["n_steps"] for run in found]
            cost = [1000 * run["train_processor_seconds"] / (run["epochs"] * run["n_train"]) for run in found]
            first = f"**{title}**, {len(found)} splits, {found[0]['n_test']} to test on" if setting == "default" else ""
            rows.append(
                [
                    f"{first}<br>{label}" if first else label,
                    interval(accuracy, 100),
                    interval(ece, 1, 3),
                    interval(nll, 1, 3),
                    interval(rate, 1, 1).split(" ")[0],
                    f"{np.mean(cost):.0f}",
                ]
            )
    header = ["changed", "accuracy, %", "ECE", "NLL", "hidden spikes per step and compartment", "ms per example"]
    return table(header, rows)


def decoders_table(runs: Runs) -> str:
    rows = []
    for data, title in NAMES.items():
        for setting in ("default", "paper"):
            found = of(runs, data, setting)
            for decoder in ("per-step", "likelihood", "vote") if found else ():
                values = ([figure_of(decoder, name)(run) for run in found] for name in ("accuracy", "ece", "nll"))
                accuracy, ece, nll = values
                rows.append(
                    [
                        f"{title}, {setting}: {decoder}",
                        interval(accuracy, 100),
                        interval(ece, 1, 3),
                        interval(nll, 1, 3),
                    ]
                )
    return table(["decoder", "accuracy, %", "ECE", "NLL"], rows)


def compartments_table(runs: Runs) -> str:
    rows = []
    for data, title in NAMES.items():
        found = of(runs, data, "default")
        for decoder in ("per-step", "vote") if found else ():
            cells = [
                f"{interval([figure_of(decoder, 'accuracy', K)(run) for run in found], 100).split(' ')[0]} / "
                f"{interval([figure_of(decoder, 'ece', K)(run) for run in found], 1, 3).split(' ')[0]}"
                for K in ("1", "2", "5", "10", "20")
            ]
            rows.append([f"{title}: {decoder}", *cells])
    return table(["accuracy, % / ECE", "1", "2", "5", "10", "20"], rows)


def epochs_table(runs: Runs) -> str:
    rows = []
    for run in of(runs, "simulated-012", "default") + of(runs, "simulated-012-fresh", "default"):
        accuracy = [100 * entry["accuracy"] for entry in run["history"]]
        rows.append(
            [
                f"{'fresh ' if run['data'].endswith('fresh') else ''}split {run['split']}",
                " ".join(f"{value:.1f}" for value in accuracy),
                f"{max(accuracy):.1f}",
                f"{accuracy[-1]:.1f}",
                f"{max(accuracy) - accuracy[-1]:.1f}",
            ]
        )
    return table(["", "test accuracy after each epoch, %", "best", "last", "lost"], rows)


def others_table(runs: Runs, baselines: Runs) -> str:
    rows = []
    for data, title in NAMES.items():
        for label, setting, K in (
            ("gemsnn, default, 1 compartment", "default", "1"),
            ("gemsnn, default, 20 compartments", "default", "20"),
            ("gemsnn, ten epochs, 20 compartments", "ten epochs", "20"),
            ("gemsnn, no shift, 20 compartments", "no shift", "20"),
            ("gemsnn, paper's rule and vote, 20 compartments", "paper", "20"),
        ):
            found, decoder = of(runs, data, setting), decoder_of(setting)
            if not found:
                continue
            names = ("accuracy", "ece", "nll", "hidden_spikes")
            values = [[figure_of(decoder, name, K)(run) for run in found] for name in names]
            rows.append(row(f"{title}: {label}", *values, [run["train_processor_seconds"] for run in found]))
        for label, method in OTHERS:
            found = [
                run for run in baselines if run["method"] == method and re.fullmatch(rf"{data}-\d\.h5", run["data"])
            ]
            if not found:
                continue
            values = [[run[name] for run in found] for name in ("accuracy", "ece", "nll", "hidden_spikes")]
            rows.append(row(f"{title}: {label}", *values, [run["train_processor_seconds"] for run in found]))
    header = ["method", "accuracy, %", "ECE", "NLL", "hidden spikes per inference", "seconds to train"]
    return table(header, rows)


def row(
    label: str, accuracy: list[float], ece: list[float], nll: list[float], spikes: list[float], seconds: list[float]
) -> list[str]:
    mean_spikes, mean_seconds = (f"{np.mean(values):,.0f}" if values else "" for values in (spikes, seconds))
    return [label, interval(accuracy, 100), interval(ece, 1, 3), interval(nll, 1, 3), mean_spikes, mean_seconds]


def stopping_table(anytime: Runs) -> str:
    rows = []
    for data, title in NAMES.items():
        found = [run for run in anytime if run["data"] == data]
        if not found:
            continue
        T = found[0]["n_steps"]
        rows.append(
            [
                f"**{title}**, all {T} steps",
                interval([run["accuracy"][-1] for run in found], 100),
                interval([run["ece"][-1] for run in found], 1, 3),
                f"{T * found[0]['bin_ms']:.0f}",
                "",
                "",
            ]
        )
        for i, rule in enumerate(found[0]["stopping"]):
            rules = [run["stopping"][i] for run in found]
            steps = float(np.mean([entry["steps"] for entry in rules]))
            saved = 1 - np.mean(
                [entry["hidden_spikes"] / run["hidden_spikes"] for entry, run in zip(rules, found, strict=True)]
            )
            rows.append(
                [
                    f"stop at {rule['confidence']:g}",
                    interval([entry["accuracy"] for entry in rules], 100),
                    f"{np.mean([abs(entry['mean_confidence'] - entry['accuracy']) for entry in rules]):.3f}",
                    f"{steps * found[0]['bin_ms']:.0f}",
                    f"{100 * (1 - steps / T):.0f} %",
                    f"{100 * saved:.0f} %",
                ]
            )
    header = ["rule", "accuracy, %", "confidence off by", "ms seen", "time saved", "hidden spikes saved"]
    return table(header, rows)


def draw_settings(runs: Runs, path: Path) -> None:
    """Difference of each setting to the default, split by split."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 6.5), sharey=True, layout="constrained")
    names = [name for name in SETTINGS if name != "default"]
    drawn = [data for data in NAMES if any(run["data"] == data and run["setting"] != "default" for run in runs)]
    colours = dict(zip(drawn, plt.rcParams["axes.prop_cycle"].by_key()["color"], strict=False))
    for axis, measure, scale in zip(axes, ("accuracy", "ece"), (100, 1), strict=True):
        for place, setting in enumerate(names):
            for shift, data in enumerate(drawn):
                base = {run["split"]: figure_of("per-step", measure)(run) for run in of(runs, data, "default")}
                changed = {
                    run["split"]: figure_of(decoder_of(setting), measure)(run) for run in of(runs, data, setting)
                }
                both = sorted(set(base) & set(changed))
                if both:
                    found = estimate([scale * (changed[split] - base[split]) for split in both])
                    error = 0.0 if found.high is None else found.high - found.mean
                    y, colour = -place - 0.18 * (shift - 1.5), colours[data]
                    if found.mean < -LIMIT:
                        axis.plot(-LIMIT, y, "<", ms=6, color=colour)
                        axis.annotate(plus_minus(found, digits=0), (-LIMIT + 1, y), va="center", fontsize=7)
                    else:
                        axis.errorbar(found.mean, y, xerr=error, fmt="o", ms=4, color=colour, capsize=2)
        axis.axvline(0, color="grey", lw=0.8)
        axis.set_xlabel("accuracy less the default's, points" if measure == "accuracy" else "ECE less the default's")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks([-place for place in range(len(names))], names)
    axes[0].set_xlim(-LIMIT - 1, axes[0].get_xlim()[1])
    for data in drawn:
        axes[1].plot([], [], "o", color=colours[data], label=NAMES[data])
    axes[1].legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_epochs(runs: Runs, path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, measure, scale in zip(axes, ("accuracy", "ece"), (100, 1), strict=True):
        for setting, label, colour in (
            ("default", "default, per-step decoder", "tab:blue"),
            ("paper", "paper's rule, vote", "tab:red"),
            ("constant step, no average", "default, constant step, no average", "tab:orange"),
        ):
            for i, run in enumerate(of(runs, "simulated-012", setting)):
                epochs = [entry["epoch"] for entry in run["history"]]
                values = [scale * entry[measure] for entry in run["history"]]
                axis.plot(epochs, values, "o-", ms=3, color=colour, alpha=0.8, label=None if i else label)
        axis.set(xlabel="epoch", ylabel="test accuracy, %" if measure == "accuracy" else "test ECE")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_anytime(anytime: Runs, path: Path) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for data, colour in zip(DIGITS, plt.rcParams["axes.prop_cycle"].by_key()["color"], strict=False):
        found = [run for run in anytime if run["data"] == data]
        if not found:
            continue
        seconds = (np.arange(found[0]["n_steps"]) + 1) * found[0]["bin_ms"] / 1000
        for axis, measure, scale in zip(axes[:2], ("accuracy", "ece"), (100, 1), strict=True):
            curves = scale * np.array([run[measure] for run in found])
            axis.plot(seconds, curves.mean(axis=0), color=colour, label=NAMES[data])
            axis.fill_between(seconds, curves.min(axis=0), curves.max(axis=0), color=colour, alpha=0.15, lw=0)
        steps = np.array([[rule["steps"] for rule in run["stopping"]] for run in found]) / found[0]["n_steps"]
        accuracy = 100 * np.array([[rule["accuracy"] for rule in run["stopping"]] for run in found])
        axes[2].plot(100 * steps.mean(axis=0), accuracy.mean(axis=0), "o-", ms=4, color=colour)
        axes[2].axhline(100 * np.mean([run["accuracy"][-1] for run in found]), color=colour, lw=0.8, ls=":")
    axes[0].set(xlabel="time seen, s", ylabel="test accuracy, %", xscale="log")
    axes[1].set(xlabel="time seen, s", ylabel="ECE", xscale="log")
    axes[2].set(xlabel="share of the recording seen when stopping, %", ylabel="test accuracy, %")
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
