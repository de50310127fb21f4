"""What every engine offers: one protocol, one state, one kind of information."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.kept import Declared
from gemsnn.engine.randomness import Draws
from gemsnn.model import Network, Parameters
from gemsnn.rules import Communication, Rule


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
    kept: dict[str, NDArray[Any]]  # the engine's own, by name
    means: NDArray[np.float64]  # (n_inputs, n_basis): what is taken off the traces of the inputs while learning

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
    log_weights: NDArray[np.float64]  # (K,)
    importance: NDArray[np.float64]  # (K,)


class Simulation(NamedTuple):
    """Of N sequences that ran without learning."""

    spikes: NDArray[np.bool_]  # (N, T, K, n_neurons)
    visible_potential: NDArray[Any]  # (N, T, K, n_visible)


class Learner(Protocol):
    """Learns in place: parameters and state go in, change step by step, and can be taken out between steps."""

    def run(self, inputs: NDArray[Any], targets: NDArray[Any], uniforms: NDArray[np.float64]) -> Info:
        """Learn from (T, n_inputs) inputs and (T, n_visible) targets, with (T, K, n_hidden) uniforms."""

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None, uniforms_t: NDArray[np.float64]) -> Info:
        """One step: learn if there is a target, else run freely; ``uniforms_t`` is (K, n_neurons)."""

    def take_off(self, means: NDArray[np.float64]) -> None:
        """From now on learn from the traces of the inputs less their means, (n_inputs, n_basis); 0 at the start.

        What the network computes does not change by it. Eligibility lives on: an update is made with the means in force
        when it is made.
        """

    def restart(self, rule: Rule, steps: int | None = None) -> None:
        """Begin anew in silence and without means, as a learner made with the weights as they are would.

        The rule is of the same kind as before, and may have other settings; ``steps`` as in :class:`Engine`.
        """

    def take(self) -> tuple[Parameters, State]:
        """Parameters and state; they may change if the learner goes on."""

    def parameters(self) -> Parameters:
        """A copy of the parameters as they are now; the learner goes on as if nobody had looked."""

    @property
    def messages(self) -> Communication | None:
        """Real numbers sent so far, where the engine counts them."""


class Engine(Protocol):
    """Computes a network's steps.

    ``free`` tells a learner that some steps will have no target; ``steps``, how many there will be, if that is known;
    ``overwrite``, that nobody needs the parameters any more, so that their memory may be used for the new ones.
    """

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
        overwrite: bool = False,
        threads: int = 1,
    ) -> Learner: ...

    def declared(self, network: Network, rule: Rule, n_compartments: int, state: State) -> Declared:
        """What ``state.kept`` must hold for a learner to go on from it."""

    def simulate(
        self,
        network: Network,
        parameters: Parameters,
        inputs: NDArray[Any],
        n_compartments: int,
        draws_of: Callable[[int], Draws],
        targets: NDArray[Any] | None = None,
        threads: int = 1,
    ) -> Simulation:
        """Run (N, T, n_inputs) inputs without learning; visible neurons are clamped to targets, or run freely.

        ``draws_of(n)`` gives sequence n's draws: (T, K, n_hidden) if there are targets, else (T, K, n_neurons).
        """
