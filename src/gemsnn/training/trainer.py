"""Training itself, without files: one example after the other, evaluations in between.

Everything follows from the configuration, the data and the position (how many examples were learned): the order of the
examples, the hold-out and every random draw. So a :class:`TrainingState` is all that is needed to go on, to the bit.
"""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.described import described
from gemsnn.common.splits import strata
from gemsnn.errors import CheckpointError, ConfigError, DataError, GemsnnError
from gemsnn.learning import Lessons, TraceMeans
from gemsnn.learning.learn import check_finite
from gemsnn.learning.means import mean_trace
from gemsnn.model import Network, Parameters
from gemsnn.rules import Rule
from gemsnn.training.choice import better
from gemsnn.training.config import MOST_EVALUATIONS, TrainingConfig
from gemsnn.training.data import Data, Examples
from gemsnn.training.evaluation import Stopped, evaluate
from gemsnn.training.model import Model
from gemsnn.training.points import EvaluationPoints
from gemsnn.training.polarity import merged_polarities
from gemsnn.training.randomness import Purpose, derived_seed, epoch_order, hold_out, stratified_order
from gemsnn.training.shift import Shift
from gemsnn.training.targets import are_classes, desired
from gemsnn.training.weights import example_weights

Record = dict[str, Any]
"""An evaluation, as JSON values: a line of metrics.jsonl."""


@dataclass
class Progress:
    """What was reached so far, besides the weights; JSON values only."""

    position: int = 0
    """Examples learned."""
    time_samples: int = 0
    """Time steps learned."""
    evaluated: int = 0
    """Position of the last evaluation."""
    averaged: int = 0
    """Examples whose weights are in the average."""
    log_likelihood_sum: float = 0.0
    hidden_spikes_sum: float = 0.0
    """Sums over the examples learned since the last evaluation."""
    best: Record | None = None
    """The best evaluation by validation."""
    best_on_test: Record | None = None
    """The best evaluation by test: what the paper reports."""
    last: Record | None = None
    stale: int = 0
    """Evaluations in a row that were not better."""


@dataclass
class TrainingState:
    """What a run needs to go on."""

    parameters: Parameters
    progress: Progress = field(default_factory=Progress)
    weight_sum: Parameters | None = None
    """Sum of the weights that are averaged, float64."""
    means: TraceMeans | None = None
    """Of the examples so far, as they were shown; None where traces keep their means."""


@described
class Learned(NamedTuple):
    """What is worth knowing of one learned example."""

    position: int  #: examples learned, this one included
    log_likelihood: float  #: of the desired output, estimated over the compartments while learning
    hidden_spikes_per_step: float  #: summed over compartments
    seconds: float  #: by the clock


@described
class Evaluated(NamedTuple):
    """What is worth knowing of an evaluation."""

    record: Record
    is_best: bool  #: by validation
    is_best_on_test: bool
    seconds: float  #: by the clock


class Observer(Protocol):
    """Told what happens while a trainer runs."""

    def learned(self, trainer: Trainer, event: Learned, /) -> None: ...
    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None: ...


FAR_WORSE = 20  # times the log-likelihood of pure chance


class DivergenceWarning(UserWarning):
    """The numbers are finite, but training has left everything sensible behind."""


@described
class Trainer:
    """Trains a network on the training examples of ``data``.

    Parameters
    ----------
    config
        All settings.
    data
        ``gemsnn.events.open_prepared(...)``, or anything of that shape; examples are read when their turn comes.
    state
        Where to go on; the beginning if not given.
    network, parameters
        A network and initial parameters of one's own, in place of those that the settings describe.
    """

    def __init__(
        self,
        config: TrainingConfig,
        data: Data,
        state: TrainingState | None = None,
        *,
        network: Network | None = None,
        parameters: Parameters | None = None,
    ) -> None:
        data = merged_polarities(data) if config.merge_polarities else data
        self.config, self.data = config, data
        self._weights = example_weights(config.class_weight, data)
        self.training, self.validation = _split(config, data, self._weights)
        self.test = _limited(np.arange(len(data.test)), data.test, config.test_limit, config.seed)
        self.network = network or config.network(data.n_inputs, data.n_visible, are_classes(data.train))
        _check_network(self.network, data)
        self._steps = float(data.train.lengths[self.training].mean())  # of an example, on average
        self.total = config.total_examples(len(self.training), self._steps)
        start = self._initial_parameters(parameters)
        self._given = None if network is None and parameters is None else _fingerprint(self.network, start)
        self.state = TrainingState(start, means=initial_means(config, self.network)) if state is None else state
        longest = int(data.train.lengths[self.training].max())
        self._lessons = Lessons(self.network, config.n_compartments, longest, config.threads)
        self._shift = Shift(config, data.n_inputs, data.grid, targets_stay=data.target_grid is not None)
        self._order: tuple[int, NDArray[np.intp]] = (-1, self.training)
        self._average_from = self.total - round(config.average_last * self.total)
        self._evaluate_at = self._positions_to_evaluate_at()
        self._patience = config.patience_for(len(self._evaluate_at), len(self.validation))

    def _told(self) -> dict[str, Any]:
        return {"network": self.network, "rule": self.config.rule, "position": self.position, "total": self.total}

    # ---- where we are

    @property
    def position(self) -> int:
        return self.state.progress.position

    @property
    def stopped_early(self) -> bool:
        patience = self._patience
        return patience is not None and self.state.progress.stale >= patience and self.position < self.total

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return (self.position >= self.total or self.stopped_early) and not self.evaluation_due

    @property
    def evaluation_due(self) -> bool:
        """Whether the position is one to evaluate at, and that has not been done."""
        return self.position in self._evaluate_at and self.state.progress.evaluated != self.position

    @property
    def evaluations(self) -> int:
        """Evaluations of the whole run, if it is not stopped early."""
        return len(self._evaluate_at)

    @property
    def evaluations_left(self) -> int:
        """Evaluations still to come, if the run is not stopped early."""
        return self._evaluate_at.after(self.position)

    def parameters(self) -> Parameters:
        """The weights that make the model: the average if there is one, else the latest."""
        total, count = self.state.weight_sum, self.state.progress.averaged
        if total is None:
            return self.state.parameters.copy()
        dtype = np.dtype(self.config.dtype)
        return Parameters(*((array / count).astype(dtype) for array in (total.synaptic, total.somatic, total.bias)))

    def identity(self) -> dict[str, Any]:
        """What decides the results, besides the data, as JSON values."""
        identity = self.config.identity()
        if self._given is not None:
            identity["own network and parameters"] = self._given
        return identity

    def adopt(self, state: TrainingState) -> None:
        """Go on from a state; one that does not fit the network is a ``CheckpointError``."""
        try:
            self.network.check_parameters(state.parameters)
            if state.parameters.dtype != np.dtype(self.config.dtype):
                raise ConfigError(f"the weights are {state.parameters.dtype}, but the settings say {self.config.dtype}")
            if state.weight_sum is not None:
                self.network.check_parameters(state.weight_sum)
                if state.weight_sum.dtype != np.float64:
                    raise ConfigError(f"the sum of the weights is {state.weight_sum.dtype}, not float64")
            if state.means is not None:
                state.means.check(self.network)
            self._check_progress(state)
        except GemsnnError as error:
            raise CheckpointError(f"the checkpoint does not fit the network: {error}") from None
        self.state = state

    def _check_progress(self, state: TrainingState) -> None:
        """What was reached follows from the position; anything else would go on to other numbers."""
        progress, due = state.progress, self._evaluate_at
        position = progress.position
        expected = {"averaged": max(0, position - self._average_from), "time_samples": self._time_samples(position)}
        for name, value in expected.items():
            if getattr(progress, name) != value:
                raise DataError(f"{name} is {getattr(progress, name)} at position {position}, but must be {value}")
        if position > self.total:
            raise DataError(f"position {position} is beyond the last, {self.total}")
        if (state.means is None) == self.config.mean_free:
            raise DataError(f"there are {'no' if self.config.mean_free else 'unexpected'} means of the traces")
        if (state.weight_sum is None) != (progress.averaged == 0):
            raise DataError(f"{progress.averaged} examples are averaged, but their sum is {state.weight_sum}")
        evaluated = progress.evaluated
        left = due.after(evaluated) - due.after(position)  # since then; the last may be about to be done
        if evaluated > position or (evaluated and evaluated not in due) or left > (position in due):
            raise DataError(f"the last evaluation was at {evaluated}, which cannot be at position {position}")
        if (progress.last is None) != (evaluated == 0) or (progress.last and progress.last["position"] != evaluated):
            raise DataError(f"the last evaluation was at {evaluated}, but its figures are others")

    def _time_samples(self, position: int) -> int:
        """Time steps of the first examples of the run."""
        lengths = self.data.train.lengths
        epoch, place = divmod(position, len(self.training))
        order = epoch_order(len(self.training), self.config.seed, epoch)[:place]
        return int(epoch * lengths[self.training].sum() + lengths[self.training[order]].sum())

    def model(self, record: Record | None = None) -> Model:
        """The model as it is now; ``record`` is the evaluation that it belongs to."""
        rule, K, labels = self.config.rule, self.config.n_compartments, self.data.train.labels
        about = {
            "position": self.position,
            "evaluation": record,
            "config": self.identity(),
            "communication": {"compartments": K, **rule.communication(self.network, K)._asdict()},
        }
        if labels is not None and labels.ndim == 2:
            about["several_labels"] = True
        return Model(
            self.network,
            self.parameters(),
            tuple(self.data.classes),
            self.config.main_decoder,
            self.data.n_steps,
            self.config.seed,
            self.data.preprocessing,
            {**about, "data": self.data.fingerprint},
            means=self.state.means,
        )

    # ---- going on

    def run(self, *observers: Observer, stop: Callable[[], bool] = lambda: False) -> bool:
        """Go on until finished, or until ``stop`` says so; returns whether finished."""
        while not self.finished:
            if stop():
                return False
            if self.evaluation_due:
                try:
                    evaluated = self.evaluate(stop)
                except Stopped:
                    return False
                for observer in observers:
                    observer.evaluated(self, evaluated)
            else:
                learned = self.learn_next()
                for observer in observers:
                    observer.learned(self, learned)
        return True

    def learn_next(self) -> Learned:
        """Learn from the next example."""
        begin = time.perf_counter()
        state, progress = self.state, self.state.progress
        index = self._next_index()
        examples = self.data.train
        state.parameters, likelihood, spikes, state.means = learn_example(
            self._lessons,
            state.parameters,
            self.config,
            weighted(self.config.rule_at(progress.position, self.total), self._weights[index]),
            self._shift(examples[index], progress.position),
            desired(examples, index, self.network.n_visible),
            progress.position,
            state.means,
        )
        progress.position += 1
        progress.time_samples += int(examples.lengths[index])
        progress.log_likelihood_sum += likelihood
        progress.hidden_spikes_sum += spikes
        if progress.position > self._average_from:
            self._add_to_average(state.parameters)
        return Learned(progress.position, likelihood, spikes, time.perf_counter() - begin)

    def evaluate(self, stop: Callable[[], bool] = lambda: False) -> Evaluated:
        """Measure the model, and take note of it."""
        begin = time.perf_counter()
        progress = self.state.progress
        since = progress.position - progress.evaluated
        record: Record = {
            "position": progress.position,
            "epoch": progress.position / len(self.training),
            "time_samples": progress.time_samples,
            "train": {
                "examples": since,
                "log_likelihood": progress.log_likelihood_sum / since,
                "hidden_spikes_per_step": progress.hidden_spikes_sum / since,
            },
            "validation": self._measure(self.data.train, self.validation, Purpose.PREDICT, stop),
            "test": self._measure(self.data.test, self.test, Purpose.PREDICT, stop),
        }
        self._warn_of_divergence(record["train"]["log_likelihood"])
        is_best = _better(record, progress.best, "validation", self.config.criterion)
        is_best_on_test = _better(record, progress.best_on_test, "test", self.config.criterion or "accuracy")
        progress.stale = 0 if is_best else progress.stale + 1
        if is_best:
            progress.best = record
        if is_best_on_test:
            progress.best_on_test = record
        progress.evaluated, progress.last = progress.position, record
        progress.log_likelihood_sum = progress.hidden_spikes_sum = 0.0
        return Evaluated(record, is_best, is_best_on_test, time.perf_counter() - begin)

    # ---- inside

    def _warn_of_divergence(self, log_likelihood: float) -> None:
        """Numbers may stay finite and mean nothing: a network far worse than chance has not learned."""
        circuits = self.network.circuits.visible
        sizes = [len(circuit.neurons) + circuit.silent for circuit in circuits.competing]
        chance = -self._steps * (int(circuits.bernoulli.sum()) * math.log(2) + sum(map(math.log, sizes)))
        if log_likelihood < FAR_WORSE * chance:
            warnings.warn(
                f"training seems to have diverged by example {self.position}: the log-likelihood is "
                f"{log_likelihood:.3g}, where pure chance has {chance:.3g}; start anew with rule.learning_rate below "
                f"{self.config.rule.learning_rate:g}",
                DivergenceWarning,
                stacklevel=3,
            )

    def _positions_to_evaluate_at(self) -> EvaluationPoints:
        every, at = self.config.eval_every, self.config.eval_at
        if every is None and not at:  # at the end of an epoch
            epochs = math.ceil(self.total / len(self.training))
            return EvaluationPoints(len(self.training) * math.ceil(epochs / MOST_EVALUATIONS), (), 1.0, self.total)
        return EvaluationPoints(every or 1, at, self._steps, self.total)

    def _initial_parameters(self, given: Parameters | None) -> Parameters:
        if given is None:
            return self.config.initial_parameters(self.network)
        parameters = given.astype(np.dtype(self.config.dtype))
        self.network.check_parameters(parameters)
        return parameters

    def _next_index(self) -> int:
        """Which training example comes next."""
        epoch, place = divmod(self.position, len(self.training))
        if self._order[0] != epoch:
            self._order = epoch, self.training[epoch_order(len(self.training), self.config.seed, epoch)]
        return int(self._order[1][place])

    def _add_to_average(self, parameters: Parameters) -> None:
        if self.state.weight_sum is None:
            self.state.weight_sum = parameters.astype(np.float64)
        else:
            for name in ("synaptic", "somatic", "bias"):
                total = getattr(self.state.weight_sum, name)
                np.add(total, getattr(parameters, name), out=total)
        self.state.progress.averaged += 1

    def _measure(
        self, examples: Examples, indices: NDArray[np.intp], purpose: Purpose, stop: Callable[[], bool]
    ) -> Record | None:
        config = self.config
        if not len(indices):
            return None
        return evaluate(
            self.network,
            self.parameters(),
            examples,
            indices,
            (config.main_decoder, *config.extra_decoders),
            likelihood_samples=config.likelihood_samples,
            likelihood_mean=config.likelihood_mean,
            n_bins=config.n_bins,
            seed=derived_seed(config.seed, purpose),
            threads=config.threads,
            stop=stop,
        )


def _better(record: Record, than: Record | None, split: str, by: str | None) -> bool:
    if record[split] is None:
        return False
    return than is None or better(record[split], than[split], by)


def _fingerprint(network: Network, parameters: Parameters) -> str:
    """Of parts that settings do not describe."""
    digest = hashlib.sha256(repr((network, network.visible_memory, network.circuits.competing)).encode())
    filters = network.synaptic_filter.taps, network.somatic_filter.taps
    for array in (network.topology.mask, *filters, parameters.synaptic, parameters.somatic, parameters.bias):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _check_network(network: Network, data: Data) -> None:
    if (network.n_inputs, network.n_visible) != (data.n_inputs, data.n_visible):
        raise ConfigError(
            f"the network has {network.n_inputs} inputs and {network.n_visible} visible neurons, but the data have "
            f"{data.n_inputs} inputs and need {data.n_visible} visible neurons"
        )


def initial_means(config: TrainingConfig, network: Network) -> TraceMeans | None:
    """Before the first example; None where traces keep their means."""
    return TraceMeans.zero(network) if config.mean_free else None


def weighted(rule: Rule, weight: float) -> Rule:
    """The rule with which an example of that weight is learned."""
    scaled: Rule = replace(rule, learning_rate=rule.learning_rate * float(weight))
    return scaled


def learn_example(
    lessons: Lessons,
    parameters: Parameters,
    config: TrainingConfig,
    rule: Rule,
    inputs: NDArray[Any],
    targets: NDArray[Any],
    position: int,
    means: TraceMeans | None = None,
) -> tuple[Parameters, float, float, TraceMeans | None]:
    """Learn from one example; returns new parameters, log-likelihood, hidden spikes per step, and new means.

    The memory of the old parameters may be used for the new ones.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # divergence is told below, once
        result = lessons.learn(parameters, rule, np.ascontiguousarray(inputs), targets, config.seed, position, means)
        # log of the mean over compartments of p(x || h), as in every other log-likelihood
        each = result.log_likelihood.sum(axis=0)
        highest = float(each.max())
        likelihood = highest + math.log(float(np.exp(each - highest).mean()))
    diverged = f"training diverged at example {position}"
    check_finite(config.rule.learning_rate, diverged, likelihood, result.parameters.bias)
    if means is not None:
        means = means.moved(mean_trace(lessons.network, inputs))
    return result.parameters, likelihood, np.count_nonzero(result.hidden) / len(inputs), means


def _split(
    config: TrainingConfig, data: Data, weights: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of the training split to learn from and to validate on; an example of weight 0 is in neither."""
    if not len(data.train):
        raise DataError("there are no training examples in the data")
    counting = np.flatnonzero(weights)
    labels = strata(data.train.labels, len(data.train))[counting]
    training, validation = (counting[part] for part in hold_out(labels, config.validation_fraction, config.seed))
    if config.validation_fraction > 0 and not len(validation):
        raise ConfigError(
            f"validation_fraction = {config.validation_fraction}: with {len(labels)} training examples none can be "
            "held out; set it to 0, or use more data"
        )
    return training, _limited(validation, data.train, config.validation_limit, config.seed)


def _limited(indices: NDArray[np.intp], examples: Examples, limit: int | None, seed: int) -> NDArray[np.intp]:
    """At most so many of the indices, the classes in proportion."""
    if limit is None or limit >= len(indices):
        return indices
    return np.sort(indices[stratified_order(strata(examples.labels, len(examples))[indices], seed)[:limit]])
