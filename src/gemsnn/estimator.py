"""``GEMClassifier``: training and prediction with scikit-learn's conventions."""

from __future__ import annotations

from contextlib import ExitStack
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
from gemsnn.inference import Prediction, class_patterns
from gemsnn.model import Filter, Network, Parameters
from gemsnn.model.checks import spike_array
from gemsnn.training.config import TrainingConfig
from gemsnn.training.data import ArrayData, ArrayExamples
from gemsnn.training.display import display
from gemsnn.training.model import Model, load_model, save_model
from gemsnn.training.shift import Shift
from gemsnn.training.trainer import Evaluated, Learned, Observer, Record, Trainer, learn_example

_DEFAULT: dict[str, Any] = {name: field.default for name, field in TrainingConfig.model_fields.items()}
_NOT_SETTINGS = {"random_state", "verbose"}


class GEMClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of spike sequences: a probabilistic spiking network trained online by GEM-VLSNN.

    ``X`` is (n, T, n_inputs) of 0/1, ``y`` any n labels. Settings are those of :class:`gemsnn.training.TrainingConfig`,
    where they are explained, and have its defaults; only these differ:

    Parameters
    ----------
    validation_fraction
        Share of each class held out of ``X``; the model is then the best one on it, else (0, the default) the last one.
    synaptic_filter, somatic_filter
        A ``gemsnn.RaisedCosine`` or ``gemsnn.Exponential``, or their settings; None for the default.
    grid
        (rows, columns) that the inputs of ``X`` lie on, if they do: examples then move a little while they are learned
        (``shift``), which makes fewer of them go further. Inputs are counted along the rows, plane by plane.
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
    n_features_in_
        n_inputs.

    Examples
    --------
    >>> import numpy as np, gemsnn
    >>> rng = np.random.default_rng(0)
    >>> y = np.array(["low", "high"] * 30)
    >>> X = rng.random((60, 20, 8)) < np.where(y == "low", 0.1, 0.5)[:, None, None]
    >>> classifier = gemsnn.GEMClassifier(n_hidden=5, learning_rate=1e-2, epochs=2).fit(X[:40], y[:40])
    >>> bool(classifier.score(X[40:], y[40:]) > 0.8)
    True
    >>> classifier.predict_proba(X[40:]).shape
    (20, 2)
    """

    def __init__(
        self,
        n_hidden: int = _DEFAULT["n_hidden"],
        n_compartments: int = _DEFAULT["n_compartments"],
        inference_compartments: int | None = _DEFAULT["inference_compartments"],
        decoder: str = _DEFAULT["decoder"],
        *,
        learning_rate: float = _DEFAULT["learning_rate"],
        kappa: float = _DEFAULT["kappa"],
        gamma: float = _DEFAULT["gamma"],
        centred: bool = _DEFAULT["centred"],
        feedback: float = _DEFAULT["feedback"],
        epochs: int = _DEFAULT["epochs"],
        max_time_samples: int | None = _DEFAULT["max_time_samples"],
        learning_rate_schedule: str = _DEFAULT["learning_rate_schedule"],
        learning_rate_floor: float = _DEFAULT["learning_rate_floor"],
        average_last: float = _DEFAULT["average_last"],
        shift: int | None = _DEFAULT["shift"],
        grid: tuple[int, int] | None = _DEFAULT["grid"],
        synaptic_filter: Filter | dict[str, Any] | None = None,
        somatic_filter: Filter | dict[str, Any] | None = None,
        visible_memory: bool = _DEFAULT["visible_memory"],
        hidden_bias: float = _DEFAULT["hidden_bias"],
        visible_bias: float = _DEFAULT["visible_bias"],
        weight_scale: float = _DEFAULT["weight_scale"],
        validation_fraction: float = 0.0,
        eval_every: int | None = _DEFAULT["eval_every"],
        select_by: str = _DEFAULT["select_by"],
        patience: int | None = _DEFAULT["patience"],
        random_state: int | np.random.RandomState | None = 0,
        dtype: str = _DEFAULT["dtype"],
        threads: int = _DEFAULT["threads"],
        verbose: bool = False,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_compartments = n_compartments
        self.inference_compartments = inference_compartments
        self.decoder = decoder
        self.learning_rate = learning_rate
        self.kappa = kappa
        self.gamma = gamma
        self.centred = centred
        self.feedback = feedback
        self.epochs = epochs
        self.max_time_samples = max_time_samples
        self.learning_rate_schedule = learning_rate_schedule
        self.learning_rate_floor = learning_rate_floor
        self.average_last = average_last
        self.shift = shift
        self.grid = grid
        self.synaptic_filter = synaptic_filter
        self.somatic_filter = somatic_filter
        self.visible_memory = visible_memory
        self.hidden_bias = hidden_bias
        self.visible_bias = visible_bias
        self.weight_scale = weight_scale
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

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train anew on (n, T, n_inputs) spikes and n labels."""
        spikes, labels = _checked_pair(X, y)
        classes, indices = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise DataError(f"y has only the class {classes[0]!r}; at least two classes are needed")
        config = self._config(self._seed())
        trainer = Trainer(config, ArrayData(ArrayExamples(spikes, indices.astype(np.int64)), classes.tolist()))
        memory = _Memory()
        with ExitStack() as showing:
            watching: list[Observer] = [memory]
            if self.verbose:
                watching.append(showing.enter_context(display(Console(), trainer)))
            trainer.run(*watching)
        parameters = trainer.parameters() if memory.best is None else memory.best
        self._set_fitted(
            config, classes, trainer.network, parameters, spikes.shape[1], trainer.position, memory.history
        )
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go on learning: each example once, in the order given, at the full learning rate.

        The first call, unless after ``fit``, must name all ``classes``. Learning in pieces gives the same model as
        learning everything in one call.
        """
        spikes, labels = _checked_pair(X, y)
        if not hasattr(self, "model_"):
            if classes is None:
                raise ConfigError("the first call of partial_fit must name all classes: partial_fit(X, y, classes=...)")
            known = np.unique(column_or_1d(classes))
            config = self._config(self._seed())
            network = config.network(spikes.shape[2], len(known))
            self._set_fitted(config, known, network, config.initial_parameters(network), spikes.shape[1], 0, [])
        elif classes is not None and not np.array_equal(np.unique(column_or_1d(classes)), self.classes_):
            raise ConfigError(f"classes are {self.classes_.tolist()} since the first call; they cannot change")
        self._check_inputs(spikes)
        strange = ~np.isin(labels, self.classes_)
        if strange.any():
            raise DataError(f"y holds {labels[strange][0]!r}, which is not among the classes {self.classes_.tolist()}")
        config = self._config(self.model_.seed)
        patterns, shift = class_patterns(len(self.classes_), spikes.shape[1]), Shift(config, spikes.shape[2])
        rule, parameters, position = config.rule(0, 1), self.parameters_, self.n_examples_seen_
        for inputs, index in zip(spikes, np.searchsorted(self.classes_, labels), strict=True):
            shown = shift(inputs, position)
            parameters, _, _ = learn_example(self.network_, parameters, config, rule, shown, patterns[index], position)
            position += 1
        self._set_fitted(config, self.classes_, self.network_, parameters, spikes.shape[1], position)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """(n,) labels."""
        found = self._predict(X)
        labels: NDArray[Any] = self.classes_[found.classes]
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """(n, n_classes) probabilities, columns as in ``classes_``."""
        return self._predict(X).probabilities

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
        classifier = cls(**{name: settings[name] for name in sorted(names & settings.keys())}, random_state=model.seed)
        config, position = classifier._config(model.seed), model.about.get("position", 0)
        classifier._set_fitted(
            config, np.array(model.classes), model.network, model.parameters, model.n_steps, position, []
        )
        return classifier

    # ---- inside

    def _config(self, seed: int) -> TrainingConfig:
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in _NOT_SETTINGS}
        for name in ("synaptic_filter", "somatic_filter"):
            if settings[name] is None:
                del settings[name]
        return TrainingConfig.make(**settings, seed=seed)

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
        history: list[Record] | None = None,
    ) -> None:
        self.classes_, self.network_, self.parameters_ = classes, network, parameters
        self.n_features_in_, self.n_examples_seen_ = network.n_inputs, position
        if history is not None:
            self.history_ = history
        about = {"position": position, "config": config.identity()}
        labels = tuple(classes.tolist())
        self.model_ = Model(network, parameters, labels, config.main_decoder, n_steps, config.seed, None, about)

    def _predict(self, X: ArrayLike) -> Prediction:
        check_is_fitted(self, "model_")
        spikes = _checked_spikes(X)
        self._check_inputs(spikes)
        # Settings of inference may be changed after fitting, with set_params.
        return self.model_.predict(spikes, self._config(self.model_.seed).main_decoder, threads=self.threads)

    def _check_inputs(self, spikes: NDArray[np.uint8]) -> None:
        if spikes.shape[2] != self.n_features_in_:
            raise ShapeError(
                f"X has {spikes.shape[2]} inputs a step, but this GEMClassifier was fitted with {self.n_features_in_}"
            )


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


def _checked_spikes(X: ArrayLike) -> NDArray[np.uint8]:
    array = np.asarray(X)
    if array.dtype == object and array.ndim == 1 and len(array):
        array = np.stack([np.asarray(example) for example in array])  # a column of arrays, as a Pipeline may pass on
    if array.ndim != 3 or not len(array):
        raise ShapeError(f"X has shape {array.shape}, but (n, T, n_inputs) with n of at least 1 is needed")
    return spike_array("X", array, {"n": None, "T": None, "n_inputs": None})


def _checked_pair(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    spikes = _checked_spikes(X)
    if y is None:
        raise DataError("y is needed: one label an example")
    check_classification_targets(y)
    labels = column_or_1d(y, warn=True)
    if len(labels) != len(spikes):
        raise ShapeError(f"X has {len(spikes)} examples, but y has {len(labels)} labels")
    return spikes, labels
