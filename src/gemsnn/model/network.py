"""A network: a graph whose synapses and somas have filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gemsnn.common import memory
from gemsnn.common.words import shown
from gemsnn.errors import ConfigError, DataError, ShapeError
from gemsnn.model.checks import number, one_of, whole_number
from gemsnn.model.filters import Filter, RaisedCosine
from gemsnn.model.parameters import LARGEST, LARGEST_INITIAL, Parameters
from gemsnn.model.spikes import Circuit, Circuits
from gemsnn.model.topology import Topology

Readout = Literal["bernoulli", "winner-take-all"]
"""The visible neurons are independent, or form one circuit."""
READOUTS: tuple[Readout, ...] = ("bernoulli", "winner-take-all")


def readout_circuits(topology: Topology, readout: Readout) -> list[Circuit]:
    """The circuits of a readout; none if there is only one visible neuron."""
    one_of("readout", readout, READOUTS)
    if readout == "bernoulli" or topology.n_visible == 1:
        return []
    return [Circuit(tuple(range(topology.n_hidden, topology.n_neurons)))]


class Network:
    """A graph of spiking neurons with a synaptic filter and a somatic (self-memory) filter.

    Parameters
    ----------
    topology
        The graph.
    synaptic_filter, somatic_filter
        Default: three raised cosines over ten steps, as in the paper. They may differ in every respect.
    visible_memory
        Whether visible neurons have self-memory, as in the paper. Without it their somatic weights stay exactly 0, so
        that a readout cannot learn to repeat its earlier spikes.
    circuits
        Winner-take-all circuits: each a :class:`Circuit`, or the rows of its neurons. All other neurons are Bernoulli
        neurons, as in the paper.

    Examples
    --------
    >>> network = Network.fully_connected(n_inputs=676, n_hidden=200, n_visible=3)
    >>> network.init(seed=0).synaptic.shape
    (203, 879, 3)
    """

    def __init__(
        self,
        topology: Topology,
        synaptic_filter: Filter | None = None,
        somatic_filter: Filter | None = None,
        visible_memory: bool = True,
        circuits: Sequence[Circuit | Sequence[int]] = (),
    ) -> None:
        self.topology = topology
        self.synaptic_filter = RaisedCosine() if synaptic_filter is None else synaptic_filter
        self.somatic_filter = RaisedCosine() if somatic_filter is None else somatic_filter
        self.visible_memory = bool(visible_memory)
        given = [circuit if isinstance(circuit, Circuit) else Circuit(tuple(circuit)) for circuit in circuits]
        self.circuits = Circuits(topology.n_hidden, topology.n_neurons, given)

    @classmethod
    def fully_connected(
        cls,
        n_inputs: int,
        n_hidden: int,
        n_visible: int,
        synaptic_filter: Filter | None = None,
        somatic_filter: Filter | None = None,
        visible_memory: bool = True,
        readout: Readout = "bernoulli",
    ) -> Network:
        """The paper's network (see :meth:`Topology.fully_connected`).

        With ``readout="winner-take-all"`` the visible neurons form one circuit: exactly one spikes at each step.
        """
        topology = Topology.fully_connected(n_inputs, n_hidden, n_visible)
        return cls(topology, synaptic_filter, somatic_filter, visible_memory, readout_circuits(topology, readout))

    @property
    def n_inputs(self) -> int:
        return self.topology.n_inputs

    @property
    def n_hidden(self) -> int:
        return self.topology.n_hidden

    @property
    def n_visible(self) -> int:
        return self.topology.n_visible

    @property
    def n_neurons(self) -> int:
        return self.topology.n_neurons

    @property
    def n_sources(self) -> int:
        return self.topology.n_sources

    @property
    def memory(self) -> int:
        """Number of past steps that the longer of the two filters sees."""
        return max(self.synaptic_filter.duration, self.somatic_filter.duration)

    @property
    def has_memory(self) -> NDArray[np.bool_]:
        """(n_neurons,): which neurons have self-memory."""
        return (np.arange(self.n_neurons) < self.n_hidden) | self.visible_memory

    def __repr__(self) -> str:
        circuits = f", circuits={len(self.circuits.competing)}" if self.circuits.competing else ""
        return (
            f"Network({self.topology!r}, synaptic={self.synaptic_filter!r}, somatic={self.somatic_filter!r}{circuits})"
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Network)
            and self.topology == other.topology
            and self.synaptic_filter == other.synaptic_filter
            and self.somatic_filter == other.somatic_filter
            and self.visible_memory == other.visible_memory
            and self.circuits == other.circuits
        )

    def __hash__(self) -> int:
        return hash((self.topology, self.synaptic_filter, self.somatic_filter, self.visible_memory, self.circuits))

    def init(
        self,
        seed: int = 0,
        *,
        weight_scale: float = 1.0,
        hidden_bias: float = -2.0,
        visible_bias: float = 0.0,
        uniform: float | None = None,
        dtype: DTypeLike = np.float32,
    ) -> Parameters:
        """Draw initial parameters.

        Synaptic weights are normal with standard deviation ``weight_scale / sqrt(fan_in * n_basis)``, so that the
        spread of the potentials does not depend on the network's size; self-memory starts at 0. With the default hidden
        bias, hidden neurons spike in about one of eight steps before learning.

        With ``uniform`` all parameters, self-memory and biases too, are drawn from -uniform to +uniform instead.
        """
        whole_number("seed", seed, 0)
        for name, value in (
            ("weight_scale", weight_scale), ("hidden_bias", hidden_bias), ("visible_bias", visible_bias),
            ("uniform", 0.0 if uniform is None else uniform),
        ):  # fmt: skip
            if abs(number(name, value)) > LARGEST_INITIAL:
                raise ConfigError(f"{name} = {shown(value)}: must lie within {LARGEST_INITIAL:g}")
        mask = self.topology.mask
        n_basis = self.synaptic_filter.n_basis
        memory.require(np.dtype(dtype).itemsize * mask.size * n_basis, f"{mask.size * n_basis:,} weights")
        if uniform is not None:
            return self._draw_uniform(seed, uniform, dtype)
        scale = weight_scale / np.sqrt(np.maximum(mask.sum(axis=1), 1) * n_basis)
        synaptic, draws = self._no_weights(dtype), np.random.default_rng(seed)
        for i in range(self.n_neurons):  # drawn row by row: all at once would take twice the memory of the weights
            drawn = draws.standard_normal(synaptic[i].shape)
            synaptic[i, mask[i]] = drawn[mask[i]] * scale[i]
        bias = np.concatenate([np.full(self.n_hidden, hidden_bias), np.full(self.n_visible, visible_bias)])
        return Parameters(
            synaptic=synaptic,
            somatic=np.zeros((self.n_neurons, self.somatic_filter.n_basis), dtype=dtype),
            bias=bias.astype(dtype),
        )

    def _no_weights(self, dtype: DTypeLike) -> NDArray[Any]:
        """Synaptic weights of 0, in the memory layout of learned ones: for each source, those of all neurons."""
        return np.zeros((self.n_sources, self.synaptic_filter.n_basis, self.n_neurons), dtype=dtype).transpose(2, 0, 1)

    def _draw_uniform(self, seed: int, size: float, dtype: DTypeLike) -> Parameters:
        rng, mask = np.random.default_rng(seed), self.topology.mask
        synaptic = self._no_weights(dtype)
        for row, exists in zip(synaptic, mask, strict=True):
            row[exists] = rng.uniform(-size, size, row.shape)[exists]
        somatic = rng.uniform(-size, size, (self.n_neurons, self.somatic_filter.n_basis)) * self.has_memory[:, None]
        bias = rng.uniform(-size, size, self.n_neurons)
        return Parameters(synaptic, somatic.astype(dtype), bias.astype(dtype))

    def check_parameters(self, parameters: Parameters) -> None:
        """Refuse parameters that do not belong to this network, naming the field and both shapes."""
        expected = {
            "synaptic": (self.n_neurons, self.n_sources, self.synaptic_filter.n_basis),
            "somatic": (self.n_neurons, self.somatic_filter.n_basis),
            "bias": (self.n_neurons,),
        }
        for name, shape in expected.items():
            array = getattr(parameters, name)
            if not isinstance(array, np.ndarray) or array.dtype not in (np.float32, np.float64):
                found = getattr(array, "dtype", type(array).__name__)
                raise ConfigError(f"parameters.{name} must be a float32 or float64 array, got {found}")
            if array.shape != shape:
                raise ShapeError(f"parameters.{name} has shape {array.shape}, but this network needs {shape}")
            if array.dtype != parameters.dtype:
                raise ConfigError(
                    f"parameters.{name} is {array.dtype} but parameters.synaptic is {parameters.dtype}: "
                    "use parameters.astype(...) to convert all to one precision"
                )
            if array.size and not (array.min() >= -LARGEST and array.max() <= LARGEST):  # with NaN, neither holds
                raise DataError(f"parameters.{name} holds NaN or values beyond {LARGEST:g}: training may have diverged")
        astray = self.topology.astray(parameters.synaptic)
        if astray is not None:
            raise ConfigError(
                f"parameters.synaptic[{astray[0]}, {astray[1]}] is not 0, but the graph has no synapse there: "
                "multiply by topology.mask[:, :, None]"
            )
        if not self.visible_memory and parameters.somatic[self.n_hidden :].any():
            raise ConfigError(
                "parameters.somatic is not 0 for visible neurons, but the network has visible_memory=False"
            )
