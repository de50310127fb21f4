"""From sequences to classes with their probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.engine import engine_named
from gemsnn.errors import ShapeError
from gemsnn.inference.decoders import Decoder, as_decoder
from gemsnn.inference.evidence import Evidence, run_for
from gemsnn.inference.sequences import Sequences
from gemsnn.inference.temperature import Temperature
from gemsnn.inference.usual import Usual
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import spike_array, whole_number


class Prediction(NamedTuple):
    """Of N sequences and C classes."""

    classes: NDArray[np.int64]  #: (N,): index of the class
    probabilities: NDArray[np.float64]  #: (N, C)
    votes: NDArray[np.int64]  #: (N, C): how many compartments prefer each class
    hidden_spikes_per_step: NDArray[np.float64]  #: (N,): summed over compartments
    usual: NDArray[np.float64]  #: (N,): p-value (:mod:`gemsnn.inference.usual`); NaN where it is not known

    @property
    def confidence(self) -> NDArray[np.float64]:
        """(N,): the probability of the class chosen."""
        return self.probabilities[np.arange(len(self.classes)), self.classes]


def predict(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int = 1,
    *,
    decoder: str | Decoder = "per-step",
    patterns: ArrayLike | None = None,
    seed: int = 0,
    keys: Sequence[int] | None = None,
    threads: int = 1,
    engine: str = "compiled",
    temperature: Temperature | None = None,
    usual: Usual | None = None,
) -> Prediction:
    """Classify sequences.

    Parameters
    ----------
    inputs
        (N, T, n_inputs), or a list of (T_i, n_inputs), which may differ in length.
    n_compartments
        Compartments that run.
    decoder
        ``"per-step"``, whose probabilities mean most; ``"likelihood"``; ``"vote"``, as in the paper; or a
        :class:`gemsnn.inference.Decoder` of your own.
    patterns
        (C, T, n_visible): desired output of each class. Default: :func:`gemsnn.inference.class_patterns`. A decoder of
        freely running neurons, like ``"vote"``, reads neuron c as class c and ignores it.
    seed
        With the sequence itself it decides the random draws: the same sequence has the same answer, to the bit, in any
        company and at any place, and equal sequences have equal answers.
    keys
        N whole numbers: keys of the draws, in place of those that follow from the sequences
        (:func:`gemsnn.inference.recording_key`); so a live stream's answers are computed once more.
    engine
        ``"compiled"``, or ``"reference"``: float64 NumPy, slow.
    temperature
        What makes the decoder's probabilities calibrated (:func:`gemsnn.inference.fit_temperature`).
    usual
        What says how usual each sequence is (:func:`gemsnn.inference.fit_usual`).
    """
    checked = check(network, parameters, inputs, n_compartments, decoder, patterns, seed, threads, keys, engine)
    N, C = len(checked.sequences), checked.n_classes
    found = no_answers(N, C)
    for places, spikes, evidence in runs(network, parameters, checked, seed, threads):
        state = checked.decoder.start((len(places), checked.n_compartments, C))
        T = spikes.shape[1]
        checkpoint = None if usual is None else usual.checkpoint(T)
        for t, step in enumerate(evidence.steps, start=1):
            state = checked.decoder.update(state, step)
            if usual is not None and checkpoint is not None and t == usual.checkpoints[checkpoint]:
                fired = evidence.fired.counts([t])[:, 0]
                found.usual[places] = usual.p_value(checkpoint, fired, checked.decoder.answer(state).probabilities)
        found.classes[places], probabilities, found.votes[places] = checked.decoder.answer(state)
        if temperature is not None:
            probabilities = temperature(probabilities, T, np.count_nonzero(spikes, axis=(1, 2)))
        found.probabilities[places] = probabilities
        found.hidden_spikes_per_step[places] = evidence.fired.hidden_spikes.mean(axis=1)
    return found


def no_answers(N: int, C: int) -> Prediction:
    """To be filled in."""
    return Prediction(
        np.zeros(N, np.int64), np.zeros((N, C)), np.zeros((N, C), np.int64), np.zeros(N), np.full(N, np.nan)
    )


class Checked(NamedTuple):
    """Arguments of :func:`predict` that were found to be usable."""

    decoder: Decoder
    n_compartments: int
    sequences: Sequences
    patterns: NDArray[np.uint8] | None
    n_classes: int
    keys: list[int] | None
    engine: str


def check(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int,
    decoder: str | Decoder,
    patterns: ArrayLike | None,
    seed: int,
    threads: int,
    keys: Sequence[int] | None = None,
    engine: str = "compiled",
) -> Checked:
    engine_named(engine)
    network.check_parameters(parameters)
    how = as_decoder(decoder)
    K = whole_number("n_compartments", n_compartments, 1)
    whole_number("seed", seed, 0)
    whole_number("threads", threads, 1)
    sequences = Sequences(inputs, network.n_inputs)
    if keys is not None:
        keys = [whole_number(f"keys[{n}]", key, 0) for n, key in enumerate(keys)]
        if len(keys) != len(sequences):
            raise ShapeError(f"keys must hold a key for each of the {len(sequences)} sequences, got {len(keys)}")
    if how.free or patterns is None:
        if not how.free:
            network.circuits.check_targets("class_patterns", np.eye(network.n_visible, dtype=np.uint8))
        return Checked(how, K, sequences, None, network.n_visible, keys, engine)
    for T in sorted({len(one) for one in sequences.each}):
        desired = spike_array("patterns", patterns, {"C": None, "T": T, "n_visible": network.n_visible})
    if not desired.size:
        raise ShapeError(f"patterns has shape {desired.shape}; the desired spikes of one class at least are needed")
    network.circuits.check_targets("patterns", desired)
    return Checked(how, K, sequences, desired, len(desired), keys, engine)


def runs(
    network: Network, parameters: Parameters, checked: Checked, seed: int, threads: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[Any], Evidence]]:
    """Piece by piece, the places of sequences, their spikes, and what running them gives the decoder."""
    K, running = checked.n_compartments, engine_named(checked.engine).running(network, parameters)
    for places, spikes in checked.sequences.pieces(K, network.n_neurons):
        given = checked.keys
        keys = checked.sequences.keys(places, None) if given is None else [given[n] for n in places]
        evidence = run_for(
            checked.decoder, network, parameters, spikes, K, checked.patterns, seed, keys, threads, running
        )
        yield places, spikes, evidence
