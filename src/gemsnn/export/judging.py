"""Accuracy of an exported network compared with that of the model, on the same examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn import metrics
from gemsnn.errors import DataError
from gemsnn.export.fixed_point import FixedPoint, predict_fixed, temperature_of
from gemsnn.export.nir_graph import run_noise_free
from gemsnn.inference import as_decoder
from gemsnn.inference.prediction import Readout
from gemsnn.training import DecoderSettings, Model
from gemsnn.training.answered import answered, batches
from gemsnn.training.data import Examples

Figures = dict[str, float]
AT_ONCE = 1 << 22  # sequences times compartments, neurons and steps of the longer filter


def figures(labels: NDArray[Any], classes: NDArray[Any], probabilities: NDArray[np.float64]) -> Figures:
    """Accuracy, calibration error (10 bins) and negative log-likelihood."""
    return {
        "accuracy": metrics.accuracy(labels, classes),
        "ece": metrics.reliability(labels, probabilities, 10, predicted=classes).ece,
        "nll": metrics.negative_log_likelihood(labels, probabilities),
    }


def judge(
    model: Model, readout: DecoderSettings, exported: Any, examples: Examples
) -> tuple[Figures, Figures]:  # fmt: skip
    """Figures of the model, and of the exported network.

    ``exported``: a :class:`FixedPoint`, with the same random draws; a NIR graph, which answers the visible neuron with
    the highest mean potential; or None for an export that is bit-for-bit equivalent.
    """
    labels = examples.labels
    if labels is None or labels.ndim != 1:
        raise DataError("these examples have no classes, so accuracy cannot be compared")
    n, C, network = len(labels), model.network.n_visible, model.network
    ours, theirs = ((np.zeros(n, np.int64), np.zeros((n, C))) for _ in range(2))
    sampled = Readout(as_decoder(readout.kind), readout.compartments, temperature_of(model, readout))
    work = batches(examples, np.arange(n), network.n_inputs)
    for part in answered(network, model.parameters, work, [sampled], seed=model.prediction_seed):
        index = part.places
        ours[0][index] = [one.classes[-1] for one in part.answers[0]]
        ours[1][index] = [one.probabilities[-1] for one in part.answers[0]]
        if isinstance(exported, FixedPoint):
            for few in np.array_split(np.arange(len(index)), -(-len(index) // _at_once(model, readout))):
                steps = predict_fixed(model, exported, part.inputs[few], readout, [part.keys[i] for i in few])
                theirs[0][index[few]] = steps.classes[:, -1]
                theirs[1][index[few]] = steps.probabilities[:, -1]
        elif exported is not None:
            theirs[0][index] = run_noise_free(exported, part.inputs).mean(axis=1).argmax(axis=1)
    first = figures(labels, *ours)
    if isinstance(exported, FixedPoint):
        return first, figures(labels, *theirs)
    return first, first if exported is None else {"accuracy": metrics.accuracy(labels, theirs[0])}


def _at_once(model: Model, readout: DecoderSettings) -> int:
    network = model.network
    each = readout.compartments * network.n_neurons * network.memory * network.synaptic_filter.n_basis
    return max(1, AT_ONCE // each)
