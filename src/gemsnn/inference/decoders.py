"""From spikes to a class with its probability.

``vote`` is the paper's rule: the network runs freely, and each compartment votes for the visible neuron that spiked
most. ``likelihood`` asks the model itself: the visible neurons are clamped to each class's desired pattern in turn,
and the SoftMax of the estimated log-likelihoods is the posterior of the classes under a uniform prior. ``per-step``
asks the same of each time step on its own, and averages over the steps: the log-probability of a step is that of the
mean over compartments, and the SoftMax is of its mean over time. The steps of a recording tell much the same, so that
their sum, which takes them as independent, is far too sure; their mean is not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, softmax

from gemsnn.engine.simulate import simulate
from gemsnn.inference.likelihood import log_mean_exp, log_probability
from gemsnn.inference.sampling import batch_of_sequences, draws
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import one_of, spike_array, whole_number
from gemsnn.model.votes import count_votes, decide, vote_probabilities

DECODERS = ("vote", "likelihood", "per-step")
BATCH = 128  # sequences at a time, so that spikes need not all be held


class Prediction(NamedTuple):
    """Of N sequences and C classes."""

    classes: NDArray[np.int64]  #: (N,): index of the class
    probabilities: NDArray[np.float64]  #: (N, C)
    votes: NDArray[np.int64]  #: (N, C): compartments a class; for the other decoders, samples that prefer it
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
        ``"vote"``, ``"likelihood"`` or ``"per-step"``.
    patterns
        (C, T, n_visible): desired output of each class. Default: :func:`class_patterns`. ``"vote"`` reads neuron c as
        class c and ignores it.
    n_samples
        Realisations of the likelihood and per-step decoders, if other than ``n_compartments``.
    seed, first_example
        Key of the random draws: sequence n has the key ``first_example + n``.
    """
    batch, K, seed, first_example = checked(
        network, parameters, inputs, n_compartments, decoder, seed, first_example, threads
    )
    T = batch.shape[1]
    if patterns is None:
        desired = class_patterns(network.n_visible, T)
    else:
        desired = spike_array("patterns", patterns, {"C": None, "T": T, "n_visible": network.n_visible})
    if decoder != "vote" and n_samples is not None:
        K = whole_number("n_samples", n_samples, 1)
    parts = []
    for first in range(0, len(batch), BATCH):
        rows = batch[first : first + BATCH]
        arguments = (network, parameters, rows, K, seed, first_example + first, threads)
        if decoder == "vote":
            visible, spikes = free_run(*arguments)
            parts.append(read_votes(visible.sum(axis=1), spikes))
        else:
            parts.append(read_patterns(*pattern_log_probabilities(*arguments, desired), decoder))
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
    predictions, estimates = [], []
    for first in range(0, len(inputs), BATCH):
        each, spikes = pattern_log_probabilities(
            network,
            parameters,
            inputs[first : first + BATCH],
            n_samples,
            seed,
            first_example + first,
            threads,
            patterns,
        )
        predictions.append(read_patterns(each, spikes, "likelihood"))
        estimates.append(log_mean_exp(each.sum(axis=2)).T)
    return Prediction(*map(np.concatenate, zip(*predictions, strict=True))), np.concatenate(estimates)


def checked(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int,
    decoder: str,
    seed: int,
    first_example: int,
    threads: int,
) -> tuple[NDArray[np.uint8], int, int, int]:
    """(N, T, n_inputs) spikes, K, seed and first example, all of them usable."""
    network.check_parameters(parameters)
    one_of("decoder", decoder, DECODERS)
    K = whole_number("n_compartments", n_compartments, 1)
    seed, first_example = whole_number("seed", seed, 0), whole_number("first_example", first_example, 0)
    whole_number("threads", threads, 1)
    batch, _ = batch_of_sequences("inputs", inputs, network.n_inputs, "n_inputs")
    return batch, K, seed, first_example


# ---- from a run to a class -------------------------------------------------------------------------------------------


def read_votes(counts: NDArray[Any], spikes: NDArray[np.float64]) -> Prediction:
    """From visible spikes (N, K, C), summed over time, and hidden ones (N, T)."""
    votes = count_votes(counts)
    return Prediction(decide(votes, counts), vote_probabilities(votes), votes, spikes.mean(axis=1))


def read_patterns(each: NDArray[np.float64], spikes: NDArray[np.float64], decoder: str) -> Prediction:
    """From what :func:`pattern_log_probabilities` found, by ``"likelihood"`` or ``"per-step"``."""
    whole = each.sum(axis=2)  # (C, N, K)
    score = (log_mean_exp(whole) if decoder == "likelihood" else log_mean_exp(each).mean(axis=2)).T  # (N, C)
    votes = (whole.argmax(axis=0)[..., None] == np.arange(len(each))).sum(axis=1)
    return Prediction(score.argmax(axis=1), softmax(score, axis=1), votes, spikes.mean(axis=1))


# ---- runs ------------------------------------------------------------------------------------------------------------


def free_run(
    network: Network, parameters: Parameters, inputs: NDArray[Any], K: int, seed: int, example: int, threads: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """(N, T, K, C) visible spikes, and (N, T) hidden ones, all compartments."""
    draws_of = draws(network, K, seed, example, visible=True)
    spikes = simulate(network, parameters, inputs, K, draws_of, None, threads).spikes
    return spikes[..., network.n_hidden :], _hidden_spikes(network, spikes)


def pattern_log_probabilities(
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    K: int,
    seed: int,
    example: int,
    threads: int,
    patterns: NDArray[np.uint8],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(C, N, T, K): log-probability of each class's pattern, step by step; and (N, T) hidden spikes, all compartments.

    The visible neurons are clamped to the pattern. If hidden neurons see them, the network runs once a class.
    """
    draws_of = draws(network, K, seed, example, visible=False)
    N, T = inputs.shape[:2]
    each = np.empty((len(patterns), N, T, K))
    if network.topology.mask[: network.n_hidden, network.n_inputs + network.n_hidden :].any():
        spikes = np.zeros((N, T))
        for c, pattern in enumerate(patterns):
            clamp = np.repeat(pattern[None], N, axis=0)
            run = simulate(network, parameters, inputs, K, draws_of, clamp, threads)
            each[c] = log_probability(run.visible_potential, pattern[:, None, :])
            spikes += _hidden_spikes(network, run.spikes) / len(patterns)
        return each, spikes
    silence = np.zeros((N, T, network.n_visible), dtype=np.uint8)
    run = simulate(network, parameters, inputs, K, draws_of, silence, threads)
    own = [_own_drive(network, parameters, pattern) for pattern in patterns]
    if np.any(own):
        for c, pattern in enumerate(patterns):
            each[c] = log_probability(run.visible_potential + own[c][:, None, :], pattern[:, None, :])
    else:  # a spike in place of silence changes a log-probability by the potential
        u = run.visible_potential.astype(np.float64)
        each[:] = log_expit(-u).sum(axis=-1)
        each += np.einsum("ntkv,ctv->cntk", u, patterns, optimize=True)
    return each, _hidden_spikes(network, run.spikes)


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


def _hidden_spikes(network: Network, spikes: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(N, T): hidden spikes of all compartments."""
    counts = [np.count_nonzero(sequence[..., : network.n_hidden], axis=(1, 2)) for sequence in spikes]
    return np.array(counts, dtype=np.float64).reshape(spikes.shape[:2])
