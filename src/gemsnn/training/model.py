"""A trained model and its file: everything needed to predict, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn._version import __version__
from gemsnn.errors import CheckpointError, DataError, GemsnnError, ShapeError
from gemsnn.events import Preprocessing
from gemsnn.events.records import Events
from gemsnn.inference import Guarantee, Prediction, SetDecisions, predict, predict_anytime
from gemsnn.inference.guarantee import ALPHA, CHECKPOINTS
from gemsnn.inference.sequences import Sequences
from gemsnn.model import Circuit, Filter, Network, Parameters, Topology
from gemsnn.training.calibration import Calibration, HeldOut, SplitName, calibrated, held_out
from gemsnn.training.config import DecoderSettings
from gemsnn.training.data import ArrayExamples, Data, Examples
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
    calibration
        What :meth:`calibrate` found: with it, the model answers with sets of classes, and can stop early.
    """

    network: Network
    parameters: Parameters
    classes: tuple[Any, ...]
    decoder: DecoderSettings
    n_steps: int
    seed: int = 0
    preprocessing: Preprocessing | None = None
    about: dict[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None

    @property
    def prediction_seed(self) -> int:
        """With a recording itself it decides the random draws of its prediction."""
        return derived_seed(self.seed, Purpose.PREDICT)

    def predict(self, inputs: ArrayLike, decoder: DecoderSettings | None = None, *, threads: int = 1) -> Prediction:
        """Classify (N, T, n_inputs) sequences; the draws of a sequence follow from it and the seed."""
        return predict(self.network, self.parameters, inputs, **self._how(decoder, threads))

    def predict_anytime(self, inputs: ArrayLike, decoder: DecoderSettings | None = None, *, threads: int = 1) -> Any:
        """What :meth:`predict` would say after every step; see :func:`gemsnn.predict_anytime`."""
        return predict_anytime(self.network, self.parameters, inputs, **self._how(decoder, threads))

    def predict_set(self, inputs: ArrayLike, size: int = 1, *, threads: int = 1) -> SetDecisions:
        """Sets of classes that hold the true one with probability 1 - alpha at least; needs :meth:`calibrate`.

        Each sequence is stopped as soon as its set has no more than ``size`` classes.
        """
        if self.calibration is None:
            raise CheckpointError("this model makes no promise yet: calibrate it on held-out recordings first")
        answers = self.predict_anytime(inputs, self.calibration.decoder, threads=threads)
        return self.calibration.guarantee.stop(answers, size)

    def calibrate(
        self,
        inputs: ArrayLike,
        labels: ArrayLike,
        alpha: float = ALPHA,
        *,
        checkpoints: int | Sequence[int] = CHECKPOINTS,
        decoder: DecoderSettings | None = None,
        threads: int = 1,
    ) -> Model:
        """The same model with a guarantee, from held-out recordings.

        Parameters
        ----------
        inputs
            (N, T, n_inputs), or a list of (T_i, n_inputs): recordings that the model did not learn from, was not chosen
            by, and that are as those to come.
        labels
            (N,) of the model's ``classes``.
        alpha, checkpoints
            As in :func:`gemsnn.inference.calibrate`; checkpoints that are only counted are spread over ``n_steps``.
        """
        if np.ndim(labels) != 1:
            raise ShapeError(f"labels have shape {np.shape(labels)}, but one label for each recording is needed")
        known = {label: index for index, label in enumerate(self.classes)}
        given = np.asarray(labels).tolist()
        strange = [label for label in given if label not in known]
        if strange:
            raise DataError(f"labels hold {strange[0]!r}, which is none of the classes {list(self.classes)}")
        spikes = Sequences(inputs, self.network.n_inputs).each
        if len(spikes) != len(given):
            raise ShapeError(f"there are {len(spikes)} recordings, but {len(given)} labels")
        examples = ArrayExamples(spikes, np.array([known[label] for label in given], dtype=np.int64))
        found = HeldOut(examples, np.arange(len(examples)), {"of": len(examples)})
        return self._calibrated(found, alpha, checkpoints, decoder, threads)

    def calibrate_on(
        self,
        data: Data | Examples,
        alpha: float = ALPHA,
        *,
        split: SplitName = "test",
        share: float = 0.5,
        checkpoints: int | Sequence[int] = CHECKPOINTS,
        decoder: DecoderSettings | None = None,
        threads: int = 1,
    ) -> Model:
        """The same model with a guarantee, from a random share of a split of prepared data, or of examples.

        The rest is left to judge it by. The train split of the file that the model learned from is refused, and so is
        that file split anew.
        """
        found = held_out(data, self.about.get("data"), split, share, self.seed)
        return self._calibrated(found, alpha, checkpoints, decoder, threads)

    def _calibrated(
        self,
        found: HeldOut,
        alpha: float,
        checkpoints: int | Sequence[int],
        decoder: DecoderSettings | None,
        threads: int,
    ) -> Model:
        how = self.decoder if decoder is None else decoder
        options = {"seed": self.prediction_seed, "threads": threads}
        calibration = calibrated(
            self.network, self.parameters, found, how, alpha, checkpoints, self.n_steps, **options
        )  # fmt: skip
        return replace(self, calibration=calibration)

    def _how(self, decoder: DecoderSettings | None, threads: int) -> dict[str, Any]:
        how = self.decoder if decoder is None else decoder
        return {
            "n_compartments": how.compartments,
            "decoder": how.kind,
            "seed": self.prediction_seed,
            "threads": threads,
        }

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
        "calibration": None,
    }
    tensors = {
        "synaptic": parameters.synaptic,
        "somatic": parameters.somatic,
        "bias": parameters.bias,
        "mask": network.topology.mask,
        "synaptic_taps": network.synaptic_filter.taps,
        "somatic_taps": network.somatic_filter.taps,
    }
    if model.calibration is not None:
        guarantee, decoder = asdict(model.calibration.guarantee), model.calibration.decoder.model_dump()
        header["calibration"] = {"guarantee": guarantee, "decoder": decoder, "about": model.calibration.about}
        tensors["calibration_keys"] = model.calibration.keys
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
            _calibration(header.get("calibration"), tensors),
        )
    except (KeyError, TypeError, ValueError, GemsnnError) as error:
        raise CheckpointError(f"{path}: not a usable model: {error}") from None


def _calibration(header: dict[str, Any] | None, tensors: dict[str, NDArray[Any]]) -> Calibration | None:
    if header is None:
        return None
    guarantee, decoder = Guarantee(**header["guarantee"]), DecoderSettings(**header["decoder"])
    return Calibration(guarantee, decoder, tensors["calibration_keys"], header["about"])
