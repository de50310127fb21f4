"""Measuring, on held-out examples, what a model then knows of its own answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.inference import fit_temperature, fit_usual, recording_key, spikes_left_out
from gemsnn.inference.guarantee import checkpoints_of
from gemsnn.inference.prediction import AnytimePrediction
from gemsnn.inference.sight import fit_sight
from gemsnn.inference.usual import CHECKPOINTS
from gemsnn.model import Network, Parameters
from gemsnn.training.answered import Batch, answered, batches, readouts_of
from gemsnn.training.certainty import Certainty
from gemsnn.training.config import DecoderSettings
from gemsnn.training.data import Data, Examples
from gemsnn.training.model import Model
from gemsnn.training.partition import Partition, groups_of
from gemsnn.training.randomness import Purpose, shuffled, stream

FEWEST = 10
"""Held-out examples; with fewer nothing is measured."""
MOST = 1000  # examples of either kind that are looked at
COPIES = 4  # thinned, of each held-out example


def with_certainty(model: Model, data: Data, partition: Partition, *, threads: int = 1) -> Model:
    """The model as it is, and what the examples that were held out from it tell about its answers."""
    found = certainty_of(
        model.network,
        model.parameters,
        data.train,
        partition.training,
        partition.validation,
        model.decoder,
        seed=model.prediction_seed,
        threads=threads,
    )
    shown = (data.train.load(int(index))[0] for index in some(partition.training, model.prediction_seed, 0))
    return replace(model, certainty=found, sight=fit_sight(shown, int(np.median(data.train.lengths))))


def certainty_of(
    network: Network,
    parameters: Parameters,
    examples: Examples,
    training: NDArray[np.intp],
    held_out: NDArray[np.intp],
    decoder: DecoderSettings,
    *,
    seed: int,
    threads: int = 1,
) -> Certainty | None:
    """None where there are too few held-out examples, or where they do not have one class each.

    Parameters
    ----------
    training, held_out
        Indices of the examples that the network learned from, and of others.
    seed
        Of predictions, so that these are the answers that the model gives.
    """
    labels = examples.labels
    if labels is None or np.ndim(labels) != 1 or len(held_out) < FEWEST:
        return None
    training, held_out = (some(indices, seed, place) for place, indices in enumerate((training, held_out)))
    run = _Run(network, parameters, decoder, seed, threads)
    checkpoints = checkpoints_of(CHECKPOINTS, int(examples.lengths[held_out].max()))
    answers, spikes = run.answers(examples, held_out, checkpoints)
    copies = [run.answers(examples, held_out, (), copy)[0] for copy in range(1, COPIES + 1)]
    usual = None
    if network.n_hidden:
        at = [[min(step, len(one.classes)) - 1 for step in checkpoints] for one in answers]
        usual = fit_usual(
            checkpoints,
            run.answers(examples, training, checkpoints)[1],
            examples.lengths[training],
            labels[training],
            spikes,
            examples.lengths[held_out],
            np.stack([one.probabilities[steps] for one, steps in zip(answers, at, strict=True)]),
            decoder.compartments,
        )
    temperature = fit_temperature(answers, labels[held_out], copies)
    about, groups = {"recordings": len(held_out)}, groups_of(examples)
    if groups is not None:
        about["groups"] = len(np.unique(groups[held_out]))
    return Certainty(decoder, temperature, usual, about)


def some(indices: NDArray[np.intp], seed: int, place: int) -> NDArray[np.intp]:
    """Not too many of them."""
    if len(indices) <= MOST:
        return indices
    return np.sort(indices[shuffled(len(indices), seed, Purpose.CERTAINTY, place)[:MOST]])


class _Run:
    """Of a network on examples."""

    def __init__(
        self, network: Network, parameters: Parameters, decoder: DecoderSettings, seed: int, threads: int
    ) -> None:
        self.network, self.parameters, self.decoder = network, parameters, decoder
        self.seed, self.threads = seed, threads

    def answers(
        self, examples: Examples, indices: NDArray[np.intp], checkpoints: tuple[int, ...], copy: int = 0
    ) -> tuple[list[AnytimePrediction], NDArray[np.int64]]:
        """Answers at any time to examples, or to a thinned copy of each, and hidden spikes (n, P, n_hidden)."""
        found: list[Any] = [None] * len(indices)
        counts = np.zeros((len(indices), len(checkpoints), self.network.n_hidden), dtype=np.int64)
        work = batches(examples, indices, self.network.n_inputs)
        if copy:
            work = self._thinned(work, copy)
        readouts = readouts_of([self.decoder])
        for part in answered(self.network, self.parameters, work, readouts, seed=self.seed, threads=self.threads):
            for place, answer in zip(part.places, part.answers[0], strict=True):
                found[place] = answer
            if checkpoints:
                counts[part.places] = part.fired[0].counts(checkpoints)
        return found, counts

    def _thinned(self, work: Iterator[Batch], copy: int) -> Iterator[Batch]:
        for batch in work:
            for n, one in enumerate(batch.inputs):
                rng = stream(self.seed, Purpose.CERTAINTY, recording_key(one), copy)
                batch.inputs[n] = spikes_left_out(one, rng)
            yield batch
