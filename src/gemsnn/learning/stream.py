"""Learning from, and predicting on, an endless stream: one step at a time, in constant memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.common.described import described
from gemsnn.engine import engine_named
from gemsnn.engine.randomness import Uniforms
from gemsnn.learning.learn import check_finite
from gemsnn.learning.means import TraceMeans
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import spike_array, whole_number
from gemsnn.model.votes import count_votes, decide, vote_probabilities
from gemsnn.rules import Rule

_BETWEEN_MEANS = 64  # steps after which the means of the traces move


@described
class StreamInfo(NamedTuple):
    """What one step is worth knowing for."""

    time: int  #: steps since the last reset, this one included
    spikes: NDArray[np.bool_]  #: (K, n_neurons)
    log_likelihood: NDArray[np.float64]  #: (K,): of the visible spikes of this step
    log_weights: NDArray[np.float64]  #: (K,)
    importance: NDArray[np.float64]  #: (K,)
    counts: NDArray[np.int64]  #: (K, n_visible): visible spikes of the free-running steps so far
    votes: NDArray[np.int64]  #: (n_visible,): one vote a compartment; 0 before any free-running step
    probabilities: NDArray[np.float64]  #: (n_visible,): SoftMax of the votes


@described
class Stream:
    """A network that lives on: it learns when a step has a target, and runs freely when it has none.

    While running freely nothing is learned; log-weights and eligibility fade as time passes. Visible spikes of the
    free-running steps are counted: :meth:`votes` and :meth:`probabilities` say at any moment what they amount to.

    Parameters
    ----------
    network, parameters, rule
        What learns, from where, and how.
    n_compartments
        K.
    seed, example
        Key of the random draws; ``example`` is that of the steps before the first reset, and counts on.
    engine
        ``"compiled"`` or ``"reference"``.
    means
        :class:`gemsnn.TraceMeans` to begin with, taken off the traces of the inputs while learning; they move every 64
        steps, and each step counts, with a target or without. Not given: none are taken off.

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
    """

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        rule: Rule,
        n_compartments: int = 1,
        seed: int = 0,
        engine: str = "compiled",
        threads: int = 1,
        *,
        example: int = 0,
        means: TraceMeans | None = None,
    ) -> None:
        network.check_parameters(parameters)
        self.network, self.rule = network, rule
        self.n_compartments = whole_number("n_compartments", n_compartments, 1)
        self._seed, self._example = whole_number("seed", seed, 0), whole_number("example", example, 0)
        self._engine, self._threads = engine_named(engine), whole_number("threads", threads, 1)
        if means is not None:
            means.check(network)
        self.means = means
        self._since_means, self._spikes_since_means = 0, np.zeros(network.n_inputs, dtype=np.int64)
        self._begin(parameters)

    def _told(self) -> dict[str, Any]:
        return {"network": self.network, "rule": self.rule, "n_compartments": self.n_compartments, "time": self.time}

    def _begin(self, parameters: Parameters) -> None:
        network, K = self.network, self.n_compartments
        self.time = self._free_steps = 0
        self._counts = np.zeros((K, network.n_visible), dtype=np.int64)
        self._importance = np.full(K, 1 / K)
        self._uniforms = Uniforms(self._seed, self._example, K, network.n_hidden, network.n_visible)
        self._learner = self._engine.learner(network, parameters, self.rule, K, free=True, threads=self._threads)
        if self.means is not None:
            self._learner.take_off(self.means.value)

    @property
    def parameters(self) -> Parameters:
        """The weights as they are after the last step (a copy)."""
        return self._learner.parameters()

    @property
    def importance(self) -> NDArray[np.float64]:
        """(K,): importance weights after the last step; uniform before the first."""
        return self._importance.copy()

    def step(self, inputs_t: ArrayLike, target_t: ArrayLike | None = None) -> StreamInfo:
        """One time step, from (n_inputs,) input spikes and, to learn, (n_visible,) desired visible spikes."""
        x = spike_array("inputs_t", inputs_t, {"n_inputs": self.network.n_inputs})
        target = None if target_t is None else spike_array("target_t", target_t, {"n_visible": self.network.n_visible})
        if target is not None:
            self.network.circuits.check_targets("target_t", target)
        uniforms_t = self._uniforms.draw(1)[0]  # step by step: drawing ahead would make some steps slow
        spikes, log_likelihood, log_weights, importance = self._learner.step(x, target, uniforms_t)
        self.time += 1
        if self.means is not None:
            self._move_means(self.means, x)
        check_finite(self.rule.learning_rate, f"learning diverged at step {self.time}", log_likelihood, importance)
        self._importance = importance
        if target is None:
            self._free_steps += 1
            self._counts += spikes[:, self.network.n_hidden :]
        votes = self.votes()
        return StreamInfo(
            self.time, spikes, log_likelihood, log_weights, importance,
            self._counts.copy(), votes, vote_probabilities(votes),
        )  # fmt: skip

    def _move_means(self, means: TraceMeans, x: NDArray[np.uint8]) -> None:
        self._spikes_since_means += x
        self._since_means += 1
        if self._since_means == _BETWEEN_MEANS:
            # A stream goes on: in the end, a spike adds the whole area of each filter to its traces.
            area = self.network.synaptic_filter.taps.sum(axis=1)
            self.means = means.moved(self._spikes_since_means[:, None] * area / _BETWEEN_MEANS)
            self._learner.take_off(self.means.value)
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

    def reset(self) -> None:
        """Silence before a new example: traces, eligibility, log-weights and counts go to zero; the weights stay."""
        self._example += 1
        self._begin(self.parameters)
