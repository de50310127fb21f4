"""The number of threads to use."""

from __future__ import annotations

import os


def usable_threads(asked: int | None = None) -> int:
    """The number asked for; by default, the number of processors that this process may use."""
    if asked is not None:
        return asked
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
