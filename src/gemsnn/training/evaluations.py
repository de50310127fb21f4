"""When a run is evaluated, what is measured, which evaluation is the best, and when to stop early."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from gemsnn.inference.likelihood import Mean
from gemsnn.training.config import DecoderSettings, TrainingConfig

MOST_EVALUATIONS = 20
"""Default maximum."""
FEWEST_TO_CHOOSE = 50
"""With fewer validation examples, accuracies of epochs differ mostly by chance, and the last weights are better."""


@dataclass(frozen=True)
class Batches:
    """Batches of ``size`` examples; the last one of an epoch, or of the run, may be shorter.

    Positions count the examples learned; a batch lies between two of them. Nothing is stored per batch, so runs can be
    arbitrarily long.

    Examples
    --------
    >>> batches = Batches(epoch=5, size=2, total=8)  # two examples, two, one; two, and one that the run ends with
    >>> batches.end(0), batches.end(4), batches.end(7), batches.start(5), batches.count(8)
    (2, 5, 8, 4, 5)
    """

    epoch: int
    """Examples in an epoch."""
    size: int
    total: int
    """Position at the end of the run."""

    def end(self, start: int) -> int:
        """End of the batch that begins at ``start``."""
        return min(start + self.size, (start // self.epoch + 1) * self.epoch, self.total)

    def start(self, end: int) -> int:
        """Start of the batch that ends at ``end``."""
        return end - 1 - (end - 1) % self.epoch % self.size

    def count(self, position: int) -> int:
        """Number of batches that end at or before a position."""
        epochs, examples = divmod(position, self.epoch)
        whole, rest = divmod(examples, self.size)
        return epochs * -(-self.epoch // self.size) + whole + (rest > 0 and position == self.total)

    def __contains__(self, position: int) -> bool:
        """Whether a position is the boundary of a batch."""
        return 0 <= position <= self.total and (position == 0 or self.end(self.start(position)) == position)


@dataclass(frozen=True)
class Evaluations:
    """How a run is evaluated.

    Attributes
    ----------
    decoders
        The first is the model's own.
    every
        Time steps between evaluations; None, without ``at``: once per epoch, at most 20 times. The last evaluation is
        always at the end.
    at
        Time steps after which to evaluate, in place of ``every``.
    select_by
        Metric that selects the best model; None: see :func:`gemsnn.training.evaluations.better`.
    patience
        Number of consecutive evaluations without improvement after which the run stops, 0: never; None: a third of all,
        if there are at least 50 validation examples.
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
        """Positions in a run of these batches; ``steps`` is the mean number of steps of an example."""
        if self.every is None and not self.at:  # at the end of epochs
            epochs = math.ceil(batches.total / batches.epoch)
            return EvaluationPoints(batches.epoch * math.ceil(epochs / MOST_EVALUATIONS), (), Fraction(1), batches)
        return EvaluationPoints(self.every or 1, self.at, steps, batches)

    def patience_for(self, n_evaluations: int, n_validation: int) -> int | None:
        """Number of consecutive evaluations without improvement after which to stop; None for never."""
        if self.patience is not None:
            return self.patience or None
        return max(5, math.ceil(n_evaluations / 3)) if n_validation >= FEWEST_TO_CHOOSE else None


class EvaluationPoints:
    """The first ends of batches at or after points in time, which are counted in steps; and the last position.

    Parameters
    ----------
    every
        Number of steps between points.
    at
        Points, in place of ``every``.
    steps
        Mean number of steps of an example.
    batches
        Batches of the run.

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
        """Number of positions after this one; approximate if a batch can contain several points."""
        total = self._batches.total
        if position >= total:
            return 0
        if self._chosen is not None:
            return 1 + sum(position < chosen < total for chosen in self._chosen)
        points = self._reached(total - 1) - self._reached(position)
        return 1 + min(points, self._batches.count(total - 1) - self._batches.count(position))

    def _reached(self, position: int) -> int:
        """Number of points at or before a position."""
        return int(position * self._steps // self._every)

    def _end_of(self, position: int) -> int:
        """End of the batch that reaches a position."""
        return self._batches.end(self._batches.start(position))


# ---- which evaluation is the best


def criterion(select_by: str | None, patience: int | None) -> str | None:
    """The metric that settings select by; None if they do not say."""
    return select_by or (None if patience is None else "accuracy")


def better(figures: Mapping[str, Any], than: Mapping[str, Any], by: str | None) -> bool:
    """Whether a later evaluation is better than an earlier one.

    ``by`` None: by accuracy, or always if there are too few examples. Spike patterns, which have no accuracy, are
    compared by log-likelihood.
    """
    return is_the_last(figures, by) or _worth(figures, by) > _worth(than, by)


def is_the_last(figures: Mapping[str, Any] | None, by: str | None) -> bool:
    """Whether the latest evaluation is always the best: there are few examples, and no metric was asked for."""
    return by is None and figures is not None and "accuracy" in figures and figures["examples"] < FEWEST_TO_CHOOSE


def _worth(figures: Mapping[str, Any], by: str | None) -> tuple[float, ...]:
    if by == "van_rossum" and by in figures:
        return (-figures[by],)
    if by == "log_likelihood" or "accuracy" not in figures:
        return (figures["log_likelihood"],)
    return (-figures["nll"],) if by == "nll" else (figures["accuracy"], -figures["nll"])
