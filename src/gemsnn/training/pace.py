"""How fast a run goes, and how long the rest of it will take."""

from __future__ import annotations

from collections import deque

from gemsnn.compiling.jit import seconds_of_compiling
from gemsnn.training.trainer import Evaluated, Learned, Trainer

WINDOW = 50  # batches behind the speed


class Pace:
    """Takes note of what batches and evaluations took. Compiling, which happens once, is no part of the speed."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._recent: deque[tuple[int, float]] = deque(maxlen=WINDOW)
        self._evaluation: float | None = None
        self._compiled = seconds_of_compiling()
        self._begun = False

    def learned(self, happened: Learned) -> None:
        seconds = self._without_compiling(happened.seconds)
        if self._begun:
            self._recent.append((happened.examples, seconds))
        self._begun = True  # the first batch also loads the compiled engine

    def evaluated(self, happened: Evaluated) -> None:
        self._evaluation = self._without_compiling(happened.seconds)

    @property
    def examples_per_second(self) -> float:
        recent = tuple(self._recent)  # a copy: displays are drawn by another thread
        seconds = sum(of_batch for _, of_batch in recent)
        return sum(examples for examples, _ in recent) / seconds if seconds else 0.0

    @property
    def evaluated_once(self) -> bool:
        """Whether it is known how long an evaluation takes."""
        return self._evaluation is not None

    @property
    def seconds_left(self) -> float | None:
        """With the evaluations still to come, each taken to last as long as the last one."""
        return self._seconds(self._trainer.total - self._trainer.position, self._trainer.evaluations_left)

    @property
    def seconds_in_all(self) -> float | None:
        """What the whole run takes from its beginning."""
        return self._seconds(self._trainer.total, self._trainer.n_evaluations)

    def _seconds(self, examples: int, evaluations: int) -> float | None:
        rate = self.examples_per_second
        return examples / rate + evaluations * (self._evaluation or 0.0) if rate else None

    def _without_compiling(self, seconds: float) -> float:
        compiled = seconds_of_compiling() - self._compiled
        self._compiled += compiled
        return max(0.0, seconds - compiled)
