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
            [uniforms_of(index) for index in range(rows.start, rows.stop)], spikes[rows], potential[rows],
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
    uniforms: list[NDArray[np.float64]],
    spikes: NDArray[np.bool_],
    visible_potential: NDArray[Any],
) -> None:
    dtype = parameters.dtype
    plan = layout(network, True, dtype)
    N, T, K, n = spikes.shape
    taps = plan.synaptic_taps
    n_inputs = network.n_inputs
    exogenous = parameters.synaptic[:, :n_inputs].reshape(n, -1)
    private = np.ascontiguousarray(parameters.synaptic[:, plan.private].reshape(n, -1).T)

    drive = np.empty((N, T, n), dtype=dtype)
    for example in range(N):
        drive[example] = filter_spikes(inputs[example], taps, 0) @ exogenous.T + parameters.bias
    history = np.zeros((N, K, n, plan.history_bytes), dtype=np.uint8)
    traces = np.zeros((N, K, private.shape[0]), dtype=dtype)
    draws = np.stack(uniforms)
    clamped = targets is not None
    clamp = targets if targets is not None else np.zeros((N, T, network.n_visible), dtype=np.uint8)
    private_drive = np.empty((N * K, n), dtype=dtype)
    for t in range(T):
        np.matmul(traces.reshape(N * K, -1), private, out=private_drive)
        _fire(
            t, private_drive.reshape(N, K, n), drive, draws, clamp, clamped,
            parameters.somatic, plan.synaptic_table, plan.somatic_table, plan.private_index,
            history, traces, spikes, visible_potential,
        )  # fmt: skip


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _fire(
    t: int,
    private_drive: Any,
    drive: Any,
    uniforms: Any,
    targets: Any,
    clamped: bool,
    somatic: Any,
    synaptic_table: Any,
    somatic_table: Any,
    private_index: Any,
    history: Any,
    traces: Any,
    spikes: Any,
    visible_potential: Any,
) -> None:
    """All neurons of all rows at step t: potential, spike, history and the traces that step t + 1 sees."""
    N, K, n = private_drive.shape
    n_hidden = n - targets.shape[2]
    n_basis, n_basis_somatic = synaptic_table.shape[2], somatic.shape[1]
    for example in range(N):
        for k in range(K):
            for i in range(n):
                u = drive[example, t, i] + private_drive[example, k, i]
                for c in range(n_basis_somatic):
                    trace = somatic_table[0, history[example, k, i, 0], c]
                    for byte in range(1, somatic_table.shape[0]):
                        trace += somatic_table[byte, history[example, k, i, byte], c]
                    u += somatic[i, c] * trace
                if i >= n_hidden:
                    visible_potential[example, t, k, i - n_hidden] = u
                if clamped and i >= n_hidden:
                    spike = targets[example, t, i - n_hidden] != 0
                else:
                    potential = np.float64(u)
                    tail = np.exp(-abs(potential))
                    spike = uniforms[example, t, k, i] < (1.0 if potential >= 0 else tail) / (1.0 + tail)
                spikes[example, t, k, i] = spike
                bit = np.uint8(1) if spike else np.uint8(0)
                for byte in range(history.shape[3]):
                    old = history[example, k, i, byte]
                    history[example, k, i, byte] = np.uint8((old << 1) & 255) | bit
                    bit = np.uint8(old >> 7)
                source = private_index[i]
                if source >= 0:
                    for c in range(n_basis):
                        trace = synaptic_table[0, history[example, k, i, 0], c]
                        for byte in range(1, synaptic_table.shape[0]):
                            trace += synaptic_table[byte, history[example, k, i, byte], c]
                        traces[example, k, source * n_basis + c] = trace
