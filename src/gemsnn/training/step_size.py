"""The learning rate that suits the data: a step is as large as the traces that it is multiplied by are small.

    learning rate = 0.005 / sqrt(E)        E: mean over time of the squared norm of the input traces, less their means

Measured once, before learning, on the first training examples. A camera of thousands of pixels then learns in steps of
about 0.001 and six electrodes in steps of about 0.01, each near the best of its own: ``studies/task_settings.py``.
"""

from __future__ import annotations

import math

import numpy as np

from gemsnn.learning.means import mean_trace
from gemsnn.model import Network
from gemsnn.model.spike_list import SpikeList
from gemsnn.training.data import Examples
from gemsnn.training.partition import Indices

SCALE = 0.005
LARGEST = 0.03
"""Where traces are almost silent; larger steps spoil what other settings are good at."""
MEASURED_ON = 100
"""Examples, in the order in which they are learned."""
CELLS = 1 << 22
"""Of the traces that are held at a time, for one filter: 32 MB."""


def suited_learning_rate(network: Network, examples: Examples, order: Indices, mean_free: bool = True) -> float:
    """The learning rate for examples that are learned in an order, to three digits.

    ``mean_free`` says that traces are learned from less their means.
    """
    steps, energy = 0, 0.0
    mean = np.zeros((network.n_inputs, network.synaptic_filter.n_basis))
    for index in order[:MEASURED_ON].tolist():
        inputs, _ = examples.load(index)
        steps += inputs.n_steps
        energy += trace_energy(network, inputs)
        mean += inputs.n_steps * mean_trace(network, inputs)
    energy /= max(steps, 1)
    if mean_free:
        energy -= float((mean**2).sum()) / max(steps, 1) ** 2
    return float(f"{SCALE / math.sqrt(max(energy, (SCALE / LARGEST) ** 2)):.3g}")


def trace_energy(network: Network, inputs: SpikeList) -> float:
    """Sum over the steps of an example, over inputs and filters, of the squared traces.

    Only inputs that spike are looked at, a few at a time: time follows spikes, and memory is bounded.
    """
    taps = network.synaptic_filter.taps
    spikes, T = inputs.folded(network.n_inputs).spikes, inputs.n_steps
    _, row = np.unique(spikes["index"], return_inverse=True)
    order = np.argsort(row, kind="stable")
    row, step = row[order], spikes["step"][order].astype(np.intp)
    width, energy = T + 1 + taps.shape[1], 0.0
    rows = max(1, CELLS // width)
    for first in range(0, int(row[-1]) + 1 if len(row) else 0, rows):
        here = slice(*np.searchsorted(row, (first, first + rows)))
        cells = (row[here] - first) * width + step[here] + 1  # a spike is first seen one step later
        for of_basis in taps:
            trace = np.zeros((int(row[here][-1]) + 1 - first, width))
            flat = trace.reshape(-1)
            for lag, weight in enumerate(of_basis.tolist()):
                flat[cells + lag] += weight  # no cell twice: an input spikes at most once in a step
            energy += float((trace[:, :T] ** 2).sum())
    return energy
