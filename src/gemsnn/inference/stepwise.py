"""A network that answers after every step, as :func:`gemsnn.predict_anytime` does for sequences that are there already.

Random draws, potentials, evidence and decoder are those of the bulk computation, so the numbers are the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.randomness import Uniforms
from gemsnn.engine.stepper import Stepper
from gemsnn.inference.decoders import Decoder
from gemsnn.inference.evidence import PatternReader, hidden_see_visible
from gemsnn.model import Network, Parameters
from gemsnn.model.spikes import log_probability


class StepAnswer(NamedTuple):
    """What is to be said after a step."""

    chosen: int  #: index of the class
    probabilities: NDArray[np.float64]  #: (C,)
    hidden_spikes: float  #: at this step, all compartments together


class Stepwise:
    """One recording after the other, one step at a time, in constant memory.

    Parameters
    ----------
    network, parameters
        What answers.
    n_compartments, decoder
        How.
    seed, key
        Of the random draws: ``key`` is that of the first recording.
    """

    def __init__(
        self, network: Network, parameters: Parameters, n_compartments: int, decoder: Decoder, seed: int, key: int
    ) -> None:
        self.network, self.decoder, self.n_compartments = network, decoder, n_compartments
        self._seed = seed
        K, C = n_compartments, network.n_visible
        self._desired = np.eye(C, dtype=np.uint8)
        # Where hidden neurons see the visible ones, there is a run for each class.
        self._apart = not decoder.free and hidden_see_visible(network)
        self._clamps: list[NDArray[np.uint8] | None] = [None] if decoder.free else [np.zeros(C, dtype=np.uint8)]
        if self._apart:
            self._clamps = list(self._desired)
        n_drawn = network.n_neurons if decoder.free else network.n_hidden
        self._thresholds = np.zeros((1, K, n_drawn), dtype=parameters.dtype)
        self._spikes = np.zeros((K, network.n_neurons), dtype=np.bool_)
        self._potential = np.zeros((K, C), dtype=parameters.dtype)
        self.reset(key, parameters)

    def reset(self, key: int, parameters: Parameters | None = None) -> None:
        """Silence before the next recording, whose draws have the given key; its weights may be others."""
        network, K = self.network, self.n_compartments
        if parameters is not None:
            self.parameters = parameters
            self._steppers = [Stepper(network, parameters, K) for _ in self._clamps]
        else:
            for stepper in self._steppers:
                stepper.reset()
        n_visible = network.n_visible if self.decoder.free else 0
        self._uniforms = Uniforms(self._seed, key, K, network.n_hidden, n_visible)
        self._reader = PatternReader(network, self.parameters, network.n_visible)
        self._state = self.decoder.start((K, network.n_visible))

    def step(self, inputs_t: NDArray[np.uint8]) -> StepAnswer:
        """The answer after one more step of (n_inputs,) spikes."""
        self._uniforms.draw_logits(self._thresholds)
        evidence, hidden_spikes = self._evidence(inputs_t)
        self._state = self.decoder.update(self._state, evidence)
        classes, probabilities, _ = self.decoder.answer(self._state)
        return StepAnswer(int(classes), probabilities, hidden_spikes)

    def _evidence(self, inputs_t: NDArray[np.uint8]) -> tuple[NDArray[Any], float]:
        """(K, C) of this step, and how many hidden neurons spiked."""
        n_hidden, hidden_spikes = self.network.n_hidden, 0.0
        each: NDArray[np.float64] = np.empty((self.n_compartments, len(self._clamps)))
        for c, (stepper, clamp) in enumerate(zip(self._steppers, self._clamps, strict=True)):
            stepper.step(inputs_t, self._thresholds[0], clamp, self._spikes, self._potential)
            hidden_spikes += np.count_nonzero(self._spikes[:, :n_hidden]) / len(self._clamps)
            if self._apart and clamp is not None:
                circuits = self.network.circuits.visible
                each[:, c] = log_probability(circuits, self._potential, clamp).sum(axis=-1)
        if self._apart:
            return each, hidden_spikes
        if self.decoder.free:
            return self._spikes[:, n_hidden:], hidden_spikes
        return self._reader.step(self._potential, self._desired), hidden_spikes
