"""What every torture is."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import ClassVar


class Torture:
    """Trials of one kind."""

    name: ClassVar[str]
    share: ClassVar[float]
    """Of the time."""
    patience: ClassVar[float] = 120.0
    """Seconds after which a trial hangs."""
    memory: ClassVar[int | None] = 4 << 30
    """Bytes that the process may map: no file may cost more than its size warrants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        """Try something; what was tried is added to the counts, what must not be is an exception."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave nothing behind."""
