"""How much memory something holds."""

import resource
from pathlib import Path

import numpy as np


def bytes_held(thing, seen=None):
    """Of all arrays that can be reached from an object through containers and objects of the package."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return thing.nbytes if thing.base is None else bytes_held(thing.base, seen)
    if isinstance(thing, list | tuple | dict):
        return sum(bytes_held(part, seen) for part in (thing.values() if isinstance(thing, dict) else thing))
    ours = type(thing).__module__.startswith("gemsnn") and hasattr(thing, "__dict__")  # a walk over Numba takes seconds
    return bytes_held(vars(thing), seen) if ours else 0


def resident_bytes():
    """Of this process; 0 where the system does not tell."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() if statm.exists() else 0
