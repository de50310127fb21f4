"""The results of a reproduction, gathered from its run directories into one ``results.json``.

There are three choices of the iteration of a run: ``best_on_test`` as in the paper (optimistic),
``chosen_on_validation`` (unbiased), and ``final``.
"""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn._version import __version__
from gemsnn.common.files import read_regular, write_whole
from gemsnn.common.sealed import BrokenSealError, seal, unseal
from gemsnn.errors import DataError
from gemsnn.experiments.protocol import DecodedBy, Protocol
from gemsnn.experiments.runs import Run
from gemsnn.experiments.statistics import Estimate, estimate
from gemsnn.experiments.sweep import Ended

FORMAT, VERSION = "gemsnn results", 3

Choice = Literal["best_on_test", "chosen_on_validation", "final"]
CHOICE_NAMES: dict[Choice, str] = {
    "best_on_test": "best iteration on the test set (as the paper)",
    "chosen_on_validation": "iteration chosen on validation (honest)",
    "final": "last iteration",
}
CHOICES = tuple(CHOICE_NAMES)

Record = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """All evaluations of one run."""

    n_compartments: int
    seed: int
    records: list[Record]
    """The lines of its metrics.jsonl."""
    to_neurons: int
    """Numbers that the processor broadcasts per step."""
    to_processor: int
    config: Record

    @property
    def spikes_per_step(self) -> float:
        """Hidden spikes per time step while learning, summed over compartments, over the whole run."""
        weights = [record["train"]["examples"] for record in self.records]
        return float(np.average([r["train"]["hidden_spikes_per_step"] for r in self.records], weights=weights))

    @property
    def time_samples(self) -> list[int]:
        return [record["time_samples"] for record in self.records]

    def figures(self, index: int, decoder: DecodedBy, split: str = "test") -> Record:
        """Figures of the evaluation with this index."""
        found: Record = self.records[index][split]
        if decoder == DecodedBy.VOTE:
            return found
        few, likelihood = found["extra_decoders"]
        return {"log_likelihood": found["log_likelihood"], **(few if decoder == DecodedBy.FEW else likelihood)}

    def chosen(self, choice: Choice, decoder: DecodedBy = DecodedBy.VOTE) -> int:
        """Index of the selected evaluation: the most accurate (then lower NLL, then earlier), or the last."""
        if choice == "final":
            return len(self.records) - 1
        split = "test" if choice == "best_on_test" else "validation"

        def quality(index: int) -> tuple[float, float]:
            figures = self.figures(index, decoder, split)
            return figures["accuracy"], -figures["nll"]

        return max(range(len(self.records)), key=quality)


@dataclass(frozen=True)
class Results:
    """The finished runs of a reproduction."""

    protocol: Protocol
    runs: list[Measured]
    failed: list[Record]
    about: Record
    """Data, command, versions."""

    @property
    def compartments(self) -> list[int]:
        """Every K with a finished run."""
        return sorted({run.n_compartments for run in self.runs})

    def of(self, n_compartments: int) -> list[Measured]:
        return sorted((run for run in self.runs if run.n_compartments == n_compartments), key=lambda run: run.seed)

    def value(self, run: Measured, metric: str, choice: Choice, decoder: DecodedBy = DecodedBy.VOTE) -> float:
        """A test figure of a run at the iteration that the choice selects with the same decoder."""
        return float(run.figures(run.chosen(choice, decoder), decoder)[metric])

    def paired(self, value: Callable[[Measured], float]) -> NDArray[np.float64]:
        """A value of each run, (n_seeds, n_K), for the seeds with a finished run for every K."""
        by = {(run.n_compartments, run.seed): run for run in self.runs}
        Ks = self.compartments
        seeds = sorted(set.intersection(*({run.seed for run in self.of(K)} for K in Ks)))
        return np.array([[value(by[K, seed]) for K in Ks] for seed in seeds]).reshape(len(seeds), len(Ks))

    def estimate(self, K: int, metric: str, choice: Choice, decoder: DecodedBy = DecodedBy.VOTE) -> Estimate:
        """Mean over seeds, with its interval."""
        return self.estimated([self.value(run, metric, choice, decoder) for run in self.of(K)])

    def estimated(self, values: ArrayLike) -> Estimate:
        return estimate(values, self.protocol.confidence)

    def curve(self, K: int, metric: str, decoder: DecodedBy) -> list[tuple[float, Estimate]]:
        """(processed time samples, estimate over seeds) at each evaluation."""
        runs = self.of(K)
        return [
            (
                float(np.mean([run.time_samples[i] for run in runs])),
                self.estimated([run.figures(i, decoder)[metric] for run in runs]),
            )
            for i in range(min(len(run.records) for run in runs))
        ]


def gather(protocol: Protocol, runs: Sequence[Run], ended: Sequence[Ended], about: Record) -> Results:
    """Read the run directories; fewer than two K raise a ``DataError``, as there is nothing to compare."""
    measured = []
    for run in sorted(runs, key=lambda run: (run.labels["K"], run.labels["seed"])):
        if run.directory.finished:
            summary = run.directory.read_summary()
            loads = summary["communication"]
            measured.append(
                Measured(
                    run.labels["K"],
                    run.labels["seed"],
                    run.directory.read_metrics(),
                    loads["to_neurons"],
                    loads["to_processor"],
                    summary["config"],
                )
            )
    failed = [end._asdict() for end in ended if end.status == "failed"]
    results = Results(protocol, measured, failed, about)
    if len(results.compartments) < 2:
        done = "no run is" if not measured else f"only runs with K = {results.compartments[0]} are"
        raise DataError(f"too few runs are done to conclude anything: {done}; fix what failed, and start again")
    return results


def versions() -> Record:
    """Versions of the software and the hardware."""
    packages = ("numpy", "numba", "scipy", "h5py", "pydantic", "joblib", "matplotlib")
    return {
        "gemsnn": __version__,
        "python": sys.version.split()[0],
        **{name: importlib.metadata.version(name) for name in packages},
        "platform": platform.platform(),
        "processor": _processor(),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def to_json(results: Results, claims: Sequence[Record]) -> Record:
    """Every number, with seeds, configuration and versions."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "about": results.about,
        "protocol": results.protocol.model_dump(mode="json"),
        "claims": list(claims),
        "failed": results.failed,
        "runs": [asdict(run) for run in results.runs],
    }


def write_results(path: Path, content: Record) -> None:
    write_whole(path, seal(content))


def read_results(path: str | Path) -> tuple[Results, list[Record]]:
    """Results and claims from a ``results.json``, whose checksum is verified."""
    try:
        content = unseal(read_regular(Path(path)))
        if content.get("format") != FORMAT:
            raise BrokenSealError(f"its format is {content.get('format')!r}, not {FORMAT!r}")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except BrokenSealError as error:
        raise DataError(f"{path}: not the results of gemsnn reproduce, or damaged: {error}") from None
    if content["version"] != VERSION:
        raise DataError(f"{path}: from another version of gemsnn; use that version, or repeat the reproduction")
    runs = [Measured(**run) for run in content["runs"]]
    protocol = Protocol.model_validate(content["protocol"])
    return Results(protocol, runs, content["failed"], content["about"]), content["claims"]
