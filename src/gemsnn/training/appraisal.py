"""Everything that is measured of a model on examples: each is read once, and one run gives all answers to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn import metrics
from gemsnn.inference import UNUSUAL, AnytimePrediction, Prediction, as_decoder
from gemsnn.inference.evidence import Fired
from gemsnn.inference.prediction import at_the_end
from gemsnn.metrics.cost import StepCost, network_cost, step_cost
from gemsnn.training.answered import Answered
from gemsnn.training.calibration import figures_of_sets
from gemsnn.training.config import DecoderSettings
from gemsnn.training.data import Examples
from gemsnn.training.evaluation import evaluate
from gemsnn.training.model import Model


class Appraisal(NamedTuple):
    """Metrics of a model on examples."""

    figures: dict[str, Any]
    """JSON values: those of :func:`gemsnn.training.evaluate`, ``cost``, and for classes ``any_time`` and ``sets``."""
    answers: Prediction | None
    """At the end of each example, in their order; None if they do not have one class each."""


def appraise(
    model: Model,
    decoder: DecoderSettings,
    examples: Examples,
    *,
    likelihood_samples: int = 20,
    n_bins: int = 10,
    set_size: int | None = None,
    threads: int = 1,
    engine: str = "compiled",
) -> Appraisal:
    """Measure a model, read out by ``how``.

    With ``set_size``, include metrics of sets stopped at this size, if the model is calibrated for ``how``.
    """
    n, costs = len(examples), Costs(model, decoder)
    keys = np.zeros(n, dtype=np.uint64)
    answers: list[Any] = [None] * n

    def see(inputs: NDArray[np.uint8], fired: Fired, of_classes: Answered | None) -> None:
        found = None if of_classes is None else of_classes.answers[0]
        costs.add(inputs, fired, found)
        if of_classes is not None and found is not None:
            keys[of_classes.places] = of_classes.keys
            for place, answer in zip(of_classes.places, found, strict=True):
                answers[place] = answer

    figures = evaluate(
        model.network, model.parameters, examples, np.arange(n), [decoder], likelihood_samples=likelihood_samples,
        n_bins=n_bins, seed=model.prediction_seed, threads=threads, engine=engine, certainty=model.certainty, each=see,
    )  # fmt: skip
    figures["cost"] = costs.figures()
    if examples.labels is None or examples.labels.ndim != 1:
        return Appraisal(figures, None)
    labels = np.asarray(examples.labels)
    figures["any_time"] = figures_at_any_time(answers, labels, n_bins)
    if set_size is not None and model.calibration is not None:
        figures["sets"] = figures_of_sets(model.calibration, answers, keys, labels, set_size)
    return Appraisal(figures, at_the_end(answers, model.network.n_visible))


# ---- before the end of recordings


TENTHS = tuple(tenth / 10 for tenth in range(1, 11))


def figures_at_any_time(
    answers: Sequence[AnytimePrediction], labels: NDArray[np.int64], n_bins: int = 10
) -> dict[str, Any]:
    """Metrics after each tenth of the recordings; JSON values.

    ``unusual`` is the fraction of recordings whose final p-value is below :data:`gemsnn.inference.UNUSUAL`; missing if
    there are no p-values. The expected fraction for recordings of the same kind is at most that.
    """
    after = []
    for share in TENTHS:
        seen = [max(1, round(share * len(one.classes))) for one in answers]
        each = list(zip(answers, seen, strict=True))
        probabilities = np.stack([one.probabilities[t - 1] for one, t in each])
        classes = np.array([one.classes[t - 1] for one, t in each])
        table = metrics.reliability(labels, probabilities, n_bins, predicted=classes)
        chosen = np.take_along_axis(probabilities, classes[:, None], axis=1)
        after.append(
            {
                "share": share,
                "accuracy": metrics.accuracy(labels, classes),
                "confidence": float(chosen.mean()),
                "ece": table.ece,
                "nll": metrics.negative_log_likelihood(labels, probabilities),
                "hidden_spikes": float(np.mean([one.hidden_spikes[:t].sum() for one, t in each])),
            }
        )
    usual = np.array([np.nan if one.usual is None else one.usual[-1] for one in answers])
    known = usual[~np.isnan(usual)]
    return {"after": after, **({"unusual": float((known < UNUSUAL).mean())} if len(known) else {})}


# ---- costs


class Costs:
    """Accumulates NeuroBench's costs (:mod:`gemsnn.metrics.cost`) of a model that is read out by ``how``.

    If the model is calibrated for this readout, also the costs until the set of classes has a single one.
    """

    def __init__(self, model: Model, decoder: DecoderSettings) -> None:
        self._model = model
        self._whole, self._spent = _Sums(), _Sums()
        self._free = as_decoder(decoder.kind).free or not model.classes or bool(model.about.get("several_labels"))
        calibrated = model.calibration is not None and model.calibration.decoder == decoder
        self._guarantee = model.calibration.guarantee if model.calibration is not None and calibrated else None

    def add(self, inputs: NDArray[np.uint8], fired: Fired, answers: Sequence[AnytimePrediction] | None = None) -> None:
        """Add (n, T, n_inputs) examples, the spikes of every run, and the answers if the model may stop early."""
        network, (N, T) = self._model.network, inputs.shape[:2]
        until = None
        if self._guarantee is not None and answers is not None:
            until = self._guarantee.stop(answers, 1).steps
        for run in fired.runs:
            cost = step_cost(network, inputs, run, None if self._free else network.n_hidden)
            self._whole.add(cost, np.full(N, T))
            if until is not None:
                self._spent.add(cost, until)
        self._whole.n += N
        self._spent.n += 0 if until is None else N

    def figures(self) -> dict[str, Any]:
        """Mean costs per recording, as JSON values; those until an early answer are in ``per_answer``."""
        of_network = network_cost(self._model.network, self._model.parameters)
        return {
            "Footprint": of_network.footprint,
            "ConnectionSparsity": of_network.connection_sparsity,
            "ParameterCount": of_network.parameter_count,
            **self._whole.means(),
            **({"per_answer": self._spent.means()} if self._spent.n else {}),
        }


class _Sums:
    """Sums over recordings until given steps."""

    def __init__(self) -> None:
        self.n = self.acs = self.spikes = self.activations = self.dense = self.updates = 0

    def add(self, cost: StepCost, steps: NDArray[np.integer[Any]]) -> None:
        until = np.arange(cost.spikes.shape[1]) < steps[:, None]
        together = int(steps.sum())
        self.acs += int(cost.effective_acs[until].sum())
        self.spikes += int(cost.spikes[until].sum())
        self.activations += together * cost.activations
        self.dense += together * cost.dense
        self.updates += together * cost.membrane_updates

    def means(self) -> dict[str, Any]:
        silent = 1 - self.spikes / self.activations if self.activations else 1.0
        operations = {"Effective_MACs": 0.0, "Effective_ACs": self.acs / self.n, "Dense": self.dense / self.n}
        return {
            "ActivationSparsity": silent,
            "SynapticOperations": operations,
            "MembraneUpdates": self.updates / self.n,
        }
