"""A lock that allows one process per run directory."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from gemsnn.common.files import writing
from gemsnn.errors import CheckpointError

LOCK = "lock"
BEGINNING = '{"pid": '  # of the text of a lock


class HeldError(CheckpointError):
    """Another process is working on the directory."""


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the directory's lock; if another process does, raise an error that names it.

    The kernel releases the lock when the process ends, however it ends; the text of the file only names the holder. The
    file is never removed, because two processes could then lock two files of the same name.
    """
    import fcntl  # not on every system, and only runs on disk need it

    path = directory / LOCK
    with _opened(path) as stream:
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
        stream.seek(0)
        if not _is_ours(stream.read(len(BEGINNING))):
            raise CheckpointError(f"{path}: holds something that gemsnn did not write; move it away")
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


def _opened(path: Path) -> TextIO:
    """Open or create the file; anything but a regular file, such as a link, is refused."""
    with writing(path):
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o666)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise CheckpointError(f"{path}: must be a plain file, where the lock is; move it away")
        return open(descriptor, "a+", errors="replace")


def _is_ours(text: str) -> bool:
    """Whether a lock file begins like this; on a full disk it may be truncated."""
    return text == BEGINNING[: len(text)]


def _holder(text: str) -> str:
    try:
        holder = json.loads(text)
        return f"process {holder['pid']} on {holder['host']} (since {holder['since']})"
    except (ValueError, KeyError, TypeError):
        return "another process"
