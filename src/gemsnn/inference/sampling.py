"""Free running: all neurons draw their spikes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.engine import engine_named
from gemsnn.engine.protocol import Simulation
from gemsnn.engine.randomness import Draws, Given, Uniforms
from gemsnn.inference.sequences import Sequences
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import uniform_array, whole_number


def sample(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int = 1,
    seed: int = 0,
    uniforms: Any = None,
    engine: str = "compiled",
    *,
    example: int | None = 0,
    threads: int = 1,
) -> Any:
    """Spikes of all neurons, hidden then visible, in response to the inputs.

    Parameters
    ----------
    inputs
        (T, n_inputs); (N, T, n_inputs) for many sequences; or a list of (T_i, n_inputs), whose lengths may differ.
    uniforms
        (T, K, n_neurons), or (N, T, K, n_neurons), or a list, instead of random draws.
    seed, example
        Key of the random draws; sequence n of several has the key ``example + n``. With None, the key is derived from
        the sequence itself, as in :func:`gemsnn.predict` (see :func:`gemsnn.inference.recording_key`).

    Returns
    -------
    (T, K, n_neurons) or (N, T, K, n_neurons) bool, or a list of (T_i, K, n_neurons).
    """
    network.check_parameters(parameters)
    engine_named(engine)
    K = whole_number("n_compartments", n_compartments, 1)
    seed = whole_number("seed", seed, 0)
    example = None if example is None else whole_number("example", example, 0)
    whole_number("threads", threads, 1)
    sequences = Sequences(inputs, network.n_inputs)
    given = None if uniforms is None else sequences.match(
        "uniforms", uniforms, uniform_array, K=K, n_neurons=network.n_neurons
    )  # fmt: skip
    found: Any = [None] * len(sequences)
    if sequences.given == "array":
        found = np.zeros((*np.shape(sequences.each)[:2], K, network.n_neurons), dtype=bool)
    for places, spikes in sequences.pieces(K, network.n_neurons):
        if given is None:
            draws_of = draws(network, K, seed, sequences.keys(places, example), visible=True)
        else:
            draws_of = [Given(given[n]) for n in places].__getitem__
        responses = run(network, parameters, spikes, K, draws_of, None, engine, threads).spikes
        for n, response in zip(places, responses, strict=True):
            found[n] = response
    return found[0] if sequences.given == "one" else found


Keys = Sequence[int] | NDArray[np.integer[Any]]


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
    return (
        engine_named(engine).running(network, parameters).simulate(inputs, n_compartments, draws_of, targets, threads)
    )


def draws(network: Network, n_compartments: int, seed: int, keys: Keys, visible: bool) -> Callable[[int], Draws]:
    """The random draws of sequence n: (T, K, n_hidden), or (T, K, n_neurons) including the visible neurons."""
    n_visible = network.n_visible if visible else 0
    return lambda n: Uniforms(seed, int(keys[n]), n_compartments, network.n_hidden, n_visible)
