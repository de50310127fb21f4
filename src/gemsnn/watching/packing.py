"""Spikes and numbers as compact text for the page's script.

Spikes are encoded as integers of variable length (seven bits per byte, the lowest first; the eighth bit is set if more
bytes follow): for each frame the number of spikes, the first position, and the differences between positions. A spike
takes one or two bytes, whatever the size of the sensor.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack_spikes(frames: NDArray[np.integer[Any]], places: NDArray[np.integer[Any]], n_frames: int) -> str:
    """Pack (n,) frames and positions of spikes, in any order; duplicates within a frame are merged."""
    width = int(places.max(initial=0)) + 1
    frame, place = np.divmod(np.unique(frames.astype(np.int64) * width + places.astype(np.int64)), width)
    first = np.flatnonzero(np.diff(frame, prepend=-1))  # of each frame that has any
    distance = np.diff(place, prepend=0)
    distance[first] = place[first]
    counts = np.bincount(frame, minlength=n_frames)
    return _text(_varying(np.insert(distance, np.cumsum(counts) - counts, counts)))


def pack_shares(values: NDArray[np.floating[Any]]) -> str:
    """Pack numbers from 0 to 1 with 16 bits each, little-endian."""
    return _text(np.rint(np.clip(values, 0, 1) * 65535).astype("<u2").tobytes())


def pack_numbers(values: NDArray[np.integer[Any]]) -> str:
    """Pack non-negative integers."""
    return _text(_varying(values.astype(np.int64)))


def _varying(values: NDArray[np.int64]) -> bytes:
    length = np.ones(len(values), dtype=np.int64)
    for more in range(1, 9):
        length += values >> (7 * more) > 0
    end = np.cumsum(length)
    out = np.zeros(int(end[-1]) if len(end) else 0, dtype=np.uint8)
    begin = end - length
    for byte in range(9):
        there = length > byte
        out[begin[there] + byte] = (values[there] >> (7 * byte) & 127) | np.where(length[there] > byte + 1, 128, 0)
    return out.tobytes()


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
