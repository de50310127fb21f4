"""``SpikingClassifier`` and ``GEMClassifier``: training and prediction with scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from gemsnn.errors import ConfigError, DataError, ShapeError
from gemsnn.events import Preprocessing
from gemsnn.inference import Prediction, SetDecisions, recording_key
from gemsnn.inference.guarantee import ALPHA, CHECKPOINTS
from gemsnn.learning import Lessons, TraceMeans
from gemsnn.model import Filter, Network, Parameters
from gemsnn.model.checks import spike_array
from gemsnn.rules import Rule
from gemsnn.training.config import DecoderSettings, TrainingConfig
from gemsnn.training.data import ArrayData, ArrayExamples
from gemsnn.training.display import display
from gemsnn.training.live import LiveModel
from gemsnn.training.model import Model, load_model, save_model
from gemsnn.training.shift import Shift
from gemsnn.training.targets import desired
from gemsnn.training.trainer import (
    Evaluated,
    Learned,
    Observer,
    Record,
    Trainer,
    initial_means,
    learn_example,
    weighted,
)
from gemsnn.training.weights import checked_weights, class_weights

_NOT_SETTINGS = {"class_weight", "learning_rate", "preprocessing", "random_state", "verbose"}


class SpikingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of spike sequences: a probabilistic spiking network, trained online by any rule.

    ``X`` is (n, T, n_inputs) of 0/1; or a list of (T_i, n_inputs) of different lengths; or, with ``preprocessing``, a
    list of recordings: arrays of events, or what :mod:`gemsnn.events` finds and simulates. ``y`` is any n labels.
    Settings are those of :class:`gemsnn.training.TrainingConfig`, where they are explained; None, the default, stands
    for its default, the best that we know. Only these differ:

    Parameters
    ----------
    rule
        How it learns: a :class:`gemsnn.rules.Rule`, a name, or its settings as a table.
    learning_rate
        The rule's, if it shall differ.
    class_weight
        Weights by label, or ``"balanced"``: every class then counts the same, however many examples it has.
    validation_fraction
        Share of each class held out of ``X``; the model is then the best one on it, else (0, the default) the last one.
    grid
        (rows, columns) that the inputs of ``X`` lie on, if they do: examples then move a little while they are learned
        (``shift``), which makes fewer of them go further. Inputs are counted along the rows, plane by plane.
    preprocessing
        How events become spikes; tells the grid, too. ``gemsnn predict`` can then read recordings with what ``save``
        wrote.
    random_state
        Whole number (the same numbers, the same model), a NumPy ``RandomState``, or None for a new model each time.
    verbose
        Show the progress.

    Attributes
    ----------
    classes_
        (n_classes,) labels in the order of ``predict_proba``'s columns.
    network_, parameters_
        What was trained.
    history_
        Evaluations while fitting, one dictionary each.
    n_examples_seen_
        Examples learned so far, counting each as often as it was shown.
    n_inputs_
        Inputs of each time step. (Not ``n_features_in_``, which means that X has two dimensions; MAPIE tries it out.)

    Examples
    --------
    >>> import numpy as np, gemsnn
    >>> rng = np.random.default_rng(0)
    >>> y = np.array(["low", "high"] * 30)
    >>> X = rng.random((60, 20, 8)) < np.where(y == "low", 0.1, 0.5)[:, None, None]
    >>> classifier = gemsnn.SpikingClassifier(n_hidden=5, learning_rate=1e-2, epochs=2).fit(X[:40], y[:40])
    >>> bool(classifier.score(X[40:], y[40:]) > 0.8)
    True
    >>> classifier.predict_proba(X[40:]).shape
    (20, 2)
    """

    _preset: str | None = None
    model_: Model
    _learned: set[int]

    def __init__(
        self,
        n_hidden: int | None = None,
        n_compartments: int | None = None,
        inference_compartments: int | None = None,
        decoder: str | None = None,
        rule: Rule | dict[str, Any] | str | None = None,
        *,
        learning_rate: float | None = None,
        mean_free: bool | None = None,
        topology: dict[str, Any] | str | None = None,
        readout: str | None = None,
        synaptic_filter: Filter | dict[str, Any] | None = None,
        somatic_filter: Filter | dict[str, Any] | None = None,
        visible_memory: bool | None = None,
        hidden_bias: float | None = None,
        visible_bias: float | None = None,
        weight_scale: float | None = None,
        initial_uniform: float | None = None,
        epochs: int | None = None,
        max_time_samples: int | None = None,
        learning_rate_schedule: str | None = None,
        learning_rate_floor: float | None = None,
        average_last: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        shift: int | None = None,
        grid: tuple[int, int] | None = None,
        preprocessing: Preprocessing | None = None,
        validation_fraction: float = 0.0,
        eval_every: int | None = None,
        select_by: str | None = None,
        patience: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        dtype: str | None = None,
        threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_compartments = n_compartments
        self.inference_compartments = inference_compartments
        self.decoder = decoder
        self.rule = rule
        self.learning_rate = learning_rate
        self.mean_free = mean_free
        self.topology = topology
        self.readout = readout
        self.synaptic_filter = synaptic_filter
        self.somatic_filter = somatic_filter
        self.visible_memory = visible_memory
        self.hidden_bias = hidden_bias
        self.visible_bias = visible_bias
        self.weight_scale = weight_scale
        self.initial_uniform = initial_uniform
        self.epochs = epochs
        self.max_time_samples = max_time_samples
        self.learning_rate_schedule = learning_rate_schedule
        self.learning_rate_floor = learning_rate_floor
        self.average_last = average_last
        self.class_weight = class_weight
        self.shift = shift
        self.grid = grid
        self.preprocessing = preprocessing
        self.validation_fraction = validation_fraction
        self.eval_every = eval_every
        self.select_by = select_by
        self.patience = patience
        self.random_state = random_state
        self.dtype = dtype
        self.threads = threads
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train anew on (n, T, n_inputs) spikes and n labels.

        ``sample_weight`` (n,): an example is learned with its weight times the step size, so 2 counts about as much as
        being shown twice, and 1 is as if there were no weights. An example of weight 0 is as if it was not there. Keep
        the mean near 1: a step that is too large diverges.
        """
        spikes, labels = self._checked_pair(X, y)
        weights = None if sample_weight is None else checked_weights(sample_weight, len(spikes), "sample_weight")
        classes, indices = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise DataError(f"y has only one class, {classes.tolist()[0]!r}; at least two classes are needed")
        config = self._config(self._seed(), classes)
        examples = ArrayExamples(spikes, indices.astype(np.int64), weights=weights)
        trainer = Trainer(config, ArrayData(examples, classes.tolist(), preprocessing=self.preprocessing))
        memory = _Memory()
        with ExitStack() as showing:
            watching: list[Observer] = [memory]
            if self.verbose:
                watching.append(showing.enter_context(display(Console(), trainer)))
            trainer.run(*watching)
        parameters = trainer.parameters() if memory.best is None else memory.best
        self._set_fitted(
            config, classes, trainer.network, parameters, trainer.data.n_steps, trainer.position, memory.history,
            trainer.state.means,
        )  # fmt: skip
        self._learned = _keys(spikes if weights is None else [spikes[i] for i in np.flatnonzero(weights)])
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Go on learning: each example once, in the order given, at the full learning rate times its weight.

        The first call, unless after ``fit``, must name all ``classes``. Learning in pieces gives the same model as
        learning everything in one call.
        """
        spikes, labels = self._checked_pair(X, y)
        if self.class_weight == "balanced":
            raise ConfigError(
                "class_weight = 'balanced' needs all examples at once; give partial_fit weights by label, or "
                "sample_weight"
            )
        weights = np.ones(len(spikes))
        if sample_weight is not None:
            weights = checked_weights(sample_weight, len(spikes), "sample_weight")
        if not hasattr(self, "model_"):
            if classes is None:
                raise ConfigError("the first call of partial_fit must name all classes: partial_fit(X, y, classes=...)")
            known = np.unique(column_or_1d(classes))
            config = self._config(self._seed(), known)
            network = config.network(spikes[0].shape[1], len(known))
            self._set_fitted(config, known, network, config.initial_parameters(network), len(spikes[0]), 0, [], None)
            self._learned = set()
        elif classes is not None and not np.array_equal(np.unique(column_or_1d(classes)), self.classes_):
            raise ConfigError(f"classes are {self.classes_.tolist()} since the first call; they cannot change")
        self._check_inputs(spikes)
        strange = ~np.isin(labels, self.classes_)
        if strange.any():
            raise DataError(f"y holds {labels[strange][0]!r}, which is not among the classes {self.classes_.tolist()}")
        config = self._config(self.model_.seed, self.classes_)
        indices = np.searchsorted(self.classes_, labels).astype(np.int64)
        examples = ArrayExamples(spikes, indices)
        weights = weights * class_weights(config.class_weight, self.classes_.tolist())[indices]
        grid = None if self.preprocessing is None else self.preprocessing.grid
        usual, shift = config.rule_at(0, 1), Shift(config, self.n_inputs_, grid)
        parameters, position = self.parameters_.copy(), self.n_examples_seen_
        means = self.model_.means if config.mean_free else None
        if means is None:
            means = initial_means(config, self.network_)
        longest = max(len(sequence) for sequence in spikes)
        lessons = Lessons(self.network_, config.n_compartments, longest, config.threads)
        for index in np.flatnonzero(weights).tolist():
            rule = weighted(usual, weights[index])
            shown, target = shift(examples[index], position), desired(examples, index, len(self.classes_))
            parameters, _, _, means = learn_example(lessons, parameters, config, rule, shown, target, position, means)
            position += 1
        self._set_fitted(
            config, self.classes_, self.network_, parameters, self.model_.n_steps, position, self.history_, means
        )
        self._learned = self._learned | _keys([spikes[i] for i in np.flatnonzero(weights)])
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """(n,) labels."""
        found = self._predict(X)
        labels: NDArray[Any] = self.classes_[found.classes]
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """(n, n_classes) probabilities, columns as in ``classes_``."""
        return self._predict(X).probabilities

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """(n, n_classes) logarithms of ``predict_proba``; of a probability of 0 it is minus infinity."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_anytime(self, X: ArrayLike) -> Any:
        """Answers before the end: what ``predict_proba`` would say after 1, 2, ... steps.

        Returns
        -------
        An :class:`gemsnn.inference.AnytimePrediction`, whose ``classes`` are indices into ``classes_``; where the
        sequences differ in length, a list of them. ``stop(confidence)`` answers as soon as that is reached, and
        :func:`gemsnn.plot.anytime` draws them.
        """
        spikes, decoder, threads = self._prepared(X)
        return self.model_.predict_anytime(spikes, decoder, threads=threads)

    def stream(self, **options: Any) -> LiveModel:
        """The fitted model alive: it has an answer after every step. See :meth:`gemsnn.training.Model.stream`."""
        check_is_fitted(self, "model_")
        # Settings of inference may be changed after fitting, with set_params.
        decoder = self._config(self.model_.seed, self.classes_).main_decoder
        return self.model_.stream(**{"decoder": decoder, **options})

    def calibrate(
        self, X: ArrayLike, y: ArrayLike, alpha: float = ALPHA, checkpoints: int | Sequence[int] = CHECKPOINTS
    ) -> Self:
        """Give ``predict_set`` its guarantee, from held-out examples; those that were learned from are refused.

        Learning on takes it away again. See :meth:`gemsnn.training.Model.calibrate`.
        """
        spikes, decoder, threads = self._prepared(X)
        labels = _checked_labels(y, len(spikes))
        known = len(_keys(spikes) & self._learned)
        if known:
            raise DataError(
                f"{known} of the {len(spikes)} examples in X were learned from, so that they say nothing of examples "
                "to come: calibrate on others"
            )
        self.model_ = self.model_.calibrate(
            spikes, labels, alpha, checkpoints=checkpoints, decoder=decoder, threads=threads
        )
        return self

    def predict_set(self, X: ArrayLike, size: int = 1) -> SetDecisions:
        """Sets of classes that hold the true one with probability 1 - alpha at least; needs ``calibrate``.

        Each example is stopped as soon as its set has no more than ``size`` classes. ``members`` of the result is
        (n, n_classes), columns as in ``classes_``.
        """
        spikes, _, threads = self._prepared(X)
        return self.model_.predict_set(spikes, size, threads=threads)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a safetensors file; ``gemsnn evaluate`` and ``predict`` read it too."""
        check_is_fitted(self, "model_")
        save_model(self.model_, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read what ``save``, or a training run, has written. Nothing is unpickled."""
        model = load_model(path)
        settings = model.about.get("config", {})
        names = set(cls().get_params()) - _NOT_SETTINGS
        given = {name: settings[name] for name in sorted(names & settings.keys())}
        classifier = cls(**given, preprocessing=model.preprocessing, random_state=model.seed)
        classes, weights = np.array(model.classes), settings.get("class_weight")
        if isinstance(weights, dict):
            weights = {label: weights[str(label)] for label in classes.tolist() if str(label) in weights}
        classifier.class_weight = weights
        config, position = classifier._config(model.seed, classes), model.about.get("position", 0)
        classifier._set_fitted(
            config, classes, model.network, model.parameters, model.n_steps, position, [], model.means
        )
        classifier.model_ = replace(classifier.model_, calibration=model.calibration)
        classifier._learned = set()  # a file does not tell
        return classifier

    # ---- inside

    def _config(self, seed: int, classes: NDArray[Any] | None = None) -> TrainingConfig:
        given = {name: value for name, value in self.get_params(deep=False).items() if value is not None}
        settings = {name: value for name, value in given.items() if name not in _NOT_SETTINGS}
        if self.class_weight is not None:
            settings["class_weight"] = _by_name(self.class_weight, [] if classes is None else classes.tolist())
        settings["merge_polarities"] = False  # X is what the network sees; its maker chose
        config = TrainingConfig.make(self._preset, **settings, seed=seed)
        return config if self.learning_rate is None else config.changed(**{"rule.learning_rate": self.learning_rate})

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer) and not isinstance(self.random_state, bool):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _set_fitted(
        self,
        config: TrainingConfig,
        classes: NDArray[Any],
        network: Network,
        parameters: Parameters,
        n_steps: int,
        position: int,
        history: list[Record],
        means: TraceMeans | None,
    ) -> None:
        self.classes_, self.network_, self.parameters_ = classes, network, parameters
        self.n_inputs_, self.n_examples_seen_ = network.n_inputs, position
        self.history_ = history
        about = {"position": position, "config": config.identity()}
        labels = tuple(classes.tolist())
        self.model_ = Model(
            network, parameters, labels, config.main_decoder, n_steps, config.seed, self.preprocessing, about,
            means=means,
        )  # fmt: skip

    def _predict(self, X: ArrayLike) -> Prediction:
        spikes, decoder, threads = self._prepared(X)
        return self.model_.predict(spikes, decoder, threads=threads)

    def _prepared(self, X: ArrayLike) -> tuple[Spikes, DecoderSettings, int]:
        """Checked spikes, and how to read them out."""
        check_is_fitted(self, "model_")
        spikes = _checked_spikes(X, self.preprocessing)
        self._check_inputs(spikes)
        # Settings of inference may be changed after fitting, with set_params.
        config = self._config(self.model_.seed, self.classes_)
        return spikes, config.main_decoder, config.threads

    def _checked_pair(self, X: ArrayLike, y: ArrayLike) -> tuple[Spikes, NDArray[Any]]:
        spikes = _checked_spikes(X, self.preprocessing)
        return spikes, _checked_labels(y, len(spikes))

    def _check_inputs(self, spikes: Spikes) -> None:
        if spikes[0].shape[1] != self.n_inputs_:
            raise ShapeError(
                f"X has {spikes[0].shape[1]} inputs a step, but this classifier was fitted with {self.n_inputs_}"
            )


class GEMClassifier(SpikingClassifier):
    """The classifier with the paper's rule and settings: None stands for those of ``TrainingConfig.make("paper")``."""

    _preset = "paper"


class _Memory:
    """Keeps the evaluations, and the best weights by validation."""

    def __init__(self) -> None:
        self.history: list[Record] = []
        self.best: Parameters | None = None

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        pass

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        self.history.append(event.record)
        if event.is_best:
            self.best = trainer.parameters()


Spikes = NDArray[np.uint8] | list[NDArray[np.uint8]]
"""(n, T, n_inputs), or (T_i, n_inputs) each."""


def _keys(spikes: Spikes) -> set[int]:
    """Of all examples but silent ones, which are no sign that one was seen before."""
    return {recording_key(one) for one in spikes if one.any()}


def _checked_spikes(X: ArrayLike | Sequence[Any], preprocessing: Preprocessing | None = None) -> Spikes:
    if isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1):
        # a list, or a column of arrays as a Pipeline may pass on; equally long sequences become one array
        arrays = [_spikes_of(example, f"X[{i}]", preprocessing) for i, example in enumerate(X)]
        if arrays and all(array.ndim == 2 for array in arrays) and len({array.shape for array in arrays}) > 1:
            width = arrays[0].shape[1]
            return [spike_array(f"X[{i}]", array, {"T": None, "n_inputs": width}) for i, array in enumerate(arrays)]
        X = np.stack(arrays) if arrays and len({array.shape for array in arrays}) == 1 else np.asarray(X, dtype=object)
    array = np.asarray(X)
    if array.ndim != 3 or not len(array):
        raise ShapeError(f"X has shape {array.shape}, but (n, T, n_inputs) with n of at least 1 is needed")
    return spike_array("X", array, {"n": None, "T": None, "n_inputs": None})


def _checked_labels(y: ArrayLike, n: int) -> NDArray[Any]:
    if y is None:
        raise DataError("y is needed: one label an example")
    check_classification_targets(y)
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    if len(labels) != n:
        raise ShapeError(f"X has {n} examples, but y has {len(labels)} labels")
    return labels


def _spikes_of(example: Any, name: str, preprocessing: Preprocessing | None) -> NDArray[Any]:
    """(T, n_inputs) of an example: an array of them, events, or a recording that has or reads its events."""
    if hasattr(example, "events"):
        example = example.events
    elif callable(getattr(example, "read", None)):
        example = example.read()
    if not (isinstance(example, np.ndarray) and example.dtype.names is not None):
        return np.asarray(example)
    if preprocessing is None:
        raise DataError(f"{name} is a recording of events; say by preprocessing=... how to make spikes of it")
    return preprocessing.bin(example, name)


def _by_name(weights: dict[Any, float] | str, classes: list[Any]) -> Any:
    """Weights by label as weights by the label's name, as settings have them."""
    if not isinstance(weights, dict):
        return weights
    strange = [label for label in weights if label not in classes]
    if strange:
        raise ConfigError(f"class_weight: {strange[0]!r} is not among the classes {classes}")
    return {str(label): weights[label] for label in classes if label in weights}
