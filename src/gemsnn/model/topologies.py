"""The graphs that settings files can name; any other is given as a :class:`Topology`, or as a graph file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError
from gemsnn.model.checks import number, whole_number
from gemsnn.model.topology import Topology


@dataclass(frozen=True)
class Graph:
    """A way to connect any numbers of inputs, hidden and visible neurons."""

    kind: ClassVar[str]

    def settings(self) -> dict[str, Any]:
        """The settings that describe it."""
        return {"kind": self.kind, **asdict(self)}

    def topology(self, n_inputs: int, n_hidden: int, n_visible: int) -> Topology:
        raise NotImplementedError

    def count_hidden(self, n_hidden: int) -> int:
        """Its number of hidden neurons, where the settings ask for ``n_hidden``."""
        return n_hidden


@dataclass(frozen=True)
class FullyConnected(Graph):
    """The paper's: see :meth:`Topology.fully_connected`."""

    kind = "fully-connected"
    lateral: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.lateral, bool):
            raise ConfigError(f"lateral must be true or false, got {shown(self.lateral)}")

    def topology(self, n_inputs: int, n_hidden: int, n_visible: int) -> Topology:
        return Topology.fully_connected(n_inputs, n_hidden, n_visible, self.lateral)


@dataclass(frozen=True)
class Layers(Graph):
    """Feed-forward layers of hidden neurons: see :meth:`Topology.layered`. ``sizes`` override ``n_hidden``."""

    kind = "layers"
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, list | tuple):
            raise ConfigError(f"sizes must be a list of whole numbers, got {shown(self.sizes)}")
        object.__setattr__(self, "sizes", tuple(whole_number("sizes", size, 1) for size in self.sizes))

    def topology(self, n_inputs: int, n_hidden: int, n_visible: int) -> Topology:
        return Topology.layered(n_inputs, self.sizes, n_visible)

    def count_hidden(self, n_hidden: int) -> int:
        return sum(self.sizes)


@dataclass(frozen=True)
class RandomGraph(Graph):
    """Each possible synapse exists with probability ``density``: see :meth:`Topology.random`."""

    kind = "random"
    density: float
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= number("density", self.density) <= 1:
            raise ConfigError(f"density must lie in [0, 1], got {shown(self.density)}")
        object.__setattr__(self, "density", float(self.density))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))

    def topology(self, n_inputs: int, n_hidden: int, n_visible: int) -> Topology:
        return Topology.random(n_inputs, n_hidden, n_visible, self.density, self.seed)


@dataclass(frozen=True)
class GraphFile(Graph):
    """A graph written by :meth:`Topology.save`. Its number of hidden neurons overrides ``n_hidden``."""

    kind = "file"
    path: str

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path):
            raise ConfigError(f"path must be the path of a graph file, got {shown(self.path)}")
        object.__setattr__(self, "path", str(self.path))

    def topology(self, n_inputs: int, n_hidden: int, n_visible: int) -> Topology:
        topology = self._load()
        if (topology.n_inputs, topology.n_visible) != (n_inputs, n_visible):
            raise ConfigError(
                f"{self.path}: a graph of {topology.n_inputs} inputs and {topology.n_visible} visible neurons, but the "
                f"data have {n_inputs} inputs and need {n_visible} visible neurons"
            )
        return topology

    def count_hidden(self, n_hidden: int) -> int:
        return self._load().n_hidden

    def _load(self) -> Topology:
        return Topology.load(self.path)


TOPOLOGIES: dict[str, type[Graph]] = {graph.kind: graph for graph in (FullyConnected, Layers, RandomGraph, GraphFile)}
"""By the names that settings files use."""
