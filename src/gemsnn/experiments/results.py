"""What a sweep measured, gathered from its run directories into one ``results.json``.

Three ways to choose an iteration of a run, always named: ``best_on_test`` as the paper does (it peeks),
``chosen_on_validation`` (honest), and ``final``.
"""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gemsnn._version import __version__
from gemsnn.common.files import read_regular, write_whole
from gemsnn.common.sealed import BrokenSealError, seal, unseal
from gemsnn.errors import DataError
from gemsnn.experiments.protocol import DecodedBy, Protocol
from gemsnn.experiments.runs import Run
from gemsnn.experiments.statistics import Estimate, estimate
from gemsnn.experiments.sweep import Ended
from gemsnn.training import formats
from gemsnn.training.formats import FormatError, check_fields

FORMAT, VERSION = "gemsnn results", 2

Choice = Literal["best_on_test", "chosen_on_validation", "final"]
CHOICE_NAMES: dict[Choice, str] = {
    "best_on_test": "best iteration on the test set (as the paper)",
    "chosen_on_validation": "iteration chosen on validation (honest)",
    "final": "last iteration",
}
CHOICES = tuple(CHOICE_NAMES)
METRICS = ("log_likelihood", "accuracy", "ece", "nll", "brier")

Record = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """All evaluations of one run."""

    n_compartments: int
    seed: int
    records: list[Record]
    """The lines of its metrics.jsonl."""
    to_neurons: int
    """Reals that the processor broadcasts per step."""
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
        """Accuracy and so on of the evaluation ``index``."""
        found: Record = self.records[index][split]
        if decoder == DecodedBy.VOTE:
            return found
        few, likelihood = found["extra_decoders"]
        return {"log_likelihood": found["log_likelihood"], **(few if decoder == DecodedBy.FEW else likelihood)}

    def chosen(self, choice: Choice, decoder: DecodedBy = DecodedBy.VOTE) -> int:
        """Which evaluation a choice takes: the most accurate, ties by NLL, then the earlier; or the last."""
        if choice == "final":
            return len(self.records) - 1
        split = "test" if choice == "best_on_test" else "validation"

        def worth(index: int) -> tuple[float, float]:
            figures = self.figures(index, decoder, split)
            return figures["accuracy"], -figures["nll"]

        return max(range(len(self.records)), key=worth)


@dataclass(frozen=True)
class Results:
    """The runs that are done, and what they were."""

    protocol: Protocol
    runs: list[Measured]
    failed: list[Record]
    about: Record
    """Data, command, versions."""

    @property
    def compartments(self) -> list[int]:
        """The K for which a run is done."""
        return sorted({run.n_compartments for run in self.runs})

    def of(self, n_compartments: int) -> list[Measured]:
        return sorted((run for run in self.runs if run.n_compartments == n_compartments), key=lambda run: run.seed)

    def paired_seeds(self, compartments: Sequence[int]) -> list[int]:
        """The seeds for which all these K are done."""
        return sorted(set.intersection(*({run.seed for run in self.of(K)} for K in compartments)))

    def value(self, run: Measured, metric: str, choice: Choice, decoder: DecodedBy = DecodedBy.VOTE) -> float:
        """A test figure of a run at the iteration that the choice takes with the same decoder."""
        return float(run.figures(run.chosen(choice, decoder), decoder)[metric])

    def table(
        self, metric: str, choice: Choice, decoder: DecodedBy = DecodedBy.VOTE
    ) -> tuple[list[int], NDArray[np.float64]]:
        """Seeds for which every K is done, and their (n_seeds, n_K) test figures."""
        Ks = self.compartments
        seeds = self.paired_seeds(Ks)
        by = {(run.n_compartments, run.seed): run for run in self.runs}
        rows = [[self.value(by[K, seed], metric, choice, decoder) for K in Ks] for seed in seeds]
        return seeds, np.array(rows).reshape(len(seeds), len(Ks))

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
    """Read the run directories; fewer than two K give nothing to compare, and are a ``DataError``."""
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
        raise DataError(f"too few runs are done to conclude anything: {done}; mend what failed, and start again")
    return results


def versions() -> Record:
    """What the results were made with."""
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
    Ks = results.compartments
    summary: Record = {
        choice: {
            decoder.value: {
                metric: {str(K): results.estimate(K, metric, choice, decoder)._asdict() for K in Ks}
                for metric in METRICS
            }
            for decoder in DecodedBy
        }
        for choice in CHOICES
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "about": results.about,
        "protocol": results.protocol.model_dump(mode="json"),
        "claims": list(claims),
        "summary": summary,
        "costs": {
            str(K): {
                "to_neurons": results.of(K)[0].to_neurons,
                "to_processor": results.of(K)[0].to_processor,
                "hidden_spikes_per_step": results.estimated([run.spikes_per_step for run in results.of(K)])._asdict(),
            }
            for K in Ks
        },
        "failed": results.failed,
        "runs": [
            {
                "n_compartments": run.n_compartments,
                "seed": run.seed,
                "communication": {"to_neurons": run.to_neurons, "to_processor": run.to_processor},
                "hidden_spikes_per_step": run.spikes_per_step,
                "chosen": {choice: run.chosen(choice) for choice in CHOICES},
                "config": run.config,
                "evaluations": run.records,
            }
            for run in results.runs
        ],
    }


# ---- what stands in the file -----------------------------------------------------------------------------------------


class _Read(formats.DecoderFigures):
    accuracy: float
    ece: float
    nll: float
    brier: float
    reliability: formats.Reliability


class _Figures(_Read, formats.Figures):
    extra_decoders: Annotated[Sequence[_Read], Field(min_length=2, max_length=2)]


class _Evaluation(formats.Evaluation):
    validation: _Figures
    test: _Figures


class _Strict(BaseModel):
    """Of each table on its own: Pydantic does not pass this on to tables within."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Loads(_Strict):
    to_neurons: formats.Count
    to_processor: formats.Count


class _Run(_Strict):
    n_compartments: Annotated[int, Field(ge=1)]
    seed: Annotated[int, Field(ge=0)]
    communication: _Loads
    config: dict[str, Any]
    evaluations: Annotated[list[_Evaluation], Field(min_length=1)]


class _Data(_Strict):
    simulated: bool
    description: str
    n_train: formats.Count
    n_test: formats.Count
    classes: list[formats.Label]
    n_steps: formats.Count
    n_inputs: formats.Count
    split: str


class _About(_Strict):
    data: _Data
    commands: list[str]
    versions: dict[str, str]
    when: str


class _Failed(_Strict):
    name: str
    error: str


class _Content(_Strict):
    """What is relied on of a ``results.json``; the rest follows from it."""

    version: int
    about: _About
    protocol: dict[str, Any]
    claims: list[Any]
    failed: list[_Failed]
    runs: Annotated[list[_Run], Field(min_length=1)]


def write_results(path: Path, content: Record) -> None:
    write_whole(path, seal(content))


def read_results(path: str | Path) -> tuple[Results, list[Record]]:
    """Results and claims from a ``results.json``; one that was changed by hand is not believed."""
    try:
        text = read_regular(Path(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        content = unseal(text)
        version = content.get("version")
        if isinstance(version, int) and version > VERSION:
            raise DataError(f"{path}: from a newer gemsnn; install that")
        check_fields(content, _Content)
        protocol = Protocol.model_validate(content["protocol"])
        runs = [_measured(run) for run in content["runs"]]
        return Results(protocol, runs, content["failed"], content["about"]), content["claims"]
    except (BrokenSealError, FormatError, ValidationError) as error:
        raise DataError(f"{path}: not the results of gemsnn reproduce, or damaged: {_first_line(error)}") from None


def _measured(run: Record) -> Measured:
    loads = run["communication"]
    return Measured(
        run["n_compartments"],
        run["seed"],
        run["evaluations"],
        loads["to_neurons"],
        loads["to_processor"],
        run["config"],
    )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
