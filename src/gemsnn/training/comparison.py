"""Comparison of runs: settings that differ, results, and learning curves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gemsnn import plot
from gemsnn.common.page import caption, escape, page, section, table
from gemsnn.common.words import counted
from gemsnn.errors import ConfigError, DataError, GemsnnError
from gemsnn.plot.curves import TITLES
from gemsnn.plot.panels import Panel, in_page
from gemsnn.training.config import fields_of, read_config
from gemsnn.training.evaluations import better, criterion
from gemsnn.training.run import RunDirectory
from gemsnn.training.trainer import Record

FIGURES = ("accuracy", "ece", "nll", "brier", "log_likelihood", "van_rossum")
HIGHER_IS_BETTER = ("accuracy", "log_likelihood", "position")
NOT_COMPARED = ("threads", "checkpoint_seconds")
MOST_LINES = 8  # curves that can be distinguished in a plot


@dataclass(frozen=True)
class ComparedRun:
    """A run, or why it cannot be read."""

    name: str
    status: str
    settings: Mapping[str, Any]
    """Every field by its name, those of tables as ``table.field``."""
    history: Sequence[Record]
    """Its evaluations."""
    error: str | None = None

    @property
    def record(self) -> Record | None:
        """The best evaluation by validation, or the last one if no examples were held out."""
        by = criterion(self.settings.get("select_by"), self.settings.get("patience"))
        best: Record | None = None
        for record in self.history:
            if record["validation"] and (best is None or better(record["validation"], best["validation"], by)):
                best = record
        return best or (self.history[-1] if self.history else None)

    def figure(self, metric: str, split: str) -> float | None:
        """A metric of :attr:`record`, if it has it."""
        figures = (self.record or {}).get(split) or {}
        value = figures.get(metric)
        return None if value is None else float(value)

    @property
    def position(self) -> int:
        """Number of examples learned up to :attr:`record`."""
        return int((self.record or {}).get("position", 0))


@dataclass(frozen=True)
class Comparison:
    """An ordered list of runs, and the settings in which they differ."""

    folder: Path
    runs: tuple[ComparedRun, ...]

    @property
    def differing(self) -> list[str]:
        """Settings that differ between the readable runs."""
        readable = [run.settings for run in self.runs if run.error is None]
        names = {name: None for settings in readable for name in settings if name not in NOT_COMPARED}
        return [name for name in names if len({json.dumps(s.get(name), default=str) for s in readable}) > 1]

    @property
    def figures(self) -> list[tuple[str, str]]:
        """Metrics and splits that at least one run has."""
        pairs = [("accuracy", "validation")] + [(metric, "test") for metric in FIGURES]
        if not any(run.figure(metric, "test") is not None for run in self.runs for metric in FIGURES):
            pairs = [(metric, "validation") for metric in FIGURES]
        return [pair for pair in pairs if any(run.figure(*pair) is not None for run in self.runs)]

    def sorted_by(self, field: str) -> Comparison:
        """The same runs, sorted by a metric, best first, or by name, status or any setting in ascending order.

        Metrics are those of the validation examples if there are any, so that the order does not depend on test data.
        """
        if field == "name":
            return Comparison(self.folder, tuple(sorted(self.runs, key=lambda run: _natural(run.name))))
        if field not in ("status", "position", *FIGURES, *{name for run in self.runs for name in run.settings}):
            known = ["name", "status", "position", *(metric for metric, _ in self.figures), *self.differing]
            raise ConfigError(f"--sort {field}: runs are sorted by {', '.join(dict.fromkeys(known))}, or any setting")

        def value(run: ComparedRun) -> Any:
            if field in FIGURES:
                held_out = run.figure(field, "validation")
                return run.figure(field, "test") if held_out is None else held_out
            return {"status": run.status, "position": run.position}.get(field, run.settings.get(field))

        there = [run for run in self.runs if value(run) is not None]
        numbers = all(isinstance(value(run), int | float) for run in there)
        there.sort(key=lambda run: value(run) if numbers else str(value(run)), reverse=field in HIGHER_IS_BETTER)
        return Comparison(self.folder, (*there, *(run for run in self.runs if value(run) is None)))

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Column titles, and the cells of each run."""
        both = {metric for metric, split in self.figures if split == "test"}
        titles = [f"{split} {metric}" if metric in both else metric for metric, split in self.figures]
        head = ["run", "status", "examples", *(title.replace("_", "-") for title in titles), *self.differing]
        rows = []
        for run in self.runs:
            settings = [_text(run.settings.get(name)) for name in self.differing]
            figures = [_figure(metric, run.figure(metric, split)) for metric, split in self.figures]
            rows.append([run.name, run.error or run.status, str(run.position or "-"), *figures, *settings])
        return head, rows


def compare(folder: str | Path) -> Comparison:
    """All runs in a folder and its subfolders, by name, including those that cannot be read."""
    place = Path(folder)
    if not place.is_dir():
        raise DataError(f"{place}: there is no such folder")
    found = [_read(path, place) for path in _run_directories(place)]
    if not found:
        raise DataError(f"{place}: there is no training run in this folder; gemsnn train --out {place}/NAME makes one")
    return Comparison(place, tuple(found)).sorted_by("name")


def comparison_page(comparison: Comparison) -> str:
    """The comparison as a page: a table, and the curves of the first few."""
    head, rows = comparison.rows()
    runs = [run for run in comparison.runs if run.history][:MOST_LINES]
    parts = [section("runs", "Runs", table(head, rows) + caption(_EXPLAINED))]
    panels = []
    for metric in FIGURES:
        for split in ("validation", "test"):
            histories = {run.name: run.history for run in runs if any(metric in (r[split] or {}) for r in run.history)}
            if histories:
                draw = partial(plot.learning_curves, histories, metric, split)
                panels.append(Panel(draw, f"{split} {TITLES[metric]} over training", (4.2, 3.6)))
                break
    if panels:
        first = "" if len(runs) == len(comparison.runs) else f" The first {counted(len(runs), 'run')} of the table."
        parts.append(section("curves", "Curves", in_page(panels, "curves") + caption(f"Over training.{first}")))
    parts.append(section("settings", "Settings that they share", _shared(comparison)))
    n = len(comparison.runs)
    lead = f"{counted(n, 'training run')} in {comparison.folder}."
    if n > 1:
        lead += f" They differ in {', '.join(comparison.differing) or 'no setting'}."
    header = f'<h1>{escape(comparison.folder)}</h1><p class="lead">{escape(lead)}</p>'
    return page(f"gemsnn runs {comparison.folder}", header, "\n".join(parts))


_EXPLAINED = (
    "Metrics of the best evaluation by validation, or of the last one if nothing was held out. Settings that all runs "
    "share are below."
)


def _shared(comparison: Comparison) -> str:
    different = {*comparison.differing, *NOT_COMPARED}
    known: dict[str, Any] = {}
    for run in comparison.runs:
        known |= run.settings
    rows = [[name, _text(value)] for name, value in known.items() if name not in different]
    shown = table(["setting", "value"], rows, "settings")
    return f"<details><summary>{counted(len(rows), 'setting')}</summary>{shown}</details>"


def _run_directories(folder: Path) -> Iterator[Path]:
    """Every run in a folder, including itself; folders inside a run are not searched."""
    if (folder / "config.toml").is_file() and (folder / "checkpoints").is_dir():
        yield folder
        return
    for path in sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()):
        yield from _run_directories(path)


def _read(path: Path, folder: Path) -> ComparedRun:
    run, name = RunDirectory(path), str(path.relative_to(folder)) if path != folder else path.name
    try:
        config, data = read_config(run.config)
        settings = {**({} if data is None else {"data": str(data)}), **fields_of(config.model_dump(mode="json"))}
        history = run.read_metrics()
        status = run.read_summary()["status"] if run.finished else "not finished"
        return ComparedRun(name, status, settings, history)
    except (GemsnnError, OSError, ValueError) as error:
        return ComparedRun(name, "cannot be read", {}, (), str(error))


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)


def _figure(metric: str, value: float | None) -> str:
    if value is None:
        return "-"
    if metric == "accuracy":
        return f"{100 * value:.1f} %"
    return f"{value:.2f}" if metric == "log_likelihood" else f"{value:.3f}"


def _natural(name: str) -> tuple[Any, ...]:
    """Sort key by which run-10 comes after run-9."""
    parts = [""]
    for letter in name:
        if parts[-1] and parts[-1][-1].isdecimal() != letter.isdecimal():
            parts.append("")
        parts[-1] += letter
    return tuple((1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts)
