"""What a trained model costs on examples, in NeuroBench's words (:mod:`gemsnn.metrics.cost`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.inference import AnytimePrediction, as_decoder
from gemsnn.inference.evidence import Fired
from gemsnn.metrics.cost import StepCost, network_cost, step_cost
from gemsnn.training.config import DecoderSettings
from gemsnn.training.model import Model


class Costs:
    """Counts while it is given examples; ``how`` says how the model is read out.

    If the model is calibrated for this way of reading out, also what an answer costs that is given as soon as its set
    of classes has one.
    """

    def __init__(self, model: Model, how: DecoderSettings) -> None:
        self._model = model
        self._whole, self._spent = _Sums(), _Sums()
        self._free = as_decoder(how.kind).free or not model.classes or bool(model.about.get("several_labels"))
        calibrated = model.calibration is not None and model.calibration.decoder == how
        self._guarantee = model.calibration.guarantee if model.calibration is not None and calibrated else None

    def add(self, inputs: NDArray[np.uint8], fired: Fired, answers: Sequence[AnytimePrediction] | None = None) -> None:
        """More examples, (n, T, n_inputs), the spikes of every run, and the answers where the model may stop early."""
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
        """Mean figures of a recording, as JSON values; those of an answer are ``per_answer``."""
        of_network = network_cost(self._model.network, self._model.parameters)
        return {
            "Footprint": of_network.footprint,
            "ConnectionSparsity": of_network.connection_sparsity,
            "ParameterCount": of_network.parameter_count,
            **self._whole.means(),
            **({"per_answer": self._spent.means()} if self._spent.n else {}),
        }


class _Sums:
    """Of recordings until certain steps."""

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
