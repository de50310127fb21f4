"""Which source feeds which neuron: a directed graph, cycles allowed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from itertools import chain, pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.common import memory
from gemsnn.common.files import read_regular, write_whole
from gemsnn.errors import ConfigError, ShapeError
from gemsnn.model.checks import whole_number


class Topology:
    """A directed graph over exogenous inputs, hidden and visible neurons.

    Parameters
    ----------
    n_inputs, n_hidden, n_visible
        Sizes. Inputs and hidden neurons may be 0; there is at least one visible neuron.
    mask
        (n_neurons, n_sources) bool: ``mask[i, j]`` is true if source j feeds neuron i. Rows: hidden, then visible
        neurons. Columns: inputs, hidden, visible. A neuron has no synapse onto itself (that is its self-memory).

    Examples
    --------
    >>> Topology.fully_connected(n_inputs=4, n_hidden=3, n_visible=2)
    Topology(n_inputs=4, n_hidden=3, n_visible=2, synapses=32)
    """

    def __init__(self, n_inputs: int, n_hidden: int, n_visible: int, mask: ArrayLike) -> None:
        self.n_inputs, self.n_hidden, self.n_visible = _sizes(n_inputs, n_hidden, n_visible)
        given = np.asarray(mask)
        if given.shape != (self.n_neurons, self.n_sources):
            raise ShapeError(
                f"mask has shape {given.shape}, but (n_neurons, n_sources) = {(self.n_neurons, self.n_sources)}"
            )
        if given.dtype != bool and not np.isin(given, (0, 1)).all():
            raise ConfigError("mask must hold only 0/1 or booleans")
        self.mask: NDArray[np.bool_] = np.array(given, dtype=bool)
        own = self.mask[np.arange(self.n_neurons), self.n_inputs + np.arange(self.n_neurons)]
        if own.any():
            raise ConfigError(
                f"mask connects neuron {int(own.argmax())} to itself: leave the diagonal (column n_inputs + neuron) "
                "empty, self-memory is the somatic filter's"
            )
        self.mask.flags.writeable = False
        self._hash = hash((self.n_inputs, self.n_hidden, self.n_visible, self.mask.tobytes()))

    @cached_property
    def n_synapses(self) -> int:
        return int(np.count_nonzero(self.mask))

    @property
    def n_neurons(self) -> int:
        return self.n_hidden + self.n_visible

    @property
    def n_sources(self) -> int:
        return self.n_inputs + self.n_hidden + self.n_visible

    def __repr__(self) -> str:
        return (
            f"Topology(n_inputs={self.n_inputs}, n_hidden={self.n_hidden}, n_visible={self.n_visible}, "
            f"synapses={self.n_synapses})"
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Topology)
            and (self.n_inputs, self.n_hidden, self.n_visible) == (other.n_inputs, other.n_hidden, other.n_visible)
            and np.array_equal(self.mask, other.mask)
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _fewer(self) -> tuple[NDArray[np.intp], ...]:
        """(neurons, sources) of the synapses, or of the absent ones if there are fewer of these."""
        return self.mask.nonzero() if self.n_synapses < self.mask.size / 2 else (~self.mask).nonzero()

    def astray(self, weights: NDArray[Any]) -> tuple[int, int] | None:
        """(neuron, source) of a weight, in (n_neurons, n_sources, n_basis), that is not 0 where there is no synapse."""
        listed = weights[self._fewer]
        if self.n_synapses < self.mask.size / 2:
            if np.count_nonzero(weights) == np.count_nonzero(listed):
                return None
            row = next(i for i, each in enumerate(weights) if (each.any(axis=1) & ~self.mask[i]).any())
            return row, int((weights[row].any(axis=1) & ~self.mask[row]).argmax())
        if not listed.any():
            return None
        place = listed.any(axis=1).argmax()
        return int(self._fewer[0][place]), int(self._fewer[1][place])

    @classmethod
    def fully_connected(cls, n_inputs: int, n_hidden: int, n_visible: int, lateral: bool = False) -> Topology:
        """The paper's graph: inputs to all neurons, hidden to all other neurons, nothing out of the visible ones.

        With ``lateral`` visible neurons also feed each other.
        """
        mask = _empty_mask(n_inputs, n_hidden, n_visible)
        mask[:, : n_inputs + n_hidden] = True
        mask[n_hidden:, n_inputs + n_hidden :] = lateral
        np.fill_diagonal(mask[:, n_inputs:], False)
        return cls(n_inputs, n_hidden, n_visible, mask)

    @classmethod
    def layered(cls, n_inputs: int, hidden_layers: Sequence[int], n_visible: int) -> Topology:
        """Feed-forward: inputs to the first hidden layer, each layer to the next, the last to the visible neurons.

        Without hidden layers the inputs feed the visible neurons.
        """
        for number, size in enumerate(hidden_layers):
            whole_number(f"hidden_layers[{number}]", size, 1)
        sizes = [n_inputs, *hidden_layers, n_visible]
        mask = _empty_mask(n_inputs, sum(hidden_layers), n_visible)
        source = 0
        for before, after in pairwise(sizes):
            row = source + before - n_inputs
            mask[row : row + after, source : source + before] = True
            source += before
        return cls(n_inputs, sum(hidden_layers), n_visible, mask)

    @classmethod
    def random(cls, n_inputs: int, n_hidden: int, n_visible: int, density: float, seed: int = 0) -> Topology:
        """Each possible synapse exists with probability ``density``: cycles and feedback included."""
        if not 0 <= density <= 1:
            raise ConfigError(f"density must lie in [0, 1], got {density}")
        mask, draws = _empty_mask(n_inputs, n_hidden, n_visible), np.random.default_rng(seed)
        for row in mask:  # a large graph's draws all at once would take eight times its memory
            row[:] = draws.random(row.size) < density
        np.fill_diagonal(mask[:, n_inputs:], False)
        return cls(n_inputs, n_hidden, n_visible, mask)

    @classmethod
    def from_networkx(cls, graph: Any, role: str = "role") -> Topology:
        """From a ``networkx.DiGraph`` whose nodes carry ``role="input" | "hidden" | "visible"``.

        Within each role, neurons keep the order of ``graph.nodes``. A self-loop stands for the self-memory that every
        neuron has, and is ignored.
        """
        if not graph.is_directed():
            raise ConfigError("the graph is undirected: use networkx.DiGraph, whose edges have directions")
        members: dict[str, list[Any]] = {"input": [], "hidden": [], "visible": []}
        for node, attributes in graph.nodes(data=True):
            if attributes.get(role) not in members:
                raise ConfigError(
                    f"node {node!r} has {role}={attributes.get(role)!r}: it must be one of 'input', 'hidden', 'visible'"
                )
            members[attributes[role]].append(node)
        n_inputs, n_hidden, n_visible = (len(nodes) for nodes in members.values())
        column = {node: index for index, node in enumerate(chain(*members.values()))}
        mask = _empty_mask(n_inputs, n_hidden, n_visible)
        for source, target in graph.edges():
            if source == target:
                continue
            if column[target] < n_inputs:
                raise ConfigError(f"edge {source!r} -> {target!r} leads into an input, which neurons cannot drive")
            mask[column[target] - n_inputs, column[source]] = True
        return cls(n_inputs, n_hidden, n_visible, mask)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the graph as JSON: the sizes, and a list of [source, neuron] for each synapse.

        Sources count inputs, hidden, visible; neurons count hidden, visible.
        """
        synapses = np.argwhere(self.mask)[:, ::-1].tolist()
        sizes = {"n_inputs": self.n_inputs, "n_hidden": self.n_hidden, "n_visible": self.n_visible}
        write_whole(Path(path), (json.dumps({**sizes, "synapses": synapses}) + "\n").encode())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Topology:
        """Read a graph written by :meth:`save`."""
        try:
            content = json.loads(read_regular(Path(path)))
            sizes = content["n_inputs"], content["n_hidden"], content["n_visible"]
            mask = _empty_mask(*sizes)
            mask[_synapses(content["synapses"], mask.shape)] = True
            return cls(*sizes, mask)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(f"{path}: not a graph file: {reason}") from None


def _sizes(n_inputs: int, n_hidden: int, n_visible: int) -> tuple[int, int, int]:
    return (
        whole_number("n_inputs", n_inputs, 0),
        whole_number("n_hidden", n_hidden, 0),
        whole_number("n_visible", n_visible, 1),
    )


def _synapses(pairs: Any, shape: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices into a mask of the given shape, from a file's list of [source, neuron]."""
    found = np.array(pairs) if pairs else np.zeros((0, 2), dtype=np.intp)
    limits = np.array(shape)[::-1]
    if found.shape[1:] != (2,) or found.dtype.kind not in "iu" or (found < 0).any() or (found >= limits).any():
        raise ConfigError(f"synapses must be pairs [source, neuron] below {limits.tolist()}")
    return found[:, 1], found[:, 0]


def _empty_mask(n_inputs: int, n_hidden: int, n_visible: int) -> NDArray[np.bool_]:
    n_inputs, n_hidden, n_visible = _sizes(n_inputs, n_hidden, n_visible)
    # A byte for each possible synapse, and for copies of that.
    memory.require(
        3 * (n_hidden + n_visible) * (n_inputs + n_hidden + n_visible),
        f"a graph of {n_inputs:,} inputs, {n_hidden:,} hidden and {n_visible:,} visible neurons",
    )
    return np.zeros((n_hidden + n_visible, n_inputs + n_hidden + n_visible), dtype=bool)
