"""Learning from, and predicting on, an endless stream: one step at a time, in constant memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.common.files import replacing
from gemsnn.engine import engine_named
from gemsnn.engine.protocol import RewardedLearner
from gemsnn.engine.randomness import Uniforms
from gemsnn.engine.task import Task
from gemsnn.errors import ConfigError, DataError, ShapeError
from gemsnn.learning.learn import check_finite
from gemsnn.learning.means import TraceMeans
from gemsnn.model import Network, Parameters
from gemsnn.model import spikes as spiking
from gemsnn.model.checks import spike_array, whole_number
from gemsnn.model.votes import count_votes, decide, vote_probabilities
from gemsnn.objectives import LIKELIHOOD, Objective
from gemsnn.rules import Rule

OWN = "stream."  # prefix of the stream's own arrays in a saved file
_BETWEEN_MEANS = 64  # steps between two updates of the means of the traces


class StreamInfo(NamedTuple):
    """What is reported of a step."""

    time: int  #: steps since the last reset, this one included
    spikes: NDArray[np.bool_]  #: (K, n_neurons)
    log_likelihood: NDArray[np.float64]  #: (K,): of the visible spikes of this step
    log_weights: NDArray[np.float64]  #: (K,)
    importance: NDArray[np.float64]  #: (K,)
    counts: NDArray[np.int64]  #: (K, n_visible): visible spikes of the free-running steps so far
    votes: NDArray[np.int64]  #: (n_visible,): one vote per compartment; 0 before any free-running step
    probabilities: NDArray[np.float64]  #: (n_visible,): SoftMax of the votes


class Stream:
    """A network on an endless stream: it learns at steps with a target, and runs freely at steps without.

    With ``objective=Reward()`` it learns from rewards instead: after a :meth:`step`, :meth:`reward` rewards it;
    :meth:`end` ends an episode. Each compartment may be in an environment of its own.

    While running freely nothing is learned; log-weights and eligibility decay. Visible spikes of the free-running steps
    are counted: :meth:`votes` and :meth:`probabilities` give the prediction so far.

    Parameters
    ----------
    network, parameters, rule
        The network, its initial parameters, and the learning rule.
    n_compartments
        K.
    seed, example
        Key of the random draws; ``example`` is that of the steps before the first reset, and increases with each reset.
    engine
        ``"compiled"`` or ``"reference"``.
    means
        Initial :class:`gemsnn.TraceMeans`, subtracted from the traces of the inputs while learning; they are updated
        every 64 steps, from steps with and without a target. Default: nothing is subtracted.
    objective
        :class:`gemsnn.Likelihood`, :class:`gemsnn.VanRossum`, :class:`gemsnn.Reward`, or one of your own.

    Examples
    --------
    >>> import numpy as np, gemsnn
    >>> network = gemsnn.Network.fully_connected(n_inputs=4, n_hidden=3, n_visible=2)
    >>> stream = gemsnn.Stream(network, network.init(seed=0), gemsnn.GEM(), n_compartments=5)
    >>> for _ in range(20):
    ...     info = stream.step(np.ones(4), np.array([1, 0]))  # learns
    >>> info = stream.step(np.ones(4))  # predicts
    >>> int(info.votes.sum())
    5

    Two compartments in two environments, rewarded for a spike of the first visible neuron:

    >>> rule = gemsnn.MB(1e-2, kappa=0.0, baseline=0.99)
    >>> stream = gemsnn.Stream(network, network.init(seed=0), rule, n_compartments=2, objective=gemsnn.Reward())
    >>> for _ in range(20):
    ...     info = stream.step(np.ones((2, 4)))
    ...     stream.reward(info.spikes[:, 3])
    >>> stream.end()
    """

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        rule: Rule,
        n_compartments: int = 1,
        seed: int = 0,
        engine: str = "compiled",
        *,
        example: int = 0,
        means: TraceMeans | None = None,
        objective: Objective = LIKELIHOOD,
    ) -> None:
        network.check_parameters(parameters)
        _ = rule.step_size  # refuses a rule without one
        self.network, self.rule, self.objective = network, rule, objective
        self.n_compartments = whole_number("n_compartments", n_compartments, 1)
        self._seed, self._example = whole_number("seed", seed, 0), whole_number("example", example, 0)
        self._engine = engine_named(engine)
        problem = objective.refuse(rule, network, self.n_compartments) if objective.free else None
        if problem:
            raise ConfigError(problem)
        if means is not None:
            means.check(network)
            if objective.rewarded:
                raise ConfigError("means: cannot be used with rewards; leave them out")
        self.means = means
        self._since_means, self._spikes_since_means = 0, np.zeros(network.n_inputs, dtype=np.int64)
        self._begin(parameters)

    def _begin(self, parameters: Parameters) -> None:
        network, K = self.network, self.n_compartments
        self.time = self._free_steps = 0
        self._counts = np.zeros((K, network.n_visible), dtype=np.int64)
        self._importance = np.full(K, 1 / K)
        self._uniforms = Uniforms(self._seed, self._example, K, network.n_hidden, network.n_visible)
        task = Task(network, self.rule, K, self.objective)
        self._learner = self._engine.learner(task, parameters, free=True)
        self._rewardable = False
        if self.means is not None:
            self._learner.subtract_means(self.means.value)

    @property
    def _rewarded(self) -> RewardedLearner:
        return cast(RewardedLearner, self._learner)

    @property
    def parameters(self) -> Parameters:
        """The weights after the last step (a copy)."""
        return self._learner.parameters()

    @property
    def importance(self) -> NDArray[np.float64]:
        """(K,): importance weights after the last step; uniform before the first."""
        return self._importance.copy()

    def step(self, inputs_t: ArrayLike, target_t: ArrayLike | None = None) -> StreamInfo:
        """One time step, from (n_inputs,) input spikes and, to learn, (n_visible,) desired visible spikes.

        With rewards there are no targets, and each compartment may have inputs of its own, (K, n_inputs).
        """
        n_inputs, rewarded = {"n_inputs": self.network.n_inputs}, self.objective.rewarded
        own = {"K": self.n_compartments} if rewarded and np.ndim(inputs_t) == 2 else {}
        x = spike_array("inputs_t", inputs_t, {**own, **n_inputs})
        if rewarded and target_t is not None:
            raise ConfigError("target_t: this stream learns from rewards; call reward() after the step instead")
        target = None if target_t is None else spike_array("target_t", target_t, {"n_visible": self.network.n_visible})
        if target is not None and not self.objective.free:
            self.network.circuits.check_targets("target_t", target)
        uniforms_t = self._drawn = self._uniforms.draw(1)[0]  # step by step: drawing ahead would make some steps slow
        spikes, log_likelihood, _, log_weights, importance = self._learner.step(x, target, uniforms_t)
        self.time += 1
        if self.means is not None:
            self._move_means(self.means, x)
        check_finite(self.rule.step_size, f"learning diverged at step {self.time}", log_likelihood, importance)
        self._importance, self._rewardable = importance, rewarded
        if target is None:
            self._free_steps += 1
            self._counts += spikes[:, self.network.n_hidden :]
        votes = self.votes()
        return StreamInfo(
            self.time, spikes, log_likelihood, log_weights, importance,
            self._counts.copy(), votes, vote_probabilities(votes),
        )  # fmt: skip

    def reward(self, reward: ArrayLike) -> None:
        """Reward the latest step: a number for all compartments, or (K,), one for each.

        The weights change at once, with the present eligibility, so that spikes of earlier steps get their part of the
        reward. Any real number is a reward; a step without one changes no weights.
        """
        if not self.objective.rewarded:
            raise ConfigError(
                f"reward: this stream learns for {type(self.objective).__name__}, from targets; create it with "
                "objective=gemsnn.Reward() to learn from rewards"
            )
        if not self._rewardable:
            raise ConfigError("reward: there is no step to reward; call step() first, and reward() once after it")
        K = self.n_compartments
        try:
            given = np.asarray(reward, dtype=np.float64)
        except (TypeError, ValueError):
            raise ShapeError(f"reward must be a number, or {K} numbers, one for each compartment") from None
        if given.shape not in ((), (K,)):
            raise ShapeError(f"reward has shape {given.shape}, but must be a number or have shape ({K},)")
        if not np.isfinite(given).all():
            raise ConfigError("reward: must be finite; nothing was learned from this one")
        problem = self.rule.refuse(K, free=True, shared=not given.shape and K > 1)
        if problem:
            raise ConfigError(f"reward: {problem}")
        self._rewardable = False
        self._importance = self._rewarded.reward(np.broadcast_to(given, (K,)).copy())
        check_finite(self.rule.step_size, f"learning diverged at step {self.time}", self._importance)

    def end(self, compartments: ArrayLike | None = None) -> None:
        """End an episode: reset traces, eligibility, log-weights and counts; weights and running means stay.

        ``compartments`` (K,) booleans: whose episode has ended; default: all. For streams that learn from rewards;
        other streams have :meth:`reset`.
        """
        if not self.objective.rewarded:
            raise ConfigError("end: for streams that learn from rewards; call reset() before a new example")
        K = self.n_compartments
        over = np.ones(K, dtype=bool) if compartments is None else np.asarray(compartments)
        if over.shape != (K,) or over.dtype != bool:
            raise ShapeError(f"compartments must be {K} booleans, got {over.dtype} of shape {over.shape}")
        self._rewarded.end(over)
        self._counts[over] = 0
        self._rewardable = self._rewardable and not over.any()

    def save(self, path: str | Path) -> None:
        """Write the state of the stream to a file, for :meth:`restore`; for streams that learn from rewards.

        A restored stream continues bit-for-bit identically.
        """
        if not self.objective.rewarded:
            raise ConfigError("save: for streams that learn from rewards; save the parameters of others")
        counters = [self.time, self._free_steps, self._example, self._rewardable, self._uniforms.position]
        own = {"counters": np.array(counters), "counts": self._counts, "importance": self._importance}
        arrays: dict[str, Any] = {f"{OWN}{name}": array for name, array in own.items()} | self._rewarded.saved()
        with replacing(Path(path)) as file:
            np.savez(file, **arrays)

    def restore(self, path: str | Path) -> None:
        """Continue from a saved file, in a stream created with the same network, rule, objective, K and seed."""
        if not self.objective.rewarded:
            raise ConfigError("restore: for streams that learn from rewards")
        try:
            with np.load(path, allow_pickle=False) as file:
                found = dict(file)
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise DataError(f"{path} cannot be read as a saved stream: {error}") from None
        expected = self._rewarded.saved() | {f"{OWN}counters": np.zeros(5, dtype=np.int64)}
        expected |= {f"{OWN}counts": self._counts, f"{OWN}importance": self._importance}
        for name, array in expected.items():
            given = found.get(name)
            if given is None or (given.shape, given.dtype) != (array.shape, array.dtype):
                raise DataError(
                    f"{path} is of a stream with another network, rule, objective, precision or number of compartments"
                )
        self._rewarded.restore({name: array for name, array in found.items() if name in self._rewarded.saved()})
        time, free_steps, example, rewardable, position = found[f"{OWN}counters"].tolist()
        self.time, self._free_steps, self._example, self._rewardable = time, free_steps, example, bool(rewardable)
        self._counts, self._importance = found[f"{OWN}counts"], found[f"{OWN}importance"]
        network, K = self.network, self.n_compartments
        self._uniforms = Uniforms(self._seed, example, K, network.n_hidden, network.n_visible, start=position)

    @property
    def visible_potential(self) -> NDArray[Any]:
        """(K, n_visible): potentials of the visible neurons at the latest step, clamped or not."""
        return self._learner.visible_potential

    def visible_spikes(self) -> NDArray[np.bool_]:
        """(K, n_visible): spikes of the latest step as if the visible neurons had run freely."""
        circuits = self.network.circuits.visible
        p = spiking.probability(circuits, self.visible_potential.astype(np.float64))
        return spiking.sample(circuits, p, self._drawn[:, self.network.n_hidden :])

    def _move_means(self, means: TraceMeans, x: NDArray[np.uint8]) -> None:
        self._spikes_since_means += x
        self._since_means += 1
        if self._since_means == _BETWEEN_MEANS:
            # In an endless stream, a spike adds the whole area of each filter to its traces.
            area = self.network.synaptic_filter.taps.sum(axis=1)
            self.means = means.moved(self._spikes_since_means[:, None] * area / _BETWEEN_MEANS)
            self._learner.subtract_means(self.means.value)
            self._since_means, self._spikes_since_means[:] = 0, 0

    def votes(self) -> NDArray[np.int64]:
        """(n_visible,): votes of the compartments so far, from the free-running steps since the last reset."""
        return count_votes(self._counts) if self._free_steps else np.zeros(self.network.n_visible, dtype=np.int64)

    def probabilities(self) -> NDArray[np.float64]:
        """(n_visible,): class probabilities so far, uniform before any free-running step."""
        return vote_probabilities(self.votes())

    def predict(self) -> int:
        """The winning class so far; ties as :func:`gemsnn.inference.predict` breaks them."""
        return int(decide(self.votes(), self._counts))

    def reset(self, example: int | None = None) -> None:
        """Reset before a new example: traces, eligibility, log-weights and counts become 0; the weights stay.

        ``example`` is the key of its draws; default: the previous one plus 1.
        """
        self._example = self._example + 1 if example is None else whole_number("example", example, 0)
        self._begin(self.parameters)
