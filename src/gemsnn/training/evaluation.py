"""Evaluation of a network on examples: likelihood, accuracy, calibration, distance from target spikes, hidden spikes.

The metrics depend on the examples: one class each (labels (n,)), any number of labels at once (labels (n, C) of 0/1),
or a spike pattern each (no labels, but targets).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn import metrics
from gemsnn.inference import log_likelihood, sample
from gemsnn.inference.evidence import Fired
from gemsnn.inference.labels import runs_for_labels
from gemsnn.inference.likelihood import Mean
from gemsnn.model import Network, Parameters
from gemsnn.training.answered import Answered, Batch, Realisations, answered, batches
from gemsnn.training.certainty import Certainty, readouts_of
from gemsnn.training.config import DecoderSettings
from gemsnn.training.data import Examples

TAUS = (2.0, 5.0, 20.0)  # steps: time constants of distances relative to silence

See = Callable[[NDArray[np.uint8], Fired, Answered | None], None]
"""Called with (n, T, n_inputs) inputs, the spikes of the run, and the answers if there is one class each."""


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
    engine: str = "compiled",
    certainty: Certainty | None = None,
    each: See | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Evaluate on some examples, whose lengths may differ; returns JSON values.

    The metrics of the first decoder are at the top level, those of the others in the list ``extra_decoders``.
    ``certainty`` calibrates the probabilities as in a model's answers. ``each`` is called with all examples, a batch at
    a time, and the spikes of the first decoder's run.

    Spike-pattern targets need no decoder: the compartments of the first one run freely, and ``van_rossum`` is the mean
    distance of their visible spikes from the targets, with a time constant of ``tau`` steps. ``over_silence`` is the
    sum of squared distances divided by that of silence, by time constant: below 1, the spikes are better than none.
    """
    options: dict[str, Any] = {"seed": seed, "threads": threads, "engine": engine}
    work = batches(examples, indices, network.n_inputs, stop)
    samples = {"n_samples": likelihood_samples, "mean": likelihood_mean, "example": None, **options}
    task = _Task(network, parameters, len(indices), work, decoders, samples, n_bins, options, each or (lambda *_: None))
    if examples.labels is None:
        return _of_spike_patterns(task, tau)
    labels = examples.labels[indices]
    if labels.ndim == 1:
        realisations = Realisations(likelihood_samples, likelihood_mean, labels)
        log_likelihoods, (main, *extra) = _of_classes(task, labels, realisations, certainty)
    else:
        log_likelihoods, (main, *extra) = _of_several_labels(task, labels)
    result = {"examples": len(labels), "log_likelihood": float(log_likelihoods.mean()), **main}
    return {**result, "extra_decoders": extra} if extra else result


class _Task(NamedTuple):
    """What is evaluated, and how."""

    network: Network
    parameters: Parameters
    n: int
    """Number of examples."""
    work: Iterator[Batch]
    decoders: Sequence[DecoderSettings]
    samples: dict[str, Any]
    """Options of log-likelihoods."""
    n_bins: int
    options: dict[str, Any]
    """Options of all runs."""
    see: See


Measured = tuple[NDArray[np.float64], list[dict[str, Any]]]
"""(n,) log-likelihoods, and the metrics of each decoder."""


# ---- one class each --------------------------------------------------------------------------------------------------


def _of_classes(
    task: _Task, labels: NDArray[np.int64], realisations: Realisations, certainty: Certainty | None
) -> Measured:
    n, C, decoders = task.n, task.network.n_visible, task.decoders
    found = [(np.zeros(n, np.int64), np.zeros((n, C)), np.zeros(n)) for _ in decoders]
    log_likelihoods, readouts = np.zeros(n), readouts_of(decoders, certainty)
    for part in answered(task.network, task.parameters, task.work, readouts, realisations=realisations, **task.options):
        log_likelihoods[part.places] = part.log_likelihoods
        for (classes, probabilities, spikes), answers in zip(found, part.answers, strict=True):
            classes[part.places] = [one.classes[-1] for one in answers]
            probabilities[part.places] = [one.probabilities[-1] for one in answers]
            spikes[part.places] = [one.hidden_spikes.mean() for one in answers]
        task.see(part.inputs, part.fired[0], part)
    return log_likelihoods, [
        _class_figures(decoder, labels, *of_one, task.n_bins) for decoder, of_one in zip(decoders, found, strict=True)
    ]


def _class_figures(
    settings: DecoderSettings,
    labels: NDArray[np.int64],
    classes: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    spikes: NDArray[np.float64],
    n_bins: int,
) -> dict[str, Any]:
    """Metrics of a decoder, from (n,) answers, (n, C) probabilities and (n,) hidden spikes per step."""
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


def _of_several_labels(task: _Task, labels: NDArray[Any]) -> Measured:
    run = task.network, task.parameters
    estimates = np.zeros(task.n)
    found = [(np.zeros(labels.shape, bool), np.zeros(labels.shape), np.zeros(task.n)) for _ in task.decoders]
    for places, batch, _ in task.work:
        wanted = np.repeat(labels[places][:, None, :], batch.shape[1], axis=1)
        estimates[places] = log_likelihood(*run, batch, wanted, **task.samples)
        for decoder, of_decoder in zip(task.decoders, found, strict=True):
            pieces = runs_for_labels(*run, batch, decoder.compartments, decoder.kind, **task.options)
            for within, answers, fired in pieces:
                for kept, new in zip(of_decoder, answers, strict=True):
                    kept[places[within]] = new
                if decoder is task.decoders[0]:
                    task.see(batch[within], fired, None)
    return estimates, [
        _label_figures(decoder, labels, *of_decoder, task.n_bins)
        for decoder, of_decoder in zip(task.decoders, found, strict=True)
    ]


def _label_figures(
    settings: DecoderSettings,
    labels: NDArray[Any],
    chosen: NDArray[np.bool_],
    probabilities: NDArray[np.float64],
    spikes: NDArray[np.float64],
    n_bins: int,
) -> dict[str, Any]:
    """Means over the labels; for the calibration error, each label of each example is one binary answer."""
    scores = metrics.label_scores(labels, probabilities, chosen)
    both = np.stack([1 - probabilities, probabilities], axis=-1).reshape(-1, 2)
    truth, predicted = (values.reshape(-1).astype(np.int64) for values in (labels, chosen))
    table = metrics.reliability(truth, both, n_bins, predicted=predicted)
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


def _of_spike_patterns(task: _Task, tau: float) -> dict[str, Any]:
    network, parameters, K = task.network, task.parameters, task.decoders[0].compartments
    estimates, distances, spent, fired, wished = (np.zeros(task.n) for _ in range(5))
    squared, silent = np.zeros(len(TAUS)), np.zeros(len(TAUS))
    for places, batch, targets in task.work:
        wanted = np.stack([target.to_array(network.n_visible) for target in targets if target is not None])
        estimates[places] = log_likelihood(network, parameters, batch, wanted, **task.samples)
        spikes = sample(network, parameters, batch, K, example=None, **task.options)
        visible = spikes[..., network.n_hidden :].swapaxes(1, 2)  # (n, K, T, n_visible)
        distances[places] = metrics.van_rossum_distance(visible, wanted[:, None], tau).mean(axis=(1, 2))
        for i, other in enumerate(TAUS):
            squared[i] += (metrics.van_rossum_distance(visible, wanted[:, None], other) ** 2).mean(axis=1).sum()
            silent[i] += (metrics.van_rossum_distance(np.zeros_like(wanted), wanted, other) ** 2).sum()
        fired[places], wished[places] = visible.sum(axis=3).mean(axis=(1, 2)), wanted.sum(axis=2).mean(axis=1)
        fired_all = Fired((spikes,), network.n_hidden)
        spent[places] = fired_all.hidden_spikes.mean(axis=1)
        task.see(batch, fired_all, None)
    return {
        "examples": task.n,
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
