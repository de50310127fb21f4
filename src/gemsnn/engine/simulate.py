"""Running without learning, many sequences at once: no eligibility, so compartments and examples are matrix rows.

The exogenous drive is one matrix product an example, the same for all its compartments. Then, step by step, the
private drive is one matrix product over all rows, and one compiled pass fires the neurons. Examples are worked through
in batches of fixed size, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemsnn.engine.blas import single_threaded_blas
from gemsnn.engine.kernel import FASTMATH, filter_spikes
from gemsnn.engine.layout import layout
from gemsnn.model import Network, Parameters

ROWS = 256  # rows (examples times compartments) that a batch aims at


class Simulation(NamedTuple):
    """Of N sequences with K compartments."""

    spikes: NDArray[np.bool_]  # (N, T, K, n_neurons)
    visible_potential: NDArray[Any]  # (N, T, K, n_visible)


def simulate(
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    n_compartments: int,
    uniforms_of: Callable[[int], NDArray[np.float64]],
    targets: NDArray[Any] | None = None,
    threads: int = 1,
) -> Simulation:
    """Run (N, T, n_inputs) inputs; visible neurons are clamped to (N, T, n_visible) targets, or run freely.

    ``uniforms_of(n)`` gives sequence n's draws: (T, K, n_hidden) if there are targets, else (T, K, n_neurons).
    """
    N, T = inputs.shape[:2]
    n, n_visible = network.n_neurons, network.n_visible
    spikes = np.zeros((N, T, n_compartments, n), dtype=np.bool_)
    potential = np.zeros((N, T, n_compartments, n_visible), dtype=parameters.dtype)
    size = max(1, ROWS // n_compartments)

    def run(first: int) -> None:
        rows = slice(first, min(first + size, N))
        _run_batch(
            network, parameters, inputs[rows], None if targets is None else targets[rows],
            lambda index: uniforms_of(first + index), spikes[rows], potential[rows],
        )  # fmt: skip

    with single_threaded_blas():
        if threads == 1:
            for first in range(0, N, size):
                run(first)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(run, range(0, N, size)))
    return Simulation(spikes, potential)


def _run_batch(
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    targets: NDArray[Any] | None,
    uniforms_of: Callable[[int], NDArray[np.float64]],
    spikes: NDArray[np.bool_],
    visible_potential: NDArray[Any],
) -> None:
    dtype = parameters.dtype
    plan = layout(network, True, dtype)
    N, T, K, n = spikes.shape
    taps, n_inputs = plan.synaptic_taps, network.n_inputs
    exogenous = np.concatenate([parameters.synaptic[:, :n_inputs].reshape(n, -1), parameters.bias[:, None]], axis=1).T
    private = np.ascontiguousarray(parameters.synaptic[:, plan.private].transpose(2, 1, 0))  # (n_basis, n_private, n)
    # Self-memory as one filter a neuron: (duration, n).
    own_taps = np.ascontiguousarray(network.somatic_filter.taps.T.astype(dtype) @ parameters.somatic.T)

    drive = np.empty((N, T, n), dtype=dtype)
    thresholds = np.empty((N, T, K, n if targets is None else network.n_hidden), dtype=dtype)
    for example in range(N):
        drive[example] = filter_spikes(inputs[example], taps, 0) @ exogenous
        _threshold(uniforms_of(example), out=thresholds[example])
    ring = np.zeros((network.memory, N, K, n), dtype=dtype)  # the last spikes; step t's stand in slot t % memory
    traces = np.zeros((N, K, *private.shape[:2]), dtype=dtype)
    clamp = np.zeros((N, 0, network.n_visible), dtype=np.uint8) if targets is None else targets
    potential = np.empty((N * K, n), dtype=dtype)
    for t in range(T):
        np.matmul(traces.reshape(N * K, -1), private.reshape(-1, n), out=potential)
        _fire(
            t, potential.reshape(N, K, n), drive, thresholds, clamp, own_taps, taps, ring, traces,
            spikes, visible_potential,
        )  # fmt: skip


def _threshold(uniforms: NDArray[np.float64], out: NDArray[Any]) -> None:
    """logit: a neuron spikes, uniform < sigmoid(u), where u exceeds it."""
    with np.errstate(divide="ignore"):
        np.divide(uniforms, 1 - uniforms, out=out, casting="same_kind")
        np.log(out, out=out)
    # A uniform of 0 is below every sigmoid that is not itself 0 in double precision.
    np.maximum(out, LEAST_POTENTIAL, out=out)


LEAST_POTENTIAL = -745.2  # below it, sigmoid is 0


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _fire(
    t: int,
    potential: Any,
    drive: Any,
    thresholds: Any,
    targets: Any,
    own_taps: Any,
    taps: Any,
    ring: Any,
    traces: Any,
    spikes: Any,
    visible_potential: Any,
) -> None:
    """All neurons of all rows at step t: potential, spike, and the traces that step t + 1 sees.

    ``potential`` (N, K, n) comes with the private drive. Visible neurons are clamped to (N, T, n_visible) targets; they
    run freely if the targets have no steps.
    """
    N, K, n = potential.shape
    n_visible = targets.shape[2]
    n_hidden = n - n_visible
    clamped = targets.shape[1] > 0
    n_free = n_hidden if clamped else n
    memory, n_basis, n_private = ring.shape[0], traces.shape[2], traces.shape[3]
    for example in range(N):
        for k in range(K):
            for i in range(n):
                potential[example, k, i] += drive[example, t, i]
            for lag in range(1, min(own_taps.shape[0], t) + 1):
                slot = (t - lag) % memory
                for i in range(n):
                    potential[example, k, i] += own_taps[lag - 1, i] * ring[slot, example, k, i]
            for x in range(n_visible):
                visible_potential[example, t, k, x] = potential[example, k, n_hidden + x]
            for i in range(n_free):
                spikes[example, t, k, i] = potential[example, k, i] > thresholds[example, t, k, i]
            for i in range(n_free, n):
                spikes[example, t, k, i] = targets[example, t, i - n_hidden] != 0
            now = t % memory
            for i in range(n):
                ring[now, example, k, i] = spikes[example, t, k, i]
            for basis in range(n_basis):
                for i in range(n_private):
                    traces[example, k, basis, i] = taps[basis, 0] * ring[now, example, k, i]
                for lag in range(2, min(taps.shape[1], t + 1) + 1):
                    slot, tap = (t + 1 - lag) % memory, taps[basis, lag - 1]
                    for i in range(n_private):
                        traces[example, k, basis, i] += tap * ring[slot, example, k, i]
