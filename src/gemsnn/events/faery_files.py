"""Prophesee's `.raw` (EVT 2.0, 3.0) and iniVation's `.aedat4` (AEDAT 4.0), read with the package `faery`.

A damaged AEDAT 4 file can make faery abort the process or allocate any amount of memory. It therefore runs in a process
of its own, with a memory limit that follows from the size of the file, and sends back the events that it could read.
"""

import os
import subprocess
import sys
import warnings
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

import numpy as np

from gemsnn.errors import DataError
from gemsnn.events.files import opened
from gemsnn.events.records import RECORD_DTYPE, DamageWarning, Events, events_of

_MEMORY = 2 << 30  # bytes that the process may use in any case
_MEMORY_PER_BYTE = 100  # and for each byte of the file, which may be compressed


def read_faery(path: str | PathLike[str]) -> Events:
    """Read events of a `.raw` or `.aedat4` file; needs the extra `faery`."""
    file = Path(path)
    with opened(file) as stream:
        size = os.fstat(stream.fileno()).st_size
    if find_spec("faery") is None:
        raise DataError(f"{file}: to read {file.suffix} files, install the package faery: pip install 'gemsnn[faery]'")
    worker, memory = Path(__file__).with_name("faery_worker.py"), _MEMORY + _MEMORY_PER_BYTE * size
    try:
        done = subprocess.run(
            [sys.executable, "-P", worker, file, str(memory)], capture_output=True, check=False, timeout=60 + size / 1e6
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"{file}: cannot be read: faery timed out") from None
    whole = len(done.stdout) // RECORD_DTYPE.itemsize * RECORD_DTYPE.itemsize
    events = events_of(done.stdout[:whole])
    messages = done.stderr.decode(errors="replace").strip().splitlines()
    why = messages[-1] if messages and done.returncode == 1 else "faery crashed"
    if not len(events):
        raise DataError(f"{file}: no events could be read: {why if done.returncode else 'the recording is empty'}")
    if done.returncode:
        message = f"{file}: damaged ({why}); the {len(events)} events before the damage were read"
        warnings.warn(message, DamageWarning, stacklevel=3)
    if (events["t"][1:] < events["t"][:-1]).any():
        events = events[np.argsort(events["t"], kind="stable")]
    return events
