"""How probable a desired output is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, logsumexp

from gemsnn.engine import engine_named
from gemsnn.inference.sampling import batch_of_sequences, draws, run
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import spike_array, whole_number


def log_likelihood(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    targets: ArrayLike,
    n_samples: int = 20,
    seed: int = 0,
    engine: str = "compiled",
    *,
    example: int = 0,
    threads: int = 1,
) -> Any:
    """Estimate log p(targets) = log of the mean over ``n_samples`` hidden realisations of p(targets || hidden).

    Parameters
    ----------
    inputs, targets
        (T, n_inputs) and (T, n_visible), or (N, T, ...) for many sequences at once.

    Returns
    -------
    A float, or (N,) floats.
    """
    network.check_parameters(parameters)
    engine_named(engine)
    n_samples = whole_number("n_samples", n_samples, 1)
    seed, example = whole_number("seed", seed, 0), whole_number("example", example, 0)
    whole_number("threads", threads, 1)
    batch, single = batch_of_sequences("inputs", inputs, network.n_inputs, "n_inputs")
    N, T = batch.shape[:2]
    sizes: dict[str, int | None] = {"T": T, "n_visible": network.n_visible}
    clean = spike_array("targets", targets, sizes if single else {"N": N, **sizes}).reshape(N, T, network.n_visible)
    draws_of = draws(network, n_samples, seed, example, visible=False)
    potential = run(network, parameters, batch, n_samples, draws_of, clean, engine, threads).visible_potential
    estimate = log_mean_probability(potential, clean[:, :, None, :])
    return float(estimate[0]) if single else estimate


def log_mean_probability(potential: NDArray[Any], targets: NDArray[Any]) -> NDArray[np.float64]:
    """log mean_k p(x || h^k) from visible potentials (..., T, K, n_visible); broadcasts with the targets' shape."""
    return log_mean_exp(log_probability(potential, targets).sum(axis=-2))


def log_probability(potential: NDArray[Any], targets: NDArray[Any]) -> NDArray[np.float64]:
    """(..., T, K): log p of each step's visible spikes from potentials (..., T, K, n_visible)."""
    u = potential.astype(np.float64)
    found: NDArray[np.float64] = log_expit(np.where(targets != 0, u, -u)).sum(axis=-1)
    return found


def log_mean_exp(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """log of the mean over the last axis, the compartments, of exp(values)."""
    found: NDArray[np.float64] = logsumexp(values, axis=-1) - np.log(values.shape[-1])
    return found
