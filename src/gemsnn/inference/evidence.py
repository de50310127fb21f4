"""What a run of the network gives a decoder at every step: visible spikes, or the log-probability of each class.

For decoders such as ``vote`` the visible neurons run freely. For the others they are clamped to the desired spikes of
each class, and the evidence of a class is the log-probability of these spikes at that step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.firing import circuit_table
from gemsnn.engine.patterns import log_probabilities
from gemsnn.engine.protocol import Running
from gemsnn.inference.decoders import Decoder
from gemsnn.inference.sampling import Keys, draws
from gemsnn.model import Network, Parameters
from gemsnn.model.spikes import probability


class Fired(NamedTuple):
    """Spikes of N sequences in every run of the network behind the evidence: one run, or one per class."""

    runs: tuple[NDArray[np.bool_], ...]  # each (N, T, K, n_neurons)
    n_hidden: int

    def first(self, n_compartments: int) -> Fired:
        """Of the first compartments only; the others do not influence them."""
        return Fired(tuple(run[:, :, :n_compartments] for run in self.runs), self.n_hidden)

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """(N, T, K, n_hidden), in the first run."""
        return self.runs[0][..., : self.n_hidden]

    @property
    def hidden_spikes(self) -> NDArray[np.float64]:
        """(N, T): hidden spikes, summed over compartments, averaged over the runs."""
        each = [np.count_nonzero(run[..., : self.n_hidden], axis=(2, 3)) for run in self.runs]
        total: NDArray[np.float64] = sum(each[1:], start=each[0].astype(np.float64))
        return total / len(each)

    def counts(self, checkpoints: Sequence[int]) -> NDArray[np.int64]:
        """(N, P, n_hidden): spikes of each hidden neuron until each checkpoint; of shorter sequences, until the end."""
        hidden = self.hidden
        T = hidden.shape[1]
        so_far, found, before = np.zeros_like(hidden[:, 0, 0], dtype=np.int64), [], 0
        for checkpoint in checkpoints:
            so_far = so_far + np.count_nonzero(hidden[:, before : min(checkpoint, T)], axis=(1, 2))
            found.append(so_far)
            before = min(checkpoint, T)
        return np.stack(found, axis=1)


class Evidence(NamedTuple):
    """Of N sequences."""

    steps: Iterator[NDArray[Any]]  # T times (N, K, C)
    fired: Fired


def class_patterns(n_classes: int, n_steps: int) -> NDArray[np.uint8]:
    """(C, T, C): the paper's desired outputs; the neuron of the right class spikes at every step, the others never."""
    return np.repeat(np.eye(n_classes, dtype=np.uint8)[:, None, :], n_steps, axis=1)


def run_for(
    decoder: Decoder,
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    K: int,
    patterns: NDArray[np.uint8] | None,
    seed: int,
    keys: Keys,
    threads: int,
    running: Running,
) -> Evidence:
    """Run (N, T, n_inputs) sequences as the decoder requires; ``keys`` are the keys of their random draws.

    ``patterns`` (C, T, n_visible) are the desired spikes of each class; None for :func:`class_patterns`. ``running`` is
    the network with its parameters in an engine. If hidden neurons see the visible ones, it runs once per class.
    """
    N, T = inputs.shape[:2]
    draws_of = draws(network, K, seed, keys, visible=decoder.free)
    simulate = partial(running.simulate, inputs, K, draws_of, threads=threads)
    if decoder.free:
        spikes = simulate(None).spikes
        return Evidence((spikes[:, t, :, network.n_hidden :] for t in range(T)), Fired((spikes,), network.n_hidden))
    desired = class_patterns(network.n_visible, T) if patterns is None else patterns
    if not hidden_see_visible(network):
        run = simulate(np.zeros((N, T, network.n_visible), dtype=np.uint8))
        reader = PatternReader(network, parameters, len(desired))
        steps = (reader.step(run.visible_potential[:, t], desired[:, t]) for t in range(T))
        return Evidence(steps, Fired((run.spikes,), network.n_hidden))
    each, clamped, runs = np.empty((T, N, K, len(desired))), ClampedReader(network), []
    for c, pattern in enumerate(desired):
        run = simulate(np.repeat(pattern[None], N, axis=0))
        for t in range(T):
            each[t, ..., c] = clamped.step(run.visible_potential[:, t], pattern[t])
        runs.append(run.spikes)
    return Evidence(iter(each), Fired(tuple(runs), network.n_hidden))


def hidden_see_visible(network: Network) -> bool:
    """Whether a hidden neuron has a synapse from a visible one, so that it depends on what these are clamped to."""
    return bool(network.topology.mask[: network.n_hidden, network.n_inputs + network.n_hidden :].any())


def visible_spikes_matter(network: Network) -> bool:
    """Whether spikes of visible neurons drive any neuron, including these neurons themselves."""
    return network.visible_memory or bool(network.topology.mask[:, network.n_inputs + network.n_hidden :].any())


def run_for_labels(
    decoder: Decoder,
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    K: int,
    seed: int,
    keys: Keys,
    threads: int,
    running: Running,
) -> Evidence:
    """Evidence (N, n_visible, K, 2) of each label on its own, as a binary classification: no and yes.

    The visible neurons run freely. The evidence of a label is the silence and the spike of its neuron, or, for decoders
    that do not count spikes, their log-probabilities.
    """
    draws_of = draws(network, K, seed, keys, visible=True)
    run = running.simulate(inputs, K, draws_of, None, threads)
    circuits = network.circuits.visible

    def step(t: int) -> NDArray[Any]:
        if decoder.free:
            yes = run.spikes[:, t, :, network.n_hidden :]
            both = np.stack([~yes, yes], axis=-1)  # (N, K, n_visible, 2)
        else:
            p = probability(circuits, run.visible_potential[:, t].astype(np.float64))
            both = np.log(np.maximum(np.stack([1 - p, p], axis=-1), np.finfo(np.float64).tiny))
        return np.ascontiguousarray(both.swapaxes(1, 2))

    return Evidence(map(step, range(inputs.shape[1])), Fired((run.spikes,), network.n_hidden))


class ClampedReader:
    """Log-probability of desired spikes at a step, if the visible neurons were clamped to them at all earlier steps."""

    def __init__(self, network: Network) -> None:
        self._circuits = circuit_table(network.circuits.visible)
        self._no_drive = np.zeros((0, network.n_visible))

    def step(self, potential: NDArray[Any], desired: NDArray[np.uint8]) -> NDArray[np.float64]:
        """(..., K): from potentials (..., K, n_visible) and desired spikes (n_visible,)."""
        found = np.empty((*potential.shape[:-1], 1))
        rows = potential.reshape(-1, potential.shape[-1])
        log_probabilities(self._circuits, rows, self._no_drive, desired[None], found.reshape(-1, 1))
        return found[..., 0]


class PatternReader:
    """Log-probability of each class's desired spikes, step by step, from one run with silent visible neurons.

    This suffices if hidden neurons do not see the visible ones: the effect of desired spikes on later potentials, by
    self-memory and by synapses between visible neurons, then does not depend on the run.
    """

    def __init__(self, network: Network, parameters: Parameters, n_classes: int) -> None:
        self._circuits = circuit_table(network.circuits.visible)
        self._drive = VisibleDrive(network, parameters, n_classes)

    def step(self, potential: NDArray[Any], desired: NDArray[np.uint8]) -> NDArray[np.float64]:
        """(..., K, C): from potentials (..., K, n_visible) and the desired spikes of this step, (C, n_visible)."""
        found = np.empty((*potential.shape[:-1], len(desired)))
        rows = potential.reshape(-1, potential.shape[-1])
        log_probabilities(self._circuits, rows, self._drive.step(desired), desired, found.reshape(-1, len(desired)))
        return found


class VisibleDrive:
    """What the past desired spikes of each class add to the potentials of the visible neurons."""

    def __init__(self, network: Network, parameters: Parameters, n_classes: int) -> None:
        first, n = network.n_hidden, network.n_visible
        synaptic = parameters.synaptic[first:, network.n_inputs + first :].astype(np.float64)  # (n, n, n_basis)
        somatic = parameters.somatic[first:].astype(np.float64)  # (n, n_basis)
        # What a spike adds after a number of steps: to the neuron itself, and to others if there are synapses.
        self._own = np.zeros((network.memory, n))
        self._own[: network.somatic_filter.duration] = network.somatic_filter.taps.T @ somatic.T
        self._others: NDArray[np.float64] | None = None
        if synaptic.any():
            others = np.zeros((network.memory, n, n))  # lag, from, to
            others[: network.synaptic_filter.duration] = np.einsum(
                "bd,ijb->dji", network.synaptic_filter.taps, synaptic
            )
            self._others = others.reshape(-1, n)
        self._nothing = np.zeros((0, n))
        self._remember = bool(self._own.any() or synaptic.any())
        self._past = np.zeros((n_classes, network.memory if self._remember else 0, n))  # the latest spikes first

    def step(self, desired: NDArray[np.uint8]) -> NDArray[np.float64]:
        """(C, n_visible) at this step, empty without memory; records the desired spikes (C, n_visible) of it."""
        if not self._remember:
            return self._nothing
        drive: NDArray[np.float64] = (self._past * self._own).sum(axis=1)
        if self._others is not None:
            drive += self._past.reshape(len(self._past), -1) @ self._others
        self._past[:, 1:] = self._past[:, :-1]
        self._past[:, 0] = desired
        return np.ascontiguousarray(drive)  # the kernel is compiled for one layout
