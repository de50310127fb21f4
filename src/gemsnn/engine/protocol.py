"""The interface of every engine: what it computes, and the state and information that it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.input_spikes import Inputs
from gemsnn.engine.randomness import Draws
from gemsnn.engine.task import Task
from gemsnn.model import Network, Parameters
from gemsnn.rules import Communication, Rule


class Rested(NamedTuple):
    """What a state keeps when nothing is eligible: the spikes that the filters still see, oldest first."""

    inputs: NDArray[np.uint8]  # (memory, n_inputs)
    spikes: NDArray[np.bool_]  # (memory, K, n_neurons)


@dataclass(frozen=True, eq=False)
class State:
    """What the next step needs, besides the parameters. Everything is zero before the first step.

    It can be passed to the engine that made it, for the same network, precision and number of compartments.
    """

    engine: str
    network: Network
    dtype: np.dtype[Any]  # of the parameters
    time: int
    log_weights: NDArray[np.float64]  # (K,)
    processor_memory: NDArray[np.float64]  # the rule's own
    neuron_memory: NDArray[np.float64]  # (n_hidden, rule.neuron_memory)
    objective_memory: NDArray[np.float64]  # (K, n_visible, objective.unit_memory)
    means: NDArray[np.float64]  # (n_inputs, n_basis): subtracted from the traces of the inputs while learning
    kept: object = field(repr=False)  # known only to the form that made it

    @classmethod
    def initial(cls, engine: str, task: Task, dtype: np.dtype[Any]) -> State:
        """Before the first step."""
        network, rule, K, objective = task
        memories = (
            np.zeros(rule.processor_memory(K)),
            np.zeros((network.n_hidden, rule.neuron_memory)),
            np.zeros((K, network.n_visible, objective.unit_memory)),
        )
        return cls(engine, network, dtype, 0, np.zeros(K), *memories, no_means(network), None)

    @property
    def n_compartments(self) -> int:
        return len(self.log_weights)


def no_means(network: Network) -> NDArray[np.float64]:
    """Means that leave the traces as they are."""
    return np.zeros((network.n_inputs, network.synaptic_filter.n_basis))


class Info(NamedTuple):
    """What is reported of a step; with a leading axis T for a run."""

    spikes: NDArray[np.bool_]  # (K, n_neurons)
    log_likelihood: NDArray[np.float64]  # (K,): log-probability of the visible spikes
    report: NDArray[np.float64]  # (K,): of the objective; in the paper, the log-likelihood
    log_weights: NDArray[np.float64]  # (K,)
    importance: NDArray[np.float64]  # (K,)


class Simulation(NamedTuple):
    """N sequences that ran without learning."""

    spikes: NDArray[np.bool_]  # (N, T, K, n_neurons)
    visible_potential: NDArray[Any]  # (N, T, K, n_visible)


class Example(NamedTuple):
    """An example of a batch."""

    inputs: Inputs
    targets: NDArray[Any]  # (T, n_visible) uint8 or bool
    rule: Rule  # of the same kind for all examples of a batch
    draws: Draws  # (T, K, n_hidden)


class Learner(Protocol):
    """Learns in place: begins with parameters and a state, which change step by step and can be read between steps."""

    def run(self, inputs: Inputs, targets: NDArray[Any], uniforms: NDArray[np.float64]) -> Info:
        """Learn from T steps of inputs and (T, n_visible) targets, with (T, K, n_hidden) uniforms."""

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None, uniforms_t: NDArray[np.float64]) -> Info:
        """One step: learn if there is a target, else run freely; ``uniforms_t`` is (K, n_neurons)."""

    def subtract_means(self, means: NDArray[np.float64]) -> None:
        """From now on subtract means, (n_inputs, n_basis), from the traces of the inputs; they are 0 at the start.

        The function that the network computes does not change. Eligibility stays: each update uses the means in force
        when it is made.
        """

    def take(self) -> tuple[Parameters, State]:
        """Parameters and state; they may change with the next step."""

    def parameters(self) -> Parameters:
        """A copy of the present parameters; later steps compute the same whether or not it was made."""

    @property
    def visible_potential(self) -> NDArray[Any]:
        """(K, n_visible): of the visible neurons at the latest step, clamped or not; overwritten by the next step."""

    @property
    def messages(self) -> Communication | None:
        """Real numbers sent so far, if the engine counts them."""


class RewardedLearner(Learner, Protocol):
    """A learner for objectives whose reports come from outside, after the step."""

    def reward(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Learn from rewards (K,) of the last step, with the present eligibility; returns the importance weights."""

    def end(self, over: NDArray[np.bool_]) -> None:
        """Reset traces, eligibility and log-weights of some of the compartments (K,)."""

    def saved(self) -> dict[str, NDArray[Any]]:
        """All arrays that change from step to step, not copied."""

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue from saved arrays."""


class Batches(Protocol):
    """Learns batches of examples one after the other, each batch from the weights after the one before."""

    def learn(self, examples: Sequence[Example], means: NDArray[np.float64]) -> list[Info]:
        """Learn each example by itself, from silence and the present weights; add their changes, in their order.

        ``means`` (n_inputs, n_basis) are subtracted from the traces of the inputs. The result does not depend on the
        number of threads.
        """

    @property
    def parameters(self) -> Parameters:
        """After the last batch; the next one may change them."""


class Step(NamedTuple):
    """The result of a step without learning; overwritten by the next step."""

    spikes: NDArray[np.bool_]  # (K, n_neurons)
    visible_potential: NDArray[Any]  # (K, n_visible)


class Recording(Protocol):
    """A network that runs without learning, one step at a time, in memory that never grows."""

    @property
    def spikes(self) -> NDArray[np.bool_]:
        """(K, n_neurons): of the latest step."""

    def begin(self, draws: Draws) -> None:
        """Reset to silence before another recording, which has draws of its own."""

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None = None) -> Step:
        """One step, from (n_inputs,) inputs and, if the visible neurons are clamped, (n_visible,) targets."""


class Running(Protocol):
    """A network with its parameters, run without learning."""

    def simulate(
        self,
        inputs: Sequence[Inputs] | NDArray[Any],
        n_compartments: int,
        draws_of: Callable[[int], Draws],
        targets: NDArray[Any] | None = None,
        threads: int = 1,
    ) -> Simulation:
        """Run N inputs of T steps; visible neurons are clamped to (N, T, n_visible) targets, or run freely.

        ``draws_of(n)`` gives sequence n's draws: (T, K, n_hidden) if there are targets, else (T, K, n_neurons).
        """

    def recording(self, n_compartments: int, draws: Draws, clamped: bool = False) -> Recording:
        """A recording that arrives step by step, bit-for-bit the same; its draws are as above."""


class Engine(Protocol):
    """Computes a network's steps."""

    def learner(
        self,
        task: Task,
        parameters: Parameters,
        *,
        state: State | None = None,
        free: bool = False,
        steps: int | None = None,
    ) -> Learner:
        """``free``: whether some steps will have no target; ``steps``: how many there will be, if that is known."""

    def batches(self, task: Task, parameters: Parameters, *, steps: int, threads: int) -> Batches:
        """For examples of up to that many steps, and rules of the same kind; the parameters are copied."""

    def running(self, network: Network, parameters: Parameters) -> Running:
        """To run without learning; the parameters are copied."""
