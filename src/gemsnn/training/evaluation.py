"""Measuring a network on examples: likelihood, accuracy, calibration, spikes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn import metrics
from gemsnn.inference import Prediction, class_patterns, log_likelihood, predict, predict_by_likelihood
from gemsnn.model import Network, Parameters
from gemsnn.training.config import DecoderSettings
from gemsnn.training.data import Examples

BATCH = 64  # examples read at a time; part of what makes results repeatable to the bit


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
    n_bins: int = 10,
    seed: int = 0,
    threads: int = 1,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Measure on some examples; returns JSON values.

    The first decoder's figures stand beside the log-likelihood; those of the others in the list ``extra_decoders``.
    """
    patterns = class_patterns(network.n_visible, examples[int(indices[0])].shape[0])
    assert examples.labels is not None
    labels = examples.labels[indices]
    log_likelihoods: list[NDArray[np.float64]] = []
    predictions: list[list[Prediction]] = [[] for _ in decoders]
    for first in range(0, len(indices), BATCH):
        if stop():
            raise Stopped
        batch = examples.read(indices[first : first + BATCH])
        wanted = patterns[labels[first : first + BATCH]]
        key = {"seed": seed, "first_example": first, "threads": threads}
        estimate: NDArray[np.float64] | None = None
        for decoder, parts in zip(decoders, predictions, strict=True):
            if decoder == DecoderSettings(kind="likelihood", compartments=likelihood_samples):
                # One run gives the decision and, as the estimate for the true class, the log-likelihood.
                found, estimates = predict_by_likelihood(
                    network, parameters, batch, likelihood_samples, patterns, **key
                )
                parts.append(found)
                estimate = estimates[np.arange(len(batch)), labels[first : first + BATCH]]
            else:
                parts.append(predict(network, parameters, batch, decoder.compartments, decoder=decoder.kind, **key))
        if estimate is None:
            estimate = log_likelihood(
                network, parameters, batch, wanted, likelihood_samples, seed, example=first, threads=threads
            )
        log_likelihoods.append(estimate)
    main, *extra = (
        _figures(decoder, labels, Prediction(*map(np.concatenate, zip(*parts, strict=True))), n_bins)
        for decoder, parts in zip(decoders, predictions, strict=True)
    )
    result = {"examples": len(labels), "log_likelihood": float(np.concatenate(log_likelihoods).mean()), **main}
    return {**result, "extra_decoders": extra} if extra else result


def _figures(decoder: DecoderSettings, labels: NDArray[np.int64], found: Prediction, n_bins: int) -> dict[str, Any]:
    table = metrics.reliability(labels, found.probabilities, n_bins, predicted=found.classes)
    return {
        "decoder": decoder.kind,
        "compartments": decoder.compartments,
        "accuracy": metrics.accuracy(labels, found.classes),
        "ece": table.ece,
        "n_bins": n_bins,
        "nll": metrics.negative_log_likelihood(labels, found.probabilities),
        "brier": metrics.brier_score(labels, found.probabilities),
        "hidden_spikes_per_step": float(found.hidden_spikes_per_step.mean()),
        "reliability": {
            "counts": table.counts.tolist(),
            "confidence": _without_nan(table.confidence),
            "accuracy": _without_nan(table.accuracy),
        },
    }


def _without_nan(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
