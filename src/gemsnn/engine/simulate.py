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
    exogenous = np.concatenate([parameters.synaptic[:, :n_inputs].reshape(n, -1), parameters.bias[:, None]], axis=1).T
    private = np.ascontiguousarray(parameters.synaptic[:, plan.private].reshape(n, -1).T)

    drive = np.empty((N, T, n), dtype=dtype)
    thresholds = np.empty((N, T, *uniforms[0].shape[1:]), dtype=dtype)
    for example in range(N):
        drive[example] = filter_spikes(inputs[example], taps, 0) @ exogenous
        thresholds[example] = _threshold(uniforms[example])
    history = np.zeros((N, K, plan.history.words, n), dtype=np.uint16)
    traces = np.zeros((N, K, private.shape[0]), dtype=dtype)
    # What self-memory adds to a neuron's potential, for every word of its spike history.
    own_table = np.ascontiguousarray(np.einsum("ic,mvc->imv", parameters.somatic, plan.somatic_table))
    own = np.zeros((N, K, n), dtype=dtype)
    clamp = np.zeros((N, 0, network.n_visible), dtype=np.uint8) if targets is None else targets
    potential = np.empty((N * K, n), dtype=dtype)
    for t in range(T):
        np.matmul(traces.reshape(N * K, -1), private, out=potential)
        _fire(
            t, potential.reshape(N, K, n), drive, thresholds, clamp, own, own_table, plan.history.bits,
            plan.synaptic_table, plan.private_index, history, traces, spikes, visible_potential,
        )  # fmt: skip


def _threshold(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """logit: a neuron spikes, uniform < sigmoid(u), where u exceeds it."""
    with np.errstate(divide="ignore"):
        odds = np.divide(uniforms, 1 - uniforms)
        thresholds = np.log(odds, out=odds)
    # A uniform of 0 is below every sigmoid that is not itself 0 in double precision.
    return np.maximum(thresholds, LEAST_POTENTIAL, out=thresholds)


LEAST_POTENTIAL = -745.2  # below it, sigmoid is 0


@njit(fastmath=FASTMATH, nogil=True, cache=True, error_model="numpy")
def _fire(
    t: int,
    potential: Any,
    drive: Any,
    thresholds: Any,
    targets: Any,
    own: Any,
    own_table: Any,
    history_bits: int,
    synaptic_table: Any,
    private_index: Any,
    history: Any,
    traces: Any,
    spikes: Any,
    visible_potential: Any,
) -> None:
    """All neurons of all rows at step t: potential, spike, history and what step t + 1 sees of it.

    ``potential`` (N, K, n) comes with the private drive. Visible neurons are clamped to (N, T, n_visible) targets; they
    run freely if the targets have no steps.
    """
    N, K, n = potential.shape
    n_visible = targets.shape[2]
    n_hidden = n - n_visible
    clamped = targets.shape[1] > 0
    n_basis, n_words = synaptic_table.shape[2], history.shape[2]
    full_word = (1 << history_bits) - 1
    for example in range(N):
        for k in range(K):
            for i in range(n):
                potential[example, k, i] += drive[example, t, i] + own[example, k, i]
            for x in range(n_visible):
                visible_potential[example, t, k, x] = potential[example, k, n_hidden + x]
            for i in range(n_hidden if clamped else n):
                spikes[example, t, k, i] = potential[example, k, i] > thresholds[example, t, k, i]
            if clamped:
                for x in range(n_visible):
                    spikes[example, t, k, n_hidden + x] = targets[example, t, x] != 0
            for i in range(n):
                bit = np.int64(spikes[example, t, k, i])
                for word in range(n_words):
                    longer = (np.int64(history[example, k, word, i]) << 1) | bit
                    history[example, k, word, i] = longer & full_word
                    bit = longer >> history_bits
                own_next = own_table[i, 0, history[example, k, 0, i]]
                for word in range(1, own_table.shape[1]):
                    own_next += own_table[i, word, history[example, k, word, i]]
                own[example, k, i] = own_next
                source = private_index[i]
                if source >= 0:
                    for c in range(n_basis):
                        trace = synaptic_table[0, history[example, k, 0, i], c]
                        for word in range(1, synaptic_table.shape[0]):
                            trace += synaptic_table[word, history[example, k, word, i], c]
                        traces[example, k, source * n_basis + c] = trace
