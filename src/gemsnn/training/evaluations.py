"""When a run is evaluated, what is measured, and what follows: the best model, and stopping early."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from gemsnn.inference.likelihood import Mean
from gemsnn.training.batches import Batches
from gemsnn.training.choice import FEWEST_TO_CHOOSE
from gemsnn.training.config import DecoderSettings, TrainingConfig

MOST_EVALUATIONS = 20
"""Where it is not said when to evaluate."""


@dataclass(frozen=True)
class Evaluations:
    """How a run is evaluated.

    Attributes
    ----------
    decoders
        Ways to read out; the first is the model's own.
    every
        Time steps between evaluations; None, without ``at``: once an epoch, 20 times at most. There is always an
        evaluation at the end.
    at
        Time steps after which to evaluate, in place of ``every``.
    select_by
        What makes a model the best; None: see :func:`gemsnn.training.choice.better`.
    patience
        Evaluations in a row without a better one after which the run is stopped, 0: never; None: a third of them, if
        there are validation examples enough to tell.
    likelihood_samples, likelihood_mean, n_bins
        As in :func:`gemsnn.training.evaluate`.
    """

    decoders: tuple[DecoderSettings, ...] = field(default_factory=lambda: (TrainingConfig.make().main_decoder,))
    every: int | None = None
    at: tuple[int, ...] = ()
    select_by: str | None = None
    patience: int | None = None
    likelihood_samples: int = 20
    likelihood_mean: Mean = "probability"
    n_bins: int = 10

    def points(self, batches: Batches, steps: Fraction) -> EvaluationPoints:
        """Where in a run of these batches, whose examples have so many steps on average."""
        if self.every is None and not self.at:  # at the end of an epoch
            epochs = math.ceil(batches.total / batches.epoch)
            return EvaluationPoints(batches.epoch * math.ceil(epochs / MOST_EVALUATIONS), (), Fraction(1), batches)
        return EvaluationPoints(self.every or 1, self.at, steps, batches)

    def patience_for(self, n_evaluations: int, n_validation: int) -> int | None:
        """Evaluations in a row without a better one after which a run of so many is stopped; None for never."""
        if self.patience is not None:
            return self.patience or None
        return max(5, math.ceil(n_evaluations / 3)) if n_validation >= FEWEST_TO_CHOOSE else None


class EvaluationPoints:
    """Positions at which batches end that have reached points in time, counted in steps; and the last position.

    Parameters
    ----------
    every
        A point every so many steps.
    at
        Points, in place of that.
    steps
        Of an example, on average.
    batches
        Of the run.

    Examples
    --------
    >>> points = EvaluationPoints(every=100, at=(), steps=Fraction(8), batches=Batches(50, 1, 10**12))
    >>> 13 in points, 14 in points, points.after(0)
    (True, False, 80000000000)
    """

    def __init__(self, every: int, at: Sequence[int], steps: Fraction, batches: Batches) -> None:
        self._every, self._steps, self._batches = every, steps, batches
        self._chosen = {self._end_of(math.ceil(point / steps)) for point in at} if at else None

    def __contains__(self, position: int) -> bool:
        if position == self._batches.total:
            return True
        if position == 0 or position not in self._batches:
            return False
        if self._chosen is not None:
            return position in self._chosen
        return self._reached(position) > self._reached(self._batches.start(position))

    def __len__(self) -> int:
        return self.after(0)

    def after(self, position: int) -> int:
        """How many are still to come; where short batches hold several points each, about so many."""
        total = self._batches.total
        if position >= total:
            return 0
        if self._chosen is not None:
            return 1 + sum(position < chosen < total for chosen in self._chosen)
        points = self._reached(total - 1) - self._reached(position)
        return 1 + min(points, self._batches.count(total - 1) - self._batches.count(position))

    def _reached(self, position: int) -> int:
        """How many points lie at or before a position."""
        return int(position * self._steps // self._every)

    def _end_of(self, position: int) -> int:
        """Where the batch ends that reaches a position."""
        return self._batches.end(self._batches.start(position))
