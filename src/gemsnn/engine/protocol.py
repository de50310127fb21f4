"""What every engine offers: one protocol, one state, one kind of information."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.input_spikes import Inputs
from gemsnn.engine.randomness import Draws
from gemsnn.model import Network, Parameters
from gemsnn.objectives import LIKELIHOOD, Objective
from gemsnn.rules import Communication, Rule


class Rested(NamedTuple):
    """What a state keeps when nothing is eligible: the spikes that the filters still see, the oldest first."""

    inputs: NDArray[np.uint8]  # (memory, n_inputs)
    spikes: NDArray[np.bool_]  # (memory, K, n_neurons)


@dataclass(frozen=True, eq=False)
class State:
    """What the next step needs, besides the parameters. Everything is zero before the first step.

    It can be passed on to the engine that made it, for the same network, precision and number of compartments.
    """

    engine: str
    network: Network
    dtype: np.dtype[Any]  # of the parameters
    time: int
    log_weights: NDArray[np.float64]  # (K,)
    processor_memory: NDArray[np.float64]  # the rule's own
    neuron_memory: NDArray[np.float64]  # (n_hidden, rule.neuron_memory)
    objective_memory: NDArray[np.float64]  # (K, n_visible, objective.unit_memory)
    means: NDArray[np.float64]  # (n_inputs, n_basis): what is taken off the traces of the inputs while learning
    kept: object = field(repr=False)  # known to who made it

    @property
    def n_compartments(self) -> int:
        return len(self.log_weights)


def no_means(network: Network) -> NDArray[np.float64]:
    """Of traces that are learned from as they are."""
    return np.zeros((network.n_inputs, network.synaptic_filter.n_basis))


class Info(NamedTuple):
    """What one step is worth knowing for; with a leading T for a run."""

    spikes: NDArray[np.bool_]  # (K, n_neurons)
    log_likelihood: NDArray[np.float64]  # (K,): log-probability of the visible spikes
    report: NDArray[np.float64]  # (K,): what the objective makes of them; the paper's: the same
    log_weights: NDArray[np.float64]  # (K,)
    importance: NDArray[np.float64]  # (K,)


class Simulation(NamedTuple):
    """Of N sequences that ran without learning."""

    spikes: NDArray[np.bool_]  # (N, T, K, n_neurons)
    visible_potential: NDArray[Any]  # (N, T, K, n_visible)


class Example(NamedTuple):
    """What is learned as a part of a batch."""

    inputs: Inputs
    targets: NDArray[Any]  # (T, n_visible) uint8 or bool
    rule: Rule  # of the same kind for all of a batch
    draws: Draws  # (T, K, n_hidden)


class Learner(Protocol):
    """Learns in place: parameters and state go in, change step by step, and can be taken out between steps."""

    def run(self, inputs: Inputs, targets: NDArray[Any], uniforms: NDArray[np.float64]) -> Info:
        """Learn from T steps of inputs and (T, n_visible) targets, with (T, K, n_hidden) uniforms."""

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None, uniforms_t: NDArray[np.float64]) -> Info:
        """One step: learn if there is a target, else run freely; ``uniforms_t`` is (K, n_neurons)."""

    def take_off(self, means: NDArray[np.float64]) -> None:
        """From now on learn from the traces of the inputs less their means, (n_inputs, n_basis); 0 at the start.

        What the network computes does not change by it. Eligibility lives on: an update is made with the means in force
        when it is made.
        """

    def take(self) -> tuple[Parameters, State]:
        """Parameters and state; they may change if the learner goes on."""

    def parameters(self) -> Parameters:
        """A copy of the parameters as they are now; the learner goes on as if nobody had looked."""

    @property
    def visible_potential(self) -> NDArray[Any]:
        """(K, n_visible): of the visible neurons at the latest step, clamped or not; the next step writes over it."""

    @property
    def messages(self) -> Communication | None:
        """Real numbers sent so far, where the engine counts them."""


class RewardedLearner(Learner, Protocol):
    """For objectives whose reports come from outside, after the step."""

    def reward(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Learn from (K,) rewards of the last step, with the eligibility as it stands; gives the importance weights."""

    def end(self, over: NDArray[np.bool_]) -> None:
        """Traces, eligibility and log-weights of some of the compartments (K,) begin anew."""

    def saved(self) -> dict[str, NDArray[Any]]:
        """All that changes from step to step, as it is in memory."""

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Go on from what was saved."""


class Batches(Protocol):
    """Learns batches of examples, one batch after the other, each from the weights that the last one left."""

    def learn(self, examples: Sequence[Example], means: NDArray[np.float64]) -> list[Info]:
        """Learn each example by itself, from silence and the weights as they are; add what they change, in their order.

        ``means`` (n_inputs, n_basis) are taken off the traces of the inputs. The result does not depend on the number
        of threads.
        """

    @property
    def parameters(self) -> Parameters:
        """As the last batch left them; the next one may change them."""


class Step(NamedTuple):
    """What a step without learning gives. The next step writes over it."""

    spikes: NDArray[np.bool_]  # (K, n_neurons)
    visible_potential: NDArray[Any]  # (K, n_visible)


class Recording(Protocol):
    """A network that runs without learning, one step at a time, in memory that never grows."""

    @property
    def spikes(self) -> NDArray[np.bool_]:
        """(K, n_neurons): of the latest step."""

    def begin(self, draws: Draws) -> None:
        """Silence before another recording, which has draws of its own."""

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
        """A recording that comes step by step, with the same bits; its draws are as above."""


class Engine(Protocol):
    """Computes a network's steps."""

    def learner(
        self,
        network: Network,
        parameters: Parameters,
        rule: Rule,
        n_compartments: int,
        *,
        state: State | None = None,
        free: bool = False,
        steps: int | None = None,
        objective: Objective = LIKELIHOOD,
    ) -> Learner:
        """``free`` tells that some steps will have no target; ``steps``, how many there will be, if that is known."""

    def batches(
        self,
        network: Network,
        parameters: Parameters,
        rule: Rule,
        n_compartments: int,
        *,
        steps: int,
        threads: int,
        objective: Objective = LIKELIHOOD,
    ) -> Batches:
        """For examples of up to so many steps, and rules of the same kind; the parameters are copied."""

    def running(self, network: Network, parameters: Parameters) -> Running:
        """To run without learning; the parameters are copied."""
