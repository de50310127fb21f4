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

from gemsnn.training.trainer import Evaluated, Learned, Record, Trainer

WINDOW = 50  # examples behind the running figures
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
        self.trainer = trainer
        self._recent: deque[Learned] = deque(maxlen=WINDOW)
        self._evaluation_seconds = 0.0
        self._last: Record | None = trainer.state.progress.last

    def learned(self, event: Learned) -> None:
        self._recent.append(event)

    def evaluated(self, event: Evaluated) -> None:
        self._last, self._evaluation_seconds = event.record, event.seconds

    @property
    def examples_per_second(self) -> float:
        recent = tuple(self._recent)  # a copy: the live display is drawn by another thread
        seconds = sum(event.seconds for event in recent)
        return len(recent) / seconds if seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """With the evaluations still to come, each taken to last as long as the last one."""
        rate, left = self.examples_per_second, self.trainer.total - self.trainer.position
        return left / rate + self.trainer.evaluations_left * self._evaluation_seconds if rate else None

    def figures(self) -> str:
        parts = [f"{self.examples_per_second:.1f} examples/s"]
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


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


class LineDisplay(Display):
    """A line an evaluation, and one now and then in between."""

    def __init__(self, console: Console, trainer: Trainer) -> None:
        self._console, self._running = console, _Running(trainer)
        self._printed = time.monotonic()

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        self._running.learned(event)
        if time.monotonic() - self._printed >= LINE_SECONDS:
            left = _duration(self._running.seconds_left)
            self._print(f"{self._where(trainer)}: {self._running.figures()}, {left} left")

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
        left = f"{_duration(self._running.seconds_left)} left"
        self._bar.update(self._task, completed=self._trainer.position, left=left)
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
