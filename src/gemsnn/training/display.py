"""Watching a run: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
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
        seconds = sum(event.seconds for event in self._recent)
        return len(self._recent) / seconds if seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """With the evaluations still to come, each taken to last as long as the last one."""
        if not self._recent:
            return None
        left = self.trainer.total - self.trainer.position
        evaluations = self.trainer.evaluations_left
        return left / self.examples_per_second + evaluations * self._evaluation_seconds

    def figures(self) -> str:
        parts = [f"{self.examples_per_second:.1f} examples/s"]
        if self._recent:
            n = len(self._recent)
            parts.append(f"log-likelihood {sum(event.log_likelihood for event in self._recent) / n:.2f}")
            parts.append(f"hidden spikes/step {sum(event.hidden_spikes_per_step for event in self._recent) / n:.1f}")
        return ", ".join(parts)

    def last_evaluation(self) -> str:
        return "not evaluated yet" if self._last is None else _headline(self._last)


def _headline(record: Record) -> str:
    """An evaluation in a few words."""
    parts = []
    for split in ("validation", "test"):
        figures = record[split]
        if figures is not None:
            parts.append(
                f"{split}: accuracy {100 * figures['accuracy']:.1f} %, ECE {figures['ece']:.3f}, "
                f"log-likelihood {figures['log_likelihood']:.2f}"
            )
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


class _Figures(ProgressColumn):
    """Works its text out when the screen is drawn, not at every example."""

    def __init__(self, text: Callable[[], str]) -> None:
        super().__init__()
        self._text = text

    def render(self, task: Task) -> Text:
        return Text(self._text())


class LiveDisplay(Display):
    """A progress bar with running figures below it; evaluations scroll by above."""

    def __init__(self, console: Console, trainer: Trainer) -> None:
        running = self._running = _Running(trainer)
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            _Figures(lambda: f"{_duration(running.seconds_left)} left"),
            _Figures(lambda: f"{running.figures()}\n{running.last_evaluation()}"),
            console=console,
            refresh_per_second=REFRESHES,
        )
        self._task = self._bar.add_task("", total=trainer.total, completed=trainer.position)
        self._updated = 0.0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        self._running.learned(event)
        if time.monotonic() - self._updated >= 1 / REFRESHES:
            self._bar.update(self._task, completed=trainer.position)
            self._updated = time.monotonic()

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        self._running.evaluated(event)
        star = " (best so far)" if event.is_best else ""
        text = f"{trainer.position} of {trainer.total} examples: {_headline(event.record)}{star}"
        self._bar.console.print(text, highlight=False, markup=False)
        self._bar.update(self._task, completed=trainer.position)
