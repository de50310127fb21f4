"""Files that are either there whole or not there at all, whatever happens while they are written."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gemsnn.errors import GemsnnError, WriteError

_PARTIAL = re.compile(r"\..+\.\d+\.[0-9a-f]{8}\.partial")


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file so that a crash or a power cut at any instant leaves the old content or the new one."""
    with replacing(path, mode) as stream:
        stream.write(content)


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A stream whose content becomes the file at the end; leaving by an exception leaves the old file, and no other."""
    # The process in the name says whose it is; the random part keeps two writers apart, and makes the name nobody's to
    # guess. Nothing that is there already is opened or followed.
    partial = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.partial")
    with writing(path):
        _refuse_special(path)
        descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            with open(descriptor, "w+b") as stream:
                yield stream
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
    for leftover in directory.glob(".*.partial"):
        if _PARTIAL.fullmatch(leftover.name) and leftover.is_file():
            leftover.unlink(missing_ok=True)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading; an `OSError` if it is something else, such as a pipe, which would block for ever."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a null character in the name
        raise OSError(errno.EINVAL, str(error)) from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"it is {_kind(mode)}")
        os.set_blocking(descriptor, True)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path) -> bytes:
    """All of a file; an `OSError` if it is something else."""
    with open_regular(path) as stream:
        return stream.read()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into a message that says what is wrong."""
    try:
        yield
    except GemsnnError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what = "the disk is full; make space"
        elif error.errno == errno.EFBIG:
            what = "the file would be larger than this process may write; raise the limit (ulimit -f)"
        else:
            what = error.strerror or str(error)
        raise WriteError(f"{path}: cannot be written: {what}") from error


def _refuse_special(path: Path) -> None:
    """A device or a pipe would be replaced by a file, and a directory cannot be."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # not there yet; if there is another reason, creating the file will tell
    if not stat.S_ISREG(mode):
        raise WriteError(f"{path}: cannot be written: it is {_kind(mode)}")


def _kind(mode: int) -> str:
    return "a directory" if stat.S_ISDIR(mode) else "a device or a pipe, not a file"
