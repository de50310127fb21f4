"""All that there is to say of a model on examples: each is read once, and one run gives all answers to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.inference import Prediction, class_patterns, predict_anytime, recording_key
from gemsnn.training.any_time import figures_at_any_time
from gemsnn.training.calibration import figures_of_sets
from gemsnn.training.config import DecoderSettings
from gemsnn.training.costs import Costs
from gemsnn.training.data import Examples
from gemsnn.training.evaluation import Realisations, batches, class_figures, evaluate
from gemsnn.training.model import Model


class Appraisal(NamedTuple):
    """Of a model on examples."""

    figures: dict[str, Any]
    """JSON values: those of :func:`gemsnn.training.evaluate`, ``cost``, and for classes ``any_time`` and ``sets``."""
    answers: Prediction | None
    """At the end of each example, in their order; None where they do not have one class each."""


def appraise(
    model: Model,
    how: DecoderSettings,
    examples: Examples,
    *,
    likelihood_samples: int = 20,
    n_bins: int = 10,
    set_size: int | None = None,
    threads: int = 1,
) -> Appraisal:
    """Measure a model, read out by ``how``.

    ``set_size`` asks for the figures of sets, stopped at so many classes, of a model that is calibrated for ``how``.
    The realisations behind log-likelihoods, and the spikes that are counted as costs, are runs of their own.
    """
    n, costs = len(examples), Costs(model, how, threads)
    if examples.labels is None or examples.labels.ndim != 1:
        figures = evaluate(
            model.network, model.parameters, examples, np.arange(n), [how], likelihood_samples=likelihood_samples,
            n_bins=n_bins, seed=model.prediction_seed, threads=threads, each=costs.add,
        )  # fmt: skip
        return Appraisal({**figures, "cost": costs.figures()}, None)
    labels, network = np.asarray(examples.labels), model.network
    options: dict[str, Any] = {"seed": model.prediction_seed, "threads": threads}
    answers, keys, log_likelihoods = [_NONE] * n, np.zeros(n, dtype=np.uint64), np.zeros(n)
    realisations = Realisations(likelihood_samples, "probability")
    for places, inputs, _ in batches(examples, np.arange(n), network.n_inputs):
        keys[places] = [recording_key(one) for one in inputs]
        found = predict_anytime(
            network, model.parameters, list(inputs), how.compartments, decoder=how.kind,
            keys=keys[places].tolist(), **options, **model.knows(how),
        )  # fmt: skip
        for place, answer in zip(places, found, strict=True):
            answers[place] = answer
        wanted = class_patterns(network.n_visible, inputs.shape[1])[labels[places]]
        log_likelihoods[places] = realisations.log_likelihood(network, model.parameters, inputs, wanted, **options)
        costs.add(inputs, found)
    end = _at_the_end(answers)
    figures = {"examples": n, "log_likelihood": float(log_likelihoods.mean())}
    figures |= class_figures(how, labels, end.classes, end.probabilities, end.hidden_spikes_per_step, n_bins)
    figures |= {"any_time": figures_at_any_time(answers, labels, n_bins), "cost": costs.figures()}
    if set_size is not None and model.calibration is not None:
        figures["sets"] = figures_of_sets(model.calibration, answers, keys, labels, set_size)
    return Appraisal(figures, end)


_NONE: Any = None


def _at_the_end(answers: list[Any]) -> Prediction:
    def stacked(values: Any) -> NDArray[Any]:
        return np.stack([np.asarray(value) for value in values])

    return Prediction(
        stacked(one.classes[-1] for one in answers),
        stacked(one.probabilities[-1] for one in answers),
        stacked(one.votes for one in answers),
        stacked(one.hidden_spikes.mean() for one in answers),
        stacked(one.usual[-1] for one in answers),
    )
