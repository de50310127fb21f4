"""Watching a sweep: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gemsnn.experiments.sweep import Ended, Run, progress_file, stop_file

POLL_SECONDS = 0.5
LINE_SECONDS = 30.0


class Watch:
    """Shows how far a sweep is, and passes a wish to stop on to the workers."""

    def __init__(self, console: Console, runs: Sequence[Run], stop: Callable[[], bool] = lambda: False) -> None:
        self._console, self._runs, self._wish = console, list(runs), stop
        self._folder = runs[0].folder
        self._ended: dict[str, Ended] = {}
        self._notes: dict[str, dict[str, Any]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._begin = self._printed = time.monotonic()
        self._share_at_begin = 0.0

    def __enter__(self) -> Self:
        stop_file(self._folder).unlink(missing_ok=True)
        for run in self._runs:
            if run.directory.finished:
                self._ended[run.name] = Ended(run.name, "done")
        self._read_notes()
        self._share_at_begin = self._share()
        if self._live:
            self._live.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._live:
            self._live.stop()
        stop_file(self._folder).unlink(missing_ok=True)

    def ended(self, result: Ended) -> None:
        """Take note that a run ended."""
        self._ended[result.name] = result
        if result.status == "interrupted":
            return
        accuracy = self._note(result.name).get("validation_accuracy")
        detail = "" if accuracy is None else f", validation accuracy {100 * accuracy:.1f} %"
        if result.status == "failed":
            detail = f": {result.error.strip().splitlines()[-1]}"
        count = sum(1 for end in self._ended.values() if end.status == "done")
        self._say(f"{result.name} {result.status}{detail} ({count} of {len(self._runs)} done)")

    # ---- inside

    def _say(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, highlight=False, markup=False)
        self._printed = time.monotonic()

    def _poll(self) -> None:
        told = False
        while not self._over.wait(POLL_SECONDS):
            if self._wish() and not told:
                told = True
                stop_file(self._folder).touch()
                self._say("stopping: every run saves its state first (again to stop at once)")
            self._read_notes()
            if self._live:
                self._live.update(self._table())
            elif time.monotonic() - self._printed > LINE_SECONDS:
                self._say(f"{self._headline()}; at work: {', '.join(self._working()) or 'none'}")

    def _read_notes(self) -> None:
        for run in self._runs:
            try:
                self._notes[run.name] = json.loads(progress_file(run).read_text())
            except (OSError, ValueError):
                continue

    def _note(self, name: str) -> dict[str, Any]:
        return self._notes.get(name, {"position": 0, "total": 1})

    def _fraction(self, run: Run) -> float:
        end = self._ended.get(run.name)
        if end and end.status != "interrupted":
            return 1.0
        note = self._note(run.name)
        return min(1.0, float(note["position"] / note["total"]))

    def _share(self) -> float:
        total = sum(run.cost for run in self._runs)
        return sum(run.cost * self._fraction(run) for run in self._runs) / total

    def _working(self) -> list[str]:
        names = [run for run in self._runs if run.name not in self._ended and run.name in self._notes]
        return [f"{run.name} {100 * self._fraction(run):.0f} %" for run in names]

    def _headline(self) -> str:
        share, elapsed = self._share(), time.monotonic() - self._begin
        gained = share - self._share_at_begin
        left = "?" if gained < 0.005 else _clock(elapsed * (1 - share) / gained)
        return f"{100 * share:.0f} % of the work done, {_clock(elapsed)} so far, about {left} left"

    def _table(self) -> Group:
        seeds = sorted({run.seed for run in self._runs})
        table = Table("K", *(f"seed {seed}" for seed in seeds), box=None, padding=(0, 1))
        by = {(run.n_compartments, run.seed): run for run in self._runs}
        for K in sorted({run.n_compartments for run in self._runs}):
            table.add_row(str(K), *(self._cell(by[K, seed]) for seed in seeds))
        bar = ProgressBar(total=1.0, completed=self._share(), width=50)
        return Group(table, bar, Text(self._headline()))

    def _cell(self, run: Run) -> Text:
        end = self._ended.get(run.name)
        if end and end.status == "failed":
            return Text("failed", style="red")
        if end and end.status == "done":
            accuracy = self._note(run.name).get("validation_accuracy")
            return Text("done" if accuracy is None else f"done {100 * accuracy:.0f} %", style="green")
        if run.name in self._notes:
            return Text(f"{100 * self._fraction(run):.0f} %", style="yellow")
        return Text("waiting", style="dim")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
