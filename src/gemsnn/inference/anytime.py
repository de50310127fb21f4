"""Answers before the end: what each decoder would say after every time step, and when it is sure enough to stop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from gemsnn.errors import ConfigError
from gemsnn.inference.decoders import BATCH, checked, class_patterns, free_run, pattern_log_probabilities, read_votes
from gemsnn.inference.likelihood import log_mean_exp
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import whole_number


class Decisions(NamedTuple):
    """Of N sequences, each answered at a time of its own."""

    classes: NDArray[np.int64]  #: (N,): index of the class
    confidence: NDArray[np.float64]  #: (N,): its probability when the answer was given
    steps: NDArray[np.int64]  #: (N,): time steps seen until then
    hidden_spikes: NDArray[np.float64]  #: (N,): spent until then, all compartments together


class AnytimePrediction(NamedTuple):
    """Of N sequences, C classes, T time steps; entry t is the answer after t + 1 steps."""

    classes: NDArray[np.int64]  #: (N, T)
    probabilities: NDArray[np.float64]  #: (N, T, C)
    hidden_spikes: NDArray[np.float64]  #: (N, T): at each step, all compartments together

    @property
    def confidence(self) -> NDArray[np.float64]:
        """(N, T): the probability of the class that would be chosen."""
        return np.take_along_axis(self.probabilities, self.classes[..., None], axis=2)[..., 0]

    def stop(self, confidence: float, min_steps: int = 1) -> Decisions:
        """Answer as soon as the confidence is reached, though not before ``min_steps``; else at the end.

        Examples
        --------
        >>> import numpy as np, gemsnn
        >>> network = gemsnn.Network.fully_connected(n_inputs=4, n_hidden=3, n_visible=2)
        >>> inputs = np.random.default_rng(0).integers(0, 2, (5, 20, 4))
        >>> anytime = gemsnn.predict_anytime(network, network.init(seed=0), inputs, n_compartments=5)
        >>> bool((anytime.stop(confidence=0.5).steps <= anytime.stop(confidence=0.9).steps).all())
        True
        """
        if not 0 <= confidence <= 1:
            raise ConfigError(f"confidence must lie in [0, 1], got {confidence!r}")
        T = self.classes.shape[1]
        if whole_number("min_steps", min_steps, 1) > T:
            raise ConfigError(f"min_steps is {min_steps}, but the sequences have {T} steps")
        sure = self.confidence >= confidence
        sure[:, : min_steps - 1] = False
        sure[:, -1] = True
        last, rows = sure.argmax(axis=1), np.arange(len(sure))
        spent = self.hidden_spikes.cumsum(axis=1)
        return Decisions(self.classes[rows, last], self.confidence[rows, last], last + 1, spent[rows, last])


def predict_anytime(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int = 1,
    *,
    decoder: str = "per-step",
    seed: int = 0,
    first_example: int = 0,
    threads: int = 1,
) -> AnytimePrediction:
    """What :func:`predict` would say of the first 1, 2, ..., T steps of (N, T, n_inputs) sequences.

    One run of the network gives all answers; the last one is :func:`predict`'s own. The arguments are
    :func:`predict`'s.
    """
    batch, K, seed, first_example = checked(
        network, parameters, inputs, n_compartments, decoder, seed, first_example, threads
    )
    N, T = batch.shape[:2]
    C = network.n_visible
    patterns = class_patterns(C, T)
    classes, probabilities, spikes = np.zeros((N, T), dtype=np.int64), np.zeros((N, T, C)), np.zeros((N, T))
    for first in range(0, N, BATCH):
        rows = slice(first, first + BATCH)
        arguments = (network, parameters, batch[rows], K, seed, first_example + first, threads)
        if decoder == "vote":
            visible, spikes[rows] = free_run(*arguments)
            counts = visible.cumsum(axis=1)  # (n, T, K, C)
            for t in range(T):
                found = read_votes(counts[:, t], spikes[rows])
                classes[rows, t], probabilities[rows, t] = found.classes, found.probabilities
        else:
            each, spikes[rows] = pattern_log_probabilities(*arguments, patterns)
            if decoder == "likelihood":
                score = log_mean_exp(each.cumsum(axis=2))  # (C, n, T)
            else:
                score = log_mean_exp(each).cumsum(axis=2) / np.arange(1, T + 1)
            probabilities[rows] = softmax(score, axis=0).transpose(1, 2, 0)
            classes[rows] = score.argmax(axis=0)
    return AnytimePrediction(classes, probabilities, spikes)
