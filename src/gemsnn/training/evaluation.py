"""Measuring a network on examples: likelihood, accuracy, calibration, distance from wanted spikes, spikes spent.

What is measured follows from what the examples ask for: one class each (labels (n,)), any number of labels at once
(labels (n, C) of 0/1), or a spike pattern each (no labels, but targets).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn import metrics
from gemsnn.engine import engine_named
from gemsnn.inference import (
    Decoder,
    Temperature,
    as_decoder,
    class_patterns,
    log_likelihood,
    predict_labels,
    recording_key,
    sample,
)
from gemsnn.inference.decoders.likelihood import Likelihood
from gemsnn.inference.evidence import hidden_spikes, run_for
from gemsnn.inference.likelihood import Mean, averaged
from gemsnn.inference.prediction import read
from gemsnn.model import Network, Parameters
from gemsnn.model.spike_list import SpikeList
from gemsnn.training.certainty import Certainty
from gemsnn.training.config import DecoderSettings
from gemsnn.training.data import Examples

TAUS = (2.0, 5.0, 20.0)  # steps, of the distances that are compared with those of silence
BATCH = 64  # examples read at a time


class Realisations(NamedTuple):
    """Of the hidden neurons, behind a log-likelihood."""

    number: int
    mean: Mean

    def log_likelihood(
        self, network: Network, parameters: Parameters, inputs: NDArray[Any], targets: NDArray[Any], **options: Any
    ) -> Any:
        how = {"mean": self.mean, "example": None, **options}
        return log_likelihood(network, parameters, inputs, targets, self.number, **how)


class Stopped(Exception):
    """Somebody asked to stop in the middle of an evaluation."""


def evaluate(
    network: Network,
    parameters: Parameters,
    examples: Examples,
    indices: NDArray[np.intp],
    decoders: Sequence[DecoderSettings],
    *,
    likelihood_samples: int = 20,
    likelihood_mean: Mean = "probability",
    n_bins: int = 10,
    tau: float = 5.0,
    seed: int = 0,
    threads: int = 1,
    certainty: Certainty | None = None,
    each: Callable[[NDArray[np.uint8]], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Measure on some examples, which may differ in length; returns JSON values.

    The first decoder's figures stand beside the log-likelihood; those of the others in the list ``extra_decoders``.
    ``certainty`` is that of a model, whose probabilities are then calibrated as its answers are. ``each`` is given the
    (n, T, n_inputs) inputs of all examples, some at a time.

    Spike-pattern targets need no decoder: the compartments of the first one run freely, and ``van_rossum`` is the mean
    distance of their visible spikes from the targets, with a time constant of ``tau`` steps. ``over_silence`` is the
    sum of squared distances over that of silence, by time constant: below 1 the spikes are worth more than none.
    """
    options: dict[str, Any] = {"seed": seed, "threads": threads}
    work = _shown_to(each, batches(examples, indices, network.n_inputs, stop))
    realisations = Realisations(likelihood_samples, likelihood_mean)
    if examples.labels is None:
        K = decoders[0].compartments
        return _of_spike_patterns(network, parameters, len(indices), work, K, realisations, tau, options)
    labels = examples.labels[indices]
    if labels.ndim == 1:
        temperatures = [None if certainty is None else certainty.of(one).get("temperature") for one in decoders]
        log_likelihoods, (main, *extra) = _of_classes(
            network, parameters, work, labels, decoders, temperatures, realisations, n_bins, options
        )
    else:
        log_likelihoods, (main, *extra) = _of_several_labels(
            network, parameters, work, labels, decoders, realisations, n_bins, options
        )
    result = {"examples": len(labels), "log_likelihood": float(log_likelihoods.mean()), **main}
    return {**result, "extra_decoders": extra} if extra else result


class Batch(NamedTuple):
    """Examples of equal length, each read once."""

    places: NDArray[np.intp]
    """Where they stand among the indices."""
    inputs: NDArray[np.uint8]
    """(n, T, n_inputs)"""
    targets: list[SpikeList | None]


Batches = Iterator[Batch]
Measured = tuple[NDArray[np.float64], list[dict[str, Any]]]


def batches(
    examples: Examples, indices: NDArray[np.intp], n_inputs: int, stop: Callable[[], bool] = lambda: False
) -> Batches:
    """All examples, by groups of equal length."""
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


def _shown_to(each: Callable[[NDArray[np.uint8]], None] | None, batches: Batches) -> Batches:
    for batch in batches:
        if each is not None:
            each(batch.inputs)
        yield batch


# ---- one class each --------------------------------------------------------------------------------------------------


def _of_classes(
    network: Network,
    parameters: Parameters,
    batches: Batches,
    labels: NDArray[np.int64],
    decoders: Sequence[DecoderSettings],
    temperatures: Sequence[Temperature | None],
    samples: Realisations,
    n_bins: int,
    options: dict[str, Any],
    engine: str = "compiled",
) -> Measured:
    N, C = len(labels), network.n_visible
    running = engine_named(engine).running(network, parameters)
    estimates, likelihood = np.zeros(N), Likelihood()
    found = [(np.zeros(N, np.int64), np.zeros((N, C)), np.zeros(N)) for _ in decoders]
    # Decoders that want the same run share it.
    runs: dict[tuple[bool, int], list[int]] = {}
    for i, settings in enumerate(decoders):
        runs.setdefault((as_decoder(settings.kind).free, settings.compartments), []).append(i)
    for places, batch, _ in batches:
        for (free, K), asked in runs.items():
            readers: list[Decoder] = [as_decoder(decoders[i].kind) for i in asked]
            evidence = run_for(
                readers[0], network, parameters, batch, K, None, keys=[recording_key(one) for one in batch],
                running=running, **options,
            )  # fmt: skip
            # That run may hold the log-likelihood too: as the likelihood decoder's estimate for the true class.
            shared = not free and samples.number == K
            states = read([*readers, likelihood] if shared else readers, evidence, (len(places), K, C))
            for i, reader, state in zip(asked, readers, states, strict=False):
                classes, probabilities, spikes = found[i]
                classes[places], p, _ = reader.answer(state)
                temperature = temperatures[i]
                if temperature is not None:
                    p = temperature(p, batch.shape[1], np.count_nonzero(batch, axis=(1, 2)))
                probabilities[places] = p
                spikes[places] = evidence.hidden_spikes.mean(axis=1)
            if shared:
                estimates[places] = averaged(states[-1], samples.mean)[np.arange(len(places)), labels[places]]
        if (False, samples.number) not in runs:
            wanted = class_patterns(C, batch.shape[1])[labels[places]]
            estimates[places] = samples.log_likelihood(network, parameters, batch, wanted, **options)
    return estimates, [
        class_figures(settings, labels, *of_decoder, n_bins)
        for settings, of_decoder in zip(decoders, found, strict=True)
    ]


def class_figures(
    settings: DecoderSettings,
    labels: NDArray[np.int64],
    classes: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    spikes: NDArray[np.float64],
    n_bins: int,
) -> dict[str, Any]:
    """Figures of a way to read out, from (n,) answers, (n, C) probabilities and (n,) hidden spikes per step."""
    table = metrics.reliability(labels, probabilities, n_bins, predicted=classes)
    return {
        "decoder": settings.name,
        "compartments": settings.compartments,
        "accuracy": metrics.accuracy(labels, classes),
        "ece": table.ece,
        "n_bins": n_bins,
        "nll": metrics.negative_log_likelihood(labels, probabilities),
        "brier": metrics.brier_score(labels, probabilities),
        "hidden_spikes_per_step": float(spikes.mean()),
        "reliability": _table(table),
    }


# ---- several labels at once ------------------------------------------------------------------------------------------


def _of_several_labels(
    network: Network,
    parameters: Parameters,
    batches: Batches,
    labels: NDArray[Any],
    decoders: Sequence[DecoderSettings],
    samples: Realisations,
    n_bins: int,
    options: dict[str, Any],
) -> Measured:
    N = len(labels)
    estimates = np.zeros(N)
    found = [(np.zeros(labels.shape, bool), np.zeros(labels.shape), np.zeros(N)) for _ in decoders]
    for places, batch, _ in batches:
        wanted = np.repeat(labels[places][:, None, :], batch.shape[1], axis=1)
        estimates[places] = samples.log_likelihood(network, parameters, batch, wanted, **options)
        for settings, of_decoder in zip(decoders, found, strict=True):
            answers = predict_labels(
                network,
                parameters,
                batch,
                settings.compartments,
                decoder=settings.kind,
                **options,
            )
            for kept, new in zip(of_decoder, answers, strict=True):
                kept[places] = new
    return estimates, [
        _label_figures(settings, labels, *of_decoder, n_bins)
        for settings, of_decoder in zip(decoders, found, strict=True)
    ]


def _label_figures(
    settings: DecoderSettings,
    labels: NDArray[Any],
    chosen: NDArray[np.bool_],
    probabilities: NDArray[np.float64],
    spikes: NDArray[np.float64],
    n_bins: int,
) -> dict[str, Any]:
    """Means over the labels; to the calibration error each label of each example is a question, no or yes."""
    scores = metrics.label_scores(labels, probabilities, chosen)
    both = np.stack([1 - probabilities, probabilities], axis=-1).reshape(-1, 2)
    truth, said = labels.reshape(-1).astype(np.int64), chosen.reshape(-1).astype(np.int64)
    table = metrics.reliability(truth, both, n_bins, predicted=said)
    return {
        "decoder": settings.name,
        "compartments": settings.compartments,
        "accuracy": float(scores.accuracy.mean()),
        "exact_match": scores.exact_match,
        "ece": table.ece,
        "n_bins": n_bins,
        "nll": float(scores.log_loss.mean()),
        "brier": float(scores.brier.mean()),
        "hidden_spikes_per_step": float(spikes.mean()),
        "per_label": {
            "accuracy": scores.accuracy.tolist(),
            "nll": scores.log_loss.tolist(),
            "brier": scores.brier.tolist(),
        },
        "reliability": _table(table),
    }


def _table(table: metrics.Reliability) -> dict[str, list[Any]]:
    return {
        "counts": table.counts.tolist(),
        "confidence": _without_nan(table.confidence),
        "accuracy": _without_nan(table.accuracy),
    }


def _without_nan(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


# ---- a spike pattern each --------------------------------------------------------------------------------------------


def _of_spike_patterns(
    network: Network,
    parameters: Parameters,
    N: int,
    batches: Batches,
    K: int,
    samples: Realisations,
    tau: float,
    options: dict[str, Any],
) -> dict[str, Any]:
    estimates, distances, spent, fired, wished = (np.zeros(N) for _ in range(5))
    squared, silent = np.zeros(len(TAUS)), np.zeros(len(TAUS))
    for places, batch, targets in batches:
        wanted = np.stack([target.to_array(network.n_visible) for target in targets if target is not None])
        estimates[places] = samples.log_likelihood(network, parameters, batch, wanted, **options)
        spikes = sample(network, parameters, batch, K, example=None, **options)
        visible = spikes[..., network.n_hidden :].swapaxes(1, 2)  # (n, K, T, n_visible)
        distances[places] = metrics.van_rossum_distance(visible, wanted[:, None], tau).mean(axis=(1, 2))
        for place, other in enumerate(TAUS):
            squared[place] += (metrics.van_rossum_distance(visible, wanted[:, None], other) ** 2).mean(axis=1).sum()
            silent[place] += (metrics.van_rossum_distance(np.zeros_like(wanted), wanted, other) ** 2).sum()
        fired[places], wished[places] = visible.sum(axis=3).mean(axis=(1, 2)), wanted.sum(axis=2).mean(axis=1)
        spent[places] = hidden_spikes(network, spikes).mean(axis=1)
    return {
        "examples": N,
        "log_likelihood": float(estimates.mean()),
        "compartments": K,
        "van_rossum": float(distances.mean()),
        "tau": tau,
        "over_silence": {
            f"{other:g}": float(near / far) if far else None
            for other, near, far in zip(TAUS, squared, silent, strict=True)
        },
        "visible_spikes_per_step": float(fired.mean()),
        "target_spikes_per_step": float(wished.mean()),
        "hidden_spikes_per_step": float(spent.mean()),
    }
