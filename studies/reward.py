"""What learning from rewards is worth: CartPole, spike patterns, first-to-spike with a price, completion.

    GEMSNN_REAL_DATA=... python studies/reward.py --out study-reward [--parts cartpole patterns first-spike completion]

CartPole needs gymnasium. First the learning rate of every method is chosen from a grid on data and with a seed of their
own, by returns of the learned policy or figures of validation examples; then every method runs with every seed, and is
measured once, at its end. The study can be killed and started at will: OUT/measured has a file for each measurement,
and what is done is not done again. It ends with the verdicts of `reward_claims`, whose rules were fixed before any run.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import reward_cartpole
import reward_completion
import reward_first_spike
import reward_patterns
from carrying import study
from reward_claims import claims
from rich.console import Console

from gemsnn.common.words import with_interval
from gemsnn.experiments import Measurement, answers, carry_out, failures, own_folder

TUNING_SEED, SEEDS = 100, (11, 12, 13, 14, 15)  # smaller ones were used while the study was written


class Trial(NamedTuple):
    """What is measured: a method with a rate and a seed, on a task of a part."""

    part: str
    task: str
    method: str
    rate: float
    seed: int


class Part(NamedTuple):
    """A part of the study."""

    measured: Callable[[Path, Trial], dict[str, Any]]
    tasks: tuple[str, ...]
    rates: dict[str, tuple[float, ...]]
    """Of each method."""
    tuned_on: dict[str, str]
    """Of each task, that on which the rates are chosen."""


def _cartpole(folder: Path, trial: Trial) -> dict[str, Any]:
    return reward_cartpole.measured(trial.method, trial.rate, trial.seed)


def _patterns(folder: Path, trial: Trial) -> dict[str, Any]:
    return reward_patterns.measured(trial.task, trial.method, trial.rate, trial.seed)


def _first_spike(folder: Path, trial: Trial) -> dict[str, Any]:
    """The tasks are levels: prices, or target rates."""
    method = trial.method
    level = reward_first_spike.LEVELS[method][int(trial.task.removeprefix("level "))]
    return reward_first_spike.measured(folder / "data", method, level, trial.rate, trial.seed)


def _completion(folder: Path, trial: Trial) -> dict[str, Any]:
    return reward_completion.measured(folder, trial.task, trial.method, trial.rate, trial.seed)


_levels = tuple(f"level {n}" for n in range(len(reward_first_spike.LEVELS["price"])))
_patterns_of = tuple(reward_patterns.TASKS)
PARTS = {
    "cartpole": Part(
        _cartpole,
        ("CartPole",),
        {
            method: (0.3, 1.0, 3.0) if method.startswith(("leave", "GEM")) else (0.03, 0.1, 0.3)
            for method in reward_cartpole.METHODS
        },
        {"CartPole": "CartPole"},
    ),
    "patterns": Part(
        _patterns,
        _patterns_of,
        dict.fromkeys(reward_patterns.METHODS, (0.3, 1.0, 3.0)),
        dict.fromkeys(_patterns_of, "jittered"),
    ),
    "first-spike": Part(
        _first_spike,
        _levels,
        {"price": (0.03, 0.1, 0.3), "target rate": (1e-3, 3e-3, 1e-2)},
        dict.fromkeys(_levels, "level 1"),
    ),
    "completion": Part(
        _completion,
        reward_completion.TASKS,
        {
            method: (1e-3, 3e-3, 1e-2) if method == "likelihood" else (3e-3, 1e-2, 3e-2)
            for method in reward_completion.METHODS
        },
        {task: task for task in reward_completion.TASKS},
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; made if it is not there")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="only these parts")
    parser.add_argument("--jobs", type=int, help="measurements at a time; as many as cores, if not given")
    given = parser.parse_args()
    console, folder = Console(), given.out.absolute()
    with study() as failed, own_folder(folder):
        for name in given.parts:
            tuning = [measurement(folder, trial) for trial in tuning_trials(name)]
            failed += failures(carry_out(tuning, console, workers=given.jobs))
            trials = study_trials(name, chosen_rates(name, answers(folder)))
            work = [measurement(folder, trial) for trial in trials]
            failed += failures(carry_out(work, console, workers=given.jobs))
    for claim in claims(results(folder)):
        console.print(f"\n{claim.claim}: {claim.verdict}", markup=False, highlight=False)
        for item in claim.evidence:
            line = f"  {item.what}: {item.verdict}; {item.effect} {with_interval(item.estimate)} {item.also}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def tuning_trials(name: str) -> Iterator[Trial]:
    """Every method with every rate, one seed."""
    part = PARTS[name]
    for task in dict.fromkeys(part.tuned_on.values()):
        for method, rates in part.rates.items():
            for rate in rates:
                yield Trial(name, task, method, rate, TUNING_SEED)


def chosen_rates(name: str, found: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """The rate of each task and method; a run that failed is no choice."""
    part, best = PARTS[name], {}
    for task, source in part.tuned_on.items():
        for method in part.rates:
            tried = [
                one
                for one in found
                if (one["part"], one["task"], one["method"], one["seed"]) == (name, source, method, TUNING_SEED)
            ]
            if tried:
                best[task, method] = max(tried, key=lambda one: one["score"])["rate"]
    return best


def study_trials(name: str, rates: dict[tuple[str, str], float]) -> Iterator[Trial]:
    for seed in SEEDS:
        for (task, method), rate in rates.items():
            yield Trial(name, task, method, rate, seed)


def measurement(folder: Path, trial: Trial) -> Measurement:
    told = re.sub(r"[^\w.-]+", "-", f"{trial.part}-{trial.task}-{trial.method}-{trial.rate:g}-seed{trial.seed}")
    return Measurement(told, measure, trial._asdict(), trial._asdict(), folder)


def measure(where: Path, part: str, task: str, method: str, rate: float, seed: int) -> dict[str, Any]:
    trial = Trial(part, task, method, rate, seed)
    return {**trial._asdict(), **PARTS[part].measured(where, trial)}


def results(folder: Path) -> list[dict[str, Any]]:
    """What was measured for the study itself, not to choose rates."""
    return [one for one in answers(folder) if one["seed"] in SEEDS]


if __name__ == "__main__":
    main()
