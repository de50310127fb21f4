"""How much memory there is, so that a choice that cannot fit is refused before it fills the machine."""

from __future__ import annotations

import re
from pathlib import Path

from gemsnn.errors import ConfigError

_LIMITS = (  # of the container that the process may be in: what it may have, and what it has
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)

_WORTH_A_LOOK = 1e8  # bytes


def available() -> int | None:
    """Bytes that this process may still take; None where the system does not tell."""
    found = [_of_machine(), _of_process(), *(_of_container(*files) for files in _LIMITS)]
    known = [size for size in found if size is not None]
    return min(known) if known else None


def require(size: float, what: str) -> None:
    """Refuse what needs more bytes than there are; ``what`` names the choice."""
    free = available() if size > _WORTH_A_LOOK else None
    if free is not None and size > free:
        raise ConfigError(f"{what} needs about {in_words(size)} of memory, but only {in_words(free)} are free")


def in_words(size: float) -> str:
    """A number of bytes.

    Examples
    --------
    >>> in_words(1.5e9)
    '1.5 GB'
    """
    for prefix in ("", "k", "M", "G"):
        if size < 1000:
            return f"{size:.3g} {prefix}B"
        size /= 1000
    return f"{size:,.0f} TB" if size < 1e6 else "more than a million TB"


def _of_machine() -> int | None:
    try:
        told = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return None if told is None else 1024 * int(told[1])


def _of_process() -> int | None:
    """What the process's own limit (ulimit -v) leaves."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return None
    return None if limit == resource.RLIM_INFINITY else max(0, limit - taken)


def _of_container(limit: str, taken: str) -> int | None:
    try:
        return max(0, int(Path(limit).read_text()) - int(Path(taken).read_text()))
    except (OSError, ValueError):  # none, or "max"
        return None
