"""Changing bytes, and changing what JSON says."""

from __future__ import annotations

import copy
import random
from typing import Any

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 255, 1000, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -(2**63), 10**30,
    0.5, -0.5, 1.0, 1e-320, 1e19, 1e308, -1e308, "", "x", "0", "none", "\0", "\x7f", "[/red]", "\ud800", "x" * 5000,
    "gem", "vote", "exponential", "file", "float64", [], {}, [1], [[]], {"kind": "taps"}, [1, 2, 3], ["a", "a"],
)  # fmt: skip


def mutated(rng: random.Random, data: bytes) -> bytes:
    """One to three changes: bits, bytes, pieces that are gone, repeated, exchanged or made up."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not content:
            return bytes(rng.randbytes(rng.randrange(20)))
        at = rng.randrange(len(content))
        length = min(rng.choice((1, 2, 4, 8, 16, 64, 512)), len(content) - at)
        match rng.randrange(9):
            case 0 | 1 | 2:
                content[at] ^= 1 << rng.randrange(8)
            case 3:
                content[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, 0x23, 0x0A, rng.randrange(256)))
            case 4:
                del content[at : at + length]
            case 5:
                content[at:at] = rng.randbytes(length)
            case 6:
                content[at : at + length] = bytes(length)
            case 7:
                other = rng.randrange(len(content))
                content[at : at + length] = content[other : other + length]
            case 8:
                del content[at:]
    return bytes(content)


def mutated_json(rng: random.Random, value: Any) -> Any:
    """A copy in which one to three things are others, gone, renamed, or exchanged."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not isinstance(value, dict | list) or not value:
            return rng.choice(ODD_VALUES)
        holder, key = _place(rng, value)
        match rng.randrange(8):
            case 0 | 1 | 2 | 3:
                holder[key] = copy.deepcopy(rng.choice(ODD_VALUES))
            case 4:
                del holder[key]
            case 5 if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
                holder[key] = holder[key] * rng.choice((-1, 2, 0.5)) + rng.choice((-1, 0, 1))
            case 6:
                other, name = _place(rng, value)
                holder[key] = copy.deepcopy(other[name])
            case _ if isinstance(holder, dict):
                holder[rng.choice(("x", "", "kind", "cls", "position", str(key) + "x"))] = holder[key]
            case _:
                holder.append(copy.deepcopy(holder[key]))
    return value


def _place(rng: random.Random, value: Any) -> tuple[Any, Any]:
    """A (container, key) in nested tables and lists: down from the top, at every turn by chance."""
    while True:
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        inside = value[key]
        if not isinstance(inside, dict | list) or not inside or rng.random() < 0.15:
            return value, key
        value = inside
