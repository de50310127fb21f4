"""Checkpoints: states that a run resumes from. The last two are kept, in case the newest is damaged."""

from __future__ import annotations

import re
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from gemsnn.common.files import remove_partial_files, sync_directory, writing
from gemsnn.common.words import shown
from gemsnn.errors import CheckpointError
from gemsnn.learning import TraceMeans
from gemsnn.model import Parameters
from gemsnn.training.formats import CheckpointHeader, FormatError, check_fields
from gemsnn.training.tensors import DamagedFileError, read_tensors, write_tensors
from gemsnn.training.trainer import Progress, TrainingState

FORMAT, VERSION = "gemsnn checkpoint", 2
KEEP = 2
_NAME = re.compile(r"(\d{12}|[1-9]\d{12,})\.safetensors", re.ASCII)
_FIELDS = ("synaptic", "somatic", "bias")


class CheckpointWarning(UserWarning):
    """A checkpoint is damaged, and an earlier one is used."""


class Checkpoint(NamedTuple):
    """A state, and what it belongs to."""

    state: TrainingState
    config: dict[str, Any]  # TrainingConfig.identity()
    data: str  # fingerprint
    metrics_bytes: int  # length of metrics.jsonl at that point
    metrics_sha256: str


class Checkpoints:
    """The checkpoints in a directory, named after their position."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def paths(self) -> list[Path]:
        """Newest first; files with other names are ignored."""
        return sorted(
            (path for path in self.directory.glob("*.safetensors") if _NAME.fullmatch(path.name)), reverse=True
        )

    def write(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, then remove all but the last two."""
        state = checkpoint.state
        header = {**checkpoint._asdict(), "state": asdict(state.progress)}
        if state.means is not None:
            header["examples_of_means"] = state.means.count
        with writing(self.directory):
            self.directory.mkdir(exist_ok=True)
        write_tensors(
            self.directory / f"{state.progress.position:012d}.safetensors", FORMAT, VERSION, header, _tensors(state)
        )
        for old in self.paths()[KEEP:]:
            old.unlink()

    def read_newest(self) -> Checkpoint:
        """The newest undamaged checkpoint; damaged ones are renamed, with a warning.

        If all are damaged, nothing is changed, and the error lists them.
        """
        damaged: list[tuple[Path, DamagedFileError]] = []
        for path in self.paths():
            try:
                found = _read(path)
            except DamagedFileError as error:
                damaged.append((path, error))
                continue
            for bad, problem in damaged:
                bad.rename(bad.with_name(bad.name + ".damaged"))
                warnings.warn(f"{problem}. Resuming from {path.name}, the one before", CheckpointWarning, stacklevel=2)
            if damaged:
                sync_directory(self.directory)
            remove_partial_files(self.directory)
            return found
        if not damaged:
            raise CheckpointError(f"{self.directory}: no checkpoints here, so there is nothing to resume from")
        raise CheckpointError(
            f"{self.directory}: every checkpoint is damaged, so the run cannot be resumed; nothing was changed. "
            + "; ".join(str(problem) for _, problem in damaged)
        )


def _read(path: Path) -> Checkpoint:
    header, tensors = read_tensors(path, FORMAT, VERSION)
    if header["version"] < VERSION:
        raise CheckpointError(
            f"{path}: written by gemsnn 0.1, whose runs this version cannot resume; start anew in another directory"
        )
    try:
        check_fields(header, CheckpointHeader)
        progress = Progress(**header["state"])
        total = _parameters("weight_sum", tensors) if progress.averaged else None
        count = header.get("examples_of_means")
        count = progress.position if count is None else count
        means = TraceMeans(tensors["means"], count) if "means" in tensors else None
        state = TrainingState(_parameters("parameters", tensors), progress, total, means)
        for name in tensors.keys() - _tensors(state).keys():
            raise FormatError(f"{shown(name)} does not belong here")
        return Checkpoint(state, header["config"], header["data"], header["metrics_bytes"], header["metrics_sha256"])
    except FormatError as error:
        raise DamagedFileError(f"{path}: not a usable checkpoint: {error}") from None
    except KeyError as error:
        raise DamagedFileError(f"{path}: not a usable checkpoint: {error} is missing") from None


def _tensors(state: TrainingState) -> dict[str, NDArray[Any]]:
    """All arrays of a state, by their names in the file."""
    tensors = _named("parameters", state.parameters)
    if state.weight_sum is not None:
        tensors |= _named("weight_sum", state.weight_sum)
    if state.means is not None:
        tensors["means"] = state.means.value
    return tensors


def _named(prefix: str, parameters: Parameters) -> dict[str, NDArray[Any]]:
    return {f"{prefix}.{name}": getattr(parameters, name) for name in _FIELDS}


def _parameters(prefix: str, tensors: dict[str, NDArray[Any]]) -> Parameters:
    return Parameters(*(tensors[f"{prefix}.{name}"] for name in _FIELDS))
