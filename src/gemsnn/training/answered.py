"""The loop over examples for inference: each is read once, and each kind of run of the network is made once on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine import engine_named
from gemsnn.inference import AnytimePrediction, class_patterns, log_likelihood, recording_key
from gemsnn.inference.evidence import Evidence, Fired, hidden_see_visible, run_for
from gemsnn.inference.likelihood import Mean, averaged
from gemsnn.inference.prediction import Readout, read_out
from gemsnn.inference.sequences import AT_ONCE
from gemsnn.model import Network, Parameters
from gemsnn.model.spike_list import SpikeList
from gemsnn.training.data import Examples

BATCH = 64  # examples read at a time


class Stopped(Exception):
    """A request to stop came during an evaluation."""


class Batch(NamedTuple):
    """Examples of equal length, each read once."""

    places: NDArray[np.intp]
    """Their positions among the indices."""
    inputs: NDArray[np.uint8]
    """(n, T, n_inputs)"""
    targets: list[SpikeList | None]


def batches(
    examples: Examples, indices: NDArray[np.intp], n_inputs: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[Batch]:
    """All examples, in batches of equal length."""
    lengths = examples.lengths[indices]
    for length in np.unique(lengths):
        group = np.flatnonzero(lengths == length)
        for first in range(0, len(group), BATCH):
            if stop():
                raise Stopped
            places = group[first : first + BATCH]
            inputs, targets = np.zeros((len(places), length, n_inputs), dtype=np.uint8), []
            for n, index in enumerate(indices[places].tolist()):
                spikes, target = examples.load(index)
                spikes.write_to(inputs[n])
                targets.append(target)
            yield Batch(places, inputs, targets)


class Realisations(NamedTuple):
    """Realisations of hidden neurons behind a log-likelihood, and the (N,) classes whose desired spikes it is of."""

    number: int
    mean: Mean
    labels: NDArray[np.int64]


class Answered(NamedTuple):
    """Examples of equal length, and a network's answers to them."""

    places: NDArray[np.intp]
    inputs: NDArray[np.uint8]
    keys: list[int]
    """Keys of the random draws: :func:`gemsnn.inference.recording_key` of each."""
    answers: list[list[AnytimePrediction]]
    """Of each readout, to each example."""
    fired: list[Fired]
    """The spikes behind the answers of each readout."""
    log_likelihoods: NDArray[np.float64] | None
    """(n,): if realisations were asked for."""


def answered(
    network: Network,
    parameters: Parameters,
    batches: Iterable[Batch],
    readouts: Sequence[Readout],
    *,
    seed: int,
    threads: int = 1,
    engine: str = "compiled",
    realisations: Realisations | None = None,
) -> Iterator[Answered]:
    """Answers after every step to all examples.

    Additional compartments never influence the first ones, so readouts of the same kind share one run with the most
    compartments that any of them needs; so do the realisations behind the log-likelihood.
    """
    running, C = engine_named(engine).running(network, parameters), network.n_visible
    groups = [[i for i, one in enumerate(readouts) if one.decoder.free == free] for free in (False, True)]
    shared = realisations is not None and groups[0] and not hidden_see_visible(network)
    most = max([1, *(one.n_compartments for one in readouts)])
    if realisations is not None and shared:
        most = max(most, realisations.number)
    for batch in _in_pieces(batches, most * network.n_neurons):
        places, inputs = batch.places, batch.inputs
        keys = [recording_key(one) for one in inputs]
        answers: list[Any] = [None] * len(readouts)
        fired: list[Any] = [None] * len(readouts)
        estimates = None
        for asked in filter(None, groups):
            joined = realisations if shared and asked is groups[0] else None
            K = max([readouts[i].n_compartments for i in asked] + ([joined.number] if joined else []))
            evidence = run_for(
                readouts[asked[0]].decoder, network, parameters, inputs, K, None, seed, keys, threads, running
            )
            if joined:
                total = np.zeros((len(places), joined.number, C))
                evidence = evidence._replace(steps=_added(evidence, total))
            found = read_out([readouts[i] for i in asked], evidence, inputs, C)
            for i, of_one in zip(asked, found, strict=True):
                answers[i], fired[i] = of_one, evidence.fired.first(readouts[i].n_compartments)
            if joined:
                estimates = averaged(total, joined.mean)[np.arange(len(places)), joined.labels[places]]
        if realisations is not None and estimates is None:
            wanted = class_patterns(C, inputs.shape[1])[realisations.labels[places]]
            estimates = log_likelihood(
                network, parameters, inputs, wanted, realisations.number, seed, engine,
                mean=realisations.mean, example=None, threads=threads,
            )  # fmt: skip
        yield Answered(places, inputs, keys, answers, fired, estimates)


def _added(evidence: Evidence, total: NDArray[np.float64]) -> Iterator[NDArray[Any]]:
    """The steps, unchanged; those of the first compartments are added to ``total``."""
    for step in evidence.steps:
        total += step[:, : total.shape[1]]
        yield step


def _in_pieces(batches: Iterable[Batch], width: int) -> Iterator[Batch]:
    """Smaller batches with bounded memory, given ``width`` spikes per step of each example."""
    for places, inputs, targets in batches:
        size = max(1, AT_ONCE // max(1, inputs.shape[1] * width))
        for first in range(0, len(places), size):
            part = slice(first, first + size)
            yield Batch(places[part], inputs[part], targets[part])
