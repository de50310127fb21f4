"""Log-probabilities of the desired spikes of several classes: ``model/spikes.py``, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsnn.compiling.jit import jit
from gemsnn.engine.firing import CircuitTable, compete, log_sigmoid


@jit(error_model="numpy")
def log_probabilities(circuits: CircuitTable, potential: Any, drive: Any, desired: Any, found: Any) -> None:
    """Write the log-probabilities (R, C) of desired spikes (C, V), for visible neurons with potentials (R, V).

    ``drive`` (C, V) is added to the potentials for each class; it may have no rows.
    """
    R, V = potential.shape
    C = desired.shape[0]
    u, probabilities = np.empty(V), np.empty(V)
    for r in range(R):
        if not len(drive):
            for v in range(V):
                u[v] = potential[r, v]
            # A spike instead of silence changes a log-probability by the potential; so does the spike of a circuit,
            # whose "silence" is the normalisation of its SoftMax.
            silence = _of_silence(circuits, u, probabilities)
            for c in range(C):
                found[r, c] = silence
                for v in range(V):
                    if desired[c, v]:
                        found[r, c] += u[v]
            continue
        for c in range(C):
            for v in range(V):
                u[v] = potential[r, v] + drive[c, v]
            found[r, c] = _of_silence(circuits, u, probabilities)
            for v in range(V):
                if desired[c, v]:
                    found[r, c] += u[v]


@jit(error_model="numpy")
def _of_silence(circuits: CircuitTable, u: Any, probabilities: Any) -> float:
    """Log-probability of silence; of a circuit without a silent state, the normalisation alone."""
    total = 0.0
    for v in range(len(u)):
        if circuits.alone[v]:
            total += log_sigmoid(-u[v])
    for c in range(len(circuits.silent)):
        members = circuits.member[circuits.start[c] : circuits.start[c + 1]]
        total -= compete(u, members, circuits.silent[c], probabilities)
    return total
