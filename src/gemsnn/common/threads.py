"""How many threads there are to use."""

from __future__ import annotations

import os


def usable_threads(asked: int | None = None) -> int:
    """As many as asked for; else as many as processors that this process may run on."""
    if asked is not None:
        return asked
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
