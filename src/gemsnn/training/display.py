"""Watching a run: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from statistics import fmean
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from gemsnn.common.words import duration
from gemsnn.training.pace import WINDOW, Pace
from gemsnn.training.trainer import Evaluated, Learned, Record, Trainer

REFRESHES = 4  # of the live display, a second
LINE_SECONDS = 15.0  # between plain lines


class Display:
    """An observer to be used in a ``with`` block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        raise NotImplementedError

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        raise NotImplementedError


def display(console: Console, trainer: Trainer) -> Display:
    """The display that suits the console."""
    return LiveDisplay(console, trainer) if console.is_terminal else LineDisplay(console, trainer)


class _Running:
    """Figures over the last examples, and how long the rest will take."""

    def __init__(self, trainer: Trainer) -> None:
        self._pace = Pace(trainer)
        self._recent: deque[Learned] = deque(maxlen=WINDOW)
        self._last: Record | None = trainer.state.progress.last

    def learned(self, event: Learned) -> None:
        self._pace.learned(event)
        self._recent.append(event)

    def evaluated(self, event: Evaluated) -> None:
        self._pace.evaluated(event)
        self._last = event.record

    @property
    def left(self) -> str:
        return f"{duration(self._pace.seconds_left)} left"

    def figures(self) -> str:
        parts = [f"{self._pace.examples_per_second:.1f} examples/s"]
        recent = tuple(self._recent)
        if recent:
            parts.append(f"log-likelihood {fmean(event.log_likelihood for event in recent):.2f}")
            parts.append(f"hidden spikes/step {fmean(event.hidden_spikes_per_step for event in recent):.1f}")
        return ", ".join(parts)

    def last_evaluation(self) -> str:
        if self._last is None:
            return "not evaluated yet"
        for split in ("validation", "test"):
            if figures := self._last[split]:
                return f"{split} {_in_words(figures)}"
        return _headline(self._last)


def _in_words(figures: Record) -> str:
    if "accuracy" in figures:
        return f"accuracy {100 * figures['accuracy']:.1f} %, ECE {figures['ece']:.3f}"
    return f"van Rossum distance {figures['van_rossum']:.3f}"


def _headline(record: Record) -> str:
    """An evaluation in a few words."""
    parts = []
    for split in ("validation", "test"):
        figures = record[split]
        if figures is not None:
            parts.append(f"{split}: {_in_words(figures)}, log-likelihood {figures['log_likelihood']:.2f}")
    return "; ".join(parts) or f"training log-likelihood {record['train']['log_likelihood']:.2f}"


class LineDisplay(Display):
    """One line per evaluation, and one now and then in between."""

    def __init__(self, console: Console, trainer: Trainer) -> None:
        self._console, self._running = console, _Running(trainer)
        self._printed = time.monotonic()

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        self._running.learned(event)
        if time.monotonic() - self._printed >= LINE_SECONDS:
            self._print(f"{self._where(trainer)}: {self._running.figures()}, {self._running.left}")

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        self._running.evaluated(event)
        star = " (best so far)" if event.is_best else ""
        self._print(f"{self._where(trainer)}: {_headline(event.record)}{star}")

    def _where(self, trainer: Trainer) -> str:
        return f"{trainer.position} of {trainer.total} examples"

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, highlight=False, markup=False)
        self._printed = time.monotonic()


class LiveDisplay(Display):
    """A progress bar with running figures below it; evaluations scroll by above."""

    def __init__(self, console: Console, trainer: Trainer) -> None:
        self._running, self._trainer = _Running(trainer), trainer
        self._bar = Progress(
            TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")
        )
        self._task = self._bar.add_task("", total=trainer.total, left="")
        # Everything is worked out when the screen is drawn, not at every example.
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=REFRESHES)

    def _draw(self) -> Group:
        self._bar.update(self._task, completed=self._trainer.position, left=self._running.left)
        lines = (f"now   {self._running.figures()}", f"last  {self._running.last_evaluation()}")
        return Group(self._bar, *(Text(line, style="dim") for line in lines))

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        self._running.learned(event)

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        self._running.evaluated(event)
        star = " (best so far)" if event.is_best else ""
        text = f"{trainer.position} of {trainer.total} examples: {_headline(event.record)}{star}"
        self._live.console.print(text, highlight=False, markup=False)
