"""Atomic writing of files, and safe reading."""

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
    """Write a file so that a crash or a power failure at any instant leaves either the old or the new content."""
    with replacing(path, mode) as stream:
        stream.write(content)


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A stream whose content replaces the file at the end; an exception leaves the old file and nothing else."""
    # The name has the process id, to identify the owner, and a random part, so that writers do not collide and nobody
    # can guess it. An existing file or link of that name is never opened or followed.
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
    """Make renames in a directory survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_partial_files(directory: Path) -> None:
    """Remove the incomplete files of killed processes; the caller must hold the directory's lock."""
    for leftover in directory.glob(".*.partial"):
        if _PARTIAL.fullmatch(leftover.name) and leftover.is_file():
            leftover.unlink(missing_ok=True)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading; an `OSError` for anything but a regular file, such as a pipe, which would block."""
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
    """The content of a file; an `OSError` for anything but a regular file."""
    with open_regular(path) as stream:
        return stream.read()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `WriteError` that says what to do."""
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
    """Refuse to replace a device, a pipe or a directory."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # it does not exist; for other reasons, creating the file raises an error
    if not stat.S_ISREG(mode):
        raise WriteError(f"{path}: cannot be written: it is {_kind(mode)}")


def _kind(mode: int) -> str:
    return "a directory" if stat.S_ISDIR(mode) else "a device or a pipe, not a file"
