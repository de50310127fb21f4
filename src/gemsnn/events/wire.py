"""Events in bytes, on their way from one program to another."""

import numpy as np

from gemsnn.events.records import Events, as_events

RECORD_DTYPE = np.dtype([("t", "<u8"), ("x", "<u2"), ("y", "<u2"), ("p", "u1")])
"""An event in 13 bytes: time in microseconds, column, row, polarity (1 for ON); little-endian, without gaps.

This is what ``faery`` sends over UDP as ``t64_x16_y16_on8``.
"""


def to_bytes(events: Events) -> bytes:
    """Events as whoever listens expects them."""
    clean = as_events(events)
    records = np.empty(len(clean), dtype=RECORD_DTYPE)
    for field in ("t", "x", "y", "p"):
        records[field] = clean[field]
    return records.tobytes()


def events_of(content: bytes, name: str = "events") -> Events:
    """The events in a whole number of records; a number that no event has is a `DataError`."""
    return as_events(np.frombuffer(content, dtype=RECORD_DTYPE), name)
