"""A network that answers after every step, as :func:`gemsnn.predict_anytime` does for recorded sequences.

Random draws, potentials, evidence and decoder are those of the bulk computation, and so are the results.

With a stream that learns at the same time, its own steps are read out, so that the network runs only once. This
requires that spikes of visible neurons drive no neuron, since these are clamped to targets. In other networks, a
separate run computes the answers, with the weights from the start of the recording; otherwise, targets would leak into
answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine import engine_named
from gemsnn.engine.protocol import Recording
from gemsnn.engine.randomness import Uniforms
from gemsnn.inference.decoders import Decoder
from gemsnn.inference.evidence import ClampedReader, PatternReader, hidden_see_visible, visible_spikes_matter
from gemsnn.inference.temperature import Temperature
from gemsnn.inference.usual import Usual
from gemsnn.learning import Stream
from gemsnn.model import Network, Parameters


class StepAnswer(NamedTuple):
    """The answer after a step."""

    chosen: int  #: index of the class
    probabilities: NDArray[np.float64]  #: (C,)
    hidden_spikes: float  #: at this step, summed over compartments
    usual: float | None  #: p-value at the latest checkpoint; None before the first and if not known


class Stepwise:
    """Answers to one recording after the other, one step at a time, in constant memory.

    Parameters
    ----------
    network, parameters, n_compartments, decoder, temperature, usual
        As in :func:`gemsnn.predict_anytime`.
    seed, key
        Of the random draws; ``key`` is that of the first recording.
    stream
        Learns from the same steps, with the same compartments and draws.
    """

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        n_compartments: int,
        decoder: Decoder,
        seed: int,
        key: int,
        temperature: Temperature | None = None,
        usual: Usual | None = None,
        stream: Stream | None = None,
        engine: str = "compiled",
    ) -> None:
        self.temperature, self.usual = temperature, usual
        self.network, self.decoder, self.n_compartments = network, decoder, n_compartments
        self._seed = seed
        self._desired = np.eye(network.n_visible, dtype=np.uint8)
        # If hidden neurons see the visible ones, there is one run per class.
        self._apart = not decoder.free and hidden_see_visible(network)
        self._engine = engine_named(engine)
        self._runners: list[Recording] = []
        self.learns = stream is not None
        self._stream, self._reads_stream = stream, stream is not None and not visible_spikes_matter(network)
        self._spikes = np.zeros((n_compartments, network.n_neurons), dtype=np.bool_)  # of the stream's latest step
        self._begin(key, parameters)

    def reset(self, key: int) -> None:
        """Start the next recording, whose draws have the given key, with the weights learned so far."""
        if self._stream is None:
            self._begin(key)
        else:
            self._stream.reset(key)
            self._begin(key, self._stream.parameters)

    @property
    def parameters(self) -> Parameters:
        """The current weights."""
        return self._parameters if self._stream is None else self._stream.parameters

    def _begin(self, key: int, parameters: Parameters | None = None) -> None:
        network, K, free = self.network, self.n_compartments, self.decoder.free
        n_visible = network.n_visible if free else 0

        def draws() -> Uniforms:
            return Uniforms(self._seed, key, K, network.n_hidden, n_visible)

        if parameters is None:
            for runner in self._runners:
                runner.begin(draws())
        else:
            runs = 0 if self._reads_stream else network.n_visible if self._apart else 1
            self._parameters = parameters
            running = self._engine.running(network, parameters) if runs else None
            self._runners = [running.recording(K, draws(), clamped=not free) for _ in range(runs) if running]
        self._clamped = ClampedReader(network)
        self._reader = PatternReader(network, self._parameters, network.n_visible)
        self._state = self.decoder.start((K, network.n_visible))
        self._steps, self._input_spikes = 0, 0
        self._fired = np.zeros(network.n_hidden, dtype=np.int64)
        self._p_value: float | None = None

    @property
    def spikes(self) -> NDArray[np.bool_]:
        """(K, n_neurons): of the latest step, in the first run; the next step overwrites it."""
        return self._spikes if self._reads_stream else self._runners[0].spikes

    def step(self, inputs_t: NDArray[np.uint8], target_t: NDArray[Any] | None = None) -> StepAnswer:
        """The answer after one more step of (n_inputs,) spikes; the stream learns from (n_visible,) desired spikes."""
        if self._stream is not None:
            self._spikes = self._stream.step(inputs_t, target_t).spikes
        if self._reads_stream:
            evidence, hidden_spikes = self._evidence_of_stream(target_t is not None)
        elif self._apart:
            evidence, hidden_spikes = self._evidence_apart(inputs_t)
        else:
            evidence, hidden_spikes = self._evidence(inputs_t)
        self._state = self.decoder.update(self._state, evidence)
        classes, probabilities, _ = self.decoder.answer(self._state)
        self._steps += 1
        if self.usual is not None:
            self._fired += self.spikes[:, : self.network.n_hidden].sum(axis=0)
            checkpoint = self.usual.checkpoint(self._steps)
            if checkpoint is not None and self._steps == self.usual.checkpoints[checkpoint]:
                self._p_value = float(self.usual.p_value(checkpoint, self._fired, probabilities))
        if self.temperature is not None:
            self._input_spikes += int(np.count_nonzero(inputs_t))
            probabilities = self.temperature(probabilities, self._steps, self._input_spikes)
        return StepAnswer(int(classes), probabilities, hidden_spikes, self._p_value)

    def _evidence(self, inputs_t: NDArray[np.uint8]) -> tuple[NDArray[Any], float]:
        """(K, C) of this step, and the number of hidden spikes."""
        spikes, potential = self._runners[0].step(inputs_t)
        n_hidden = self.network.n_hidden
        evidence = spikes[:, n_hidden:] if self.decoder.free else self._reader.step(potential, self._desired)
        return evidence, float(np.count_nonzero(spikes[:, :n_hidden]))

    def _evidence_of_stream(self, clamped: bool) -> tuple[NDArray[Any], float]:
        assert self._stream is not None
        n_hidden = self.network.n_hidden
        evidence: NDArray[Any]
        if self.decoder.free:
            evidence = self._stream.visible_spikes() if clamped else self._spikes[:, n_hidden:]
        else:
            evidence = self._reader.step(np.ascontiguousarray(self._stream.visible_potential), self._desired)
        return evidence, float(np.count_nonzero(self._spikes[:, :n_hidden]))

    def _evidence_apart(self, inputs_t: NDArray[np.uint8]) -> tuple[NDArray[Any], float]:
        hidden_spikes = 0.0
        each = np.empty((self.n_compartments, len(self._runners)))
        for c, (runner, desired) in enumerate(zip(self._runners, self._desired, strict=True)):
            spikes, potential = runner.step(inputs_t, desired)
            each[:, c] = self._clamped.step(potential, desired)
            hidden_spikes += np.count_nonzero(spikes[:, : self.network.n_hidden])
        return each, hidden_spikes / len(self._runners)
