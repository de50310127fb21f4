"""Several labels at once: each is asked about on its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.engine import engine_named
from gemsnn.inference.decoders import Decoder
from gemsnn.inference.evidence import run_for_labels
from gemsnn.inference.prediction import check, read
from gemsnn.model import Network, Parameters


class LabelPrediction(NamedTuple):
    """Of N sequences and C labels, any number of which can hold."""

    labels: NDArray[np.bool_]  #: (N, C): whether it is said to hold
    probabilities: NDArray[np.float64]  #: (N, C): of holding
    hidden_spikes_per_step: NDArray[np.float64]  #: (N,): summed over compartments


def predict_labels(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int = 1,
    *,
    decoder: str | Decoder = "per-step",
    seed: int = 0,
    threads: int = 1,
    engine: str = "compiled",
) -> LabelPrediction:
    """Which labels hold for each sequence, where visible neuron c was taught to spike whenever label c does.

    To the decoder each label is a question of its own with two answers, no and yes, whose evidence at a step is the
    silence or the spike of that neuron while the network runs freely: the spike itself (``"vote"``) or its probability.
    The arguments are those of :func:`gemsnn.predict`.
    """
    checked = check(network, parameters, inputs, n_compartments, decoder, None, seed, threads, engine=engine)
    how, K = checked.decoder, checked.n_compartments
    N, C = len(checked.sequences), network.n_visible
    found = LabelPrediction(np.zeros((N, C), dtype=bool), np.zeros((N, C)), np.zeros(N))
    running = engine_named(engine).running(network, parameters)
    for places, spikes in checked.sequences.pieces(K, network.n_neurons):
        keys = checked.sequences.keys(places, None)
        evidence = run_for_labels(how, network, parameters, spikes, K, seed, keys, threads, running)
        (state,) = read([how], evidence, (len(places), C, K, 2))
        answer = how.answer(state)
        found.labels[places], found.probabilities[places] = answer.classes, answer.probabilities[..., 1]
        found.hidden_spikes_per_step[places] = evidence.hidden_spikes.mean(axis=1)
    return found
