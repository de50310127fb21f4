"""Mutated recordings: what is read is what an independent parser reads, or a `DataError`."""

from __future__ import annotations

import io
import random
import re
import struct
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gemsnn import DataError
from gemsnn.events import DamageWarning, read_recording
from gemsnn.events.aedat import encode_aedat, parse_aedat
from gemsnn.events.columns import GuessWarning
from gemsnn.events.nmnist import encode_nmnist, parse_nmnist
from gemsnn.events.prophesee import parse_dat
from gemsnn.events.records import EVENT_DTYPE, Events, make_events
from torture.mutations import mutated
from torture.torture import Torture

BATCH = 100  # recordings a trial


class Recordings(Torture):
    name, share = "recordings", 0.2

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        events = some_events(rng, 128)
        small = some_events(rng, 34)
        bases = [("aedat", encode_aedat(events)), ("aedat", version_1(events)), ("bin", encode_nmnist(small))]
        bases.append(("dat", as_dat(rng, events)))
        for _ in range(BATCH):
            kind, base = rng.choice(bases)
            data = mutated(rng, base)
            counts["mutated recordings"] += 1
            compare(kind, data, counts)
        for kind, base in as_columns(rng, events):
            file = self.folder / f"recording.{kind}"
            file.write_bytes(mutated(rng, base))
            counts["mutated recordings"] += 1
            read_columns(file, counts)


def some_events(rng: random.Random, side: int) -> Events:
    n = rng.choice((1, 2, 5, 20, 60))
    t = sorted(rng.randrange(1 << 23) for _ in range(n))
    return make_events(*([rng.randrange(side) for _ in range(n)] for _ in range(2)), t, rng.choices((0, 1), k=n))


def version_1(events: Events) -> bytes:
    """AEDAT 1.0, which has no header."""
    rows = zip(*(events[field].tolist() for field in ("x", "y", "t", "p")), strict=True)
    return b"".join(struct.pack(">HI", y << 8 | (127 - x) << 1 | (1 - p), t) for x, y, t, p in rows)


def as_dat(rng: random.Random, events: Events) -> bytes:
    """Prophesee's, of version 1 or 2, which the header may or may not say."""
    version = rng.choice((1, 2))
    lines = [f"% Version {version}", "% Height 128", "% Width 128", "% Date 2017-9-1", "% end"]
    header = "".join(f"{line}\n" for line in ("% Data file", *rng.sample(lines, rng.randrange(len(lines) + 1))))
    shifts = (9, 17) if version == 1 else (14, 28)
    rows = zip(*(events[field].tolist() for field in ("t", "x", "y", "p")), strict=True)
    records = b"".join(struct.pack("<II", t, x | y << shifts[0] | p << shifts[1]) for t, x, y, p in rows)
    return header.encode() + bytes((rng.choice((0, 12)), 8)) + records


# ---- an independent reading ------------------------------------------------------------------------------------------

Row = tuple[int, int, int, int]


def read_aedat(data: bytes) -> tuple[list[Row], bool] | None:
    """Events (x, y, t, p) and whether some were left out; None for a file that is to be refused."""
    if not data:
        return None
    version = 1
    if data[:9] == b"#!AER-DAT":
        told = re.match(rb"[0-9]+", data[9:])
        if not told or told.group() not in (b"1", b"2"):
            return None
        version = int(told.group())
    begin = 0
    while data[begin : begin + 1] == b"#":
        end = data.find(b"\n", begin)
        line = data[begin : end + 1]
        if end < 0 or any((byte < 32 and byte not in (9, 13)) or byte == 127 for byte in line[:-1]):
            break
        begin = end + 1
        if line.startswith(b"#End Of ASCII Header"):
            break
    form = ">II" if version == 2 else ">HI"
    size = struct.calcsize(form)
    whole, rest = divmod(len(data) - begin, size)
    records = [struct.unpack_from(form, data, begin + i * size) for i in range(whole)]
    if not records or any(address > 0x7FFF for address, _ in records):
        return None
    times, back = on_a_circle([stamp for _, stamp in records], 32)
    rows = [
        (127 - ((address >> 1) & 127), address >> 8, t, 1 - (address & 1))
        for (address, _), t in zip(records, times, strict=False)
    ]
    return rows, back or rest > 0


def read_nmnist(data: bytes) -> tuple[list[Row], bool] | None:
    whole, rest = divmod(len(data), 5)
    if not whole:
        return None
    kept, overflow = [], 0
    for i in range(whole):
        x, y, high, middle, low = data[5 * i : 5 * i + 5]
        stamp = (high & 127) << 16 | middle << 8 | low
        if y == 240:
            overflow += 1
        elif x >= 34 or y >= 34:
            return None
        else:
            kept.append((x, y, stamp + (overflow << 13), high >> 7))
    if not kept:
        return None
    times, back = on_a_circle([row[2] for row in kept], 23)
    return [(x, y, t, p) for (x, y, _, p), t in zip(kept, times, strict=False)], back or rest > 0


def read_dat(data: bytes) -> tuple[list[Row], bool] | None:
    told: dict[str, str] = {}
    while data[:1] == b"%" and b"\n" in data:
        line, _, data = data.partition(b"\n")
        words = "".join(chr(byte) if byte < 128 else "?" for byte in line[1:]).strip()
        name, _, value = words.partition(" ")
        told[name.lower()] = value.strip()
        if name.lower() == "end":
            break
    if data[:2] not in (b"\x00\x08", b"\x0c\x08"):
        return None
    whole, rest = divmod(len(data) - 2, 8)
    records = [struct.unpack_from("<II", data, 2 + 8 * i) for i in range(whole)]
    version = told.get("version", "2" if any(word >> 18 for _, word in records) else "1")
    if not records or version not in ("0", "1", "2"):
        return None
    bits = (14, 14) if version == "2" else (9, 8)
    kept = []
    for _, word in records:
        x, y = word % (1 << bits[0]), (word >> bits[0]) % (1 << bits[1])
        kept.append((x, y, (word >> sum(bits)) % (16 if version == "2" else 2)))
    try:
        width, height = int(told["width"]), int(told["height"])
    except (KeyError, ValueError):
        width = height = 0
    if width < 1 or height < 1 or max(width, height) > 1 << 14:
        width = height = 1 << 14
    if any(x >= width or y >= height or p > 1 for x, y, p in kept):
        return None
    times, back = on_a_circle([time for time, _ in records], 32)
    return [(x, y, t, p) for (x, y, p), t in zip(kept, times, strict=False)], back or rest > 0


def on_a_circle(stamps: list[int], bits: int) -> tuple[list[int], bool]:
    """Times that run on over the wraps of a clock, up to the first jump back; and whether there is one."""
    times = stamps[:1]
    for before, now in pairwise(stamps):
        step = (now - before) % (1 << bits)
        if step >= 1 << (bits - 1):
            return times, True
        times.append(times[-1] + step)
    return times, False


READINGS = {"aedat": (read_aedat, parse_aedat), "bin": (read_nmnist, parse_nmnist), "dat": (read_dat, parse_dat)}


def compare(kind: str, data: bytes, counts: Counter[str]) -> None:
    if kind == "dat" and data[:1] != b"%":
        kind = "aedat"  # which has the same ending
    read, parse = READINGS[kind]
    expected = read(data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = parse(data, "mutated")
        except DataError:
            assert expected is None, f"refused, but {expected} can be read: {data!r}"
            counts["refused"] += 1
            return
    assert expected is not None, f"read, but there is nothing to read: {data!r}"
    rows, damaged = expected
    assert found.tolist() == rows, f"{found.tolist()} is not {rows}: {data!r}"
    told = [warning.category for warning in caught if warning.category is not GuessWarning]
    assert told == [DamageWarning] * damaged
    counts["read as expected"] += 1


# ---- columns ---------------------------------------------------------------------------------------------------------


def as_columns(rng: random.Random, events: Events) -> list[tuple[str, bytes]]:
    text = io.BytesIO()
    header = rng.choice(("t,x,y,p", "# x;y;time_ms;polarity", "t x y p", "timestamp\tx\ty\tp\tmore"))
    sign = next((sign for sign in ",;\t" if sign in header), " ")
    names = [name.strip("# ") for name in header.split(sign)]
    fields = {"time_ms": "t", "timestamp": "t", "polarity": "p", "more": "p"}
    text.write((header + "\n").encode())
    for event in events:
        text.write((sign.join(str(event[fields.get(name, name)]) for name in names) + "\n").encode())
    array, archive, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(array, events)
    columns: dict[str, Any] = {field: events[field] for field in ("t", "x", "y", "p")}
    np.savez(archive, **columns)
    np.savez_compressed(packed, events=events)
    return [
        ("csv", text.getvalue()), ("npy", array.getvalue()), ("npz", archive.getvalue()), ("npz", packed.getvalue())
    ]  # fmt: skip


def read_columns(file: Path, counts: Counter[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            events = read_recording(file)
        except DataError:
            counts["refused"] += 1
            return
    assert events.dtype == EVENT_DTYPE
    assert len(events)
    assert (events["t"][1:] >= events["t"][:-1]).all()
    assert np.isin(events["p"], (0, 1)).all()
    counts["read"] += 1
