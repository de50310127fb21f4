"""What an export costs: the figures of the exported network beside those of the model, on the same examples."""

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
    model: Model, how: DecoderSettings, exported: Any, examples: Examples
) -> tuple[Figures, Figures]:  # fmt: skip
    """Figures of the model, and of what was exported.

    ``exported``: a :class:`FixedPoint`, whose random draws are the same; a NIR graph, whose answer is the visible
    neuron with the highest mean potential; or None for what is the same to the bit.
    """
    labels = examples.labels
    if labels is None or labels.ndim != 1:
        raise DataError("these examples have no classes, so there is no accuracy to compare")
    n, C, network = len(labels), model.network.n_visible, model.network
    here, there = ((np.zeros(n, np.int64), np.zeros((n, C))) for _ in range(2))
    readout = Readout(as_decoder(how.kind), how.compartments, temperature_of(model, how))
    work = batches(examples, np.arange(n), network.n_inputs)
    for part in answered(network, model.parameters, work, [readout], seed=model.prediction_seed):
        places = part.places
        here[0][places] = [one.classes[-1] for one in part.answers[0]]
        here[1][places] = [one.probabilities[-1] for one in part.answers[0]]
        if isinstance(exported, FixedPoint):
            for few in np.array_split(np.arange(len(places)), -(-len(places) // _at_once(model, how))):
                steps = predict_fixed(model, exported, part.inputs[few], how, [part.keys[i] for i in few])
                there[0][places[few]] = steps.classes[:, -1]
                there[1][places[few]] = steps.probabilities[:, -1]
        elif exported is not None:
            there[0][places] = run_noise_free(exported, part.inputs).mean(axis=1).argmax(axis=1)
    first = figures(labels, *here)
    if isinstance(exported, FixedPoint):
        return first, figures(labels, *there)
    return first, first if exported is None else {"accuracy": metrics.accuracy(labels, there[0])}


def _at_once(model: Model, how: DecoderSettings) -> int:
    network = model.network
    each = how.compartments * network.n_neurons * network.memory * network.synaptic_filter.n_basis
    return max(1, AT_ONCE // each)
