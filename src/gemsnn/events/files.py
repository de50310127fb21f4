"""Getting the bytes of a recording off the disk, and what can be wrong with them before any format is looked at."""

import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gemsnn.common import memory
from gemsnn.errors import ConfigError, DataError
from gemsnn.events.records import DamageWarning


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Read a regular file whole; anything else (a directory, a pipe, a file one may not read) is a `DataError`."""
    with regular(path) as file:
        return file.read_bytes()


def read_beginning(path: str | PathLike[str], size: int) -> bytes:
    """The first so many bytes of a regular file."""
    with regular(path) as file, file.open("rb") as stream:
        return stream.read(size)


def require_memory(size: int, name: str) -> None:
    """Refuse a file that would unpack to more than the memory can hold."""
    try:
        memory.require(size, f"{name}: unpacked, it")
    except ConfigError as error:
        raise DataError(f"{error}; is it damaged?") from None


@contextmanager
def regular(path: str | PathLike[str]) -> Iterator[Path]:
    """A regular file that is about to be read; what goes wrong with that is a `DataError`."""
    file = Path(path)
    try:
        mode = file.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DataError(f"{file}: this is a directory; give the recording's file (nothing read, byte 0)")
        if not stat.S_ISREG(mode):
            raise DataError(f"{file}: this is not a regular file; save the recording to disk first (byte 0)")
        yield file
    except FileNotFoundError:
        raise DataError(f"{file}: there is no such file") from None
    except PermissionError:
        raise DataError(f"{file}: no permission to read this file (byte 0); change it with chmod u+r") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise DataError(f"{file}: cannot be read (byte 0): {getattr(error, 'strerror', None) or error}") from None


def whole_records(data: bytes, start: int, size: int, name: str) -> int:
    """Number of whole records of `size` bytes from `start` on; none at all is a `DataError`."""
    count, rest = divmod(len(data) - start, size)
    if count == 0:
        cut = f" and a cut one of {rest} bytes" if rest else ""
        raise DataError(f"{name}: no events{cut} at byte {start} where the first should be; the recording is empty")
    return count


def unwrap(stamps: NDArray[np.int64], bits: int) -> tuple[NDArray[np.int64], int]:
    """Make a clock of so many bits run on over its wraps, and find where it goes back.

    Two stamps are compared on the circle of the clock: a step of less than half the circle is forward (a wrap, if the
    number falls), any other is a jump back.

    Returns
    -------
    times : (n,)
        Time without wraps, as long as `usable`.
    usable
        How many stamps come before the first jump back.
    """
    half, full = 1 << (bits - 1), 1 << bits
    if stamps[-1] - stamps[0] < half and (stamps[1:] >= stamps[:-1]).all():  # as nearly always
        return stamps, len(stamps)
    forward = np.diff(stamps) % full
    back = np.flatnonzero(forward >= half)
    usable = int(back[0]) + 1 if len(back) else len(stamps)
    times = np.empty(usable, dtype=np.int64)
    times[0] = stamps[0]
    np.cumsum(forward[: usable - 1], out=times[1:])
    times[1:] += stamps[0]
    return times, usable


def warn_of_damage(data: bytes, start: int, size: int, back: int | None, name: str) -> None:
    """Warn if a recording was read only in part: up to record `back`, where time jumps back, or to a cut record."""
    if back is not None:
        message = f"{name}: time jumps back at byte {start + back * size}; the {back} events before it were read"
    elif (len(data) - start) % size:
        count = (len(data) - start) // size
        message = f"{name}: cut inside a record at byte {start + count * size}; the {count} events before it were read"
    else:
        return
    warnings.warn(message, DamageWarning, stacklevel=4)
