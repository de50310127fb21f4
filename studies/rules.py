"""Which rule teaches hidden neurons: MB, IW, GEM, GEM centred, Feedback, side by side on two tasks and two data sets.

    python studies/rules.py --out study-rules --n-mnist DIR
    python studies/rules_page.py study-rules --page docs/results.md

``DIR`` holds N-MNIST's ``Train/<digit>/<id>.bin``; without it only simulated digits are used. First the learning rate
of each rule and task is chosen from one grid, by the log-likelihood of validation examples, on data and with a seed of
their own; then every rule runs with every K and seed, and is measured once, at its end: no iteration is chosen. The
study can be killed and started at will, and goes on where it was; ``--scheduler`` spreads it over a Dask cluster. It
ends with ``results.json``, and the verdicts of ``rules_claims`` in the terminal.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrying import study
from rich.console import Console
from rules_claims import CLAIMS
from rules_results import Chosen, Measured, StudyResults, write_study

from gemsnn.common.words import with_interval
from gemsnn.errors import DataError
from gemsnn.events import (
    complete_prepared,
    find_nmnist,
    import_recordings,
    mnist_dvs_preprocessing,
    nmnist_preprocessing,
    open_prepared,
    simulate_prepared,
)
from gemsnn.experiments import Ended, Run, carry_out, failures, own_folder
from gemsnn.training import DecoderSettings, TrainingConfig

DIGITS = (0, 1, 2)
SEEDS = (0, 1, 2, 3, 4)
TUNING_SEED, TUNING_COMPARTMENTS = 100, 5
LEARNING_RATES = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
COMPARTMENTS = (1, 2, 5, 10, 20)
SEVERAL = COMPARTMENTS[1:]  # for rules that compare compartments
N_HIDDEN = 60

# Pinned, so that the study stays the same when the package's defaults change.
BASE: dict[str, Any] = {
    "topology": {"kind": "fully-connected"},
    "readout": "bernoulli",
    "synaptic_filter": {"kind": "exponential", "time_constants": (2.0, 10.0, 80.0), "duration": 80},
    "somatic_filter": {"kind": "raised-cosine"},
    "visible_memory": False,
    "hidden_bias": -2.0,
    "visible_bias": 0.0,
    "weight_scale": 1.0,
    "mean_free": False,
    "learning_rate_schedule": "cosine",
    "average_last": 0.2,
    "shift": 0,
    "validation_fraction": 0.1,
    "eval_every": 10**9,  # only at the end
    "decoder": "per-step",
    "inference_compartments": 5,
    "likelihood_samples": 20,
    "extra_decoders": (
        DecoderSettings(kind="vote", compartments=5),
        DecoderSettings(kind="likelihood", compartments=20),
    ),
}


@dataclass(frozen=True)
class Task:
    """Data, and how long to learn from them. Sizes were chosen from measured milliseconds, before any result."""

    title: str
    completion: bool
    real: bool
    epochs: int
    per_class: tuple[int, int] = (0, 0)
    """Of simulated digits: training and test recordings of each."""
    downsample: int = 1
    """Of real recordings: side of the square of pixels that becomes one input."""
    gain: float = 10.0
    """Of Feedback, not chosen here: 10 is the default for classes; 1 where errors come from hundreds of neurons."""


TASKS = {
    "classes": Task("simulated digits, classes", False, False, epochs=8, per_class=(300, 100)),
    "completion": Task("simulated digits, completion", True, False, epochs=6, per_class=(150, 30), gain=1.0),
    "n-mnist-classes": Task("N-MNIST, classes", False, True, epochs=10),
    "n-mnist-completion": Task("N-MNIST, completion", True, True, epochs=10, downsample=2, gain=1.0),
}


@dataclass(frozen=True)
class Row:
    """A rule, or what it is compared with."""

    rule: Callable[[Task], dict[str, Any]]
    compartments: tuple[int, ...] = COMPARTMENTS
    n_hidden: int = N_HIDDEN


ROWS = {
    "no hidden neurons": Row(lambda task: {"kind": "gem"}, (1,), n_hidden=0),
    "hidden neurons fixed": Row(lambda task: {"kind": "feedback", "gain": 0.0, "target_rate": 1.0}, (1,)),
    "MB": Row(lambda task: {"kind": "mb"}),
    "IW": Row(lambda task: {"kind": "iw", "baseline": "leave-one-out"}, SEVERAL),
    "GEM": Row(lambda task: {"kind": "gem"}),
    "GEM centred": Row(lambda task: {"kind": "gem", "centred": True}, SEVERAL),
    "Feedback": Row(lambda task: {"kind": "feedback", "gain": task.gain, "target_rate": 1.0}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; made if it is not there")
    parser.add_argument("--n-mnist", type=Path, help="folder with N-MNIST's Train")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="only these tasks")
    parser.add_argument("--jobs", type=int, help="runs at a time; as many as cores, if not given")
    parser.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="spread the runs over a Dask cluster instead")
    given = parser.parse_args()
    names = [name for name in given.tasks if given.n_mnist or not TASKS[name].real]
    console, where = Console(), {"workers": given.jobs, "scheduler": given.scheduler}
    with study() as failed, own_folder(given.out):
        prepare_all(given.out, names, given.n_mnist)
        tuning = [run for name in names for run in tuning_runs(given.out, name)]
        console.print(f"{len(tuning)} runs to choose learning rates")
        tried = carry_out(tuning, console, **where)
        learning_rates = chosen_rates(tuning, tried)
        runs = [run for name in names for run in study_runs(given.out, name, learning_rates)]
        console.print(f"{len(runs)} runs of the study")
        failed += failures(carry_out(runs, console, **where))
        results = gather(runs, learning_rates, [*tuning, *runs], sys.argv[1:])
        write_study(given.out / "results.json", results)
        tell(results, console)


# ---- data ------------------------------------------------------------------------------------------------------------


def prepare_all(out: Path, names: list[str], n_mnist: Path | None) -> None:
    for name in names:
        for seed in (TUNING_SEED, *SEEDS):
            prepare(out, name, seed, n_mnist)


def data_file(out: Path, name: str, seed: int) -> Path:
    """Simulated recordings are new for each seed; of the few real ones the same are kept apart to test on."""
    return out / "data" / (f"{name}.h5" if TASKS[name].real else f"{name}-{seed}.h5")


def prepare(out: Path, name: str, seed: int, n_mnist: Path | None) -> None:
    """Write a prepared file, unless it is there."""
    task, file = TASKS[name], data_file(out, name, seed)
    if file.exists():
        return
    print(f"preparing {file}", flush=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    whole, partial = file.with_suffix(".whole.h5"), file.with_suffix(".partial.h5")
    if task.real:
        assert n_mnist is not None
        inventory = find_nmnist(n_mnist, DIGITS)
        choices = nmnist_preprocessing().model_copy(update={"downsample": task.downsample, "polarity": "merged"})
        import_recordings(inventory, whole, preprocessing=choices, split="stratified", test_fraction=0.3, seed=0)
    else:
        choices = mnist_dvs_preprocessing().model_copy(update={"polarity": "merged"})
        simulate_prepared(whole, digits=DIGITS, per_class=task.per_class, seed=seed, preprocessing=choices)
    if task.completion:
        complete_prepared(whole, partial, half="right")
        whole.unlink()
    else:
        whole.rename(partial)
    partial.rename(file)


# ---- runs ------------------------------------------------------------------------------------------------------------


def tuning_runs(out: Path, name: str) -> list[Run]:
    """Every rule with every learning rate, one seed."""
    return [
        a_run(out, "tune", name, row, min(TUNING_COMPARTMENTS, max(ROWS[row].compartments)), rate, TUNING_SEED)
        for row in ROWS
        for rate in LEARNING_RATES
    ]


def chosen_rates(runs: list[Run], ended: list[Ended]) -> list[Chosen]:
    """By the log-likelihood of the validation examples at the run's end; a run that diverged is no choice."""
    done = {end.name for end in ended if end.status == "done"}
    found = []
    for task, row in dict.fromkeys((run.labels["task"], run.labels["rule"]) for run in runs):
        tried = [run for run in runs if (run.labels["task"], run.labels["rule"]) == (task, row)]
        values = {
            run.labels["rate"]: run.directory.read_summary()["final"]["validation"]["log_likelihood"]
            for run in tried
            if run.name in done
        }
        if not values:
            raise DataError(f"{task}, {row}: every learning rate diverged; there is nothing to choose from")
        best = max(values, key=lambda rate: values[rate])
        found.append(Chosen(task, row, best, {f"{rate:g}": value for rate, value in values.items()}))
    return found


def study_runs(out: Path, name: str, learning_rates: list[Chosen]) -> list[Run]:
    rates = {(chosen.task, chosen.rule): chosen.learning_rate for chosen in learning_rates}
    return [
        a_run(out, "run", name, row, K, rates[name, row], seed)
        for row in ROWS
        for K in ROWS[row].compartments
        for seed in SEEDS
    ]


def a_run(out: Path, kind: str, name: str, row: str, K: int, rate: float, seed: int) -> Run:
    task = TASKS[name]
    config = TrainingConfig.make(
        **BASE,
        n_hidden=ROWS[row].n_hidden,
        n_compartments=K,
        rule={**ROWS[row].rule(task), "learning_rate": rate},
        epochs=task.epochs,
        seed=seed,
    )
    labels = {"task": name, "rule": row, "K": K, "rate": rate, "seed": seed}
    file = data_file(out, name, seed).absolute()
    told = re.sub(r"[^\w.-]+", "-", f"{kind}-{name}-{row}-K{K}-{rate:g}-seed{seed}")
    with open_prepared(file) as data:
        # What an example costs, up to a factor: so that the longest runs come first.
        cost = task.epochs * len(data.train) * data.n_steps * (data.n_inputs + N_HIDDEN) * data.n_visible**0.5
    return Run(told, config, file, labels, out.absolute(), cost * (2 + K + K * K / 20) / 1e6)


# ---- results ---------------------------------------------------------------------------------------------------------


def gather(runs: list[Run], learning_rates: list[Chosen], timed: list[Run], arguments: list[str]) -> StudyResults:
    """From the run directories."""
    measured = []
    for run in runs:
        if not run.directory.finished:
            continue
        summary = run.directory.read_summary()
        labels, figures = run.labels, summary["final"]
        loads = summary["communication"]
        measured.append(
            Measured(
                labels["task"],
                labels["rule"],
                labels["K"],
                labels["seed"],
                validation=figures["validation"]["log_likelihood"],
                test=figures["test"],
                spikes=figures["train"]["hidden_spikes_per_step"],
                communication=loads["to_processor"] + loads["to_neurons"] + loads.get("sent_back", 0),
                milliseconds=None if (took := seconds(run)) is None else 1000 * took / summary["position"],
            )
        )
    if not measured:
        raise DataError("no run of the study is done; mend what failed, and start again")
    took = [seconds(run) for run in timed if run.directory.finished]
    about = {
        "command": " ".join(["python", "studies/rules.py", *arguments]),
        "learning_hours": sum(known for known in took if known is not None) / 3600,
        "untimed": took.count(None),
        "tasks": {name: describe(name, runs) for name in dict.fromkeys(run.labels["task"] for run in runs)},
        "n_hidden": N_HIDDEN,
        "grid": list(LEARNING_RATES),
        "seeds": len(SEEDS),
        "tuning_compartments": TUNING_COMPARTMENTS,
    }
    return StudyResults(measured, learning_rates, about)


def describe(name: str, runs: list[Run]) -> dict[str, Any]:
    task = TASKS[name]
    with open_prepared(next(run.data for run in runs if run.labels["task"] == name)) as data:
        return {
            "title": task.title,
            "completion": task.completion,
            "real": task.real,
            "epochs": task.epochs,
            "n_train": len(data.train),
            "n_test": len(data.test),
            "n_inputs": data.n_inputs,
            "n_visible": data.n_visible,
            "n_steps": data.n_steps,
            "gain": task.gain,
        }


def seconds(run: Run) -> float | None:
    """Processor time of learning; of a run that was killed, as if all of it had taken as long as what is known.

    None if nothing is: one that was killed after its last example, and only measured when it went on.
    """
    lines = [json.loads(line) for line in run.directory.timing.read_text().splitlines()]
    timed = sum(line["examples"] for line in lines)
    if not timed:
        return None
    learned: int = run.directory.read_summary()["position"]
    return learned / timed * float(sum(line["learning_processor_seconds"] for line in lines))


def tell(results: StudyResults, console: Console) -> None:
    for claim in (claim(results) for claim in CLAIMS):
        console.print(f"\n{claim.claim}", markup=False, highlight=False)
        for item in claim.evidence:
            line = f"  {item.what}: {item.verdict}; {item.effect} {with_interval(item.estimate)} {item.also}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
