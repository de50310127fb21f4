"""Scalars for TensorBoard (extra ``tensorboard``), made from the same records as metrics.jsonl."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from gemsnn.common.files import writing
from gemsnn.common.words import counted
from gemsnn.errors import ConfigError
from gemsnn.training.run import RunDirectory
from gemsnn.training.trainer import Evaluated, Learned, Record, Trainer

SUFFIX = ".gemsnn"
"""Identifies the files that gemsnn wrote."""
FIGURES = ("log_likelihood", "accuracy", "ece", "nll", "brier", "van_rossum", "hidden_spikes_per_step")


class TensorBoard:
    """An observer that writes to the folder ``tensorboard`` of a run; steps are processed time samples.

    Its files are rewritten from metrics.jsonl at each start, so that a resumed run shows no evaluation twice; other
    files in the folder are left alone.
    """

    def __init__(self, run: RunDirectory) -> None:
        if find_spec("tensorboard") is None:
            raise ConfigError("TensorBoard is not installed: pip install 'gemsnn[tensorboard]', or leave it out")
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        folder: Path = run.path / "tensorboard"
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"{folder}: is a file, where TensorBoard's scalars would go; move it, or leave them out")
        with writing(folder):
            folder.mkdir(exist_ok=True)
            for old in folder.glob(f"events.out.tfevents.*{SUFFIX}"):  # written by gemsnn
                if old.is_file() or old.is_symlink():
                    old.unlink()
        self._writer = EventFileWriter(str(folder), filename_suffix=SUFFIX)
        for record in run.read_metrics():
            self._add(record)
        self._writer.flush()

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        pass

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        self._add(event.record)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def _add(self, record: Record) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars(record)]
        self._writer.add_event(Event(step=record["time_samples"], wall_time=time.time(), summary=Summary(value=values)))


def scalars(record: Record) -> Iterator[tuple[str, float]]:
    """The figures of an evaluation, each with its tag."""
    for split in ("train", "validation", "test"):
        figures = record[split]
        if figures is None:
            continue
        for name in FIGURES:
            if name in figures:
                yield f"{split}/{name}", figures[name]
        for extra in figures.get("extra_decoders", []):
            for name in FIGURES:
                if name in extra:
                    decoder = f"{extra['decoder']}, {counted(extra['compartments'], 'compartment')}"
                    yield f"{split} ({decoder})/{name}", extra[name]
