"""One process a run directory."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gemsnn.common.files import writing
from gemsnn.errors import CheckpointError

LOCK = "lock"


class HeldError(CheckpointError):
    """Another process is working on the directory."""


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the directory's lock, or say who does.

    The kernel holds the lock for us and lets go of it when the process ends, however it ends; the file's text is only
    there to name the holder. The file stays: removing it would let two processes lock two files of the same name.
    """
    import fcntl  # not on every system, and only runs on disk need it

    path = directory / LOCK
    with writing(path):
        stream = path.open("a+")
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            raise HeldError(
                f"{directory}: {_holder(stream.read())} is working on this run; wait for it, stop it, or use "
                "another directory"
            ) from None
        except OSError as error:
            raise CheckpointError(
                f"{path}: this file system cannot lock files ({error.strerror}); keep runs on another one"
            ) from None
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        stream.truncate(0)
        try:
            stream.write(json.dumps(holder))
            stream.flush()
        except OSError:
            pass  # a full disk: the lock holds without its text, and the first checkpoint will say so
        try:
            yield
        finally:
            stream.truncate(0)


def _holder(text: str) -> str:
    try:
        holder = json.loads(text)
        return f"process {holder['pid']} on {holder['host']} (since {holder['since']})"
    except (ValueError, KeyError, TypeError):
        return "another process"
