"""A trained model and its file: everything needed to predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn._version import __version__
from gemsnn.common.words import shown
from gemsnn.errors import CheckpointError, ConfigError, DataError, GemsnnError, ShapeError
from gemsnn.events import OnlineBinner, Preprocessing
from gemsnn.events.records import Events
from gemsnn.inference import (
    Decoder,
    Guarantee,
    LabelPrediction,
    SetDecisions,
    SmallSet,
    StoppingRule,
    as_decoder,
    as_stopping_rule,
    calibrate,
    predict,
    predict_anytime,
    predict_labels,
)
from gemsnn.inference.guarantee import ALPHA, CHECKPOINTS, affordable, checkpoints_of
from gemsnn.inference.sequences import Sequences
from gemsnn.inference.sight import Sight, fit_sight
from gemsnn.inference.stepwise import Stepwise
from gemsnn.inference.usual import UNUSUAL
from gemsnn.learning import Stream, TraceMeans
from gemsnn.model import Circuit, Filter, Network, Parameters, Topology
from gemsnn.model.checks import whole_number
from gemsnn.rules import Rule
from gemsnn.training.answered import answered, batches
from gemsnn.training.calibration import Calibration, HeldOut, SplitName, held_out, one_class_each
from gemsnn.training.certainty import (
    Certainty,
    certainty_from,
    certainty_of,
    described_tensors,
    header_of,
    readouts_of,
    some,
    tensors_of,
)
from gemsnn.training.config import DecoderSettings, TrainingConfig, checked_decoder
from gemsnn.training.data import ArrayExamples, Data, Examples
from gemsnn.training.formats import FormatError, ModelHeader, Tensor, check_fields, check_tensors
from gemsnn.training.inputs import Inputs, inputs_of
from gemsnn.training.live import LiveModel
from gemsnn.training.partition import Partition
from gemsnn.training.randomness import Purpose, derived_seed
from gemsnn.training.tensors import read_tensors, write_tensors

FORMAT, VERSION = "gemsnn model", 3


class Answers(NamedTuple):
    """A model's answers to N recordings, with C classes. For a single recording, all fields lack the axis N."""

    label: Any  #: (N,): of the chosen class
    confidence: Any  #: (N,): the probability of the chosen class
    probabilities: NDArray[np.float64]  #: (N, C), in the order of the model's classes
    votes: NDArray[np.int64]  #: (N, C): how many compartments prefer each class
    hidden_spikes_per_step: Any  #: (N,): summed over compartments
    usual: Any  #: (N,): p-value, the fraction of held-out recordings at least as unusual; NaN if not known

    @property
    def unusual(self) -> Any:
        """(N,): whether a recording is unlike anything that the model was trained on."""
        return self.usual < UNUSUAL


@dataclass(frozen=True, eq=False)
class Model:
    """A trained network with everything needed to interpret its outputs.

    Attributes
    ----------
    network, parameters
        The trained network.
    classes
        The label of each visible neuron: whole numbers or strings.
    decoder
        The default readout.
    n_steps
        T of the longest training example.
    seed
        Of the training run; the draws of predictions derive from it.
    preprocessing
        Turns recordings into inputs; None for a model trained on arrays.
    about
        Further information as JSON values: settings, position in training, versions.
    calibration
        Result of :meth:`calibrate`, with which the model answers with sets of classes and can stop early.
    means
        Means of the input traces, for continued learning; predictions do not use them.
    certainty
        With it, probabilities are calibrated at any time, and every answer has a p-value.
    sight
        Detects whether anything is in sight, for streams.
    learned
        Keys of the recordings that were used for training or model selection, in ascending order; these cannot
        calibrate the model.
    path
        The file that it was read from, if any.
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
    means: TraceMeans | None = None
    certainty: Certainty | None = None
    sight: Sight | None = None
    learned: NDArray[np.uint64] | None = None
    path: Path | None = None

    @property
    def prediction_seed(self) -> int:
        """Together with the recording, it determines the random draws of a prediction."""
        return derived_seed(self.seed, Purpose.PREDICT)

    def predict(
        self,
        recordings: Any,
        decoder: str | Decoder | None = None,
        compartments: int | None = None,
        *,
        threads: int = 1,
    ) -> Answers:
        """Label recordings.

        Parameters
        ----------
        recordings
            One recording: (T, n_inputs) spikes; events, an array with fields x, y, t, p; a recording found or simulated
            by :mod:`gemsnn.events`; or the path of a file. Or many: a list of these, whose lengths may differ, or
            (N, T, n_inputs) spikes. Events are binned as for training.
        decoder, compartments
            The decoder, by name or as an object, and the number of compartments. Default: the model's ``decoder``.
        threads
            Number of recordings processed in parallel. An answer depends only on the recording and the model's seed.

        Examples
        --------
        >>> import numpy as np, gemsnn
        >>> rng = np.random.default_rng(0)
        >>> y = np.array(["low", "high"] * 30)
        >>> X = rng.random((60, 20, 8)) < np.where(y == "low", 0.1, 0.5)[:, None, None]
        >>> model = gemsnn.SpikingClassifier(n_hidden=5).fit(X[:40], y[:40]).model_
        >>> print(model.predict(X[40]).label, *model.predict(X[41:44]).label)
        low high low high
        """
        inputs, one = self._inputs(recordings)
        options = self._options(decoder, compartments, threads) | self.knows(self.readout(decoder, compartments))
        found = predict(self.network, self.parameters, inputs, **options)
        labels = np.array(self.classes or range(self.network.n_visible))
        answers = Answers(
            labels[found.classes],
            found.confidence,
            found.probabilities,
            found.votes,
            found.hidden_spikes_per_step,
            found.usual,
        )
        return Answers(*(values[0] for values in answers)) if one else answers

    def predict_labels(
        self,
        recordings: Any,
        decoder: str | Decoder | None = None,
        compartments: int | None = None,
        *,
        threads: int = 1,
    ) -> LabelPrediction:
        """Which labels hold, for a model of several labels per example; arguments as in :meth:`predict`.

        See :func:`gemsnn.inference.predict_labels`.
        """
        inputs, one = self._inputs(recordings)
        found = predict_labels(self.network, self.parameters, inputs, **self._options(decoder, compartments, threads))
        return LabelPrediction(*(values[0] for values in found)) if one else found

    def predict_anytime(
        self,
        recordings: Any,
        decoder: str | Decoder | None = None,
        compartments: int | None = None,
        *,
        keys: Sequence[int] | None = None,
        threads: int = 1,
    ) -> Any:
        """What :meth:`predict`, with the same arguments, would answer after every step.

        See :func:`gemsnn.predict_anytime`. Classes are indices into ``classes``. A list of recordings gives a list.
        """
        inputs, one = self._inputs(recordings)
        options = self._options(decoder, compartments, threads) | self.knows(self.readout(decoder, compartments))
        found = predict_anytime(self.network, self.parameters, inputs, keys=keys, **options)
        return found[0] if one else found

    def predict_set(self, recordings: Any, size: int = 1, *, threads: int = 1) -> SetDecisions:
        """Sets of classes that contain the true one with probability at least 1 - alpha; needs :meth:`calibrate`.

        Recordings are as in :meth:`predict`. Each is stopped as soon as its set has at most ``size`` classes.
        """
        if self.calibration is None:
            raise CheckpointError("this model has no guarantee: calibrate it on held-out recordings first")
        decoder = self.calibration.decoder
        answers = self.predict_anytime(recordings, decoder.kind, decoder.compartments, threads=threads)
        return self.calibration.guarantee.stop(answers, size)

    def calibrate(
        self,
        recordings: Any,
        labels: ArrayLike,
        alpha: float = ALPHA,
        *,
        checkpoints: int | Sequence[int] = CHECKPOINTS,
        decoder: str | Decoder | None = None,
        compartments: int | None = None,
        threads: int = 1,
    ) -> Model:
        """The same model with a guarantee, from held-out recordings.

        Parameters
        ----------
        recordings
            N, as in :meth:`predict`; not used for training or model selection, and representative of future recordings.
        labels
            (N,) of the model's ``classes``.
        decoder, compartments
            The readout that the guarantee is for, as in :meth:`predict`.
        alpha, checkpoints
            As in :func:`gemsnn.inference.calibrate`; a number of checkpoints is spread over ``n_steps``.
        """
        if np.ndim(labels) != 1:
            raise ShapeError(f"labels have shape {np.shape(labels)}, but one label for each recording is needed")
        known = {label: index for index, label in enumerate(self.classes)}
        given = np.asarray(labels).tolist()
        unknown = [label for label in given if label not in known]
        if unknown:
            raise DataError(f"labels hold {unknown[0]!r}, which is none of the classes {list(self.classes)}")
        spikes = Sequences(self._inputs(recordings).spikes, self.network.n_inputs).each
        if len(spikes) != len(given):
            raise ShapeError(f"there are {len(spikes)} recordings, but {len(given)} labels")
        examples = ArrayExamples(spikes, np.array([known[label] for label in given], dtype=np.int64))
        found = HeldOut(examples, np.arange(len(examples)), {"of": len(examples)})
        return self._calibrated(found, alpha, checkpoints, self.readout(decoder, compartments), threads)

    def calibrate_on(
        self,
        data: Data | Examples,
        alpha: float = ALPHA,
        *,
        split: SplitName = "test",
        share: float = 0.5,
        checkpoints: int | Sequence[int] = CHECKPOINTS,
        decoder: str | Decoder | None = None,
        compartments: int | None = None,
        threads: int = 1,
    ) -> Model:
        """The same model with a guarantee, from a random share of examples, or of a split of prepared data.

        The rest can be used to evaluate it. The train split of the file that the model learned from is refused, and so
        are that file if split anew and any recording that the model learned from. Whole groups are drawn, of those that
        the model did not learn from.
        """
        found = held_out(data, self.about.get("data"), split, share, self.seed)
        return self._calibrated(found, alpha, checkpoints, self.readout(decoder, compartments), threads)

    def _calibrated(
        self,
        found: HeldOut,
        alpha: float,
        checkpoints: int | Sequence[int],
        decoder: DecoderSettings,
        threads: int,
    ) -> Model:
        labels = one_class_each(found.examples)[found.indices]
        steps = checkpoints_of(affordable(checkpoints, alpha, len(labels)), self.n_steps)
        answers: list[Any] = [None] * len(labels)
        keys = np.zeros(len(labels), dtype=np.uint64)
        work = batches(found.examples, found.indices, self.network.n_inputs)
        readouts = readouts_of([decoder], self.certainty)
        run = answered(self.network, self.parameters, work, readouts, seed=self.prediction_seed, threads=threads)
        for part in run:
            keys[part.places] = part.keys
            for place, answer in zip(part.places, part.answers[0], strict=True):
                answers[place] = answer
        known = 0 if self.learned is None else int(np.isin(keys, self.learned).sum())
        if known:
            raise DataError(
                f"{known} of the {len(keys)} recordings were learned from, or used to select the model, so they cannot "
                "calibrate it: calibrate on others"
            )
        guarantee = calibrate(answers, labels, alpha, steps)
        return replace(self, calibration=Calibration(guarantee, decoder, np.unique(keys), found.about))

    def readout(self, decoder: str | Decoder | None = None, compartments: int | None = None) -> DecoderSettings:
        """The given readout; what is not given is as in the model's ``decoder``."""
        own = self.decoder
        return checked_decoder(
            own.kind if decoder is None else decoder, own.compartments if compartments is None else compartments
        )

    def knows(self, readout: DecoderSettings) -> dict[str, Any]:
        """``temperature`` and ``usual`` for this readout, as :func:`gemsnn.predict` takes them."""
        return {} if self.certainty is None else self.certainty.of(readout)

    def _inputs(self, recordings: Any) -> Inputs:
        return inputs_of(recordings, self.network.n_inputs, self.bin)

    def _options(self, decoder: str | Decoder | None, compartments: int | None, threads: int) -> dict[str, Any]:
        readout = self.readout(decoder, compartments)
        return {
            "n_compartments": readout.compartments,
            "decoder": readout.kind,
            "seed": self.prediction_seed,
            "threads": threads,
        }

    def stream(
        self,
        decoder: str | Decoder | None = None,
        compartments: int | None = None,
        *,
        stop: float | StoppingRule | None = None,
        key: int | None = None,
        learning: bool = False,
        rule: Rule | None = None,
        patience_us: int = 0,
        endless: bool = False,
    ) -> LiveModel:
        """A live stream: it processes single steps, or events as they arrive, and has an answer after every step.

        The results are those of :meth:`predict_anytime` for the same key. Everything is compiled before this returns;
        memory is constant.

        Parameters
        ----------
        decoder, compartments
            As in :meth:`predict`.
        stop
            The confidence at which to stop, or any :class:`gemsnn.inference.StoppingRule`. By default, a model that is
            calibrated for this readout stops when its set has one class (:class:`gemsnn.inference.SmallSet`), unless it
            learns, which invalidates the guarantee.
        key
            Key of the random draws of the first recording, 0 by default; each reset increments it, or sets another.
            With ``key=gemsnn.inference.recording_key(inputs)`` the draws are those of :meth:`predict`.
        learning, rule
            Whether the stream also learns, from steps with a target, and the rule, by default that of training. It
            continues training, with its means of the traces and by default with its compartments and draws. The network
            runs once for learning and answers, unless visible neurons drive neurons: then a second run computes the
            answers, and its weights are updated at each reset.
        patience_us, endless
            Of the :class:`gemsnn.events.OnlineBinner` that turns events into steps.

        Examples
        --------
        >>> import numpy as np, gemsnn
        >>> rng = np.random.default_rng(0)
        >>> y = np.array(["low", "high"] * 30)
        >>> X = rng.random((60, 20, 8)) < np.where(y == "low", 0.1, 0.5)[:, None, None]
        >>> classifier = gemsnn.SpikingClassifier(n_hidden=5, rule={"learning_rate": 1e-2}).fit(X, y)
        >>> live = classifier.model_.stream(stop=0.6)
        >>> for inputs_t in X[0]:
        ...     answer = live.step(inputs_t)
        ...     if answer.stop:
        ...         break
        >>> answer.label, bool(answer.confidence >= 0.6)
        ('low', True)
        """
        if len(self.classes) != self.network.n_visible:
            raise ConfigError("this model was trained on spike patterns: it has no classes, so it cannot name one")
        readout, learning = self.readout(decoder, compartments), learning or rule is not None
        known, seed, position = self.knows(readout), self.prediction_seed, 0
        if learning:
            rule, K, position = self._continued(rule)
            readout = readout if compartments is not None else self.readout(decoder, K)
            problem = rule.refuse(readout.compartments)
            if problem:
                raise ConfigError(f"compartments = {readout.compartments}, rule.{problem}")
            known, seed = self.knows(readout), self.seed
            known.pop("usual", None)  # p-values are valid for the measured weights only
        first = whole_number("key", position if key is None else key, 0)
        network, parameters, K = self.network, self.parameters, readout.compartments

        def make() -> Stepwise:
            learner = None
            if learning and rule is not None:
                learner = Stream(network, parameters, rule, K, seed, example=first, means=self.means)
            return Stepwise(network, parameters, K, as_decoder(readout.kind), seed, first, **known, stream=learner)

        binner = None
        if self.preprocessing is not None:
            binner = OnlineBinner(self.preprocessing, patience_us=patience_us, endless=endless)
        if stop is None and not learning and self.calibration is not None and self.calibration.decoder == readout:
            stop = SmallSet(self.calibration.guarantee)
        return LiveModel(
            make,
            self.classes,
            seed=seed,
            key=first,
            stop=as_stopping_rule(stop),
            binner=binner,
            several_labels=bool(self.about.get("several_labels")),
            sight=self.sight,
            usual_steps=self.n_steps,
        )

    def _continued(self, rule: Rule | None) -> tuple[Rule, int, int]:
        """The rule, the compartments and the position with which training would continue."""
        try:
            settings = self.about["config"]
            if rule is None:
                rule = TrainingConfig.make(rule=settings["rule"]).rule
            before = self.about.get("origin") or {}
            K, position = settings["n_compartments"], self.about["position"] + before.get("examples", 0)
        except (KeyError, TypeError, GemsnnError) as error:
            if rule is None:
                raise ConfigError(f"the model does not say by which rule it learned ({error}): give rule=") from None
            K, position = self.decoder.compartments, 0
        return rule, K, position

    def bin(self, events: Events, name: str = "events") -> NDArray[np.bool_]:
        """Turn a recording's events into (T, n_inputs) inputs, as for training."""
        if self.preprocessing is None:
            raise DataError(
                "this model was trained on arrays, not on recordings, so it does not know how to turn events into "
                "inputs: bin them with gemsnn.events.bin_events"
            )
        return self.preprocessing.bin(events, name)


def with_certainty(
    model: Model, data: Data, partition: Partition, *, threads: int = 1, engine: str = "compiled"
) -> Model:
    """The model with calibrated probabilities and p-values, measured on the validation examples."""
    training, seed = partition.training, model.prediction_seed
    found = certainty_of(
        model.network, model.parameters, data.train, training, partition.validation, model.decoder,
        seed=seed, threads=threads, engine=engine,
    )  # fmt: skip
    examples = (data.train.load(int(index))[0] for index in some(training, seed, 0))
    return replace(model, certainty=found, sight=fit_sight(examples, int(np.median(data.train.lengths))))


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
        "certainty": None if model.certainty is None else header_of(model.certainty),
        "sight": None if model.sight is None else asdict(model.sight),
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
    if model.certainty is not None:
        tensors |= tensors_of(model.certainty)
    if model.learned is not None:
        tensors["learned"] = model.learned
    if model.means is not None:
        header["examples_of_means"], tensors["means"] = model.means.count, model.means.value
    write_tensors(Path(path), FORMAT, VERSION, header, tensors)


def read_model(path: str | PathLike[str]) -> Model:
    """Read a model file; a damaged one, or one from a newer version, is a ``CheckpointError``."""
    header, tensors = read_tensors(Path(path), FORMAT, VERSION)
    if header["version"] == 1:
        raise CheckpointError(f"{path}: written by gemsnn 0.1, whose models this version does not read; train it again")
    try:
        check_fields(header, ModelHeader)
        _check_tensors(header, tensors)
        topology = Topology(header["n_inputs"], header["n_hidden"], header["n_visible"], tensors["mask"])
        filters = Filter(tensors["synaptic_taps"]), Filter(tensors["somatic_taps"])
        circuits = [Circuit(tuple(circuit["neurons"]), circuit["silent"]) for circuit in header["circuits"]]
        network = Network(topology, *filters, header["visible_memory"], circuits)
        parameters = Parameters(tensors["synaptic"], tensors["somatic"], tensors["bias"])
        network.check_parameters(parameters)
        means = TraceMeans(tensors["means"], header["examples_of_means"]) if "means" in tensors else None
        classes = header["classes"]
        if len(set(classes)) != len(classes) or len(classes) not in (0, network.n_visible):
            raise FormatError(f"classes = {shown(classes)}: there are {network.n_visible} visible neurons")
        choices = header["preprocessing"]
        return Model(
            network,
            parameters,
            tuple(header["classes"]),
            _decoder(header["decoder"]),
            header["n_steps"],
            header["seed"],
            None if choices is None else Preprocessing.from_dict(choices),
            header["about"],
            _calibration(header.get("calibration"), tensors),
            means,
            _certainty(header.get("certainty"), tensors, network.n_hidden),
            sight=Sight(**header["sight"]) if header.get("sight") else None,
            learned=tensors.get("learned"),
            path=Path(path),
        )
    except (KeyError, TypeError, ValueError, GemsnnError) as error:
        raise CheckpointError(f"{path}: not a usable model: {error}") from None


def _check_tensors(header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
    """Check the arrays of a model against the sizes in its header."""
    n, n_inputs = header["n_hidden"] + header["n_visible"], header["n_inputs"]
    synaptic, somatic = (tensors[name].shape if name in tensors else () for name in ("synaptic_taps", "somatic_taps"))
    if len(synaptic) != 2 or len(somatic) != 2:
        raise FormatError("synaptic_taps and somatic_taps must have shape (n_basis, duration)")
    weights = (np.float32, np.float64)
    described = {
        "synaptic": Tensor((n, n_inputs + n, synaptic[0]), weights),
        "somatic": Tensor((n, somatic[0]), weights),
        "bias": Tensor((n,), weights),
        "mask": Tensor((n, n_inputs + n), (np.bool_,)),
        "synaptic_taps": Tensor(synaptic, (np.float64,)),
        "somatic_taps": Tensor(somatic, (np.float64,)),
    }
    if header.get("calibration") is not None:
        keys = tensors.get("calibration_keys")
        described["calibration_keys"] = Tensor((0 if keys is None else keys.size,), (np.uint64,))
    if "learned" in tensors:
        described["learned"] = Tensor((tensors["learned"].size,), (np.uint64,))
    if header.get("examples_of_means") is not None:
        described["means"] = Tensor((n_inputs, synaptic[0]), (np.float64,))
    if header.get("certainty") is not None:
        described |= described_tensors(header["certainty"], tensors, header["n_visible"])
    check_tensors(tensors, described)


def _calibration(header: dict[str, Any] | None, tensors: dict[str, NDArray[Any]]) -> Calibration | None:
    if header is None:
        return None
    guarantee, decoder = Guarantee(**header["guarantee"]), _decoder(header["decoder"])
    return Calibration(guarantee, decoder, tensors["calibration_keys"], header["about"])


def _certainty(header: dict[str, Any] | None, tensors: dict[str, NDArray[Any]], n_hidden: int) -> Certainty | None:
    return certainty_from(header, tensors, None if header is None else _decoder(header["decoder"]), n_hidden)


def _decoder(values: dict[str, Any]) -> DecoderSettings:
    """Files store a decoder's name only."""
    return checked_decoder(values["kind"], values["compartments"])
