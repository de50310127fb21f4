"""From spikes to a class with its probability.

``vote`` is the paper's rule: the network runs freely, and each compartment votes for the visible neuron that spiked
most. ``likelihood`` asks the model itself: the visible neurons are clamped to each class's desired pattern in turn,
and the SoftMax of the estimated log-likelihoods is the posterior of the classes under a uniform prior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from gemsnn.engine.simulate import simulate
from gemsnn.inference.likelihood import log_mean_probability
from gemsnn.inference.sampling import batch_of_sequences, draws
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import one_of, spike_array, whole_number
from gemsnn.model.readout import count_votes, decide, vote_probabilities

DECODERS = ("vote", "likelihood")
BATCH = 128  # sequences at a time, so that spikes need not all be held


class Prediction(NamedTuple):
    """Of N sequences and C classes."""

    classes: NDArray[np.int64]  #: (N,): index of the class
    probabilities: NDArray[np.float64]  #: (N, C)
    votes: NDArray[np.int64]  #: (N, C): compartments a class; for the likelihood decoder, samples that prefer it
    hidden_spikes_per_step: NDArray[np.float64]  #: (N,): summed over compartments

    @property
    def confidence(self) -> NDArray[np.float64]:
        """(N,): the probability of the class chosen."""
        return self.probabilities[np.arange(len(self.classes)), self.classes]


def class_patterns(n_classes: int, n_steps: int) -> NDArray[np.uint8]:
    """(C, T, C): the paper's desired outputs; the neuron of the right class spikes at every step, the others never."""
    return np.repeat(np.eye(n_classes, dtype=np.uint8)[:, None, :], n_steps, axis=1)


def predict(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int = 1,
    *,
    decoder: str = "vote",
    patterns: ArrayLike | None = None,
    seed: int = 0,
    n_samples: int | None = None,
    first_example: int = 0,
    threads: int = 1,
) -> Prediction:
    """Classify (N, T, n_inputs) sequences.

    Parameters
    ----------
    n_compartments
        Compartments that run.
    decoder
        ``"vote"`` or ``"likelihood"``.
    patterns
        (C, T, n_visible): desired output of each class. Default: :func:`class_patterns`. ``"vote"`` reads neuron c as
        class c and ignores it.
    n_samples
        Realisations of the likelihood decoder, if other than ``n_compartments``.
    seed, first_example
        Key of the random draws: sequence n has the key ``first_example + n``.
    """
    network.check_parameters(parameters)
    one_of("decoder", decoder, DECODERS)
    K = whole_number("n_compartments", n_compartments, 1)
    seed, first_example = whole_number("seed", seed, 0), whole_number("first_example", first_example, 0)
    whole_number("threads", threads, 1)
    batch, _ = batch_of_sequences("inputs", inputs, network.n_inputs, "n_inputs")
    T = batch.shape[1]
    if patterns is None:
        desired = class_patterns(network.n_visible, T)
    else:
        desired = spike_array("patterns", patterns, {"C": None, "T": T, "n_visible": network.n_visible})
    if decoder == "likelihood" and n_samples is not None:
        K = whole_number("n_samples", n_samples, 1)
    parts = []
    for first in range(0, len(batch), BATCH):
        rows = batch[first : first + BATCH]
        arguments = (network, parameters, rows, K, seed, first_example + first, threads)
        parts.append(_vote(*arguments) if decoder == "vote" else _likelihood(*arguments, desired)[0])
    if not parts:
        C = len(desired)
        return Prediction(np.zeros(0, np.int64), np.zeros((0, C)), np.zeros((0, C), np.int64), np.zeros(0))
    return Prediction(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def predict_by_likelihood(
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    n_samples: int,
    patterns: NDArray[np.uint8],
    *,
    seed: int = 0,
    first_example: int = 0,
    threads: int = 1,
) -> tuple[Prediction, NDArray[np.float64]]:
    """What the likelihood decoder says of (N, T, n_inputs) sequences, and its (N, C) estimates of log p(pattern).

    The estimate of a class is the one that :func:`gemsnn.log_likelihood` gives for its pattern with the same key: both
    come out of one run. The arguments are trusted.
    """
    parts = [
        _likelihood(
            network,
            parameters,
            inputs[first : first + BATCH],
            n_samples,
            seed,
            first_example + first,
            threads,
            patterns,
        )
        for first in range(0, len(inputs), BATCH)
    ]
    predictions, estimates = zip(*parts, strict=True)
    return Prediction(*map(np.concatenate, zip(*predictions, strict=True))), np.concatenate(estimates)


def _vote(
    network: Network, parameters: Parameters, inputs: NDArray[Any], K: int, seed: int, example: int, threads: int
) -> Prediction:
    draws_of = draws(network, K, seed, example, visible=True)
    spikes = simulate(network, parameters, inputs, K, draws_of, None, threads).spikes
    counts = spikes[..., network.n_hidden :].sum(axis=1)  # (N, K, C)
    votes = count_votes(counts)
    return Prediction(decide(votes, counts), vote_probabilities(votes), votes, _hidden_rate(network, spikes))


def _likelihood(
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    K: int,
    seed: int,
    example: int,
    threads: int,
    patterns: NDArray[np.uint8],
) -> tuple[Prediction, NDArray[np.float64]]:
    draws_of = draws(network, K, seed, example, visible=False)
    N, T = inputs.shape[:2]
    feedback = network.topology.mask[: network.n_hidden, network.n_inputs + network.n_hidden :].any()
    if feedback:  # hidden neurons see the pattern: run once a class
        runs = []
        for pattern in patterns:
            clamp = np.repeat(pattern[None], N, axis=0)
            runs.append(simulate(network, parameters, inputs, K, draws_of, clamp, threads))
        potential = np.stack([run.visible_potential for run in runs])  # (C, N, T, K, n_visible)
        rate = np.mean([_hidden_rate(network, run.spikes) for run in runs], axis=0)
    else:  # they do not: run once with silent visible neurons, then add what each pattern does to itself
        silence = np.zeros((N, T, network.n_visible), dtype=np.uint8)
        run = simulate(network, parameters, inputs, K, draws_of, silence, threads)
        own = np.stack([_own_drive(network, parameters, pattern) for pattern in patterns])
        potential = run.visible_potential[None] + own[:, None, :, None, :]
        rate = _hidden_rate(network, run.spikes)
    targets = patterns[:, None, :, None, :]
    score = log_mean_probability(potential, targets).T  # (N, C)
    each = np.stack([log_mean_probability(potential[..., k : k + 1, :], targets) for k in range(K)])  # (K, C, N)
    votes = (each.argmax(axis=1)[..., None] == np.arange(len(patterns))).sum(axis=0)
    return Prediction(score.argmax(axis=1), softmax(score, axis=1), votes, rate), score


def _own_drive(network: Network, parameters: Parameters, pattern: NDArray[Any]) -> NDArray[np.float64]:
    """(T, n_visible): what clamped visible spikes add to the visible potentials, by synapses and self-memory."""
    first, T = network.n_hidden, len(pattern)
    synaptic = parameters.synaptic[first:, network.n_inputs + first :]  # (n_visible, n_visible, n_basis)
    somatic = parameters.somatic[first:]
    past = np.concatenate([np.zeros((network.memory, pattern.shape[1])), pattern])
    drive = np.zeros((T, pattern.shape[1]))
    for filter_, subscripts, weights in (
        (network.synaptic_filter, "bd,dtj,ijb->ti", synaptic),
        (network.somatic_filter, "bd,dti,ib->ti", somatic),
    ):
        start = network.memory
        lagged = np.stack([past[start - lag : start - lag + T] for lag in range(1, filter_.duration + 1)])
        drive += np.einsum(subscripts, filter_.taps, lagged, weights, optimize=True)
    return drive


def _hidden_rate(network: Network, spikes: NDArray[np.bool_]) -> NDArray[np.float64]:
    counts = [np.count_nonzero(sequence[..., : network.n_hidden]) for sequence in spikes]
    rate: NDArray[np.float64] = np.array(counts) / spikes.shape[1]
    return rate
