"""Several labels per sequence: one binary question for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.engine import engine_named
from gemsnn.inference.decoders import Decoder
from gemsnn.inference.evidence import Fired, run_for_labels
from gemsnn.inference.prediction import check
from gemsnn.model import Network, Parameters


class LabelPrediction(NamedTuple):
    """Of N sequences and C labels, any number of which can hold."""

    labels: NDArray[np.bool_]  #: (N, C): whether each label is predicted
    probabilities: NDArray[np.float64]  #: (N, C)
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
    """Which labels hold for each sequence, if visible neuron c was trained to spike whenever label c holds.

    The decoder classifies each label separately as no or yes. The evidence at a step is the silence or the spike of the
    label's neuron while the network runs freely: the spike itself (``"vote"``) or its probability. The arguments are
    those of :func:`gemsnn.predict`.
    """
    options: Any = {"seed": seed, "threads": threads, "engine": engine}
    pieces = runs_for_labels(network, parameters, inputs, n_compartments, decoder, **options)
    found = [(places, answers) for places, answers, _ in pieces]
    N, C = sum(len(places) for places, _ in found), network.n_visible
    labels = LabelPrediction(np.zeros((N, C), dtype=bool), np.zeros((N, C)), np.zeros(N))
    for places, answers in found:
        for kept, new in zip(labels, answers, strict=True):
            kept[places] = new
    return labels


def runs_for_labels(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int,
    decoder: str | Decoder,
    *,
    seed: int,
    threads: int = 1,
    engine: str = "compiled",
) -> Iterator[tuple[NDArray[np.intp], LabelPrediction, Fired]]:
    """Piece by piece: indices of sequences, the answers of :func:`predict_labels`, and the spikes behind them."""
    checked = check(network, parameters, inputs, n_compartments, decoder, None, seed, threads, engine=engine)
    decoder, K, C = checked.decoder, checked.n_compartments, network.n_visible
    running = engine_named(engine).running(network, parameters)
    for places, spikes in checked.sequences.pieces(K, network.n_neurons):
        keys = checked.sequences.keys(places, None)
        evidence = run_for_labels(decoder, network, parameters, spikes, K, seed, keys, threads, running)
        state = decoder.start((len(places), C, K, 2))
        for step in evidence.steps:
            state = decoder.update(state, step)
        answer, fired = decoder.answer(state), evidence.fired
        yield (
            places,
            LabelPrediction(
                answer.classes.astype(bool), answer.probabilities[..., 1], fired.hidden_spikes.mean(axis=1)
            ),
            fired,
        )
