"""How a network's sources are arranged for the compiled engine; worked out once a network."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.firing import CircuitTable, circuit_table
from gemsnn.engine.tables import HistoryFormat, history_format, trace_table
from gemsnn.model import Network


class Segment(NamedTuple):
    """Neighbouring shared sources: where they stand among all sources, and their columns among the shared traces."""

    sources: slice
    columns: slice


class Layout(NamedTuple):
    """Shared sources spike alike in all compartments, private ones do not (see ``direct_kernel.py``)."""

    segments: tuple[Segment, ...]
    private: slice  # the private sources among all sources
    private_index: NDArray[np.intp]  # (n_neurons,): neuron -> place among the private sources, or -1
    absent_start: NDArray[np.intp]  # (n_neurons + 1,)
    absent_column: NDArray[np.intp]
    group: NDArray[np.intp]  # (n_neurons,): neurons with the same shared sources form a group
    group_mask: NDArray[np.bool_]  # (n_groups, n_shared * n_basis + 1): shared traces, the last is the bias's
    synaptic_taps: NDArray[Any]  # (n_basis, duration) in the engine's precision
    synaptic_table: NDArray[Any]
    somatic_table: NDArray[Any]
    history: HistoryFormat
    circuits: CircuitTable

    @property
    def all_shared(self) -> bool:
        """Whether every shared source feeds every neuron, so that one Gram matrix does for all."""
        return bool(self.group_mask.all())


@lru_cache(maxsize=16)
def layout(network: Network, visible_private: bool, dtype: np.dtype[Any]) -> Layout:
    """Arrange the sources; ``visible_private`` when visible neurons may run freely."""
    topology = network.topology
    n_inputs, n_hidden, n_neurons = network.n_inputs, network.n_hidden, network.n_neurons
    n_basis = network.synaptic_filter.n_basis
    visible = slice(n_inputs + n_hidden, network.n_sources)
    visible_feeds = bool(topology.mask[:, visible].any())

    segments = [Segment(slice(0, n_inputs), slice(0, n_inputs * n_basis))]
    private = slice(n_inputs, network.n_sources if visible_feeds and visible_private else visible.start)
    if visible_feeds and not visible_private:
        start = n_inputs * n_basis
        segments.append(Segment(visible, slice(start, start + network.n_visible * n_basis)))
    n_private = private.stop - private.start
    private_index = np.where(np.arange(n_neurons) < n_private, np.arange(n_neurons), -1).astype(np.intp)

    private_mask = np.repeat(topology.mask[:, private], n_basis, axis=1)
    absent_start = np.concatenate([[0], np.cumsum((~private_mask).sum(axis=1))]).astype(np.intp)
    absent_column = np.nonzero(~private_mask)[1].astype(np.intp)

    shared_mask = np.concatenate([topology.mask[:, segment.sources] for segment in segments], axis=1)
    if shared_mask.all():
        rows, group = shared_mask[:1], np.zeros(n_neurons, dtype=np.intp)
    else:
        rows, group = np.unique(shared_mask, axis=0, return_inverse=True)
    history = history_format(network.memory)
    return Layout(
        segments=tuple(segments),
        private=private,
        private_index=private_index,
        absent_start=absent_start,
        absent_column=absent_column,
        group=group.reshape(-1).astype(np.intp),
        group_mask=np.pad(np.repeat(rows, n_basis, axis=1), ((0, 0), (0, 1)), constant_values=True),
        synaptic_taps=network.synaptic_filter.taps.astype(dtype),
        synaptic_table=trace_table(network.synaptic_filter.taps, history, dtype),
        somatic_table=trace_table(network.somatic_filter.taps, history, dtype),
        history=history,
        circuits=circuit_table(network.circuits),
    )
