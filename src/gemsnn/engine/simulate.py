"""Running without learning, many sequences at once: no eligibility, so compartments and examples are matrix rows.

The exogenous drive is one matrix product an example, the same for all its compartments. Then, step by step, the
private drive is one matrix product over all rows, and one compiled pass fires the neurons and looks their new traces
up. Examples are worked through in batches of fixed size, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.blas import flags_ignored, single_threaded_blas
from gemsnn.engine.firing import CircuitTable, compete, sigmoid, winner
from gemsnn.engine.jit import FASTMATH, jit
from gemsnn.engine.layout import layout
from gemsnn.engine.protocol import Simulation
from gemsnn.engine.randomness import Draws
from gemsnn.engine.tables import history_format
from gemsnn.model import Network, Parameters

ROWS = 256  # rows (examples times compartments) that a batch aims at
VECTOR = 16  # matrix products are fastest when rows of the result are a multiple of this long


def simulate(
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    n_compartments: int,
    draws_of: Callable[[int], Draws],
    targets: NDArray[Any] | None = None,
    threads: int = 1,
) -> Simulation:
    """Run (N, T, n_inputs) inputs; visible neurons are clamped to (N, T, n_visible) targets, or run freely.

    ``draws_of(n)`` gives sequence n's draws: (T, K, n_hidden) if there are targets, else (T, K, n_neurons).
    """
    N, T = inputs.shape[:2]
    n, n_visible = network.n_neurons, network.n_visible
    spikes = np.zeros((N, T, n_compartments, n), dtype=np.bool_)
    potential = np.zeros((N, T, n_compartments, n_visible), dtype=parameters.dtype)
    size = max(1, ROWS // n_compartments)
    weights = _arrange(network, parameters)

    def run(first: int) -> None:
        rows = slice(first, min(first + size, N))
        with flags_ignored():  # each thread for itself
            _run_batch(
                network, weights, inputs[rows], None if targets is None else targets[rows],
                lambda index: draws_of(first + index), spikes[rows], potential[rows],
            )  # fmt: skip

    with single_threaded_blas():
        if threads == 1:
            for first in range(0, N, size):
                run(first)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(run, range(0, N, size)))
    return Simulation(spikes, potential)


class _Weights(NamedTuple):
    """The parameters as the steps below read them; rows are filled up to ``width``, a multiple of ``VECTOR``."""

    exogenous: NDArray[Any]  # (n_basis, n_inputs, width)
    private: NDArray[Any]  # (n_basis, n_private, width)
    bias: NDArray[Any]  # (width,)
    somatic: NDArray[Any]  # (n_basis, n_neurons)
    first_own: int  # the self-memory of neurons before this one is among the private weights
    synaptic_table: NDArray[Any]  # (n_basis, words, 2 ** bits)
    somatic_table: NDArray[Any]
    circuits: CircuitTable


def _arrange(network: Network, parameters: Parameters) -> _Weights:
    plan = layout(network, True, parameters.dtype)
    n, width = network.n_neurons, -(-network.n_neurons // VECTOR) * VECTOR
    exogenous, private = (
        np.pad(parameters.synaptic[:, sources].transpose(2, 1, 0), ((0, 0), (0, 0), (0, width - n)))
        for sources in (slice(0, network.n_inputs), plan.private)
    )
    somatic, first_own = np.ascontiguousarray(parameters.somatic.T), 0
    if network.synaptic_filter == network.somatic_filter:  # self-memory is a synapse from the neuron to itself
        first_own = private.shape[1]
        own = np.arange(first_own)
        private[:, own, own] += somatic[:, :first_own]
    synaptic_table, somatic_table = (
        np.ascontiguousarray(table.transpose(2, 0, 1)) for table in (plan.synaptic_table, plan.somatic_table)
    )
    bias = np.pad(parameters.bias, (0, width - n))
    return _Weights(exogenous, private, bias, somatic, first_own, synaptic_table, somatic_table, plan.circuits)


def _run_batch(
    network: Network,
    weights: _Weights,
    inputs: NDArray[Any],
    targets: NDArray[Any] | None,
    draws_of: Callable[[int], Draws],
    spikes: NDArray[np.bool_],
    visible_potential: NDArray[Any],
) -> None:
    dtype, width = weights.bias.dtype, weights.bias.size
    exogenous, private = weights.exogenous.reshape(-1, width), weights.private.reshape(-1, width)
    words, bits = history_format(network.memory)
    N, T, K, n = spikes.shape
    drive = np.empty((N, T, width), dtype=dtype)
    thresholds = np.empty((N, T, K, n if targets is None else network.n_hidden), dtype=dtype)
    for example in range(N):
        shared = _exogenous_traces(inputs[example], weights.synaptic_table, bits)
        drive[example] = shared.reshape(T, len(exogenous)) @ exogenous + weights.bias
        # A neuron spikes, uniform < sigmoid(u), where u exceeds the uniform's logit.
        draws_of(example).draw_logits(thresholds[example])
    history = np.zeros((N, K, words, n), dtype=np.uint16)
    traces = np.zeros((N, K, *weights.private.shape[:2]), dtype=dtype)
    clamp = np.zeros((N, 0, network.n_visible), dtype=np.uint8) if targets is None else targets
    potential = np.empty((N, K, width), dtype=dtype)
    for t in range(T):
        np.matmul(traces.reshape(N * K, len(private)), private, out=potential.reshape(N * K, width))
        _fire(
            t, potential, drive, thresholds, clamp, weights.first_own, weights.somatic, weights.somatic_table,
            weights.synaptic_table, weights.circuits, bits, history, traces, spikes, visible_potential,
        )  # fmt: skip


@jit()
def _exogenous_traces(spikes: Any, table: Any, bits: int) -> Any:
    """(T, n_basis, n) of the spikes (T, n): step t sees the spikes before t."""
    T, n = spikes.shape
    history = np.zeros((table.shape[1], n), dtype=np.uint16)
    traces = np.empty((T, table.shape[0], n), dtype=table.dtype)
    for t in range(T):
        _look_up(history, table, traces[t])
        _remember(spikes[t], history, bits)
    return traces


@jit(fastmath=FASTMATH, error_model="numpy")
def _fire(
    t: int,
    potential: Any,
    drive: Any,
    thresholds: Any,
    targets: Any,
    first_own: int,
    somatic: Any,
    somatic_table: Any,
    synaptic_table: Any,
    circuits: CircuitTable,
    history_bits: int,
    history: Any,
    traces: Any,
    spikes: Any,
    visible_potential: Any,
) -> None:
    """All neurons of all rows at step t: potential, spike, and the traces that step t + 1 sees.

    ``potential`` (N, K, width) comes with the private drive, and with the self-memory of neurons before ``first_own``.
    Visible neurons are clamped to (N, T, n_visible) targets; they run freely if the targets have no steps.
    """
    N, _, K, n = spikes.shape
    n_visible = targets.shape[2]
    n_hidden = n - n_visible
    clamped = targets.shape[1] > 0
    n_free = n_hidden if clamped else n
    probabilities = np.empty(n)
    for example in range(N):
        for k in range(K):
            for i in range(n):
                potential[example, k, i] += drive[example, t, i]
            for basis in range(somatic_table.shape[0]):
                for word in range(somatic_table.shape[1]):
                    for i in range(first_own, n):
                        trace = somatic_table[basis, word, history[example, k, word, i]]
                        potential[example, k, i] += somatic[basis, i] * trace
            for x in range(n_visible):
                visible_potential[example, t, k, x] = potential[example, k, n_hidden + x]
            for i in range(n_free):
                spikes[example, t, k, i] = potential[example, k, i] > thresholds[example, t, k, i]
            for c in range(len(circuits.silent)):
                members = circuits.member[circuits.start[c] : circuits.start[c + 1]]
                if members[0] < n_free:
                    compete(potential[example, k], members, circuits.silent[c], probabilities)
                    uniform = sigmoid(np.float64(thresholds[example, t, k, members[0]]))
                    chosen = winner(probabilities, members, circuits.silent[c], uniform)
                    for i in members:
                        spikes[example, t, k, i] = i == chosen
            for i in range(n_free, n):
                spikes[example, t, k, i] = targets[example, t, i - n_hidden] != 0
            _remember(spikes[example, t, k], history[example, k], history_bits)
            _look_up(history[example, k], synaptic_table, traces[example, k])


@jit()
def _remember(spikes: Any, history: Any, bits: int) -> None:
    """Shift the spikes (n,) into the history (words, n), the oldest word first (see ``tables.py``)."""
    full_word = (1 << bits) - 1
    for word in range(history.shape[0] - 1, 0, -1):
        for i in range(history.shape[1]):
            passed_on = history[word - 1, i] >> (bits - 1)
            history[word, i] = (history[word, i] << 1 | passed_on) & full_word
    for i in range(history.shape[1]):
        history[0, i] = (history[0, i] << 1 | (spikes[i] != 0)) & full_word


@jit()
def _look_up(history: Any, table: Any, traces: Any) -> None:
    """Traces (n_basis, n) of the first n neurons in the history, by the (n_basis, words, 2 ** bits) table."""
    for basis in range(table.shape[0]):
        for i in range(traces.shape[1]):
            traces[basis, i] = table[basis, 0, history[0, i]]
        for word in range(1, table.shape[1]):
            for i in range(traces.shape[1]):
                traces[basis, i] += table[basis, word, history[word, i]]
