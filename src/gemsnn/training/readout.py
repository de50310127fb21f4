"""Changing the readout of a trained network: visible neurons are removed or added, the others stay."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError
from gemsnn.model import Circuit, Network, Parameters, Topology


def with_readout(
    network: Network,
    parameters: Parameters,
    places: Sequence[int | None],
    init: Callable[[Network], Parameters],
) -> tuple[Network, Parameters]:
    """The network whose visible neuron n was number ``places[n]`` before, or is new if that is None.

    A new neuron has the incoming and outgoing synapses of the network's first visible neuron. Its weights are those
    that ``init`` draws for the whole new network; all other weights stay exactly as they are.
    """
    if list(places) == list(range(network.n_visible)):
        return network, parameters
    hidden, old = np.arange(network.n_hidden), network.topology.mask
    kept = np.array([place for place in places if place is not None], dtype=np.intp)
    there = np.flatnonzero([place is not None for place in places])
    as_which = np.array([0 if place is None else place for place in places])
    rows = np.concatenate([hidden, network.n_hidden + as_which])
    columns = np.concatenate([np.arange(network.n_inputs), network.n_inputs + rows])
    mask = old[np.ix_(rows, columns)]
    among = mask[network.n_hidden :, network.n_inputs + network.n_hidden :]  # visible to visible
    lateral = old[network.n_hidden :, network.n_inputs + network.n_hidden :].any()
    new = np.flatnonzero([place is None for place in places])
    among[new, :] = among[:, new] = lateral
    np.fill_diagonal(among, False)
    topology = Topology(network.n_inputs, network.n_hidden, len(places), mask)
    changed = Network(
        topology, network.synaptic_filter, network.somatic_filter, network.visible_memory, _circuits(network, places)
    )
    fresh = init(changed).astype(parameters.dtype)
    now, before = np.concatenate([hidden, network.n_hidden + there]), np.concatenate([hidden, network.n_hidden + kept])
    sources = np.arange(network.n_inputs)
    to = np.ix_(now, np.concatenate([sources, network.n_inputs + now]))
    fresh.synaptic[to] = parameters.synaptic[np.ix_(before, np.concatenate([sources, network.n_inputs + before]))]
    fresh.somatic[now], fresh.bias[now] = parameters.somatic[before], parameters.bias[before]
    return changed, fresh


def _circuits(network: Network, places: Sequence[int | None]) -> list[Circuit]:
    """Circuits of hidden neurons stay; a circuit of all visible neurons contains all of them again."""
    n_hidden, circuits = network.n_hidden, network.circuits.competing
    visible = [circuit for circuit in circuits if max(circuit.neurons) >= n_hidden]
    whole = set(range(n_hidden, network.n_neurons))
    if any(set(circuit.neurons) != whole for circuit in visible):
        raise ConfigError(
            "the model's visible neurons form several circuits, so those of new ones are undetermined: build the "
            "larger network yourself, and pass network and parameters"
        )
    everyone = tuple(range(n_hidden, n_hidden + len(places)))
    again = [Circuit(everyone, visible[0].silent)] if visible else []
    return [circuit for circuit in circuits if max(circuit.neurons) < n_hidden] + again


def fingerprint(network: Network, parameters: Parameters, *more: NDArray[np.float64]) -> str:
    """Hash of a network with its weights, in hexadecimal digits."""
    digest = hashlib.sha256(repr((network, network.visible_memory, network.circuits.competing)).encode())
    filters = network.synaptic_filter.taps, network.somatic_filter.taps
    weights = parameters.synaptic, parameters.somatic, parameters.bias
    for array in (network.topology.mask, *filters, *weights, *more):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
