"""What single settings are worth on tasks that differ in everything, by the validation parts; test parts stay unseen.

    python studies/task_settings.py --out task-settings --tasks rhythms braille --variants default "rate 0.01"

Each network learns from a task's training part as ``SpikingClassifier`` does, with the defaults but for one setting.
OUT/settings.jsonl has a line for each run, which is not run again. ``--page docs/tasks.md`` writes them as a table.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from judging import figures
from pages import put, table
from task_data import TASKS, Task, load

from gemsnn import Exponential, SpikingClassifier
from gemsnn.training import Schedule

RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    **{f"rate {rate:g}": {"rule__learning_rate": rate} for rate in RATES},
    **{f"epochs x {times:g}": {"times": times} for times in (0.5, 2, 4)},
    "no target rate": {"rule__target_rate": 1.0},
    **{f"target rate {rate:g}": {"rule__target_rate": rate} for rate in (0.05, 0.1)},
    **{f"gain {gain:g}": {"rule__gain": gain} for gain in (3.0, 30.0)},
    **{
        f"memory x {times:g}": {
            "network__synaptic_filter": Exponential((2.0 * times, 10.0 * times, 80.0 * times), round(80 * times))
        }
        for times in (0.5, 2, 4)
    },
    "K = 5": {"n_compartments": 5},
    "hidden x 2": {"n_hidden": 400},
    "batches of 8": {"schedule__batch_size": 8},
    "no shift": {"schedule__shift": 0},
    "shift 4": {"schedule__shift": 4},
    "epochs x 2, target rate 0.05": {"times": 2, "rule__target_rate": 0.05},
    "batches of 8, target rate 0.05": {"schedule__batch_size": 8, "rule__target_rate": 0.05},
}
"""By name, what differs from the defaults; ``times`` are epochs, in times the default number."""


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder; made if it is not there")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--examples", type=int, help="learn from at most so many")
    parser.add_argument("--page", type=Path, help="write what was measured into this page, and run nothing")
    options = parser.parse_args(given)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "settings.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    if options.page is not None:
        options.page.write_text(put(options.page.read_text(), "settings", page_of(lines)))
        return
    done = {(line["task"], line["variant"], line["seed"], line["limit"]) for line in lines}
    for name in options.tasks:
        for seed in options.seeds:
            for variant in options.variants:
                if (name, variant, seed, options.examples) in done:
                    continue
                line = measured(load(name, options.out / "data"), variant, seed, options.examples)
                lines.append(line)
                with file.open("a") as stream:
                    stream.write(json.dumps(line) + "\n")
                print(shown(line), flush=True)
    print("\n".join(shown(line) for line in lines if line["task"] in options.tasks))


def measured(task: Task, variant: str, seed: int, limit: int | None) -> dict[str, Any]:
    """One run, judged on the validation part of a split."""
    parts = task.split(seed)
    train = np.random.default_rng(seed).permutation(parts.train)[:limit]
    changes = dict(VARIANTS[variant])
    if "times" in changes:
        changes["schedule__epochs"] = round(changes.pop("times") * Schedule().epochs_of(round(0.9 * len(train))))
    classifier = SpikingClassifier(network={"grid": task.grid}, random_state=seed, threads=1).set_params(**changes)
    begin = time.process_time()
    groups = None if task.groups is None else task.groups[train]
    classifier.fit(task.arrays(train), task.labels[train], groups=groups)
    seconds = time.process_time() - begin
    probabilities = classifier.predict_proba(task.arrays(parts.validation))
    return {
        "task": task.name,
        "variant": variant,
        "seed": seed,
        "limit": limit,
        "learned from": len(train),
        "learning rate": classifier.learning_rate_,
        "shown": classifier.n_examples_seen_,
        **figures(task.labels[parts.validation], probabilities),
        "hidden spikes per step": classifier.history_[-1]["train"]["hidden_spikes_per_step"],
        "seconds": round(seconds, 1),
        "history": [
            {
                "epoch": record["epoch"],
                "log-likelihood": record["train"]["log_likelihood"],
                "accuracy": record["validation"]["accuracy"],
                "nll": record["validation"]["nll"],
            }
            for record in classifier.history_
        ],
    }


def page_of(lines: Sequence[dict[str, Any]]) -> str:
    """A row per run: task, how many examples it learned from, variant and figures."""
    header = ["task (learned from)", "changed", "accuracy, %", "ECE", "NLL", "hidden spikes per step"]
    rows = []
    for line in sorted(lines, key=lambda line: (list(TASKS).index(line["task"]), line["learned from"])):
        figures_of = [f"{100 * line['accuracy']:.1f}", f"{line['ece']:.3f}", f"{line['nll']:.3f}"]
        task = f"{line['task']} ({line['learned from']})"
        rows.append([task, line["variant"], *figures_of, f"{line['hidden spikes per step']:.1f}"])
    return table(header, rows)


def shown(line: dict[str, Any]) -> str:
    return (
        f"{line['task']:16} {line['variant']:16} {line['seed']} rate {line['learning rate']:<8g} "
        f"accuracy {100 * line['accuracy']:5.1f} ECE {line['ece']:.3f} NLL {line['nll']:.3f} shown {line['shown']:6} "
        f"spikes {line['hidden spikes per step']:5.1f} {line['seconds']:7.1f} s"
    )


if __name__ == "__main__":
    main()
