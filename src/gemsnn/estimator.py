"""``SpikingClassifier`` and ``GEMClassifier``, with scikit-learn's conventions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from functools import wraps
from inspect import signature
from os import PathLike
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from gemsnn.common.kinds import from_table, merged
from gemsnn.common.kinds import unknown as unknown_setting
from gemsnn.common.threads import usable_threads
from gemsnn.common.words import shown
from gemsnn.errors import ConfigError, DataError, ShapeError
from gemsnn.events import Preprocessing
from gemsnn.events.bin_width import with_bin_width
from gemsnn.events.pairs import Contents, is_pairs, one_kind, pairs
from gemsnn.events.records import Events
from gemsnn.inference import Decoder, SetDecisions, recording_key
from gemsnn.inference.guarantee import ALPHA, CHECKPOINTS
from gemsnn.learning import TraceMeans
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import spike_array
from gemsnn.model.spike_list import SpikeList
from gemsnn.rules import RULES, Rule
from gemsnn.training.config import NetworkSettings, ScheduleSettings, SettingsGroup, TrainingConfig, rule_table
from gemsnn.training.data import ArrayData, ArrayExamples
from gemsnn.training.display import display
from gemsnn.training.from_model import FromModel
from gemsnn.training.from_settings import augmentation_of, means_of, trainer_of
from gemsnn.training.health import LearningWarning, few_steps_of_many_inputs
from gemsnn.training.inputs import events_or_spikes, spikes_of
from gemsnn.training.live import LiveModel
from gemsnn.training.model import Answers, Model, save_model, with_certainty
from gemsnn.training.nothing import AnyClass, targets_of_nothing
from gemsnn.training.partition import Partition, checked_weights, class_weights
from gemsnn.training.run import load_model
from gemsnn.training.schedule import Schedule
from gemsnn.training.step_size import suited_learning_rate
from gemsnn.training.trainer import Evaluated, Learned, Observer, Record, Trainer

GROUPS: dict[str, type[SettingsGroup]] = {"network": NetworkSettings, "schedule": ScheduleSettings}
"""Arguments that are groups of settings."""

NETWORK, SCHEDULE = NetworkSettings(), ScheduleSettings()
PAPER_NETWORK, PAPER_SCHEDULE = NetworkSettings.of_preset("paper"), ScheduleSettings.of_preset("paper")


Init = TypeVar("Init", bound=Callable[..., None])


def _refusing(init: Init) -> Init:
    """Let a constructor refuse unknown arguments with advice on which one may be meant."""

    @wraps(init)
    def checked(self: SpikingClassifier, *arguments: Any, **named: Any) -> None:
        self._refuse(named)
        init(self, *arguments, **named)

    return cast(Init, checked)


class SpikingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of spike sequences: a probabilistic spiking network, trained online by any rule.

    ``X`` is (n, T, n_inputs) of 0/1; a list of (T_i, n_inputs) with different lengths; or, with ``preprocessing``, a
    list of recordings: arrays of events, recordings found or simulated by :mod:`gemsnn.events`, or paths of files.
    ``y`` contains n labels of any kind. Or ``X`` is a map-style PyTorch data set of such items with labels. Names and
    defaults are those of :class:`gemsnn.training.TrainingConfig` and of ``gemsnn train``.

    Parameters
    ----------
    n_hidden
        Number of hidden neurons.
    n_compartments
        Compartments K while learning.
    inference_compartments
        Compartments at inference; None: as many as while learning.
    decoder
        How a class is read out: ``"per-step"``, the model's posterior of each step, averaged; ``"likelihood"``, its
        posterior of the whole sequence; ``"vote"``, the paper's majority over compartments; or a
        :class:`gemsnn.Decoder` of your own.
    rule
        The learning rule: a :class:`gemsnn.Rule` such as ``gemsnn.Feedback(learning_rate=3e-3)``; a name,
        ``"feedback"``, ``"gem"``, ``"mb"`` or ``"iw"``; or a dictionary of changes, ``{"kind": "gem", "kappa": 0.8}``.
        The learning rate of Feedback is measured on the data unless it is given.
    network
        Structure and initialisation of the network: :class:`gemsnn.NetworkSettings`, or a dictionary of changes,
        ``{"grid": (26, 26), "hidden_bias": -1}``. Its settings are ``topology``, ``grid``, ``readout``,
        ``synaptic_filter``, ``somatic_filter``, ``visible_memory``, ``hidden_bias``, ``visible_bias``,
        ``weight_scale``, ``initial_uniform`` and ``dtype``.
    schedule
        Duration of training, learning rate, and model selection: :class:`gemsnn.ScheduleSettings`, or a dictionary of
        changes, ``{"epochs": 5}``. Its settings are ``epochs``, ``batch_size``, ``max_time_samples``,
        ``learning_rate_schedule``, ``learning_rate_floor``, ``average_last``, ``mean_free``, ``shift``,
        ``nothing_share``, ``validation_fraction``, ``eval_every``, ``select_by``, ``patience`` and ``calibrate``. By
        default a tenth of ``X`` is held out, for model selection and for calibrating probabilities.
    class_weight
        Weights by label, or ``"balanced"``: all classes then have the same total weight.
    preprocessing
        How events become spikes; includes the grid. Without ``bin_us``, the width of a time bin is derived from the
        recordings when the model is fitted, and is stored in ``preprocessing_``. ``gemsnn predict`` reads recordings
        with models written by ``save``.
    warm_start
        Whether ``fit`` continues from the fitted or loaded model: its network, weights and classes stay, and new
        classes are added. Otherwise ``fit`` starts anew.
    random_state
        Whole number, for reproducible results, a NumPy ``RandomState``, or None for a different model each time.
    threads
        Threads that process examples in parallel; None: one per processor. The results do not depend on it.
    verbose
        Show the progress.

    Notes
    -----
    In searches, every setting has a path: ``schedule__epochs``, ``network__hidden_bias``, ``rule__learning_rate``,
    ``network__synaptic_filter__duration``.

    Attributes
    ----------
    preprocessing_
        ``preprocessing``, including the width of a time bin.
    classes_
        (n_classes,) labels in the order of ``predict_proba``'s columns.
    network_, parameters_
        The trained network.
    learning_rate_
        Learning rate of the rule, given or measured on the data.
    model_
        The :class:`gemsnn.training.Model`.
    history_
        Evaluations while fitting, one dictionary each.
    n_examples_seen_
        Number of examples learned so far, counting repetitions.
    n_inputs_
        Inputs per time step. (Not ``n_features_in_``, which implies that X has two dimensions, as MAPIE assumes.)

    Examples
    --------
    >>> import numpy as np, gemsnn
    >>> rng = np.random.default_rng(0)
    >>> y = np.array(["low", "high"] * 30)
    >>> X = rng.random((60, 20, 8)) < np.where(y == "low", 0.1, 0.5)[:, None, None]
    >>> classifier = gemsnn.SpikingClassifier(n_hidden=5, rule={"learning_rate": 1e-2}, schedule={"epochs": 2})
    >>> bool(classifier.fit(X[:40], y[:40]).score(X[40:], y[40:]) > 0.8)
    True
    >>> classifier.predict_proba(X[40:]).shape
    (20, 2)
    >>> classifier.set_params(schedule__epochs=3, rule__learning_rate=5e-3)
    SpikingClassifier(n_hidden=5, rule={'learning_rate': 0.005},
                      schedule={'epochs': 3})
    """

    _preset: str | None = None
    model_: Model
    preprocessing_: Preprocessing | None
    _learned: set[int]

    @_refusing
    def __init__(
        self,
        n_hidden: int = 200,
        n_compartments: int = 1,
        inference_compartments: int | None = None,
        decoder: str | Decoder = "per-step",
        rule: Rule | dict[str, Any] | str = "feedback",
        *,
        network: NetworkSettings | dict[str, Any] = NETWORK,
        schedule: ScheduleSettings | dict[str, Any] = SCHEDULE,
        class_weight: dict[Any, float] | str | None = None,
        preprocessing: Preprocessing | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_compartments = n_compartments
        self.inference_compartments = inference_compartments
        self.decoder = decoder
        self.rule = rule
        self.network = network
        self.schedule = schedule
        self.class_weight = class_weight
        self.preprocessing = preprocessing
        self.warm_start = warm_start
        self.random_state = random_state
        self.threads = threads
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Arguments by name; with ``deep`` also all settings by path, such as ``schedule__epochs``."""
        params: dict[str, Any] = super().get_params(deep=False)
        if not deep:
            return params
        for name in (*GROUPS, "rule"):
            with suppress(ConfigError):  # fit refuses invalid values
                settings = self._rule_settings() if name == "rule" else self._group_settings(name)
                params |= {f"{name}__{field}": value for field, value in settings.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set arguments by name, or settings by path, such as ``schedule__epochs``."""
        self._refuse({name.partition("__")[0]: value for name, value in params.items()})
        super().set_params(**{name: value for name, value in params.items() if "__" not in name})
        for path, value in params.items():
            name, nested, field = path.partition("__")
            if not nested:
                continue
            known: Collection[str] = GROUPS[name].model_fields if name in GROUPS else ()
            if name == "rule":
                known = {"kind", *self._rule_settings()}
            if field.partition("__")[0] not in known:
                raise ConfigError(f"{path}: {unknown_setting(field, known)}")
            change = {field.replace("__", "."): value}
            if name == "rule" and isinstance(self.rule, Rule) and "kind" not in change:
                self.rule = replace(self.rule, **change)
            elif name == "rule":
                self.rule = merged(self.rule, change)
            else:
                setattr(self, name, {**self._given(name), **change})
        return self

    def _refuse(self, names: Mapping[str, Any]) -> None:
        """Raise an error with advice for names that are not arguments."""
        known = self._get_param_names()
        for name in names:
            if name not in known:
                raise ConfigError(f"{type(self).__name__} has no argument {name}: {_where_it_went(name, known)}")

    def _given(self, name: str) -> dict[str, Any]:
        """The settings of a group that differ from the class's defaults."""
        given, own = getattr(self, name), signature(type(self).__init__).parameters[name].default
        if isinstance(given, SettingsGroup):
            return {} if given == own else {field: getattr(given, field) for field in type(given).model_fields}
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"{name} = {shown(given)}: must be gemsnn.{GROUPS[name].__name__}(...), or a dictionary of its settings"
            )
        fields = GROUPS[name].model_fields
        for field in given:
            if str(field).partition(".")[0] not in fields:
                raise ConfigError(f"{name}.{field}: {unknown_setting(str(field), fields)}")
        return dict(given)

    def _group_settings(self, name: str) -> dict[str, Any]:
        """All settings of a group."""
        own = signature(type(self).__init__).parameters[name].default
        return {field: getattr(own, field) for field in GROUPS[name].model_fields} | self._given(name)

    def _rule_settings(self) -> dict[str, Any]:
        if isinstance(self.rule, Rule):
            return asdict(self.rule)
        default = rule_table(TrainingConfig.make(self._preset).rule)
        rule: Rule = from_table("rule", merged(default, self.rule), RULES)
        return asdict(rule)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        background: ArrayLike | Sequence[Any] | None = None,
    ) -> Self:
        """Train on (n, T, n_inputs) spikes and n labels; starts anew unless ``warm_start`` is set.

        Parameters
        ----------
        sample_weight
            (n,) factors on the step size: an example of weight 2 counts about as much as if shown twice, and one of
            weight 0 is ignored. Keep the mean near 1, since training diverges if steps are too large.
        groups
            (n,): the group of each example, such as a person or a day. Whole groups are held out, so that probabilities
            are calibrated for unseen groups.
        background
            Recordings of the background, such as an empty scene, in the form of ``X``, of any lengths. Half of the
            lessons about nothing are then pieces of them.
        """
        continued = self.warm_start and hasattr(self, "model_")
        spikes, labels = self._checked_pair(X, y, anew=not continued)
        weights = None if sample_weight is None else checked_weights(sample_weight, len(spikes), "sample_weight")
        classes, indices = np.unique(labels, return_inverse=True)
        begun = FromModel(self.model_, sort=True) if continued else None
        if begun is not None and classes.dtype.kind != self.classes_.dtype.kind:
            raise DataError(
                f"y holds {classes.tolist()[0]!r}, but the classes so far are {self.classes_.tolist()}: give labels of "
                "the same kind, or set warm_start=False to begin anew"
            )
        if len(classes) < 2 and begun is None:
            raise DataError(f"y has only one class, {classes.tolist()[0]!r}; at least two classes are needed")
        config = self._config(self._seed(), classes)
        together = None if groups is None else column_or_1d(groups)
        if together is not None and len(together) != len(spikes):
            raise DataError(f"groups has {len(together)} entries, but X has {len(spikes)} examples")
        examples = ArrayExamples(spikes, indices.astype(np.int64), weights=weights, groups=together)
        if self.preprocessing_ is None:
            swapped = few_steps_of_many_inputs(len(spikes), max(map(len, spikes)), spikes[0].shape[1])
            if swapped is not None:
                warnings.warn(swapped, LearningWarning, stacklevel=2)
        nothing = [] if background is None else list(_checked_spikes(background, self.preprocessing_))
        if nothing and nothing[0].shape[1] != spikes[0].shape[1]:
            raise ShapeError(f"background has {nothing[0].shape[1]} inputs per step, but X has {spikes[0].shape[1]}")
        trainer = trainer_of(
            config,
            ArrayData(examples, classes.tolist(), preprocessing=self.preprocessing_),
            background=[SpikeList.from_array(one, "background") for one in nothing],
            from_model=begun,
        )
        classes = np.array(trainer.data.classes)
        config = config.changed(rule=trainer.rule)  # includes a learning rate measured on the data
        memory = _Memory()
        with ExitStack() as showing:
            watching: list[Observer] = [memory]
            if self.verbose:
                watching.append(showing.enter_context(display(Console(), trainer)))
            trainer.run(*watching)
        parameters, means = memory.best or (trainer.parameters(), trainer.state.means)
        self._set_fitted(
            config, classes, trainer.network, parameters, trainer.data.n_steps, trainer.first + trainer.position,
            memory.history, means,
        )  # fmt: skip
        if config.calibrate:
            self.model_ = with_certainty(
                self.model_, trainer.data, trainer.partition, threads=trainer.threads, engine=trainer.engine
            )
        learned = _keys(spikes if weights is None else [spikes[i] for i in np.flatnonzero(weights)])
        self._set_learned(self._learned | learned if continued else learned)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | AnyClass | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Continue learning: each example once, in the given order, at the full learning rate times its weight.

        The first call, unless after ``fit``, needs all ``classes``. If the rule has no learning rate, it is measured on
        at most a hundred examples of the first call and kept. With a given learning rate, learning in pieces gives the
        same model as learning everything in one call.

        ``y=gemsnn.NOTHING`` means that these examples belong to no class.
        """
        anew = not hasattr(self, "model_")
        if isinstance(y, AnyClass):
            spikes, labels = self._checked_recordings(X, anew), None
        else:
            spikes, labels = self._checked_pair(X, y, anew)
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
            if config.rule.learning_rate is None:
                lists, first = ArrayExamples(spikes), np.arange(len(spikes))
                measured = suited_learning_rate(network, lists, first, config.mean_free)
                config = config.changed(rule=replace(config.rule, learning_rate=measured))
            self._set_fitted(config, known, network, config.initial_parameters(network), len(spikes[0]), 0, [], None)
            self._learned = set()
        elif classes is not None and not np.array_equal(np.unique(column_or_1d(classes)), self.classes_):
            raise ConfigError(f"classes are {self.classes_.tolist()} since the first call; they cannot change")
        self._check_inputs(spikes)
        config = self._config(self.model_.seed, self.classes_)
        if config.rule.learning_rate is None:
            config = config.changed(rule=replace(config.rule, learning_rate=self.learning_rate_))
        indices = None
        if labels is not None:
            unknown = ~np.isin(labels, self.classes_)
            if unknown.any():
                raise DataError(
                    f"y holds {labels[unknown][0]!r}, which is not among the classes {self.classes_.tolist()}"
                )
            indices = np.searchsorted(self.classes_, labels).astype(np.int64)
            weights = weights * class_weights(config.class_weight, self.classes_.tolist())[indices]
        learned = np.flatnonzero(weights)
        if not len(learned):
            return self
        examples = ArrayExamples(spikes, indices)
        data = ArrayData(examples, self.classes_.tolist(), preprocessing=self.preprocessing_)
        if labels is None:
            config = config.changed(nothing_share=0.0)  # all of these examples are lessons about nothing
            examples.targets = targets_of_nothing(
                examples.lengths, learned, len(self.classes_), config.seed, self.n_examples_seen_
            )
        means = self.model_.means if config.mean_free else None
        trainer = Trainer(
            self.network_,
            self.parameters_,
            config.rule,
            data,
            Partition(learned, learned[:0], learned[:0], weights),
            n_compartments=config.n_compartments,
            schedule=Schedule(epochs=1, decay="constant", average_last=0.0, shuffle=False),
            augmentation=augmentation_of(config, data),
            means=means_of(config, self.network_) if means is None else means,
            seed=config.seed,
            first=self.n_examples_seen_,
            threads=usable_threads(config.threads),
        )
        trainer.run()
        position, before = self.n_examples_seen_ + trainer.position, self.model_
        self._set_fitted(
            config, self.classes_, self.network_, trainer.parameters(), self.model_.n_steps, position, self.history_,
            trainer.state.means,
        )  # fmt: skip
        certainty = None if before.certainty is None else before.certainty.after_learning()
        self.model_ = replace(self.model_, certainty=certainty, sight=before.sight)
        self._set_learned(self._learned | _keys([spikes[i] for i in learned]))
        return self

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy."""
        X, y = _apart(X, y)
        return float(super().score(X, y, sample_weight))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """(n,) labels."""
        labels: NDArray[Any] = self._predict(X).label
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """(n, n_classes) probabilities, columns as in ``classes_``."""
        return self._predict(X).probabilities

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """(n, n_classes) logarithms of ``predict_proba``; minus infinity for a probability of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_anytime(self, X: ArrayLike) -> Any:
        """Answers before the end: what ``predict_proba`` would return after 1, 2, ... steps.

        Returns
        -------
        An :class:`gemsnn.inference.AnytimePrediction`, whose ``classes`` are indices into ``classes_``; a list of them
        if the sequences differ in length. ``stop(confidence)`` answers as soon as that is reached, and
        :func:`gemsnn.plot.anytime` plots them.
        """
        spikes, options = self._prepared(X)
        return self.model_.predict_anytime(spikes, **options)

    def stream(self, **options: Any) -> LiveModel:
        """A live stream of the fitted model: see :meth:`gemsnn.training.Model.stream`."""
        check_is_fitted(self, "model_")
        decoder = self._config(self.model_.seed, self.classes_).main_decoder  # set_params may have changed it
        return self.model_.stream(**{"decoder": decoder.kind, "compartments": decoder.compartments, **options})

    def calibrate(
        self, X: ArrayLike, y: ArrayLike, alpha: float = ALPHA, checkpoints: int | Sequence[int] = CHECKPOINTS
    ) -> Self:
        """Compute the guarantee of ``predict_set`` from held-out examples; those that were learned from are refused.

        Continued learning removes it. See :meth:`gemsnn.training.Model.calibrate`.
        """
        spikes, options = self._prepared(X)
        labels = _checked_labels(y, len(spikes))
        known = len(_keys(spikes) & self._learned)
        if known:
            raise DataError(
                f"{known} of the {len(spikes)} examples in X were learned from, so they cannot calibrate the model: "
                "calibrate on others"
            )
        self.model_ = self.model_.calibrate(spikes, labels, alpha, checkpoints=checkpoints, **options)
        return self

    def predict_set(self, X: ArrayLike, size: int = 1) -> SetDecisions:
        """Sets of classes that contain the true one with probability at least 1 - alpha; needs ``calibrate``.

        Each example is stopped as soon as its set has at most ``size`` classes. ``members`` of the result is
        (n, n_classes), columns as in ``classes_``.
        """
        spikes, options = self._prepared(X)
        return self.model_.predict_set(spikes, size, threads=options["threads"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a safetensors file; ``gemsnn evaluate`` and ``predict`` read it too."""
        check_is_fitted(self, "model_")
        save_model(self.model_, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that was written by ``save`` or a training run. Nothing is unpickled."""
        model = load_model(path)
        settings = model.about.get("config", {})
        top = ("n_hidden", "n_compartments", "inference_compartments", "decoder", "rule")
        given = {name: settings[name] for name in top if name in settings}
        for name, group in GROUPS.items():
            given[name] = {field: settings[field] for field in group.model_fields if field in settings}
        classifier = cls(**given, preprocessing=model.preprocessing, random_state=model.seed)
        classifier.preprocessing_ = model.preprocessing
        classes, weights = np.array(model.classes), settings.get("class_weight")
        if isinstance(weights, dict):
            weights = {label: weights[str(label)] for label in classes.tolist() if str(label) in weights}
        classifier.class_weight = weights
        config, position = classifier._config(model.seed, classes), model.about.get("position", 0)
        classifier._set_fitted(
            config, classes, model.network, model.parameters, model.n_steps, position, [], model.means
        )
        classifier.model_ = replace(
            classifier.model_, calibration=model.calibration, certainty=model.certainty, sight=model.sight
        )
        classifier._set_learned(set() if model.learned is None else set(model.learned.tolist()))
        return classifier

    # ---- inside

    def _config(self, seed: int, classes: NDArray[Any] | None = None) -> TrainingConfig:
        names = ("n_hidden", "n_compartments", "inference_compartments", "decoder", "rule", "threads")
        settings = {name: getattr(self, name) for name in names} | self._given("network") | self._given("schedule")
        if self.class_weight is not None:
            settings["class_weight"] = _by_name(self.class_weight, [] if classes is None else classes.tolist())
        settings["merge_polarities"] = False  # X is used as it is
        return TrainingConfig.of(self._preset, settings | {"seed": seed})

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
        self.history_, self.learning_rate_ = history, config.rule.step_size
        about = {"position": position, "config": config.identity()}
        labels = tuple(classes.tolist())
        self.model_ = Model(
            network, parameters, labels, config.main_decoder, n_steps, config.seed, self.preprocessing_, about,
            means=means,
        )  # fmt: skip

    def _set_learned(self, learned: set[int]) -> None:
        """Store the keys of all examples that were learned from."""
        self._learned = learned
        self.model_ = replace(self.model_, learned=np.array(sorted(learned), dtype=np.uint64))

    def _predict(self, X: ArrayLike) -> Answers:
        spikes, options = self._prepared(X)
        return self.model_.predict(spikes, **options)

    def _prepared(self, X: ArrayLike) -> tuple[Spikes, dict[str, Any]]:
        """Validated spikes, and the options of predictions."""
        check_is_fitted(self, "model_")
        spikes = _checked_spikes(list(Contents(X)) if is_pairs(X) else X, self.preprocessing_)
        self._check_inputs(spikes)
        config = self._config(self.model_.seed, self.classes_)  # set_params may have changed it since fitting
        decoder, threads = config.main_decoder, usable_threads(config.threads)
        return spikes, {"decoder": decoder.kind, "compartments": decoder.compartments, "threads": threads}

    def _checked_pair(self, X: Any, y: ArrayLike | None, anew: bool) -> tuple[Spikes, NDArray[Any]]:
        X, y = _apart(X, y)
        spikes = self._checked_recordings(X, anew)
        return spikes, _checked_labels(y, len(spikes))

    def _checked_recordings(self, X: ArrayLike, anew: bool) -> Spikes:
        if anew:
            self.preprocessing_ = self.preprocessing
            if self.preprocessing is not None and isinstance(X, Sequence | np.ndarray):
                self.preprocessing_ = with_bin_width(self.preprocessing, X, events_or_spikes)
        return _checked_spikes(X, self.preprocessing_)

    def _check_inputs(self, spikes: Spikes) -> None:
        if spikes[0].shape[1] != self.n_inputs_:
            raise ShapeError(
                f"X has {spikes[0].shape[1]} inputs per step, but this classifier was fitted with {self.n_inputs_}"
            )


class GEMClassifier(SpikingClassifier):
    """The same classifier with the paper's rule and settings, as in ``gemsnn train --preset paper``."""

    _preset = "paper"

    @_refusing
    def __init__(
        self,
        n_hidden: int = 200,
        n_compartments: int = 20,
        inference_compartments: int | None = None,
        decoder: str | Decoder = "vote",
        rule: Rule | dict[str, Any] | str = "gem",
        *,
        network: NetworkSettings | dict[str, Any] = PAPER_NETWORK,
        schedule: ScheduleSettings | dict[str, Any] = PAPER_SCHEDULE,
        class_weight: dict[Any, float] | str | None = None,
        preprocessing: Preprocessing | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            n_hidden, n_compartments, inference_compartments, decoder, rule, network=network, schedule=schedule,
            class_weight=class_weight, preprocessing=preprocessing, warm_start=warm_start, random_state=random_state,
            threads=threads, verbose=verbose,
        )  # fmt: skip


def _where_it_went(name: str, known: Collection[str]) -> str:
    """Advice for a name that is not an argument."""
    for group, settings in GROUPS.items():
        if name in settings.model_fields:
            return f"give {group}={{{name!r}: ...}}; in a search it is {group}__{name}"
    if name in ("learning_rate", "kappa", "gamma"):
        return f"it is the rule's: give rule={{{name!r}: ...}}, or a rule as an object; in a search it is rule__{name}"
    return "it is random_state" if name == "seed" else unknown_setting(name, known)


class _Memory:
    """Observer that stores the evaluations, and the best weights by validation with their means of the traces."""

    def __init__(self) -> None:
        self.history: list[Record] = []
        self.best: tuple[Parameters, TraceMeans | None] | None = None

    def learned(self, trainer: Trainer, event: Learned, /) -> None:
        pass

    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None:
        self.history.append(event.record)
        if event.is_best:
            self.best = trainer.parameters(), trainer.state.means


Spikes = NDArray[np.uint8] | list[NDArray[np.uint8]]
"""(n, T, n_inputs), or a list of (T_i, n_inputs)."""


def _keys(spikes: Spikes) -> set[int]:
    """Keys of all examples except silent ones, which are all alike."""
    return {recording_key(one) for one in spikes if one.any()}


def _checked_spikes(X: ArrayLike | Sequence[Any], preprocessing: Preprocessing | None = None) -> Spikes:
    def bin_events(events: Events, name: str) -> NDArray[Any]:
        if preprocessing is None:
            raise DataError(f"{name} is a recording of events; set preprocessing=... to convert it to spikes")
        return preprocessing.bin(events, name)

    if isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1):
        # a list, or a column of arrays from a Pipeline; sequences of equal length become one array
        arrays = [spikes_of(example, f"X[{i}]", bin_events) for i, example in enumerate(X)]
        if arrays and all(array.ndim == 2 for array in arrays) and len({array.shape for array in arrays}) > 1:
            width = arrays[0].shape[1]
            if len({array.shape[1] for array in arrays}) > 1 and len({len(array) for array in arrays}) == 1:
                raise ShapeError(
                    "the arrays in X agree in their first axis and differ in the second, but they must be "
                    "(time, neurons), and only time may differ: pass [one.T for one in X] if they are (neurons, time)"
                )
            return [spike_array(f"X[{i}]", array, {"T": None, "n_inputs": width}) for i, array in enumerate(arrays)]
        X = np.stack(arrays) if arrays and len({array.shape for array in arrays}) == 1 else np.asarray(X, dtype=object)
    array = np.asarray(X)
    if array.ndim != 3 or not len(array):
        raise ShapeError(f"X has shape {array.shape}, but (n, T, n_inputs) with n of at least 1 is needed")
    return spike_array("X", array, {"n": None, "T": None, "n_inputs": None})


def _apart(X: Any, y: ArrayLike | None) -> tuple[Any, ArrayLike | None]:
    """Items and labels of a map-style data set; anything else is returned unchanged."""
    if not is_pairs(X):
        return X, y
    if y is not None:
        raise DataError("the data set brings its own labels: leave y out")
    found = list(pairs(X))
    return [one.content for one in found], np.array(one_kind([one.label for one in found]))


def _checked_labels(y: ArrayLike | None, n: int) -> NDArray[Any]:
    if y is None:
        raise DataError("y is needed: one label per example")
    shape = np.shape(np.asarray(y, dtype=object))
    if len(shape) == 2 and shape[1] > 1:
        raise ShapeError(
            f"y has shape {shape}, but SpikingClassifier takes one label per example; for several labels per example "
            "write them with gemsnn.events.write_prepared(path, X, y, classes=names) and use gemsnn.train"
        )
    check_classification_targets(y)
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    if len(labels) != n:
        raise ShapeError(f"X has {n} examples, but y has {len(labels)} labels")
    return labels


def _by_name(weights: dict[Any, float] | str, classes: list[Any]) -> Any:
    """Weights by label as weights by the label's name, as in settings."""
    if not isinstance(weights, dict):
        return weights
    unknown = [label for label in weights if label not in classes]
    if unknown:
        raise ConfigError(f"class_weight: {unknown[0]!r} is not among the classes {classes}")
    return {str(label): weights[label] for label in classes if label in weights}
