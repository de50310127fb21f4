"""A trained model and its file: everything needed to predict, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn._version import __version__
from gemsnn.errors import CheckpointError, DataError, GemsnnError
from gemsnn.events import Preprocessing
from gemsnn.events.records import Events
from gemsnn.inference import Prediction, predict
from gemsnn.learning import TraceMeans
from gemsnn.model import Circuit, Filter, Network, Parameters, Topology
from gemsnn.training.config import DecoderSettings
from gemsnn.training.randomness import Purpose, derived_seed
from gemsnn.training.tensors import read_tensors, write_tensors

FORMAT, VERSION = "gemsnn model", 2


@dataclass(frozen=True, eq=False)
class Model:
    """A trained network that knows what its outputs mean.

    Attributes
    ----------
    network, parameters
        What was trained.
    classes
        The label of each visible neuron: whole numbers or texts.
    decoder
        How a class is read out unless said otherwise.
    n_steps
        T of the training examples.
    seed
        Of the training run; the draws of predictions derive from it.
    preprocessing
        What turns a recording into inputs, or None for a model trained on arrays.
    about
        Anything else worth knowing, as JSON values: settings, position in training, versions.
    means
        Of the traces of the inputs, for whoever goes on learning; predictions know nothing of them.
    """

    network: Network
    parameters: Parameters
    classes: tuple[Any, ...]
    decoder: DecoderSettings
    n_steps: int
    seed: int = 0
    preprocessing: Preprocessing | None = None
    about: dict[str, Any] = field(default_factory=dict)
    means: TraceMeans | None = None

    def predict(self, inputs: ArrayLike, decoder: DecoderSettings | None = None, *, threads: int = 1) -> Prediction:
        """Classify (N, T, n_inputs) sequences; the draws of a sequence follow from it and the seed."""
        how = self.decoder if decoder is None else decoder
        seed = derived_seed(self.seed, Purpose.PREDICT)
        return predict(
            self.network, self.parameters, inputs, how.compartments, decoder=how.kind, seed=seed, threads=threads
        )

    def bin(self, events: Events, name: str = "events") -> NDArray[np.bool_]:
        """Turn a recording's events into (T, n_inputs) inputs, as the training data were."""
        if self.preprocessing is None:
            raise DataError(
                "this model was trained on arrays, not on recordings, so it does not know how to turn events into "
                "inputs: bin them with gemsnn.events.bin_events and use Model.predict"
            )
        return self.preprocessing.bin(events, name)


def save_model(model: Model, path: str | PathLike[str]) -> None:
    """Write a model to one safetensors file."""
    network, parameters = model.network, model.parameters
    header = {
        "gemsnn": __version__,
        "n_inputs": network.n_inputs,
        "n_hidden": network.n_hidden,
        "n_visible": network.n_visible,
        "visible_memory": network.visible_memory,
        "circuits": [{"neurons": list(c.neurons), "silent": c.silent} for c in network.circuits.competing],
        "classes": list(model.classes),
        "decoder": model.decoder.model_dump(),
        "n_steps": model.n_steps,
        "seed": model.seed,
        "preprocessing": None if model.preprocessing is None else model.preprocessing.to_dict(),
        "about": model.about,
    }
    tensors = {
        "synaptic": parameters.synaptic,
        "somatic": parameters.somatic,
        "bias": parameters.bias,
        "mask": network.topology.mask,
        "synaptic_taps": network.synaptic_filter.taps,
        "somatic_taps": network.somatic_filter.taps,
    }
    if model.means is not None:
        header["examples_of_means"], tensors["means"] = model.means.count, model.means.value
    write_tensors(Path(path), FORMAT, VERSION, header, tensors)


def load_model(path: str | PathLike[str]) -> Model:
    """Read a model; a damaged file, or one from a newer version, is a ``CheckpointError``."""
    header, tensors = read_tensors(Path(path), FORMAT, VERSION)
    try:
        if header["version"] == 1:  # written by gemsnn 0.1, which knew no circuits and called decoders readouts
            readout = header["readout"]
            header |= {"circuits": [], "decoder": {"kind": readout["decoder"], "compartments": readout["compartments"]}}
        topology = Topology(header["n_inputs"], header["n_hidden"], header["n_visible"], tensors["mask"])
        filters = Filter(tensors["synaptic_taps"]), Filter(tensors["somatic_taps"])
        circuits = [Circuit(tuple(circuit["neurons"]), circuit["silent"]) for circuit in header["circuits"]]
        network = Network(topology, *filters, header["visible_memory"], circuits)
        parameters = Parameters(tensors["synaptic"], tensors["somatic"], tensors["bias"])
        network.check_parameters(parameters)
        means = TraceMeans(tensors["means"], header["examples_of_means"]) if "means" in tensors else None
        if means is not None:
            means.check(network)
        choices = header["preprocessing"]
        return Model(
            network,
            parameters,
            tuple(header["classes"]),
            DecoderSettings(**header["decoder"]),
            header["n_steps"],
            header["seed"],
            None if choices is None else Preprocessing.from_dict(choices),
            header["about"],
            means,
        )
    except (KeyError, TypeError, ValueError, GemsnnError) as error:
        raise CheckpointError(f"{path}: not a usable model: {error}") from None
