"""Files that are either there whole or not there at all, whatever happens while they are written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gemsnn.errors import CheckpointError

PARTIAL = ".partial"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a crash or a power cut at any instant leaves the old content or the new one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}{PARTIAL}")
    with writing(path):
        try:
            with partial.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make renames in a directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_partial_files(directory: Path) -> None:
    """Remove what a killed process left half-written; only for whoever holds the directory's lock."""
    for leftover in directory.glob(f".*{PARTIAL}"):
        leftover.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into a message that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what = "the disk is full; make space"
        elif error.errno == errno.EFBIG:
            what = "the file would be larger than this process may write; raise the limit (ulimit -f)"
        else:
            what = f"{error.strerror or error}; mend that"
        raise CheckpointError(
            f"{path}: cannot be written: {what}, then continue with --resume. Earlier checkpoints are intact"
        ) from error
