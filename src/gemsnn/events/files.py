"""Reading the bytes of a recording, and what binary formats have in common."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gemsnn.common import memory
from gemsnn.common.files import open_regular
from gemsnn.errors import ConfigError, DataError
from gemsnn.events.records import DamageWarning, Events, make_events


@contextmanager
def opened(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A recording, open for reading; an operating system error, or anything but a regular file, is a `DataError`."""
    file = Path(path)
    try:
        with open_regular(file) as stream:
            yield stream
    except FileNotFoundError:
        raise DataError(f"{file}: there is no such file") from None
    except PermissionError:
        raise DataError(f"{file}: no permission to read this file; change it with chmod u+r") from None
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from None


def read_bytes(path: str | PathLike[str], size: int = -1) -> bytes:
    """The first `size` bytes of a recording, or all of it."""
    with opened(path) as stream:
        return stream.read(size)


def require_memory(size: int, name: str) -> None:
    """Refuse a file that would unpack to more than the available memory."""
    try:
        memory.require(size, f"{name}: unpacked, it")
    except ConfigError as error:
        raise DataError(f"{error}; is it damaged?") from None


def whole_records(data: bytes, start: int, size: int, name: str) -> int:
    """Number of whole records of `size` bytes from `start` on; none at all is a `DataError`."""
    count, rest = divmod(len(data) - start, size)
    if count == 0:
        cut = f" and a cut one of {rest} bytes" if rest else ""
        raise DataError(f"{name}: no events{cut} at byte {start} where the first should be; the recording is empty")
    return count


def unwrap(stamps: NDArray[np.int64], bits: int) -> tuple[NDArray[np.int64], int]:
    """Undo the overflows of a clock of so many bits, up to where it goes back.

    Stamps are compared modulo 2^bits: a step of less than half the range is forward (an overflow, if the number falls),
    any other is a jump back.

    Returns
    -------
    times : (usable,)
        Times without overflows.
    usable
        Number of stamps before the first jump back.
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


def undamaged_events(
    x: NDArray[Any],
    y: NDArray[Any],
    stamps: NDArray[np.int64],
    p: NDArray[Any],
    *,
    bits: int,
    data: bytes,
    start: int,
    size: int,
    name: str,
    record: NDArray[np.int64] | None = None,
) -> Events:
    """Events up to the first whose time jumps back; a `DamageWarning` if there is one, or a cut record at the end.

    Parameters
    ----------
    x, y, stamps, p
        (n,) each; `stamps` from a clock of so many `bits`.
    data, start, size
        The file, the offset of its first record, and the size of a record, in bytes.
    record
        (n,) record number of each event, where other records lie between them.
    """
    times, usable = unwrap(stamps, bits)
    cut = (len(data) - start) % size
    if usable < len(stamps):
        number = usable if record is None else int(record[usable])
        message = f"time jumps back at byte {start + number * size}"
    elif cut:
        message = f"cut inside a record at byte {len(data) - cut}"
    else:
        return make_events(x, y, times, p)
    warnings.warn(f"{name}: {message}; the {usable} events before it were read", DamageWarning, stacklevel=4)
    return make_events(x[:usable], y[:usable], times, p[:usable])
