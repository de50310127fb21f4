"""Where batches begin and end. Nothing is listed: a run may be as long as one likes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Batches:
    """Batches of ``size`` examples, begun anew in each epoch; the last one of an epoch, or of the run, may be shorter.

    Positions count the examples learned; a batch lies between two of them.

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
        """Where the batch ends that begins at ``start``."""
        return min(start + self.size, (start // self.epoch + 1) * self.epoch, self.total)

    def start(self, end: int) -> int:
        """Where the batch began that ends at ``end``."""
        return end - 1 - (end - 1) % self.epoch % self.size

    def count(self, position: int) -> int:
        """How many end at or before a position."""
        epochs, examples = divmod(position, self.epoch)
        whole, rest = divmod(examples, self.size)
        return epochs * -(-self.epoch // self.size) + whole + (rest > 0 and position == self.total)

    def __contains__(self, position: int) -> bool:
        """Whether a batch can end, or the first one begin, at a position."""
        return 0 <= position <= self.total and (position == 0 or self.end(self.start(position)) == position)
