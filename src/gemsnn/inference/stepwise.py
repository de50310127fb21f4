"""A network that answers after every step, as :func:`gemsnn.predict_anytime` does for sequences that are there already.

Random draws, potentials, evidence and decoder are those of the bulk computation, so the numbers are the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.randomness import Uniforms
from gemsnn.engine.runner import Runner
from gemsnn.inference.decoders import Decoder
from gemsnn.inference.evidence import ClampedReader, PatternReader, hidden_see_visible
from gemsnn.model import Network, Parameters


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
        self._desired = np.eye(network.n_visible, dtype=np.uint8)
        # Where hidden neurons see the visible ones, there is a run for each class.
        self._apart = not decoder.free and hidden_see_visible(network)
        self._runners: list[Runner] = []
        self.reset(key, parameters)

    def reset(self, key: int, parameters: Parameters | None = None) -> None:
        """Silence before the next recording, whose draws have the given key; its weights may be others."""
        network, K, free = self.network, self.n_compartments, self.decoder.free
        n_visible = network.n_visible if free else 0

        def draws() -> Uniforms:
            return Uniforms(self._seed, key, K, network.n_hidden, n_visible)

        if parameters is None:
            for runner in self._runners:
                runner.begin(draws())
        else:
            runs = network.n_visible if self._apart else 1
            self.parameters = parameters
            self._runners = [Runner(network, parameters, K, draws(), clamped=not free) for _ in range(runs)]
        self._clamped = ClampedReader(network)
        self._reader = PatternReader(network, self.parameters, network.n_visible)
        self._state = self.decoder.start((K, network.n_visible))

    @property
    def spikes(self) -> NDArray[np.bool_]:
        """(K, n_neurons): of the latest step, of the first run; the next step writes over it."""
        return self._runners[0].spikes

    def step(self, inputs_t: NDArray[np.uint8]) -> StepAnswer:
        """The answer after one more step of (n_inputs,) spikes."""
        evidence, hidden_spikes = self._evidence_apart(inputs_t) if self._apart else self._evidence(inputs_t)
        self._state = self.decoder.update(self._state, evidence)
        classes, probabilities, _ = self.decoder.answer(self._state)
        return StepAnswer(int(classes), probabilities, hidden_spikes)

    def _evidence(self, inputs_t: NDArray[np.uint8]) -> tuple[NDArray[Any], float]:
        """(K, C) of this step, and how many hidden neurons spiked."""
        spikes, potential = self._runners[0].step(inputs_t)
        n_hidden = self.network.n_hidden
        evidence = spikes[:, n_hidden:] if self.decoder.free else self._reader.step(potential, self._desired)
        return evidence, float(np.count_nonzero(spikes[:, :n_hidden]))

    def _evidence_apart(self, inputs_t: NDArray[np.uint8]) -> tuple[NDArray[Any], float]:
        hidden_spikes = 0.0
        each = np.empty((self.n_compartments, len(self._runners)))
        for c, (runner, desired) in enumerate(zip(self._runners, self._desired, strict=True)):
            spikes, potential = runner.step(inputs_t, desired)
            each[:, c] = self._clamped.step(potential, desired)
            hidden_spikes += np.count_nonzero(spikes[:, : self.network.n_hidden]) / len(self._runners)
        return each, hidden_spikes
