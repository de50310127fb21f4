"""Sweeps as a command runs them: in a folder of their own, with progress on a console, saved when stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from gemsnn.errors import ConfigError
from gemsnn.experiments.runs import Work
from gemsnn.experiments.sweep import Ended, locally, on_cluster, sweep
from gemsnn.training.lock import LOCK, locked
from gemsnn.training.signals import StopSignals

FOLDERS = frozenset({"data", "figures", "measured", "runs"})
FILES = frozenset({LOCK, "report.html", "results.json", "stop", "workers.log"})


@contextmanager
def own_folder(
    out: Path, folders: frozenset[str] = FOLDERS, files: frozenset[str] = FILES, mark: str = "results.json"
) -> Iterator[None]:
    """Create and lock a folder; one with other content is refused.

    ``folders`` and ``files`` are its usual content. A folder with the file ``mark`` is accepted whatever else it holds.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        content = {path.name: path.is_dir() for path in out.iterdir() if not path.name.startswith(".")}
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be created or read: {error.strerror or error}") from None
    others = sorted(set(content) - folders - files)
    if others and mark not in content:
        raise ConfigError(
            f"--out {out}: holds something else already ({', '.join(others[:3])}{', ...' * (len(others) > 3)}); "
            "choose a new or empty folder"
        )
    for name, is_folder in content.items():
        if (is_folder and name in files) or (not is_folder and name in folders):
            kinds = ("folder", "file") if is_folder else ("file", "folder")
            raise ConfigError(f"{out / name}: is a {kinds[0]} where a {kinds[1]} of this name is kept; move it away")
    with locked(out):
        yield


def carry_out(
    runs: Sequence[Work], console: Console, *, workers: int | None = None, scheduler: str | None = None
) -> list[Ended]:
    """Do what is not done, in processes on this machine (by default one per core) or on a Dask cluster.

    Ctrl-C and SIGTERM save everything and end the program with their usual exit codes.
    """

    def say(line: str) -> None:
        console.print(line, soft_wrap=True, highlight=False, markup=False)

    execute = locally(workers or os.cpu_count() or 1) if scheduler is None else on_cluster(scheduler, say)
    with StopSignals() as stop:
        ended = sweep(runs, execute, console, stop)
    if any(end.status == "interrupted" for end in ended):
        count = sum(end.status == "done" for end in ended)
        say(f"Stopped with {count} of {len(ended)} runs done; all is saved. The same command resumes.")
        raise SystemExit(stop.exit_code or 130)
    return ended


def failures(ended: Sequence[Ended]) -> list[str]:
    """One message per distinct error, with the names of the runs that failed with it."""
    names: dict[str, list[str]] = {}
    for end in ended:
        if end.status == "failed":
            names.setdefault(end.error.strip(), []).append(end.name)
    return [f"{', '.join(who)} failed: {error}" for error, who in names.items()]
