"""What happens to examples each time they are learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gemsnn.learning import Lesson


class Augmentation(Protocol):
    """Changes the lessons of a batch before they are learned.

    A run resumes bit-for-bit identically, so nothing may depend on earlier calls: all draws follow from ``seed`` and
    each lesson's ``example``, which no other lesson of the run has.
    """

    def __call__(self, lessons: Sequence[Lesson], seed: int, /) -> Sequence[Lesson]:
        """The given lessons, in their order, changed as it likes; others, with keys of their own, may follow them.

        Inputs are lists of spikes. The lessons added are learned with the batch, but neither counted as examples nor in
        the means of traces.
        """
