"""What the study of rules measured, and its file."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.files import write_whole
from gemsnn.common.sealed import BrokenSealError, seal, unseal
from gemsnn.errors import DataError
from gemsnn.experiments.results import versions
from gemsnn.experiments.statistics import Estimate, estimate

FORMAT, VERSION = "gemsnn study of rules", 1
BASELINE, FIXED = "no hidden neurons", "hidden neurons fixed"


@dataclass(frozen=True)
class Chosen:
    """The learning rate of a rule on a task, and the validation log-likelihood of every rate that was tried."""

    task: str
    rule: str
    learning_rate: float
    tried: dict[str, float]

    @property
    def at_the_edge(self) -> bool:
        rates = sorted(map(float, self.tried))
        return self.learning_rate in (rates[0], rates[-1])


@dataclass(frozen=True)
class Measured:
    """A run at its end."""

    task: str
    rule: str
    K: int
    seed: int
    validation: float
    """Log-likelihood."""
    test: dict[str, Any]
    """All figures."""
    spikes: float
    """Hidden spikes per step while learning, over all compartments."""
    communication: int
    """Reals sent per step while learning, in all directions."""
    milliseconds: float | None
    """Processor time of learning, for each example, where it is known."""


@dataclass(frozen=True)
class StudyResults:
    """The runs that are done."""

    runs: list[Measured]
    learning_rates: list[Chosen]
    about: dict[str, Any]

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(run.task for run in self.runs))

    @property
    def rules(self) -> list[str]:
        """Those that teach hidden neurons."""
        return [rule for rule in dict.fromkeys(run.rule for run in self.runs) if rule not in (BASELINE, FIXED)]

    def title(self, task: str) -> str:
        return str(self.about["tasks"][task]["title"])

    def of(self, task: str, rule: str, K: int) -> dict[int, Measured]:
        """By seed."""
        return {run.seed: run for run in self.runs if (run.task, run.rule, run.K) == (task, rule, K)}

    def compartments(self, task: str, rule: str) -> list[int]:
        return sorted({run.K for run in self.runs if (run.task, run.rule) == (task, rule)})

    def mean(self, task: str, rule: str, K: int, field: str) -> float:
        values = [getattr(run, field) for run in self.of(task, rule, K).values()]
        return float(np.mean([value for value in values if value is not None]))

    def best_K(self, task: str, rule: str, among: list[int] | None = None) -> int | None:
        """The K with the highest validation log-likelihood, a mean over seeds; None if there is none to choose."""
        Ks = self.compartments(task, rule) if among is None else among
        return max(Ks, key=lambda K: self.mean(task, rule, K, "validation"), default=None)

    def log_likelihoods(self, task: str, rule: str, Ks: list[int]) -> NDArray[np.float64]:
        """(n_seeds, n_K) of test examples, for the seeds that every K has."""
        by_K = [self.of(task, rule, K) for K in Ks]
        seeds = sorted(set.intersection(*(set(runs) for runs in by_K))) if by_K else []
        rows = [[runs[seed].test["log_likelihood"] for runs in by_K] for seed in seeds]
        return np.array(rows, dtype=np.float64).reshape(len(seeds), len(Ks))

    def difference(self, task: str, one: tuple[str, int], other: tuple[str, int]) -> Estimate:
        """Of the test log-likelihoods, paired over seeds: how much higher the first is."""
        first, second = self.of(task, *one), self.of(task, *other)
        seeds = sorted(first.keys() & second.keys())
        if not seeds:
            return Estimate(0.0, None, None, 0)
        values = [first[seed].test["log_likelihood"] - second[seed].test["log_likelihood"] for seed in seeds]
        return estimate(values)

    def margin(self, task: str) -> float:
        """A smaller difference of log-likelihoods, in nats per recording, is not worth the name."""
        return 10.0 if self.about["tasks"][task]["completion"] else 0.5


def write_study(path: Path, results: StudyResults) -> None:
    content = {
        "format": FORMAT,
        "version": VERSION,
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "versions": versions(),
        "about": results.about,
        "learning_rates": [asdict(chosen) for chosen in results.learning_rates],
        "runs": [asdict(run) for run in results.runs],
    }
    write_whole(path, seal(content))


def read_study(path: Path) -> tuple[StudyResults, dict[str, Any]]:
    """Results, and the whole content of the file."""
    try:
        content = unseal(path.read_bytes())
        if content["format"] != FORMAT or content["version"] > VERSION:
            raise KeyError("format")
        runs = [Measured(**run) for run in content["runs"]]
        return StudyResults(runs, [Chosen(**one) for one in content["learning_rates"]], content["about"]), content
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (BrokenSealError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not the results of studies/rules.py, or damaged: {error}") from None
