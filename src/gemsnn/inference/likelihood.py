"""Log-likelihood of a desired output."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.engine import engine_named
from gemsnn.inference.decoders.likelihood import log_mean_exp
from gemsnn.inference.sampling import draws, run
from gemsnn.inference.sequences import Sequences
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import one_of, spike_array, whole_number
from gemsnn.model.spikes import Circuits, log_probability

Mean = Literal["probability", "log-probability"]
"""What is averaged over realisations of the hidden neurons."""


def log_likelihood(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    targets: ArrayLike,
    n_samples: int = 20,
    seed: int = 0,
    engine: str = "compiled",
    *,
    mean: Mean = "probability",
    example: int | None = 0,
    threads: int = 1,
) -> Any:
    """Estimate log p(targets) = log of the mean over ``n_samples`` hidden realisations of p(targets || hidden).

    Parameters
    ----------
    inputs, targets
        (T, n_inputs) and (T, n_visible); (N, T, ...) for many sequences; or two lists of (T_i, ...), whose lengths may
        differ.
    seed, example
        Key of the random draws, as in :func:`gemsnn.sample`.
    mean
        What is averaged. ``"log-probability"`` gives the mean of log p(targets || hidden) instead, which is not the
        log-likelihood but a lower bound on it.

    Returns
    -------
    A float, or (N,) floats.
    """
    network.check_parameters(parameters)
    engine_named(engine)
    n_samples = whole_number("n_samples", n_samples, 1)
    seed = whole_number("seed", seed, 0)
    example = None if example is None else whole_number("example", example, 0)
    whole_number("threads", threads, 1)
    one_of("mean", mean, get_args(Mean))
    sequences = Sequences(inputs, network.n_inputs)
    desired = sequences.match("targets", targets, spike_array, n_visible=network.n_visible)
    for n, one in enumerate(desired):
        network.circuits.check_targets("targets" if sequences.given == "one" else f"targets[{n}]", one)
    estimate = np.zeros(len(sequences))
    for places, spikes in sequences.pieces(n_samples, network.n_neurons):
        clamp = np.array([desired[n] for n in places])
        draws_of = draws(network, n_samples, seed, sequences.keys(places, example), visible=False)
        potential = run(network, parameters, spikes, n_samples, draws_of, clamp, engine, threads).visible_potential
        estimate[places] = log_mean_probability(network.circuits.visible, potential, clamp[:, :, None, :], mean)
    return float(estimate[0]) if sequences.given == "one" else estimate


def log_mean_probability(
    circuits: Circuits, potential: NDArray[Any], targets: NDArray[Any], mean: Mean = "probability"
) -> NDArray[np.float64]:
    """log mean_k p(x || h^k) from visible potentials (..., T, K, n_visible); broadcasts with the targets' shape."""
    of_sample = log_probability(circuits, potential, targets).sum(axis=-1).sum(axis=-2)  # (..., K)
    return averaged(of_sample[..., None], mean)[..., 0]


def averaged(values: NDArray[np.float64], mean: Mean) -> NDArray[np.float64]:
    """(..., C) from the log-probabilities (..., K, C) of K realisations."""
    found: NDArray[np.float64] = log_mean_exp(values) if mean == "probability" else values.mean(axis=-2)
    return found
