"""Free running: every neuron draws its own spikes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.engine import engine_named
from gemsnn.engine.protocol import Simulation
from gemsnn.engine.randomness import Draws, Given, Uniforms
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import spike_array, uniform_array, whole_number


def sample(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int = 1,
    seed: int = 0,
    uniforms: ArrayLike | None = None,
    engine: str = "compiled",
    *,
    example: int = 0,
    threads: int = 1,
) -> NDArray[np.bool_]:
    """Spikes of all neurons, hidden then visible, in response to the inputs.

    Parameters
    ----------
    inputs
        (T, n_inputs), or (N, T, n_inputs) for many sequences at once.
    uniforms
        (T, K, n_neurons), or (N, T, K, n_neurons), instead of random draws.
    seed, example
        Key of the random draws; sequence n of a batch has the key ``example + n``.

    Returns
    -------
    (T, K, n_neurons) or (N, T, K, n_neurons) bool.
    """
    network.check_parameters(parameters)
    engine_named(engine)
    K = whole_number("n_compartments", n_compartments, 1)
    seed, example = whole_number("seed", seed, 0), whole_number("example", example, 0)
    whole_number("threads", threads, 1)
    batch, single = batch_of_sequences("inputs", inputs, network.n_inputs, "n_inputs")
    N, T = batch.shape[:2]
    if uniforms is None:
        draws_of = draws(network, K, seed, example, visible=True)
    else:
        sizes: dict[str, int | None] = {"T": T, "K": K, "n_neurons": network.n_neurons}
        checked = uniform_array("uniforms", uniforms, sizes if single else {"N": N, **sizes})
        given = checked.reshape(N, T, K, network.n_neurons)

        def draws_of(n: int) -> Draws:
            return Given(given[n])

    spikes = run(network, parameters, batch, K, draws_of, None, engine, threads).spikes
    return spikes[0] if single else spikes


def run(
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    n_compartments: int,
    draws_of: Callable[[int], Draws],
    targets: NDArray[Any] | None,
    engine: str,
    threads: int = 1,
) -> Simulation:
    """Without learning (see :class:`gemsnn.engine.protocol.Engine`)."""
    return engine_named(engine).simulate(network, parameters, inputs, n_compartments, draws_of, targets, threads)


def draws(network: Network, n_compartments: int, seed: int, example: int, visible: bool) -> Callable[[int], Draws]:
    """The random draws of sequence n: (T, K, n_hidden), or with the visible neurons' (T, K, n_neurons)."""
    n_visible = network.n_visible if visible else 0
    return lambda n: Uniforms(seed, example + n, n_compartments, network.n_hidden, n_visible)


def batch_of_sequences(name: str, value: ArrayLike, width: int, width_name: str) -> tuple[NDArray[np.uint8], bool]:
    """(N, T, width) spikes, and whether one sequence (T, width) was given."""
    array = np.asarray(value)
    if array.ndim == 3:
        return spike_array(name, array, {"N": None, "T": None, width_name: width}), False
    return spike_array(name, array, {"T": None, width_name: width})[None], True
