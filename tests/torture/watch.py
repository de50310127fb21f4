"""Running tortures in child processes, and noticing when one raises, dies or hangs."""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from torture.torture import Torture

MOST_FAILURES = 20  # of one torture: then something is wrong at large
WAITING = 6  # times the patience, for a trial that does nothing but wait
_PULSE = struct.Struct("<qq")  # the seed at work, and how many trials were begun


@dataclass
class Outcome:
    """What became of a torture."""

    trials: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def scratch() -> Path:
    """A folder in memory where there is one, so that a million files do not wear a disk out."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="torture-", dir=memory if os.access(memory, os.W_OK) else None))


def watched(kind: type[Torture], seconds: float, first_seed: int, trials: int | None = None) -> Outcome:
    """Run trials in child processes until the time is over, or so many were done."""
    outcome, begin, seed = Outcome(), time.monotonic(), first_seed
    while time.monotonic() - begin < seconds and len(outcome.failures) < MOST_FAILURES:
        left = seconds - (time.monotonic() - begin)
        seed = _one_child(kind, left, seed, trials, outcome)
        if trials is not None and seed - first_seed >= trials:
            break
    outcome.seconds = time.monotonic() - begin
    return outcome


def _one_child(kind: type[Torture], seconds: float, seed: int, trials: int | None, outcome: Outcome) -> int:
    """Run one child to its end; returns the seed to go on with."""
    folder = scratch()
    try:
        with (folder / "pulse").open("w+b") as file:
            file.write(_PULSE.pack(seed, 0))
            file.flush()
            with mmap.mmap(file.fileno(), _PULSE.size) as pulse:
                command = [sys.executable, "-X", "faulthandler", "-m", "torture", "--child", str(folder)]
                command += ["--only", f"{kind.__module__}:{kind.__name__}", "--seed", str(seed)]
                command += [str(seconds)] if trials is None else [str(seconds), "--trials", str(trials)]
                with (folder / "stderr").open("wb") as told:
                    child = subprocess.Popen(command, stderr=told, start_new_session=True)
                hung = _wait(child, pulse, kind.patience)
                at, begun = _PULSE.unpack(pulse[:])
        outcome.trials += begun
        written = folder / "outcome.json"
        if written.exists():
            content = json.loads(written.read_text())
            outcome.counts.update(content["counts"])
            outcome.failures += content["failures"]
        if hung or child.returncode:
            last = (folder / "stderr").read_text(errors="replace").partition("Extension modules:")[0][-3000:]
            how = f"hangs for {kind.patience:g} s" if hung else f"ended by {_ended(child.returncode)}"
            outcome.failures.append(f"{kind.name}, seed {at}: {how}\n{last}")
        return int(at) + 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(child: subprocess.Popen[bytes], pulse: mmap.mmap, patience: float) -> bool:
    """Wait for a child; one without a pulse is killed. Whether it was.

    Its own processor time counts, so that a busy machine is no hang; a child that only waits is given longer.
    """
    last, since, used = bytes(pulse[:]), time.monotonic(), _processor_time(child.pid)
    while child.poll() is None:
        time.sleep(0.05)
        if pulse[:] != last:
            last, since, used = bytes(pulse[:]), time.monotonic(), _processor_time(child.pid)
        elif _processor_time(child.pid) - used > patience or time.monotonic() - since > WAITING * patience:
            child.send_signal(signal.SIGABRT)  # faulthandler tells where it is
            time.sleep(1)
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return True
    return False


def _processor_time(pid: int) -> float:
    """Seconds that a process, and those of its children that have ended, were at work."""
    try:
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    except OSError:
        return 0.0
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def _ended(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def run_child(kind: type[Torture], folder: Path, seconds: float, first_seed: int, trials: int | None) -> None:
    """In the child: one trial after the other; what went wrong is noted with its seed, and the next comes."""
    if kind.memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (kind.memory, kind.memory))
    work = folder / "work"
    work.mkdir()
    torture = kind(work)
    counts: Counter[str] = Counter()
    failures: list[str] = []
    begin = told = time.monotonic()
    seed = first_seed
    with (folder / "pulse").open("r+b") as file, mmap.mmap(file.fileno(), _PULSE.size) as pulse:
        try:
            while time.monotonic() - begin < seconds and len(failures) < MOST_FAILURES:
                if trials is not None and seed - first_seed >= trials:
                    break
                pulse[:] = _PULSE.pack(seed, seed - first_seed + 1)
                failures += attempt(torture, seed, counts)
                seed += 1
                if time.monotonic() - told > 5:  # what was counted so far outlives the process
                    told = _tell(folder, counts, failures)
        finally:
            torture.close()
            _tell(folder, counts, failures)


def _tell(folder: Path, counts: Counter[str], failures: list[str]) -> float:
    """Leave what was found so far; returns when."""
    partial = folder / "outcome.partial"
    partial.write_text(json.dumps({"counts": counts, "failures": failures}))
    partial.replace(folder / "outcome.json")
    return time.monotonic()


def attempt(torture: Torture, seed: int, counts: Counter[str]) -> Iterable[str]:
    """One trial; what went wrong, with the seed that makes it happen again."""
    try:
        torture.trial(random.Random(f"{torture.name} {seed}"), counts)
    except Exception:
        return [f"{torture.name}, seed {seed}:\n{traceback.format_exc()}"]
    return []
