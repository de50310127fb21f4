"""How the sources and neurons of a network are arranged for the event form; computed once per network."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.arrays import padded, wider
from gemsnn.engine.event_arrays import Graph
from gemsnn.engine.firing import circuit_table
from gemsnn.engine.recursion import bank
from gemsnn.model import Network

MOST_PARTS = 8  # populations, and groups of neighbouring neurons: a graph with more parts has no event form


class Sources(NamedTuple):
    """Neighbouring sources that feed the same neurons."""

    first: int  # among the inputs, or among the neurons
    size: int
    of_inputs: bool
    shared: bool
    columns: slice  # among all sources
    feeds: NDArray[np.bool_]  # (n_classes,)


class Plan(NamedTuple):
    """See ``event_kernel.py``."""

    sources: tuple[Sources, ...]
    graph: Graph


@lru_cache(maxsize=16)
def event_plan(network: Network, free: bool, dtype: np.dtype[Any]) -> Plan | None:
    """Arrange sources and neurons, or None if the graph has too many parts, or no synapses.

    ``free`` if visible neurons may run freely, and so spike differently in each compartment.
    """
    topology = network.topology
    n_inputs, n_hidden, n = network.n_inputs, network.n_hidden, network.n_neurons
    # A neuron has no synapse to itself; it is treated as if it had one if it has one from its neighbour.
    filled, own = topology.mask.copy(), np.arange(n)
    for first, last in ((0, n_hidden), (n_hidden, n)):
        neighbour = np.where(own + 1 < last, own + 1, own - 1)
        for i in range(first, last):
            if first <= neighbour[i] < last:
                filled[i, n_inputs + i] = topology.mask[i, n_inputs + neighbour[i]]
    rows = _runs(filled, 0, n_hidden) + _runs(filled, n_hidden, n)
    bounds = (0, n_inputs, n_inputs + n_hidden, network.n_sources)
    parts = [_runs(filled.T, first, last) for first, last in pairwise(bounds)]
    if len(rows) > MOST_PARTS or sum(map(len, parts)) > MOST_PARTS:
        return None
    patterns = [filled[first].tobytes() for first, _ in rows]
    classes = {pattern: index for index, pattern in enumerate(dict.fromkeys(patterns))}
    examples = np.array([rows[patterns.index(pattern)][0] for pattern in classes])
    sources = []
    for kind, runs in enumerate(parts):
        for first, last in runs:
            feeds = np.ascontiguousarray(filled[examples, first])
            if feeds.any():
                shared = kind == 0 or (kind == 2 and not free)
                start = first - (0 if kind == 0 else n_inputs)
                sources.append(Sources(start, last - first, kind == 0, shared, slice(first, last), feeds))
    if not sources:
        return None
    columns = padded(n, dtype)
    graph = Graph(
        synapses=bank(network.synaptic_filter, dtype),
        soma=bank(network.somatic_filter, dtype),
        one_filter=network.synaptic_filter == network.somatic_filter,
        circuits=circuit_table(network.circuits),
        rows=np.array([(*row, classes[p]) for row, p in zip(rows, patterns, strict=True)], dtype=np.intp),
        own_source=wider(filled[own, n_inputs + own] & ~topology.mask[own, n_inputs + own], columns),
        reaches=np.ascontiguousarray(topology.mask[n_hidden:, n_inputs : n_inputs + n_hidden]),
        has_memory=wider(network.has_memory, columns),
    )
    return Plan(tuple(sources), graph)


def _runs(rows: NDArray[np.bool_], first: int, last: int) -> list[tuple[int, int]]:
    """(start, end) of each run of equal neighbouring rows, from ``first`` to ``last``."""
    if first == last:
        return []
    changes = first + 1 + np.flatnonzero((rows[first + 1 : last] != rows[first : last - 1]).any(axis=1))
    bounds = [first, *changes.tolist(), last]
    return list(pairwise(bounds))
