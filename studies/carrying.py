"""What the studies have in common: runs and then measurements, and a message where some failed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from gemsnn.errors import GemsnnError
from gemsnn.experiments import Measurement, Run, carry_out, failures


@contextmanager
def study() -> Iterator[list[str]]:
    """What is put into the list is told at the end, as an error; so is an error of gemsnn."""
    failed: list[str] = []
    try:
        yield failed
    except GemsnnError as error:
        sys.exit(f"error: {error}")
    if failed:
        sys.exit("\n".join(failed))


def train_and_measure(
    runs: Sequence[Run], measurement: Callable[[Run], Measurement], console: Console, **where: Any
) -> list[str]:
    """Carry out the runs, then measure those that were finished; returns what failed."""
    failed = failures(carry_out(runs, console, **where))
    work = [measurement(run) for run in runs if run.done()]
    return failed + (failures(carry_out(work, console, **where)) if work else [])
