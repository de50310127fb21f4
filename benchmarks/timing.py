"""Times side by side: contestants take turns, so that a slow minute of the machine falls on all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from statistics import median
from typing import NamedTuple


class Contestant(NamedTuple):
    call: Callable[[], object]
    prepare: Callable[[], object] = lambda: None  # before each turn, not timed
    turns: int | None = None  # at most so many, for what is slow
    calls: int = 3  # in a row, each timed by itself: a training loop finds its caches warm


class Times(list[float]):
    """Seconds of all calls."""

    @property
    def best(self) -> float:
        return min(self)

    @property
    def typical(self) -> float:
        return median(self)

    def __str__(self) -> str:
        """Shortest and median, in ms."""
        return f"{milliseconds(self.best)} / {milliseconds(self.typical)}"


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.1f}" if seconds < 0.1 else f"{1e3 * seconds:,.0f}"


def race(contestants: dict[Hashable, Contestant], turns: int) -> dict[Hashable, Times]:
    """Let all take ``turns`` turns, one after the other; an untimed turn comes first."""
    times: dict[Hashable, Times] = {name: Times() for name in contestants}
    for turn in range(turns + 1):
        for name, contestant in contestants.items():
            if contestant.turns is not None and turn > contestant.turns:
                continue
            contestant.prepare()
            time.sleep(0.01)  # worker threads of the contestant before stop spinning
            for _ in range(contestant.calls if turn else 1):
                begin = time.perf_counter()
                contestant.call()
                if turn:
                    times[name].append(time.perf_counter() - begin)
    return times
