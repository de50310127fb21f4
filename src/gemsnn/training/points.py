"""When a run is evaluated. The points are never listed: a run may be as long as one likes."""

from __future__ import annotations

import math
from collections.abc import Sequence


class EvaluationPoints:
    """Positions (examples learned) at which points in time, counted in steps, are reached; and the last.

    Parameters
    ----------
    every
        A point every so many steps.
    at
        Points, in place of that.
    steps
        Of an example, on average.
    total
        The last position.

    Examples
    --------
    >>> points = EvaluationPoints(every=100, at=(), steps=8.0, total=10**12)
    >>> 13 in points, 14 in points, points.after(0)
    (True, False, 80000000000)
    """

    def __init__(self, every: int, at: Sequence[int], steps: float, total: int) -> None:
        self._every, self._steps, self._total = every, steps, total
        self._chosen = {math.ceil(point / steps) for point in at if point < total * steps} - {total} if at else None

    def __contains__(self, position: int) -> bool:
        if not 0 < position < self._total:
            return position == self._total
        if self._chosen is not None:
            return position in self._chosen
        last = self._last(position)
        return last > 0 and self._position(last) == position

    def __len__(self) -> int:
        return self.after(0)

    def after(self, position: int) -> int:
        """How many are still to come."""
        return 0 if position >= self._total else 1 + self._until(self._total - 1) - self._until(position)

    def _until(self, position: int) -> int:
        """How many there are up to a position before the last."""
        if self._chosen is not None:
            return sum(chosen <= position for chosen in self._chosen)
        last = self._last(position)
        return min(last, self._position(last))  # there may be several points to one example

    def _last(self, position: int) -> int:
        """The number of the last point that is reached by a position."""
        number = int(position * self._steps / self._every)
        while self._position(number + 1) <= position:  # rounding may have been to either side
            number += 1
        while self._position(number) > position:
            number -= 1
        return number

    def _position(self, number: int) -> int:
        return math.ceil(number * self._every / self._steps)
