"""A run directory: training that can be killed at any time and resumes bit-for-bit identically.

| file | what |
|---|---|
| `config.toml` | every setting, and where the data was |
| `metrics.jsonl` | one line per evaluation; identical however often the run was interrupted |
| `timing.jsonl` | one line per evaluation: wall-clock times |
| `checkpoints/` | states to resume from |
| `best.safetensors` | the best model by validation |
| `best_on_test.safetensors` | the best model by test, as the paper reports; not an unbiased estimate |
| `final.safetensors`, `summary.json` | the model at the end, and the results; written when the run is finished |
| `README.md` | a model card: figures, data and limits of the model; written when the run is finished |
| `lock` | held by the process that works on the run |
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.files import read_regular, remove_partial_files, write_whole, writing
from gemsnn.common.sealed import BrokenSealError, seal, unseal
from gemsnn.errors import CheckpointError, ConfigError, WriteError
from gemsnn.events.pairs import is_pairs
from gemsnn.metrics import communication
from gemsnn.model import Network, Parameters
from gemsnn.training.calibration import keys_of
from gemsnn.training.card import model_card
from gemsnn.training.checkpoints import Checkpoint, Checkpoints
from gemsnn.training.config import TrainingConfig, differences, write_config
from gemsnn.training.data import Data
from gemsnn.training.formats import Evaluation, FormatError, Summary, check_fields
from gemsnn.training.from_model import FromModel
from gemsnn.training.from_settings import identity_of, trainer_of
from gemsnn.training.lock import locked
from gemsnn.training.model import Model, read_model, save_model, with_certainty
from gemsnn.training.pairs import PairData
from gemsnn.training.trainer import Evaluated, Learned, Observer, Progress, Record, Trainer

ModelName = Literal["best", "final", "best_on_test"]
_MODELS: tuple[ModelName, ...] = ("final", "best", "best_on_test")
SUMMARY_FORMAT, SUMMARY_VERSION = "gemsnn summary", 2


class Outcome(NamedTuple):
    """How a call of :func:`train` ended."""

    status: Literal["finished", "stopped early", "interrupted"]
    trainer: Trainer


class RunDirectory:
    """The files of a run, by name."""

    def __init__(self, directory: str | PathLike[str]) -> None:
        self.path = Path(directory)
        self.config = self.path / "config.toml"
        self.metrics = self.path / "metrics.jsonl"
        self.timing = self.path / "timing.jsonl"
        self.summary = self.path / "summary.json"
        self.card = self.path / "README.md"
        self.checkpoints = Checkpoints(self.path / "checkpoints")

    @property
    def started(self) -> bool:
        return self.config.exists() or self.metrics.exists() or bool(self.checkpoints.paths())

    @property
    def finished(self) -> bool:
        return self.summary.exists()

    def model_path(self, name: ModelName) -> Path:
        return self.path / f"{name}.safetensors"

    def load_model(self, name: ModelName | None = None) -> Model:
        """A model of the run; default: the best by validation, or the final one if no examples were held out."""
        return read_model(self.find_model(name))

    def find_model(self, name: ModelName | None = None) -> Path:
        """The file of :meth:`load_model`."""
        named = name is not None
        if name is None:
            held_out = self.model_path("best").exists() or (self.finished and self.read_summary()["best"] is not None)
            name = "best" if held_out else "final"
        path = self.model_path(name)
        if not path.exists():
            if not self.started:
                raise CheckpointError(f"{self.path}: there is no training run here")
            if self.finished and not named:
                raise CheckpointError(f"{path}: the run's best model is missing; put it back, or ask for --model final")
            raise CheckpointError(f"{path}: the run has no such model (yet); has it reached its first evaluation?")
        return path

    def read_metrics(self) -> list[Record]:
        """The evaluations so far, without an incomplete last line.

        Those of a finished run must match the checksum in its summary.
        """
        if not self.metrics.exists() and not self.finished:
            return []
        content = self._checked_metrics() if self.finished else self._read(self.metrics)
        return read_records(content, self.metrics)

    def read_summary(self) -> dict[str, Any]:
        """The results of a finished run."""
        if not self.finished:
            raise CheckpointError(f"{self.path}: this run is not finished; continue it with --resume")
        content = self._read(self.summary)
        try:
            summary = unseal(content)
            version = summary.get("version")
            if isinstance(version, int) and version > SUMMARY_VERSION:
                raise CheckpointError(f"{self.summary}: from a newer gemsnn; install that")
            check_fields(summary, Summary)
        except (BrokenSealError, FormatError) as error:
            raise CheckpointError(f"{self.summary}: cannot be believed: {error}. {_WHAT_TO_DO}") from None
        return summary

    def _read(self, path: Path) -> bytes:
        try:
            return read_regular(path)
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None

    def _checked_metrics(self) -> bytes:
        """The bytes of ``metrics.jsonl``, checked against the summary."""
        content = self._read(self.metrics) if self.metrics.exists() else b""
        if hashlib.sha256(content).hexdigest() != self.read_summary()["metrics_sha256"]:
            raise CheckpointError(
                f"{self.metrics}: cannot be believed: it was changed since the run was finished. {_WHAT_TO_DO}"
            )
        return content


def load_model(path: str | PathLike[str], name: ModelName | None = None) -> Model:
    """Read a trained model from a run directory or from a model file (.safetensors).

    ``name`` selects a model of a run; default: the best by validation, or the final one if no examples were held out. A
    damaged file, or one from a newer version, is a ``CheckpointError``.
    """
    path = Path(path)
    if path.is_dir():
        return RunDirectory(path).load_model(name)
    if name is not None:
        raise ConfigError(f"{path}: {name!r} names a model of a run directory, but this is none")
    return read_model(path)


def read_records(content: bytes, name: Path) -> list[Record]:
    """The evaluations in the bytes of a ``metrics.jsonl``, without an incomplete last line."""
    records = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            record = json.loads(line)
            check_fields(record, Evaluation)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{name}: line {number} is no evaluation, or damaged: {error}") from None
        records.append(record)
    return records


_WHAT_TO_DO = "Put the original back, or remove the run's directory and run it again"


def train(
    config: TrainingConfig,
    data: Data | Any,
    directory: str | PathLike[str],
    *,
    resume: bool = False,
    network: Network | None = None,
    parameters: Parameters | None = None,
    from_model: FromModel | Model | str | PathLike[str] | None = None,
    observers: Sequence[Observer] | Callable[[RunDirectory, Trainer], Sequence[Observer]] = (),
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Train in a run directory.

    Parameters
    ----------
    config, data
        Settings; prepared data, :class:`ArrayData`, :class:`PairData`, or a map-style PyTorch data set.
    directory
        Created if it does not exist.
    resume
        Resume the run in the directory, or start it if there is none. Settings or data that differ from those of the
        run are refused. Without ``resume``, a directory that contains a run is refused.
    network, parameters
        A custom network and initial parameters, in place of those that the settings describe.
    from_model
        A trained model to start from, or its path; :class:`gemsnn.FromModel` has more options. Its guarantee, if any,
        is dropped.
    observers
        Called after every batch and evaluation; or a function that creates them when the run is set up.
    stop
        Called between batches; if it returns True, the state is saved and ``train`` returns.

    Examples
    --------
    >>> import tempfile, numpy as np, gemsnn
    >>> folder = tempfile.TemporaryDirectory()
    >>> X, y = np.random.default_rng(0).random((12, 20, 5)) < 0.3, [0, 1] * 6
    >>> gemsnn.events.write_prepared(f"{folder.name}/data.h5", X, y)
    >>> config = TrainingConfig.make(n_hidden=4, epochs=2)
    >>> with gemsnn.events.open_prepared(f"{folder.name}/data.h5") as data:
    ...     outcome = train(config, data, f"{folder.name}/run")
    >>> outcome.status, outcome.trainer.position
    ('finished', 16)
    >>> folder.cleanup()
    """
    run = RunDirectory(directory)
    if is_pairs(data):
        data = PairData(data)
    # Everything is validated before anything is written.
    if isinstance(from_model, str | PathLike):
        from_model = load_model(from_model)
    begun = FromModel(from_model) if isinstance(from_model, Model) else from_model
    trainer = trainer_of(config, data, network=network, parameters=parameters, from_model=begun)
    config = config.changed(rule=trainer.rule)  # includes a learning rate measured on the data
    identity = identity_of(config, trainer, network is not None or parameters is not None, begun)
    with writing(run.path):
        run.path.mkdir(parents=True, exist_ok=True)
    with locked(run.path):
        recorder = _Recorder(run, trainer, config, identity, begun)
        if run.started:
            if not resume:
                raise CheckpointError(
                    f"{run.path}: holds a run already; continue it with --resume, or choose another directory"
                )
            recorder.restore()
        else:
            recorder.begin()
        watching = observers(run, trainer) if callable(observers) else observers
        try:
            finished = trainer.run(recorder, *watching, stop=stop)
            if finished:
                recorder.finish()
            else:
                recorder.save()
        except WriteError as error:
            paths = run.checkpoints.paths()
            where = f"The run resumes from {paths[0].name}" if paths else "No checkpoint is left to resume from"
            raise WriteError(f"{error}, then continue with --resume. {where}") from error
    status: Any = "interrupted" if not finished else "stopped early" if trainer.stopped_early else "finished"
    return Outcome(status, trainer)


class _Recorder:
    """Writes the files of a run, in an order that allows the process to be killed at any time."""

    def __init__(
        self,
        run: RunDirectory,
        trainer: Trainer,
        config: TrainingConfig,
        identity: dict[str, Any],
        from_model: FromModel | None,
    ) -> None:
        self.run, self.trainer, self.config, self.from_model = run, trainer, config, from_model
        self._about: dict[str, Any] = {"config": identity}
        if from_model is not None:
            self._about["origin"] = from_model.origin()
        self._identity, self._data = identity, trainer.data.fingerprint
        self._metrics_bytes, self._metrics_digest = 0, hashlib.sha256()
        self._saved_at = time.monotonic()
        self._learning_seconds, self._timed_from = 0.0, 0
        self._processor_seconds, self._processor_from = 0.0, time.process_time()

    # ---- before

    def begin(self) -> None:
        # The checkpoint first: a directory with a configuration has something to resume from.
        self.save()
        self._write_config()

    def restore(self) -> None:
        found = self.run.checkpoints.read_newest()
        self._refuse_changes(found)
        kept = b""
        if self.run.metrics.exists():
            try:
                kept = read_regular(self.run.metrics)[: found.metrics_bytes]
            except OSError as error:
                raise CheckpointError(f"{self.run.metrics}: cannot be read: {error.strerror or error}") from None
        if len(kept) != found.metrics_bytes or hashlib.sha256(kept).hexdigest() != found.metrics_sha256:
            raise CheckpointError(
                f"{self.run.metrics}: was changed since the checkpoint was written; put the original back, or start a "
                "new run"
            )
        self.trainer.adopt(found.state)  # refuses what does not fit, before anything is changed
        self._refuse_loss(found.state.progress)
        if self.run.metrics.exists() and self.run.metrics.stat().st_size > found.metrics_bytes:
            # Evaluations after the checkpoint are repeated, with identical results, and so is the summary.
            self.run.summary.unlink(missing_ok=True)
            with writing(self.run.metrics), self.run.metrics.open("rb+") as stream:
                stream.truncate(found.metrics_bytes)
                os.fsync(stream.fileno())
        self._metrics_bytes = found.metrics_bytes
        self._metrics_digest.update(kept)
        self._timed_from = found.state.progress.position
        remove_partial_files(self.run.path)
        if not self.run.config.exists():
            self._write_config()

    def _refuse_loss(self, progress: Progress) -> None:
        """A best model is written before the checkpoint that refers to it, so it must exist."""
        kept: tuple[tuple[ModelName, Record | None], ...] = (
            ("best", progress.best), ("best_on_test", progress.best_on_test)
        )  # fmt: skip
        for name, record in kept:
            if record is not None and not self.run.model_path(name).exists():
                raise CheckpointError(
                    f"{self.run.model_path(name)}: is missing, though example {record['position']} gave one; put it "
                    "back, or start a new run in another directory"
                )

    def _refuse_changes(self, found: Checkpoint) -> None:
        changes = differences(found.config, self._identity)
        if found.data != self._data:
            changes.append(f"the data had fingerprint {found.data[:12]}... and now has {self._data[:12]}...")
        if changes:
            raise ConfigError(
                f"{self.run.path}: cannot resume with other settings or data: {'; '.join(changes)}. "
                "Give what the run was started with, or start a new run in another directory"
            )

    # ---- while it runs

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        self._learning_seconds += event.seconds
        self._processor_seconds += time.process_time() - self._processor_from
        if time.monotonic() - self._saved_at >= self.config.checkpoint_seconds:
            self.save()
        self._processor_from = time.process_time()

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        if event.is_best:
            self._save_model(event.record, self.run.model_path("best"))
        if event.is_best_on_test:
            self._save_model(event.record, self.run.model_path("best_on_test"))
        self._append(event.record)
        self.save()
        self._note_time(event)

    def save(self) -> None:
        """Write a checkpoint."""
        self.run.checkpoints.write(
            Checkpoint(
                self.trainer.state, self._identity, self._data, self._metrics_bytes, self._metrics_digest.hexdigest()
            )
        )
        self._saved_at = time.monotonic()

    # ---- after

    def finish(self) -> None:
        trainer, progress = self.trainer, self.trainer.state.progress
        self._save_model(progress.last, self.run.model_path("final"))
        parts, data = trainer.partition, trainer.data
        known = np.concatenate([parts.training, parts.validation])
        learned = keys_of(data.train, known, data.n_inputs)
        for which in _MODELS:
            self._complete(self.run.model_path(which), learned)
        loads = communication(trainer.network, trainer.rule, trainer.n_compartments)
        summary = {
            "format": SUMMARY_FORMAT,
            "version": SUMMARY_VERSION,
            "status": "stopped early" if trainer.stopped_early else "finished",
            "position": trainer.position,
            "time_samples": progress.time_samples,
            "examples": {
                "train": len(trainer.partition.training),
                "validation": len(trainer.partition.validation),
                "test": len(trainer.partition.test),
            },
            "communication": loads._asdict(),
            "best": progress.best,
            "best_on_test": progress.best_on_test,
            "likelihood_trained": progress.likelihood_trained,
            "final": progress.last,
            **self._about,
            "data": self._data,
            "metrics_sha256": self._metrics_digest.hexdigest(),
        }
        card = model_card(self.run.load_model("best" if progress.best else "final"), summary)
        write_whole(self.run.card, card.encode())
        write_whole(self.run.summary, seal(summary))

    # ---- inside

    def _write_config(self) -> None:
        path = getattr(self.trainer.data, "path", None)
        where = None if path is None else str(Path(path).absolute())
        written = None if self.from_model is None else self.from_model.table()
        write_whole(self.run.config, write_config(self.config, where, written).encode())

    def _save_model(self, record: Record | None, path: Path) -> None:
        """Every model of a run is written here."""
        save_model(self.trainer.model(record, self._about), path)

    def _complete(self, path: Path, learned: NDArray[np.uint64]) -> None:
        """Add the keys of the examples to a model and calibrate it on the held-out ones."""
        if path.exists():
            trainer, model = self.trainer, replace(read_model(path), learned=learned)
            if self.config.calibrate and path != self.run.model_path("best_on_test"):
                model = with_certainty(
                    model, trainer.data, trainer.partition, threads=trainer.threads, engine=trainer.engine
                )
            save_model(model, path)

    def _append(self, record: Record) -> None:
        line = (json.dumps(record, allow_nan=False) + "\n").encode()
        with writing(self.run.metrics), self.run.metrics.open("ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
        self._metrics_bytes += len(line)
        self._metrics_digest.update(line)

    def _note_time(self, event: Evaluated) -> None:
        seconds, examples = self._learning_seconds, event.record["position"] - self._timed_from
        line = {
            "position": event.record["position"],
            "examples": examples,
            "learning_seconds": seconds,
            "learning_processor_seconds": self._processor_seconds,
            "evaluation_seconds": event.seconds,
            "examples_per_second": examples / seconds if seconds else None,
            "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "process": os.getpid(),
        }
        with writing(self.run.timing), self.run.timing.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        self._learning_seconds, self._timed_from = 0.0, event.record["position"]
        self._processor_seconds, self._processor_from = 0.0, time.process_time()
