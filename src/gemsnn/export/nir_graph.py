"""Models as NIR, the Neuromorphic Intermediate Representation (Pedersen et al., Nature Communications 2024), and back.

NIR has no random neurons. The graph is the noise-free network: a hidden neuron spikes if u > 0, that is, if a spike has
a probability above 1/2, and the output is the visible neurons' potentials. For each basis b of a filter:

    input -> weights_b -> filter_b,    filter_b -> bias -> threshold -> recurrent_b -> filter_b,    bias -> output

with Linear weights, a leaky integrator (LI) as filter, an Affine node that adds the bias to the sum of the filters, and
a Threshold. With a time step of one, v <- v + (r I - v) / tau is the recursion of an exponential filter. A somatic
filter that is not exponential becomes a Delay and a weight per lag. What NIR cannot represent (randomness, the finite
duration of filters, compartments, circuits, classes) is in ``metadata["gemsnn"]``: the complete model file, from which
:func:`read_nir` restores the model bit-for-bit.
"""

from __future__ import annotations

import tempfile
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.files import replacing
from gemsnn.errors import ConfigError, DataError
from gemsnn.inference import as_decoder
from gemsnn.training import Model, save_model
from gemsnn.training.model import read_model

KEY = "gemsnn"
Array = NDArray[Any]


def write_nir(model: Model, path: str | PathLike[str]) -> None:
    """Write a model as a NIR file, using the package ``nir``. The synaptic filter must be exponential."""
    nir, graph = _nir(), nir_graph(model)
    with tempfile.TemporaryDirectory() as folder:
        nir.write(Path(folder) / "model.nir", graph)
        content = (Path(folder) / "model.nir").read_bytes()
    with replacing(Path(path)) as stream:
        stream.write(content)


def read_nir(path: str | PathLike[str]) -> Model:
    """The model in a NIR file written by :func:`write_nir`, bit-for-bit.

    Graphs of other programs, and graphs whose nodes were changed since they were written, are a `DataError`.
    """
    nir, path = _nir(), Path(path)
    try:
        graph = nir.read(path)
    except Exception as error:  # anything that h5py and nir raise for other files
        raise DataError(f"{path}: not a readable NIR file: {error}") from None
    content = getattr(graph, "metadata", {}).get(KEY)
    if not isinstance(content, np.ndarray) or content.dtype != np.uint8:
        kinds = sorted({type(node).__name__ for node in getattr(graph, "nodes", {}).values()} - {"Input", "Output"})
        raise DataError(
            f"{path}: not written by gemsnn: its nodes ({', '.join(kinds)}) are deterministic, without spike "
            "probabilities, compartments and classes. Train a gemsnn network on the data, or run this graph in a "
            "simulator of such neurons"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        file.write_bytes(content.tobytes())
        model = read_model(file)
    ours = nir_graph(model)
    if sorted(map(tuple, graph.edges)) != sorted(ours.edges) or not all(
        name in graph.nodes and _same(node, graph.nodes[name]) for name, node in ours.nodes.items()
    ):
        raise DataError(
            f"{path}: its nodes were changed since gemsnn wrote them, so they differ from the model in its metadata. "
            "Change the model in gemsnn and export it again"
        )
    return model


def nir_graph(model: Model) -> Any:
    """The ``nir.NIRGraph`` of a model."""
    nir, network, parameters = _nir(), model.network, model.parameters
    n, n_inputs = network.n_neurons, network.n_inputs
    if network.synaptic_filter.decay is None:
        raise ConfigError(
            "the synaptic filter is not exponential, and NIR has no other filters: train with "
            "--set synaptic_filter.kind=exponential, or export to C"
        )
    nodes: dict[str, Any] = {"input": nir.Input(input_type={"input": np.array([n_inputs])})}
    edges = []
    # Decoders that clamp visible neurons do not use their spikes, so these have no effect.
    fires = np.arange(n) < (n if as_decoder(model.decoder.kind).free else network.n_hidden)
    for b in range(network.synaptic_filter.n_basis):
        weights = parameters.synaptic[:, :, b]
        nodes[f"weights_{b}"] = nir.Linear(weight=np.ascontiguousarray(weights[:, :n_inputs]))
        nodes[f"recurrent_{b}"] = nir.Linear(weight=weights[:, n_inputs:] * fires)
        nodes[f"filter_{b}"] = _integrator(nir, network.synaptic_filter, b, n)
        edges += [("input", f"weights_{b}"), (f"weights_{b}", f"filter_{b}"), ("threshold", f"recurrent_{b}")]
        edges += [(f"recurrent_{b}", f"filter_{b}"), (f"filter_{b}", "bias")]
    exponential = network.somatic_filter.decay is not None
    for b in range(network.somatic_filter.n_basis if exponential else 0):
        nodes[f"self_{b}"] = nir.Linear(weight=np.diag(parameters.somatic[:, b] * fires))
        nodes[f"self_filter_{b}"] = _integrator(nir, network.somatic_filter, b, n)
        edges += [("threshold", f"self_{b}"), (f"self_{b}", f"self_filter_{b}"), (f"self_filter_{b}", "bias")]
    of_lags = network.somatic_filter.taps.T @ parameters.somatic.T  # (D, n)
    for lag, weights in enumerate([] if exponential else of_lags, start=1):  # the loop itself delays by one step
        nodes[f"delay_{lag}"] = nir.Delay(delay=np.full(n, lag - 1.0))
        nodes[f"self_{lag}"] = nir.Linear(weight=np.diag(weights * fires))
        edges += [("threshold", f"delay_{lag}"), (f"delay_{lag}", f"self_{lag}"), (f"self_{lag}", "bias")]
    nodes["bias"] = nir.Affine(weight=np.eye(n, dtype=np.float32), bias=parameters.bias.copy())
    nodes["threshold"] = nir.Threshold(threshold=np.zeros(n, dtype=np.float32))
    nodes["visible"] = nir.Linear(weight=np.eye(n, dtype=np.float32)[network.n_hidden :])
    nodes["output"] = nir.Output(output_type={"output": np.array([network.n_visible])})
    edges += [("bias", "threshold"), ("bias", "visible"), ("visible", "output")]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        save_model(model, file)
        content = np.frombuffer(file.read_bytes(), dtype=np.uint8)
    return nir.NIRGraph(nodes=nodes, edges=edges, metadata={KEY: content})


def run_noise_free(graph: Any, inputs: Array) -> Array:
    """(N, T, C) visible potentials of the graph for (N, T, n_inputs), as another simulator would compute them.

    Nodes are evaluated in order within a step; recurrent connections from the threshold have a delay of one step.
    """
    nodes = graph.nodes
    filters = [name for name in nodes if "filter_" in name]
    feeding = {name: [source for source, target in graph.edges if target == name] for name in filters}
    bias, n = nodes["bias"].bias, len(nodes["bias"].bias)
    delays = [int(name.removeprefix("delay_")) for name in nodes if name.startswith("delay_")]
    past = [np.zeros((len(inputs), n))] * max(delays, default=0)  # spikes, the latest first
    v = {name: np.zeros((len(inputs), n)) for name in filters}
    spikes, found = np.zeros((len(inputs), n)), np.zeros((*inputs.shape[:2], len(nodes["visible"].weight)))
    for t in range(inputs.shape[1]):
        u = np.repeat(bias[None].astype(np.float64), len(inputs), axis=0)
        for name in filters:
            current = sum(
                (inputs[:, t].astype(np.float64) if source.startswith("weights") else spikes) @ nodes[source].weight.T
                for source in feeding[name]
            )
            v[name] += (nodes[name].r * current - v[name]) / nodes[name].tau
            u += v[name]
        for lag in delays:
            u += past[lag - 1] @ nodes[f"self_{lag}"].weight.T
        spikes = (u > nodes["threshold"].threshold).astype(np.float64)
        past = [spikes, *past][: len(past)]
        found[:, t] = u @ nodes["visible"].weight.T
    return found


def _integrator(nir: Any, filter_: Any, b: int, n: int) -> Any:
    """The recursion v <- decay v + gain I, written as v <- v + (r I - v) / tau."""
    tau = 1 / (1 - filter_.decay[b])
    gain = filter_.taps[b, 0]
    return nir.LI(tau=np.full(n, tau), r=np.full(n, gain * tau), v_leak=np.zeros(n))


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    arrays = [name for name, value in vars(one).items() if isinstance(value, np.ndarray)]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)


def _nir() -> Any:
    try:
        return import_module("nir")
    except ImportError:
        raise ConfigError("NIR needs the package nir: pip install 'gemsnn[nir]'") from None
