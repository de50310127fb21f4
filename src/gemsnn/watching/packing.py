"""Spikes and numbers as short texts, which the page's script reads again.

Spikes go as whole numbers of a varying number of bytes (seven bits each, the lowest first; the eighth bit says that
more follow): of each frame the number of spikes, the first place, and the distance of each further place from the one
before. So a spike takes one byte or two, whatever the size of the sensor.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack_spikes(frames: NDArray[np.integer[Any]], places: NDArray[np.integer[Any]], n_frames: int) -> str:
    """(n,) frames and places of spikes, in any order; a place that spikes twice in a frame is told once."""
    width = int(places.max(initial=0)) + 1
    frame, place = np.divmod(np.unique(frames.astype(np.int64) * width + places.astype(np.int64)), width)
    first = np.flatnonzero(np.diff(frame, prepend=-1))  # of each frame that has any
    distance = np.diff(place, prepend=0)
    distance[first] = place[first]
    counts = np.bincount(frame, minlength=n_frames)
    return _text(_varying(np.insert(distance, np.cumsum(counts) - counts, counts)))


def pack_shares(values: NDArray[np.floating[Any]]) -> str:
    """Numbers from 0 to 1, as 16 bits each, the low byte first."""
    return _text(np.rint(np.clip(values, 0, 1) * 65535).astype("<u2").tobytes())


def pack_numbers(values: NDArray[np.integer[Any]]) -> str:
    """Whole numbers from 0."""
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
