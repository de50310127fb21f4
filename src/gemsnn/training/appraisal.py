"""All that there is to say of a model on examples: each is read once, and one run gives all answers to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.inference import Prediction
from gemsnn.inference.evidence import Fired
from gemsnn.training.answered import Answered
from gemsnn.training.any_time import figures_at_any_time
from gemsnn.training.calibration import figures_of_sets
from gemsnn.training.config import DecoderSettings
from gemsnn.training.costs import Costs
from gemsnn.training.data import Examples
from gemsnn.training.evaluation import evaluate
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
    engine: str = "compiled",
) -> Appraisal:
    """Measure a model, read out by ``how``.

    ``set_size`` asks for the figures of sets, stopped at so many classes, of a model that is calibrated for ``how``.
    """
    n, costs = len(examples), Costs(model, how)
    answers, keys = [_NONE] * n, np.zeros(n, dtype=np.uint64)

    def see(inputs: NDArray[np.uint8], fired: Fired, of_classes: Answered | None) -> None:
        found = None if of_classes is None else of_classes.answers[0]
        costs.add(inputs, fired, found)
        if of_classes is not None and found is not None:
            keys[of_classes.places] = of_classes.keys
            for place, answer in zip(of_classes.places, found, strict=True):
                answers[place] = answer

    figures = evaluate(
        model.network, model.parameters, examples, np.arange(n), [how], likelihood_samples=likelihood_samples,
        n_bins=n_bins, seed=model.prediction_seed, threads=threads, engine=engine, certainty=model.certainty, each=see,
    )  # fmt: skip
    figures["cost"] = costs.figures()
    if examples.labels is None or examples.labels.ndim != 1:
        return Appraisal(figures, None)
    labels = np.asarray(examples.labels)
    figures["any_time"] = figures_at_any_time(answers, labels, n_bins)
    if set_size is not None and model.calibration is not None:
        figures["sets"] = figures_of_sets(model.calibration, answers, keys, labels, set_size)
    return Appraisal(figures, _at_the_end(answers))


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
