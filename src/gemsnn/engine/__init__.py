"""Engines for the same mathematics: ``reference`` (NumPy, the oracle) and ``compiled`` (the fast one); randomness."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from gemsnn.errors import ConfigError

if TYPE_CHECKING:
    from gemsnn.engine.protocol import Engine

ENGINES = {"compiled": "gemsnn.engine.compiled", "reference": "gemsnn.engine.reference"}
"""The engines by name; each is a module with ``learner``, ``batches`` and ``running`` (see ``protocol.py``)."""


def engine_named(name: str) -> Engine:
    """An engine, imported on first use: importing the compiled one takes a while."""
    if name not in ENGINES:
        raise ConfigError(f"unknown engine {name!r}: choose one of {', '.join(map(repr, ENGINES))}")
    return cast("Engine", import_module(ENGINES[name]))
