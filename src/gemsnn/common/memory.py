"""The available memory, to refuse requests that exceed it before they exhaust the machine."""

from __future__ import annotations

import re
from pathlib import Path

from gemsnn.errors import ConfigError

_LIMITS = (  # limit and usage of the container, for cgroup versions 2 and 1
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)

_CHECKED_ABOVE = 1e8  # bytes


def available() -> int | None:
    """Bytes that this process may still allocate; None if unknown."""
    found = [_of_machine(), _of_process(), *(_of_container(*files) for files in _LIMITS)]
    known = [size for size in found if size is not None]
    return min(known) if known else None


def require(size: float, what: str) -> None:
    """A `ConfigError` if so many bytes are not available; ``what`` names what needs them."""
    free = available() if size > _CHECKED_ABOVE else None
    if free is not None and size > free:
        raise ConfigError(f"{what} needs about {in_words(size)} of memory, but only {in_words(free)} are free")


def in_words(size: float) -> str:
    """A number of bytes as text.

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
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return None if found is None else 1024 * int(found[1])


def _of_process() -> int | None:
    """Bytes left of the process's limit (ulimit -v)."""
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
    except (OSError, ValueError):  # no such file, or "max"
        return None
