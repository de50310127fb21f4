"""Figures, verdicts and tables of the study of rules, as a part of docs/results.md and a page of tables beside it.

    python studies/rules_page.py study-rules --page docs/results.md

Rewrites the text between ``<!-- begin: rules -->`` and ``<!-- end: rules -->``, the page ``results/rules.md`` with all
tables, and the figures; everything else in the page stays. What a person wrote between the ``story`` comments is kept
as long as the results are those that it is about.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator
from pages import elsewhere, fingerprint, kept_words, put, table
from rules_claims import CLAIMS
from rules_results import BASELINE, FIXED, Measured, StudyResults, read_study

from gemsnn.common.words import plus_minus, with_interval
from gemsnn.errors import GemsnnError
from gemsnn.experiments import Claim
from gemsnn.experiments.statistics import Estimate, estimate
from gemsnn.plot.axes import COLOURS, MARKERS, finish, ink
from gemsnn.plot.panels import style

FIGURE = (
    "Test log-likelihood of each rule over that of a network without hidden neurons, against K; means and 95 % "
    "intervals over seeds, paired. Dashed: hidden neurons that stay as they were drawn."
)
IN_FULL = "[All tables and figures of the study](results/rules.md)"
CUT = (
    "New simulated recordings are drawn for each seed. Few N-MNIST recordings of these digits are available, and all "
    "seeds use the same test recordings: there the intervals show the random variation of training, not that of other "
    "recordings. To fit the study into a few hours, it uses 60 hidden neurons instead of 200, three digits, few "
    "epochs, one learning rate per rule and not per K, and for completing N-MNIST squares of 2 x 2 pixels as inputs. "
    "IW with leave-one-out and centred GEM compare compartments, and start with K = 2."
)
SIZES = ("n_train", "n_test", "n_inputs", "n_visible", "n_steps", "epochs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="folder of the study")
    parser.add_argument("--page", type=Path, required=True, help="page to write into")
    given = parser.parse_args()
    try:
        results, content = read_study(given.study / "results.json")
    except GemsnnError as error:
        sys.exit(f"error: {error}")
    folder = given.page.parent / "figures" / "results" / "rules"
    folder.mkdir(parents=True, exist_ok=True)
    draw(results, lambda axes, task: against_compartments(results, task, axes), folder / "compartments.svg")
    draw(results, lambda axes, task: against_cost(results, task, "milliseconds", axes), folder / "time.svg")
    draw(results, lambda axes, task: against_cost(results, task, "communication", axes), folder / "communication.svg")
    text, judged = given.page.read_text(), [claim(results) for claim in CLAIMS]
    told = kept_words(text, "story", fingerprint([given.study])).rstrip()
    parts = [picture("compartments", FIGURE), told, summary(results, judged), IN_FULL]
    given.page.write_text(put(text, "rules", "\n\n".join(parts)))
    tables = given.page.parent / "results" / "rules.md"
    tables.parent.mkdir(exist_ok=True)
    tables.write_text(in_full(results, judged, content))


# ---- figures ---------------------------------------------------------------------------------------------------------


def draw(results: StudyResults, panel: Callable[[Axes, str], Any], file: Path) -> None:
    """One panel for each task, two in a row."""
    tasks = results.tasks
    rows = -(-len(tasks) // 2)
    with style():
        figure = Figure(figsize=(9.6, 3.6 * rows), layout="constrained")
        for axes, task in zip(figure.subplots(rows, 2, squeeze=False).ravel(), tasks, strict=False):
            panel(axes, task)
        for axes in figure.axes[len(tasks) :]:
            axes.set_visible(False)
        figure.savefig(file, facecolor="white", metadata={"Date": None})


def gain(results: StudyResults, task: str, rule: str, K: int) -> Estimate:
    """Over a network without hidden neurons."""
    return results.difference(task, (rule, K), (BASELINE, 1))


def baselines(results: StudyResults, task: str, axes: Axes) -> None:
    axes.axhline(0, color=ink(axes), lw=1.0, label=BASELINE)
    fixed = gain(results, task, FIXED, 1)
    if fixed.n:
        axes.axhline(fixed.mean, color=ink(axes), lw=1.0, ls="--", label=FIXED)


def against_compartments(results: StudyResults, task: str, axes: Axes) -> None:
    baselines(results, task, axes)
    for place, rule in enumerate(results.rules):
        Ks = results.compartments(task, rule)
        found = [gain(results, task, rule, K) for K in Ks]
        # A little apart, so that intervals do not cover each other.
        x = np.array(Ks) * 1.04 ** (place - (len(results.rules) - 1) / 2)
        bars = [[e.mean - (e.low or e.mean) for e in found], [(e.high or e.mean) - e.mean for e in found]]
        axes.errorbar(x, [e.mean for e in found], yerr=bars, color=COLOURS[place], marker=MARKERS[place], ms=4,
                      lw=1.4, capsize=2, label=rule)  # fmt: skip
    axes.set_xscale("log")
    every = sorted({run.K for run in results.runs})
    axes.set_xticks(every, [str(K) for K in every])
    axes.minorticks_off()
    axes.set(xlabel="compartments K while learning", ylabel="nats over no hidden neurons")
    finish(axes, results.title(task))


def against_cost(results: StudyResults, task: str, field: str, axes: Axes) -> None:
    baselines(results, task, axes)
    for place, rule in enumerate(results.rules):
        Ks = results.compartments(task, rule)
        x = [results.mean(task, rule, K, field) for K in Ks]
        y = [gain(results, task, rule, K).mean for K in Ks]
        axes.plot(x, y, color=COLOURS[place], marker=MARKERS[place], ms=4, lw=1.4, label=rule)
    axes.set_xscale("log")
    left, right = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if right < 100 * left else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,g}"))
    axes.minorticks_off()
    names = {"milliseconds": "ms of processor time per example", "communication": "reals sent per step while learning"}
    axes.set(xlabel=names[field], ylabel="nats over no hidden neurons")
    finish(axes, results.title(task))


# ---- text ------------------------------------------------------------------------------------------------------------


def in_full(results: StudyResults, judged: list[Claim], content: dict[str, Any]) -> str:
    parts = [
        "# Learning rules: all tables",
        "Every verdict and figure of the study of learning rules; [Results](../results.md) has the summary.",
        how(results, content),
        "## Verdicts",
        *(verdicts(claim) for claim in judged),
        picture("time", "Test log-likelihood against the processor time of learning.", "../"),
        picture("communication", "Test log-likelihood against the reals sent per step of learning.", "../"),
        "## Figures of every rule",
        *(figures(results, task) for task in results.tasks),
        "## Learning rates",
        rates(results),
    ]
    return "\n\n".join(parts) + "\n"


def picture(name: str, caption: str, docs: str = "") -> str:
    return f"![{caption}]({docs}figures/results/rules/{name}.svg)\n\n*{caption}*"


def summary(results: StudyResults, judged: list[Claim]) -> str:
    """One sentence for each question and task, from the verdicts."""
    lines = []
    for claim in judged:
        lines.append(f"- **{claim.claim}**")
        for task in results.tasks:
            of_task = [item for item in claim.evidence if item.what.startswith(results.title(task))]
            said = {verdict: [short(item.what, results.title(task)) for item in of_task if item.verdict == verdict]
                    for verdict in ("supported", "not supported", "inconclusive")}  # fmt: skip
            told = "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in said.items() if names)
            lines.append(f"  - {results.title(task)}: {told}.")
    return "\n".join(lines)


def short(what: str, title: str) -> str:
    return re.sub(r", (K = \d+) chosen on validation", r" (\1)", what.removeprefix(title).lstrip(",: "))


def how(results: StudyResults, content: dict[str, Any]) -> str:
    about, versions = results.about, content["versions"]
    Ks = ", ".join(str(K) for K in sorted({run.K for run in results.runs}))
    grid = ", ".join(f"{rate:g}" for rate in about["grid"])
    header = ["task", "training recordings", "test", "inputs", "visible neurons", "steps", "epochs", "gain of Feedback"]
    rows = [
        [task["title"], *(str(task[size]) for size in SIZES), f"{task['gain']:g}"] for task in about["tasks"].values()
    ]
    lines = [
        f"{about['n_hidden']} hidden neurons, K = {Ks}, {about['seeds']} seeds, figures at the end of training. The "
        f"learning rate of each rule and task is the one of {grid} with the highest log-likelihood of validation "
        f"examples at K = {about['tuning_compartments']}, found with a seed of its own and used for every K.",
        "",
        table(header, rows),
        "",
        CUT,
        "",
        "```bash",
        elsewhere(about["command"]),
        "```",
        "",
        f"{about['learning_hours']:.1f} hours of processor time for learning{untimed(about)}, with gemsnn "
        f"{versions['gemsnn']}, Python "
        f"{versions['python']}, NumPy {versions['numpy']}, Numba {versions['numba']}, on {versions['processor']}.",
    ]
    return "\n".join(lines)


def untimed(about: dict[str, Any]) -> str:
    many = about.get("untimed", 0)
    return f" (without {many} that were killed at their very end, whose time is not known)" if many else ""


def verdicts(claim: Claim) -> str:
    rows = [
        [item.what, f"{item.effect.rstrip(':')}", with_interval(item.estimate), item.also, f"**{item.verdict}**"]
        for item in claim.evidence
    ]
    heading = f"**{claim.claim}** {claim.rule[0].upper()}{claim.rule[1:]}."
    return f"{heading}\n\n" + table(["looked at", "effect", "mean and 95 % interval", "also", "verdict"], rows)


def figures(results: StudyResults, task: str) -> str:
    completion = results.about["tasks"][task]["completion"]
    header = ["rule", "K", "log-likelihood"]
    decoders = ["per step", "vote", "likelihood"]
    shares = [f"{what}: {by}" for what in ("accuracy, %", "ECE") for by in decoders]
    header += ["van Rossum distance"] if completion else shares
    header += ["hidden spikes per step", "reals sent per step", "ms per example"]
    rows = []
    for rule in (BASELINE, FIXED, *results.rules):
        for K in results.compartments(task, rule):
            runs = list(results.of(task, rule, K).values())
            rows.append([rule, str(K), over(runs, lambda run: run.test["log_likelihood"], digits=2), *read_out(runs),
                         over(runs, lambda run: run.spikes), "-" if rule == FIXED else str(runs[0].communication),
                         over(runs, lambda run: run.milliseconds)])  # fmt: skip
    return f"### {results.title(task)[0].upper()}{results.title(task)[1:]}\n\n{table(header, rows)}"


def read_out(runs: list[Measured]) -> list[str]:
    if "accuracy" not in runs[0].test:
        return [over(runs, lambda run: run.test["van_rossum"], digits=3)]
    decoders: list[Callable[[Measured], dict[str, Any]]] = [
        lambda run: run.test,
        lambda run: run.test["extra_decoders"][0],
        lambda run: run.test["extra_decoders"][1],
    ]
    accuracies = [over(runs, lambda run, of=of: of(run)["accuracy"], 100) for of in decoders]
    return accuracies + [over(runs, lambda run, of=of: of(run)["ece"], digits=3) for of in decoders]


def over(runs: list[Measured], value: Callable[[Measured], float | None], factor: float = 1, digits: int = 1) -> str:
    values = [value(run) for run in runs]
    return plus_minus(estimate([known for known in values if known is not None]), factor, digits)


def rates(results: StudyResults) -> str:
    header = ["rule", *(results.title(task) for task in results.tasks)]
    by = {(chosen.task, chosen.rule): chosen for chosen in results.learning_rates}
    rows = [
        [rule, *(f"{by[task, rule].learning_rate:g}{' (the end of the grid)' if by[task, rule].at_the_edge else ''}"
                 for task in results.tasks)]
        for rule in (BASELINE, FIXED, *results.rules)
    ]  # fmt: skip
    return table(header, rows)


if __name__ == "__main__":
    main()
