"""The training loop, without files: batches, with evaluations in between.

The order of the examples and every random draw follow from the given parts and the position (the number of examples
learned). So a :class:`TrainingState` is all that is needed to resume bit-for-bit identically.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from gemsnn.errors import CheckpointError, ConfigError, DataError, GemsnnError
from gemsnn.inference.decoders.likelihood import log_mean_exp
from gemsnn.learning import Lesson, Lessons, TraceMeans
from gemsnn.learning.learn import check_finite
from gemsnn.learning.means import mean_trace
from gemsnn.model import Network, Parameters
from gemsnn.model.spike_list import SpikeList
from gemsnn.objectives import LIKELIHOOD, Objective
from gemsnn.rules import Rule
from gemsnn.training.answered import Stopped
from gemsnn.training.augmentation import Augmentation
from gemsnn.training.data import Data, Examples, desired
from gemsnn.training.evaluation import evaluate
from gemsnn.training.evaluations import Batches, Evaluations, better
from gemsnn.training.health import Health, LearningWarning
from gemsnn.training.model import Model
from gemsnn.training.partition import Indices, Partition
from gemsnn.training.randomness import Purpose, derived_seed, epoch_order
from gemsnn.training.schedule import Schedule

Record = dict[str, Any]
"""An evaluation, as JSON values: a line of metrics.jsonl."""


@dataclass
class Progress:
    """The progress of a run, besides the weights; JSON values only."""

    position: int = 0
    """Examples learned."""
    time_samples: int = 0
    """Time steps learned."""
    evaluated: int = 0
    """Position of the last evaluation."""
    averaged: int = 0
    """Number of batches after which the weights were added to the average."""
    log_likelihood_sum: float = 0.0
    hidden_spikes_sum: float = 0.0
    report_sum: float = 0.0
    """Sums over the examples learned since the last evaluation."""
    likelihood_trained: Record | None = None
    """The last evaluation before learning for an objective other than likelihood began."""
    best: Record | None = None
    """The best evaluation by validation."""
    best_on_test: Record | None = None
    """The best evaluation on the test examples, as reported in the paper."""
    last: Record | None = None
    stale: int = 0
    """Number of consecutive evaluations without improvement."""


@dataclass
class TrainingState:
    """Everything that a run needs to resume."""

    parameters: Parameters
    progress: Progress = field(default_factory=Progress)
    weight_sum: Parameters | None = None
    """Sum of the weights that are averaged, float64."""
    means: TraceMeans | None = None
    """Mean traces of the examples as they were shown; None without mean-free learning."""


class Learned(NamedTuple):
    """Information on a learned batch."""

    position: int  #: examples learned, including these
    examples: int  #: in the batch
    log_likelihood: float  #: of the desired outputs, estimated over compartments while learning, mean over examples
    hidden_spikes_per_step: float  #: summed over compartments, mean over examples
    seconds: float  #: wall-clock time


class Evaluated(NamedTuple):
    """Information on an evaluation."""

    record: Record
    is_best: bool  #: by validation
    is_best_on_test: bool
    seconds: float  #: wall-clock time


class Observer(Protocol):
    """Called after every batch and evaluation of a trainer."""

    def learned(self, trainer: Trainer, event: Learned, /) -> None: ...
    def evaluated(self, trainer: Trainer, event: Evaluated, /) -> None: ...


SILENT = 0.05  # fraction of the desired spikes
FAR_WORSE = 20  # times the log-likelihood of chance


class DivergenceWarning(UserWarning):
    """Training has diverged, although all values are finite."""


class Trainer:
    """Trains a network on examples. :func:`gemsnn.training.trainer_of` makes one from settings.

    Parameters
    ----------
    network, parameters, rule
        The network, its initial parameters (copied), and a rule with a learning rate.
    data
        Examples, which are read when needed: ``gemsnn.events.open_prepared(...)``, :class:`ArrayData`, or an object
        with the same interface.
    partition
        Which examples are learned from and which are evaluated on; default: all training and all test examples.
    n_compartments
        K while learning.
    schedule
        Number of epochs, batch size, course of the learning rate.
    augmentation
        Changes that are applied to examples each time they are learned, one after the other.
    evaluations
        When and how to evaluate, and how to select the best model.
    means
        Initial means of the traces in mean-free learning; None: traces keep their means.
    seed, first
        Determine the order of the examples and every random draw; example n of the run has the key ``first + n``.
    objective, likelihood_first, objective_rule
        What is learned for after the fraction ``likelihood_first`` of the run, which is learned for likelihood, and the
        rule for it, by default ``rule``. The default objective is likelihood throughout.
    threads
        Threads for the examples of a batch and of evaluations; the results do not depend on their number.
    engine
        What computes learning and evaluations: ``"compiled"`` or ``"reference"``.
    state
        State to resume from; default: the beginning.
    """

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        rule: Rule,
        data: Data,
        partition: Partition | None = None,
        *,
        n_compartments: int = 1,
        schedule: Schedule | None = None,
        augmentation: Sequence[Augmentation] = (),
        evaluations: Evaluations | None = None,
        means: TraceMeans | None = None,
        seed: int = 0,
        first: int = 0,
        threads: int = 1,
        engine: str = "compiled",
        state: TrainingState | None = None,
        objective: Objective = LIKELIHOOD,
        likelihood_first: float = 0.33,
        objective_rule: Rule | None = None,
    ) -> None:
        self.network, self.rule, self.data, self.n_compartments = network, rule, data, n_compartments
        self.partition = partition or Partition.whole(data)
        self.schedule, self.evaluations = schedule or Schedule(), evaluations or Evaluations()
        self.augmentation, self.seed, self.first, self.threads = tuple(augmentation), seed, first, threads
        self.engine = engine
        _check_network(network, data)
        _ = rule.step_size  # raises an error if there is none
        network.check_parameters(parameters)
        self.state = TrainingState(parameters.copy(), means=means) if state is None else state
        self._dtype, self._mean_free = parameters.dtype, means is not None
        lengths, n = data.train.lengths[self.partition.training], len(self.partition.training)
        self._steps = Fraction(int(lengths.sum()), n)  # mean of an example
        self.total = self.schedule.total(n, float(self._steps))
        self.batches = Batches(n, self.schedule.batch_size, self.total)
        self._average_from = self.total - round(self.schedule.average_last * self.total)
        self._evaluate_at = self.evaluations.points(self.batches, self._steps)
        preprocessing, labels = data.preprocessing, data.train.labels
        self._health = Health(
            network.n_hidden,
            lengths,
            None if preprocessing is None else preprocessing.bin_us,
            None if labels is None else labels[self.partition.validation],
        )
        self._patience = self.evaluations.patience_for(len(self._evaluate_at), len(self.partition.validation))
        self.objective, self.objective_rule = objective, objective_rule or rule
        _check_objective(objective, self.objective_rule, network, n_compartments)
        first_part = 1.0 if objective == LIKELIHOOD else likelihood_first
        self._objective_from = math.ceil(first_part * self.total)
        if objective.select_by and self.evaluations.select_by is None and data.train.labels is None:
            self.evaluations = replace(self.evaluations, select_by=objective.select_by)
        for_likelihood, for_objective = (
            Lessons(
                network, n_compartments, int(lengths.max()), seed=seed, threads=threads, engine=engine, objective=one
            )
            for one in (LIKELIHOOD, objective)
        )
        self._lessons, self._doubted = (for_likelihood, for_objective), objective == LIKELIHOOD
        self._order: tuple[int, Indices] = (-1, self.partition.training)

    # ---- position

    @property
    def position(self) -> int:
        return self.state.progress.position

    @property
    def for_objective(self) -> bool:
        """Whether the next batch is learned for the objective, not for likelihood."""
        return self.position >= self._objective_from

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
        """Whether an evaluation at this position is still to be done."""
        return self.position in self._evaluate_at and self.state.progress.evaluated != self.position

    @property
    def n_evaluations(self) -> int:
        """Number of evaluations of the whole run, unless it is stopped early."""
        return len(self._evaluate_at)

    @property
    def evaluations_left(self) -> int:
        """Number of remaining evaluations, unless the run is stopped early."""
        return self._evaluate_at.after(self.position)

    @property
    def upcoming(self) -> Indices:
        """The training examples of the next batch."""
        epoch, start = divmod(self.position, self.batches.epoch)
        if self._order[0] != epoch:
            self._order = epoch, self._order_of(epoch)
        return self._order[1][start : start + self.batches.end(self.position) - self.position]

    def parameters(self) -> Parameters:
        """The weights of the model: the average if there is one, otherwise the latest."""
        total, count = self.state.weight_sum, self.state.progress.averaged
        if total is None:
            return self.state.parameters.copy()
        return Parameters(
            *((array / count).astype(self._dtype) for array in (total.synaptic, total.somatic, total.bias))
        )

    def model(self, record: Record | None = None, about: Mapping[str, Any] | None = None) -> Model:
        """The current model.

        ``record`` is its evaluation, ``about`` additional information on it, as JSON values.
        """
        K, labels = self.n_compartments, self.data.train.labels
        described: dict[str, Any] = {
            "position": self.position,
            "evaluation": record,
            **(about or {}),
            "communication": {"compartments": K, **self.rule.communication(self.network, K)._asdict()},
        }
        if labels is not None and labels.ndim == 2:
            described["several_labels"] = True
        return Model(
            self.network,
            self.parameters(),
            tuple(self.data.classes),
            self.evaluations.decoders[0],
            self.data.n_steps,
            self.seed,
            self.data.preprocessing,
            {**described, "data": self.data.fingerprint},
            means=self.state.means,
        )

    def adopt(self, state: TrainingState) -> None:
        """Resume from a state; one that does not fit the network is a ``CheckpointError``."""
        try:
            self.network.check_parameters(state.parameters)
            if state.parameters.dtype != self._dtype:
                raise ConfigError(f"the weights are {state.parameters.dtype}, but the settings say {self._dtype}")
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
        """The progress follows from the position; with any other, the run would not resume identically."""
        progress, due = state.progress, self._evaluate_at
        position = progress.position
        if position > self.total:
            raise DataError(f"position {position} is beyond the last, {self.total}")
        if position not in self.batches:
            raise DataError(f"position {position} lies inside a batch")
        averaged = self.batches.count(position) - self.batches.count(self._average_from)
        expected = {"averaged": max(0, averaged), "time_samples": self._time_samples(position)}
        for name, value in expected.items():
            if getattr(progress, name) != value:
                raise DataError(f"{name} is {getattr(progress, name)} at position {position}, but must be {value}")
        if (state.means is None) == self._mean_free:
            raise DataError(f"there are {'no' if self._mean_free else 'unexpected'} means of the traces")
        if (state.weight_sum is None) != (progress.averaged == 0):
            raise DataError(f"{progress.averaged} batches are averaged, but their sum is {state.weight_sum}")
        evaluated = progress.evaluated
        missed = due.after(evaluated) - due.after(position)  # one at this position may still be due
        if evaluated > position or (evaluated and evaluated not in due) or missed > (position in due):
            raise DataError(f"the last evaluation was at {evaluated}, which cannot be at position {position}")
        if (progress.last is None) != (evaluated == 0) or (progress.last and progress.last["position"] != evaluated):
            raise DataError(f"the last evaluation was at {evaluated}, but its figures are others")

    def _time_samples(self, position: int) -> int:
        """Time steps of the first examples of the run."""
        lengths = self.data.train.lengths
        epoch, examples = divmod(position, self.batches.epoch)
        whole = int(lengths[self.partition.training].sum())
        return epoch * whole + int(lengths[self._order_of(epoch)[:examples]].sum())

    # ---- running

    def run(self, *observers: Observer, stop: Callable[[], bool] = lambda: False) -> bool:
        """Run until finished, or until ``stop`` returns True; returns whether finished."""
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
        """Learn from the next batch."""
        begin = time.perf_counter()
        state, progress = self.state, self.state.progress
        indices = self.upcoming
        lessons: Sequence[Lesson] = self._lessons_of(indices)
        for change in self.augmentation:
            lessons = change(lessons, self.seed)
        if self.for_objective and not self._doubted:
            self._warn_of_doubts()
        likelihoods, spikes, reports = self._learn(lessons)
        n = len(indices)  # added lessons come after these and are not counted
        progress.position += n
        progress.time_samples += int(self.data.train.lengths[indices].sum())
        for i, lesson in enumerate(lessons[:n]):
            progress.log_likelihood_sum += likelihoods[i]
            progress.hidden_spikes_sum += spikes[i]
            progress.report_sum += reports[i]
            if state.means is not None:
                state.means = state.means.moved(mean_trace(self.network, cast(SpikeList, lesson.inputs)))
        if progress.position > self._average_from:
            self._add_to_average(state.parameters)
        return Learned(progress.position, n, sum(likelihoods[:n]) / n, sum(spikes[:n]) / n, time.perf_counter() - begin)

    def evaluate(self, stop: Callable[[], bool] = lambda: False) -> Evaluated:
        """Evaluate the model and record the result."""
        begin = time.perf_counter()
        progress, by = self.state.progress, self.evaluations.select_by
        since = progress.position - progress.evaluated
        record: Record = {
            "position": progress.position,
            "epoch": progress.position / self.batches.epoch,
            "time_samples": progress.time_samples,
            "train": {
                "examples": since,
                "log_likelihood": progress.log_likelihood_sum / since,
                "hidden_spikes_per_step": progress.hidden_spikes_sum / since,
                "report": progress.report_sum / since,
            },
            "validation": self._measure(self.data.train, self.partition.validation, stop),
            "test": self._measure(self.data.test, self.partition.test, stop),
        }
        self._warn_of_divergence(record["train"]["log_likelihood"])
        self._warn_of_silence(record["validation"] or record["test"])
        epochs = math.ceil(self.total / self.batches.epoch)
        for warning in self._health.after(record, epochs, at_the_end=progress.position >= self.total):
            warnings.warn(warning, LearningWarning, stacklevel=3)
        is_best = _better(record, progress.best, "validation", by)
        is_best_on_test = _better(record, progress.best_on_test, "test", by or "accuracy")
        progress.stale = 0 if is_best else progress.stale + 1
        if is_best:
            progress.best = record
        if is_best_on_test:
            progress.best_on_test = record
        progress.evaluated, progress.last = progress.position, record
        if progress.position <= self._objective_from < self.total:
            progress.likelihood_trained = record
        progress.log_likelihood_sum = progress.hidden_spikes_sum = progress.report_sum = 0.0
        return Evaluated(record, is_best, is_best_on_test, time.perf_counter() - begin)

    # ---- inside

    def _order_of(self, epoch: int) -> Indices:
        """The training examples in the order of an epoch."""
        training = self.partition.training
        return training[epoch_order(len(training), self.seed, epoch)] if self.schedule.shuffle else training

    def _lessons_of(self, indices: Indices) -> list[Lesson]:
        """The unchanged examples, each with the rule of the batch, its step size multiplied by the example's weight."""
        rule = self.objective_rule if self.for_objective else self.rule
        rule = self.schedule.rule_at(rule, self.position, self.total)
        lessons = []
        for n, index in enumerate(indices.tolist()):
            inputs, target = self.data.train.load(index)
            rate = rule.step_size * float(self.partition.weights[index])
            targets = desired(self.data.train.labels, index, target, inputs.n_steps, self.network.n_visible)
            lessons.append(Lesson(inputs, targets, replace(rule, learning_rate=rate), self.first + self.position + n))
        return lessons

    def _learn(self, batch: Sequence[Lesson]) -> tuple[list[float], list[float], list[float]]:
        """Learn a batch; returns the log-likelihood, hidden spikes per step and summed report of each lesson."""
        state = self.state
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is reported below, once
            state.parameters, found = self._lessons[self.for_objective].learn(state.parameters, batch, state.means)
            likelihoods = [float(log_mean_exp(one.log_likelihood.sum(axis=0)[:, None])[0]) for one in found]
        diverged = f"training diverged at example {self.first + self.position}"
        check_finite(self.rule.step_size, diverged, likelihoods, state.parameters.bias)
        for one in found:
            self._health.saw(one.hidden)
        spikes = [int(np.count_nonzero(one.hidden)) / len(one.hidden) for one in found]
        return likelihoods, spikes, [float(one.report.sum(axis=0).mean()) for one in found]

    def _warn_of_divergence(self, log_likelihood: float) -> None:
        """Values may be finite and meaningless: a network that is far worse than chance has diverged."""
        circuits = self.network.circuits.visible
        sizes = [len(circuit.neurons) + circuit.silent for circuit in circuits.competing]
        nats = int(circuits.bernoulli.sum()) * math.log(2) + sum(map(math.log, sizes))  # per step
        chance = -float(self._steps) * nats
        if log_likelihood < FAR_WORSE * chance:
            warnings.warn(
                f"training seems to have diverged by example {self.position}: the log-likelihood is "
                f"{log_likelihood:.3g}, where pure chance has {chance:.3g}; start anew with rule.learning_rate below "
                f"{self.rule.step_size:g}",
                DivergenceWarning,
                stacklevel=3,
            )

    def _warn_of_doubts(self) -> None:
        """Warn once, depending on the desired spikes of the first training examples."""
        self._doubted = True
        spikes = steps = 0
        for index in self.partition.training[:100].tolist():
            inputs, target = self.data.train.load(index)
            wanted = desired(self.data.train.labels, index, target, inputs.n_steps, self.network.n_visible)
            spikes, steps = spikes + int(wanted.sum()), steps + wanted.size
        doubts = self.objective.doubts(spikes / steps)
        if doubts:
            warnings.warn(f"objective: {doubts}", DivergenceWarning, stacklevel=4)

    def _warn_of_silence(self, figures: Record | None) -> None:
        """If spikes cost more than they gain, visible neurons fall silent and nothing more is learned."""
        if figures is None or "visible_spikes_per_step" not in figures or not self.for_objective:
            return
        spikes, desired_spikes = figures["visible_spikes_per_step"], figures["target_spikes_per_step"]
        if spikes < SILENT * desired_spikes:
            warnings.warn(
                f"the visible neurons have fallen silent by example {self.position}: {spikes:.2g} spikes per step "
                f"where {desired_spikes:.2g} are desired; learn longer for likelihood (likelihood_first), take a "
                "longer time constant, or a smaller learning rate",
                DivergenceWarning,
                stacklevel=3,
            )

    def _add_to_average(self, parameters: Parameters) -> None:
        if self.state.weight_sum is None:
            self.state.weight_sum = parameters.astype(np.float64)
        else:
            for name in ("synaptic", "somatic", "bias"):
                total = getattr(self.state.weight_sum, name)
                np.add(total, getattr(parameters, name), out=total)
        self.state.progress.averaged += 1

    def _measure(self, examples: Examples, indices: Indices, stop: Callable[[], bool]) -> Record | None:
        if not len(indices):
            return None
        settings = self.evaluations
        return evaluate(
            self.network,
            self.parameters(),
            examples,
            indices,
            settings.decoders,
            likelihood_samples=settings.likelihood_samples,
            likelihood_mean=settings.likelihood_mean,
            n_bins=settings.n_bins,
            seed=derived_seed(self.seed, Purpose.PREDICT),
            threads=self.threads,
            engine=self.engine,
            stop=stop,
        )


def _better(record: Record, than: Record | None, split: str, by: str | None) -> bool:
    if record[split] is None:
        return False
    return than is None or better(record[split], than[split], by)


def _check_objective(objective: Objective, rule: Rule, network: Network, n_compartments: int) -> None:
    if objective.rewarded:
        raise ConfigError("rewards from outside come step by step: learn from them with gemsnn.Stream")
    problem = objective.refuse(rule, network, n_compartments) if objective.free else None
    if problem:
        raise ConfigError(f"objective: {problem}")


def _check_network(network: Network, data: Data) -> None:
    if (network.n_inputs, network.n_visible) != (data.n_inputs, data.n_visible):
        raise ConfigError(
            f"the network has {network.n_inputs} inputs and {network.n_visible} visible neurons, but the data have "
            f"{data.n_inputs} inputs and need {data.n_visible} visible neurons"
        )
