"""Watching a sweep: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import heapq
import json
import threading
import time
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gemsnn.common.files import read_regular
from gemsnn.common.words import duration, printable
from gemsnn.experiments.runs import Note, Work
from gemsnn.experiments.sweep import Ended, note_file, remove_stop_file, stop_file

POLL_SECONDS = 0.5
LINE_SECONDS = 30.0
LONGEST = 1e9  # seconds that anything can be expected to take


class Watch:
    """Shows how far a sweep is, and passes a wish to stop on to the workers."""

    def __init__(self, console: Console, runs: Sequence[Work], stop: Callable[[], bool] = lambda: False) -> None:
        self._console, self._runs, self._wish = console, list(runs), stop
        self._folder = runs[0].folder
        self._ended: dict[str, Ended] = {}
        self._notes: dict[str, Note] = {}
        self._left_behind: dict[str, str] = {}
        self._at_work: set[str] = set()
        self._pace: float | None = None  # seconds a unit of cost
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._begin = self._printed = time.monotonic()

    def __enter__(self) -> Self:
        remove_stop_file(self._folder)
        self._left_behind = self._read_notes()
        if self._live:
            self._live.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._live:
            self._live.stop()
        remove_stop_file(self._folder)

    def done_before(self, result: Ended) -> None:
        """Take note of a run that was done before the sweep began."""
        self._ended[result.name] = result

    def ended(self, result: Ended) -> None:
        """Take note that a run ended, and say so."""
        self._ended[result.name] = result
        self._at_work.discard(result.name)
        if result.status == "interrupted":
            return
        detail = "" if result.found is None else f", {result.found.what} {result.found.value}"
        if result.status == "failed":
            detail = f": {result.error.strip().splitlines()[-1]}"
        count = sum(1 for end in self._ended.values() if end.status == "done")
        self._say(f"{result.name} {result.status}{detail} ({count} of {len(self._runs)} done)")

    # ---- what is known

    def _read_notes(self) -> dict[str, str]:
        """Read the workers' notes, and return their texts; one that is damaged or missing is only not shown."""
        texts = {}
        for run in self._runs:
            try:
                text = read_regular(note_file(run)).decode()
                self._notes[run.name] = _note(text)
            except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
                continue
            texts[run.name] = text
        return texts

    def _look(self) -> None:
        """A note that was there before the sweep began says how far a run is, but not that somebody works on it."""
        new = {name for name, text in self._read_notes().items() if text != self._left_behind.get(name)}
        self._at_work = new - set(self._ended)

    def _share(self) -> float:
        """Of all the work, how much is done."""
        total = sum(run.cost for run in self._runs)
        return sum(run.cost * self._share_of(run) for run in self._runs) / total

    def _share_of(self, run: Work) -> float:
        end = self._ended.get(run.name)
        if end and end.status != "interrupted":
            return 1.0
        return self._notes[run.name].share if run.name in self._notes else 0.0

    def _seconds_left(self) -> float | None:
        """Until all is done, if as many go on working as now; None as long as no run can tell how long it takes."""
        at_work = [run for run in self._runs if run.name in self._at_work]
        paces = [note.whole / run.cost for run in at_work if (note := self._notes[run.name]).whole]
        self._pace = fmean(paces) if paces else self._pace
        if self._pace is None:
            return None
        left = []
        for run in self._runs:
            if run.name not in self._ended:
                told = self._notes[run.name].left if run in at_work else None
                left.append(run.cost * self._pace * (1 - self._share_of(run)) if told is None else told)
        free = [0.0] * max(1, len(at_work))  # when each worker is free
        for seconds in sorted(left, reverse=True):
            heapq.heapreplace(free, free[0] + seconds)
        return max(free)

    # ---- how it is said

    def _say(self, line: str) -> None:
        self._console.print(printable(line), soft_wrap=True, highlight=False, markup=False)
        self._printed = time.monotonic()

    def _poll(self) -> None:
        told = False
        while not self._over.wait(POLL_SECONDS):
            if self._wish() and not told:
                told = True
                stop_file(self._folder).touch()
                self._say("stopping: every run saves its state first (again to stop at once)")
            self._look()
            if self._live:
                self._live.update(self._table())
            elif time.monotonic() - self._printed > LINE_SECONDS:
                self._say(f"{self._headline()}; at work: {', '.join(self._working()) or 'none'}")

    def _working(self) -> list[str]:
        return [f"{run.name} {self._state(run)}" for run in self._runs if run.name in self._at_work]

    def _headline(self) -> str:
        left, elapsed = self._seconds_left(), duration(time.monotonic() - self._begin)
        told = "estimating the time left" if left is None else f"about {duration(left)} left"
        return f"{100 * self._share():.0f} % of the work done, {elapsed} so far, {told}"

    def _table(self) -> Group:
        """The work done so far, and a cell for each run: its last label is the column, the others are the row."""
        *names, last = self._runs[0].labels
        columns = list(dict.fromkeys(run.labels[last] for run in self._runs))
        rows: dict[tuple[Any, ...], dict[Any, Work]] = {}
        for run in self._runs:
            rows.setdefault(tuple(run.labels[name] for name in names), {})[run.labels[last]] = run
        table = Table(box=None, padding=(0, 1))
        for name in (*names, *(f"{last} {column}" for column in columns)):
            table.add_column(Text(printable(name)))  # as Text: a label is never markup
        for row, runs in self._shown(rows):
            cells = [self._cell(runs[column]) if column in runs else Text("") for column in columns]
            table.add_row(*(Text(printable(label)) for label in row), *cells)
        bar = Padding(ProgressBar(total=1.0, completed=self._share(), width=50), 0)  # which ends its line
        return Group(bar, Text(self._headline()), table)

    def _shown(self, rows: dict[tuple[Any, ...], dict[Any, Work]]) -> list[tuple[tuple[Any, ...], dict[Any, Work]]]:
        """All rows; where the terminal has no room for them, those in which something goes on or went wrong."""
        room = max(1, self._console.height - 4)
        if len(rows) <= room:
            return list(rows.items())
        told = self._at_work | {name for name, end in self._ended.items() if end.status == "failed"}
        return [item for item in rows.items() if any(run.name in told for run in item[1].values())][:room]

    def _cell(self, run: Work) -> Text:
        end = self._ended.get(run.name)
        style = {"failed": "red", "done": "green"}.get("" if end is None else end.status)
        if style is None:
            style = "yellow" if run.name in self._at_work else "dim"
        return Text(printable(self._state(run)), style=style)

    def _state(self, run: Work) -> str:
        end = self._ended.get(run.name)
        if end and end.status == "failed":
            return "failed"
        if end and end.status == "done":
            return "done" if end.found is None else f"done {end.found.value}"
        share = f"{100 * self._share_of(run):.0f} %"
        if run.name in self._at_work:
            return self._notes[run.name].doing or share
        return f"waiting, {share}" if self._share_of(run) else "waiting"


def _note(text: str) -> Note:
    """A worker's note; anything else is an error."""
    content = json.loads(text)
    left, whole = (None if content[name] is None else _between(content[name], LONGEST) for name in ("left", "whole"))
    return Note(_between(content["share"], 1.0), left, whole, str(content["doing"])[:100])


def _between(value: Any, most: float) -> float:
    """A number from 0 to ``most``; what is none, such as NaN, is a ``ValueError``."""
    number = float(value)
    if not 0 <= number <= most:
        raise ValueError(number)
    return number
