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
from scipy.special import expit

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
    exogenous = np.concatenate([parameters.synaptic[:, :n_inputs].reshape(n, -1), parameters.bias[:, None]], axis=1).T
    private = np.ascontiguousarray(parameters.synaptic[:, plan.private].reshape(n, -1).T)

    drive = np.empty((N, T, n), dtype=dtype)
    for example in range(N):
        drive[example] = filter_spikes(inputs[example], taps, 0) @ exogenous
    history = np.zeros((N, K, n, plan.history.words), dtype=np.uint16)
    traces = np.zeros((N, K, private.shape[0]), dtype=dtype)
    draws = np.stack(uniforms)
    clamp = np.zeros((N, 0, network.n_visible), dtype=np.uint8) if targets is None else targets
    # What self-memory adds to a neuron's potential, for every word of its spike history.
    own = np.ascontiguousarray(np.einsum("ic,mvc->imv", parameters.somatic, plan.somatic_table))
    private_drive = np.empty((N * K, n), dtype=dtype)
    for t in range(T):
        np.matmul(traces.reshape(N * K, -1), private, out=private_drive)
        _fire(
            t, private_drive.reshape(N, K, n), drive, draws, clamp, own, _SIGMOID_GRID,
            plan.history.bits, plan.synaptic_table, plan.private_index, history, traces, spikes, visible_potential,
        )  # fmt: skip


# Drawing a spike needs to know only on which side of sigmoid(u) the uniform lies. The grid brackets sigmoid(u) between
# two neighbouring values; only a uniform between them (about one in a hundred) needs the exponential.
_GRID_STEPS, _GRID_REACH = 16, 16.0  # steps a unit of potential, and the largest potential on the grid
_GRID_CELLS = int(2 * _GRID_REACH * _GRID_STEPS)
_SIGMOID_GRID = expit(np.arange(_GRID_CELLS + 1) / _GRID_STEPS - _GRID_REACH)


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _fire(
    t: int,
    private_drive: Any,
    drive: Any,
    uniforms: Any,
    targets: Any,
    own: Any,
    sigmoid_grid: Any,
    history_bits: int,
    synaptic_table: Any,
    private_index: Any,
    history: Any,
    traces: Any,
    spikes: Any,
    visible_potential: Any,
) -> None:
    """All neurons of all rows at step t: potential, spike, history and the traces that step t + 1 sees.

    Visible neurons are clamped to (N, T, n_visible) targets; they run freely if the targets have no steps.
    """
    N, K, n = private_drive.shape
    n_hidden = n - targets.shape[2]
    clamped = targets.shape[1] > 0
    n_basis = synaptic_table.shape[2]
    full_word = (1 << history_bits) - 1
    for example in range(N):
        for k in range(K):
            for i in range(n):
                u = drive[example, t, i] + private_drive[example, k, i]
                for word in range(own.shape[1]):
                    u += own[i, word, history[example, k, i, word]]
                if i >= n_hidden:
                    visible_potential[example, t, k, i - n_hidden] = u
                if clamped and i >= n_hidden:
                    spike = targets[example, t, i - n_hidden] != 0
                else:
                    # spike = uniform < sigmoid(potential), exactly. The margin is wider than any rounding here.
                    uniform, potential = uniforms[example, t, k, i], np.float64(u)
                    cell = int(min(max((potential + _GRID_REACH) * _GRID_STEPS, 0.0), _GRID_CELLS - 1.0))
                    spike = uniform < sigmoid_grid[cell] - 1e-12
                    if abs(potential) > _GRID_REACH - 1 or not (spike or uniform > sigmoid_grid[cell + 1] + 1e-12):
                        tail = np.exp(-abs(potential))
                        spike = uniform < (1.0 if potential >= 0 else tail) / (1.0 + tail)
                spikes[example, t, k, i] = spike
                bit = np.int64(spike)
                for word in range(history.shape[3]):
                    longer = (np.int64(history[example, k, i, word]) << 1) | bit
                    history[example, k, i, word] = longer & full_word
                    bit = longer >> history_bits
                source = private_index[i]
                if source >= 0:
                    for c in range(n_basis):
                        trace = synaptic_table[0, history[example, k, i, 0], c]
                        for word in range(1, synaptic_table.shape[0]):
                            trace += synaptic_table[word, history[example, k, i, word], c]
                        traces[example, k, source * n_basis + c] = trace
