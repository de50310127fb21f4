"""The progress of a run: a live display on a terminal, plain lines elsewhere."""

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
from gemsnn.compiling.jit import seconds_of_compiling
from gemsnn.training.trainer import Evaluated, Learned, Record, Trainer

REFRESHES = 4  # of the live display, per second
LINE_SECONDS = 15.0  # between plain lines
WINDOW = 50  # batches that running figures are averaged over


class _Running:
    """Speed and figures over the last batches, and the remaining time. One-time compiling does not count."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._recent: deque[Learned] = deque(maxlen=WINDOW)
        self._speeds: deque[tuple[int, float]] = deque(maxlen=WINDOW)
        self._evaluation_seconds, self._compiled, self._begun = 0.0, seconds_of_compiling(), False
        self._last: Record | None = trainer.state.progress.last

    def learned(self, event: Learned) -> None:
        seconds = self._without_compiling(event.seconds)
        if self._begun:  # the first batch also loads the compiled engine
            self._speeds.append((event.examples, seconds))
        self._begun = True
        self._recent.append(event)

    def evaluated(self, event: Evaluated) -> None:
        self._evaluation_seconds = self._without_compiling(event.seconds)
        self._last = event.record

    @property
    def examples_per_second(self) -> float:
        speeds = tuple(self._speeds)  # a copy: another thread draws the live display
        seconds = sum(of_batch for _, of_batch in speeds)
        return sum(examples for examples, _ in speeds) / seconds if seconds else 0.0

    @property
    def left(self) -> str:
        """The remaining time, with remaining evaluations as long as the last one."""
        rate, trainer = self.examples_per_second, self._trainer
        evaluations = trainer.evaluations_left * self._evaluation_seconds
        seconds = (trainer.total - trainer.position) / rate + evaluations if rate else None
        return f"{duration(seconds)} left"

    def figures(self) -> str:
        parts, recent = [f"{self.examples_per_second:.1f} examples/s"], tuple(self._recent)
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

    def _without_compiling(self, seconds: float) -> float:
        compiled = seconds_of_compiling() - self._compiled
        self._compiled += compiled
        return max(0.0, seconds - compiled)


class LineDisplay:
    """An observer to be used in a ``with`` block; by itself it prints plain lines: one per evaluation, few between."""

    def __init__(self, console: Console, trainer: Trainer) -> None:
        self._console, self._running, self._printed = console, _Running(trainer), time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        self._running.learned(event)
        if time.monotonic() - self._printed >= LINE_SECONDS:
            self._print(trainer, f"{self._running.figures()}, {self._running.left}")

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        self._running.evaluated(event)
        star = " (best so far)" if event.is_best else ""
        self._print(trainer, f"{_headline(event.record)}{star}")

    def _print(self, trainer: Trainer, text: str) -> None:
        line = f"{trainer.position} of {trainer.total} examples: {text}"
        self._console.print(line, soft_wrap=not self._console.is_terminal, highlight=False, markup=False)
        self._printed = time.monotonic()


class LiveDisplay(LineDisplay):
    """A progress bar with running figures below it; evaluations scroll by above."""

    def __init__(self, console: Console, trainer: Trainer) -> None:
        super().__init__(console, trainer)
        self._trainer = trainer
        self._bar = Progress(
            TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")
        )
        self._task = self._bar.add_task("", total=trainer.total, left="")
        # Everything is computed when the screen is drawn, not at every example.
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


def display(console: Console, trainer: Trainer) -> LineDisplay:
    """The display that suits the console."""
    return (LiveDisplay if console.is_terminal else LineDisplay)(console, trainer)


def _in_words(figures: Record) -> str:
    if "accuracy" in figures:
        return f"accuracy {100 * figures['accuracy']:.1f} %, ECE {figures['ece']:.3f}"
    return f"van Rossum distance {figures['van_rossum']:.3f}"


def _headline(record: Record) -> str:
    """An evaluation in one line."""
    parts = []
    for split in ("validation", "test"):
        figures = record[split]
        if figures is not None:
            parts.append(f"{split}: {_in_words(figures)}, log-likelihood {figures['log_likelihood']:.2f}")
    return "; ".join(parts) or f"training log-likelihood {record['train']['log_likelihood']:.2f}"
