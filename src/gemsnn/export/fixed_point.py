"""Fixed-point networks: weights of 8 or 16 bits, potentials of 32, a table for the sigmoid.

Weights into neuron i are integer multiples of a scale per neuron, given by its largest weight. Filtered sums of weights
have ``fraction`` additional binary places, as many as the largest possible sum allows. Taps and decays have 30 binary
places, potentials 16. :func:`predict_fixed` computes in NumPy, bit-for-bit, what the exported C program computes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.randomness import Uniforms
from gemsnn.engine.recursion import Bank, Recursion
from gemsnn.engine.running import Listed, Weights
from gemsnn.errors import ConfigError
from gemsnn.inference import AnytimePrediction, Temperature, as_decoder
from gemsnn.inference.evidence import PatternReader
from gemsnn.model.spikes import probability, sample
from gemsnn.training import DecoderSettings, Model

Array = NDArray[Any]
BITS = {"int8": 8, "int16": 16}
TAP_BITS, POTENTIAL_BITS = 30, 16
ROOM = 30  # bits of a filtered sum, at most
MOST_FRACTION = 16


SIGMOID: Array = np.rint(2.0**32 / (1 + np.exp(np.arange(257) / 16))).astype(np.int64)
"""(257,): 2^32 sigmoid(-u) at u = 0, 1/16, ..., 16."""


class FixedPoint(NamedTuple):
    """The arrays of :class:`gemsnn.engine.running.Weights` as integers (int64)."""

    kind: str
    rows: Array
    listed: Listed
    bias: Array  #: (n_neurons,) with 16 binary places
    scale: Array  #: (n_neurons,): a filtered sum times this, shifted by ``scale_bits``, is a potential
    synapses: Bank
    soma: Bank
    somatic: Array
    somatic_lags: Array  #: with ``fraction`` binary places
    fraction: int
    scale_bits: int

    @property
    def bytes(self) -> int:
        """Size of a weight."""
        return BITS[self.kind] // 8

    @classmethod
    def of(cls, w: Weights, kind: str) -> FixedPoint:
        """Round the weights of the compiled engine."""
        n, (n_basis, _) = len(w.bias), w.synapses.taps.shape
        rows = w.rows.astype(np.float64).reshape(len(w.rows), n_basis, n)
        listed, somatic, lags = (a.astype(np.float64) for a in (w.listed.weight, w.somatic, w.somatic_lags))
        largest = np.zeros(n)
        for part in (rows.reshape(-1, n), somatic):
            largest = np.maximum(largest, np.abs(part).max(axis=0, initial=0))
        np.maximum.at(largest, w.listed.neuron, np.abs(listed).max(axis=1, initial=0))
        scale = np.where(largest > 0, largest, 1.0) / (2 ** (BITS[kind] - 1) - 1)
        rows, somatic = np.rint(rows / scale), np.rint(somatic / scale)
        listed = np.rint(listed / scale[w.listed.neuron][:, None])
        # The largest filtered sum that spikes can produce.
        area, own_area = (np.abs(bank.taps.astype(np.float64)).sum(axis=1) for bank in (w.synapses, w.soma))
        sums = np.abs(rows).sum(axis=0)
        np.add.at(sums.T, w.listed.neuron, np.abs(listed))
        bound = (area @ sums + own_area[: len(somatic)] @ np.abs(somatic) + np.abs(lags / scale).sum(axis=0)).max()
        fraction = min(MOST_FRACTION, ROOM - int(np.ceil(np.log2(bound + 1))))
        if fraction < 0 or sums.max(initial=0) >= 2.0**ROOM:
            raise ConfigError(f"{n} neurons with {len(rows)} sources are too many for {kind}: use float32 weights")
        factor = scale * 2.0 ** (POTENTIAL_BITS - fraction)
        scale_bits = ROOM - int(np.ceil(np.log2(factor.max())))
        if not 0 <= scale_bits < 62 or np.abs(w.bias).max() >= 2.0 ** (ROOM - POTENTIAL_BITS):
            raise ConfigError(f"weights or biases are too large or too small for {kind}: use float32 weights")
        whole = np.int64
        return cls(
            kind=kind,
            rows=rows.reshape(len(rows), n_basis * n).astype(whole),
            listed=Listed(w.listed.start, w.listed.neuron, listed.astype(whole)),
            bias=np.rint(w.bias.astype(np.float64) * 2**POTENTIAL_BITS).astype(whole),
            scale=np.rint(factor * 2.0**scale_bits).astype(whole),
            synapses=_whole(w.synapses),
            soma=_whole(w.soma),
            somatic=somatic.astype(whole),
            somatic_lags=np.rint(lags / scale * 2.0**fraction).astype(whole),
            fraction=fraction,
            scale_bits=scale_bits,
        )


def _whole(bank: Bank) -> Bank:
    def of(values: Array) -> Array:
        whole: Array = np.rint(values.astype(np.float64) * 2**TAP_BITS).astype(np.int64)
        return whole

    if np.abs(bank.taps).sum(axis=1).max() >= 1.99:
        raise ConfigError("fixed point needs filters whose taps sum to less than 2: use float32 weights")
    return Bank(of(bank.taps), bank.recursive, Recursion(*map(of, bank.recursion)))


def predict_fixed(
    model: Model, fixed: FixedPoint, inputs: Array, readout: DecoderSettings, keys: Sequence[int]
) -> AnytimePrediction:
    """Answers of the exported C program after every step of (N, T, n_inputs) sequences with the given random keys."""
    network, K, decoder = model.network, readout.compartments, as_decoder(readout.kind)
    N, T = inputs.shape[:2]
    n, n_hidden, C = network.n_neurons, network.n_hidden, network.n_visible
    drawn = n if decoder.free else n_hidden
    draws = np.stack(
        [Uniforms(model.prediction_seed, int(key), K, n_hidden, drawn - n_hidden).draw(T) for key in keys]
    )  # fmt: skip
    given, neurons = _Drive(fixed, (N, 1)), _Drive(fixed, (N, K))
    own, past = np.zeros((N, K, *fixed.somatic.shape), np.int64), _Past((N, K, n), fixed.soma.taps.shape[1])
    reader, desired = PatternReader(network, model.parameters, C), np.eye(C, dtype=np.uint8)
    state = decoder.start((N, K, C))
    found = AnytimePrediction(np.zeros((N, T), np.int64), np.zeros((N, T, C)), np.zeros((N, T)))
    for t in range(T):
        filtered = given.filtered() + neurons.filtered()
        somatic = fixed.somatic * own
        filtered += _rounded(somatic, TAP_BITS - fixed.fraction).sum(axis=2)
        for lag, weights in enumerate(fixed.somatic_lags, start=1):
            filtered += weights * past.ago(lag)
        u = fixed.bias + (filtered * fixed.scale >> fixed.scale_bits)
        u = np.clip(u, -0x3FFFFFFF, 0x3FFFFFFF)
        spikes = np.zeros((N, K, n), bool)
        spikes[..., :drawn] = _fires(u[..., :drawn], np.rint(draws[:, t] * 2**32 - 0.5).astype(np.int64))
        potential = u / 2.0**POTENTIAL_BITS
        if network.circuits.competing:
            padded = np.concatenate([draws[:, t], np.zeros((N, K, n - drawn))], axis=-1)
            competing = sample(network.circuits, probability(network.circuits, potential), padded)
            among = ~network.circuits.bernoulli & (np.arange(n) < drawn)
            spikes[..., among] = competing[..., among]
        evidence = spikes[..., n_hidden:] if decoder.free else reader.step(potential[..., n_hidden:], desired)
        state = decoder.update(state, evidence)
        found.classes[:, t], found.probabilities[:, t], _ = decoder.answer(state)
        found.hidden_spikes[:, t] = spikes[..., :n_hidden].sum(axis=(1, 2))
        own = _own(fixed.soma.recursion, own, spikes, past.ago(fixed.soma.taps.shape[1]))
        past.add(spikes)
        given.take_in(0, inputs[:, t, None])
        neurons.take_in(network.n_inputs, spikes[..., : _n_feeding(fixed, network.n_inputs)])
    temperature = temperature_of(model, readout)
    if temperature is None:
        return found
    seen = np.count_nonzero(inputs, axis=2).cumsum(axis=1)
    return found._replace(probabilities=temperature(found.probabilities, np.arange(1, T + 1), seen))


def temperature_of(model: Model, readout: DecoderSettings) -> Temperature | None:
    """The temperature that calibrates the model's probabilities for a readout, if it was fitted."""
    return model.knows(readout).get("temperature")


def _n_feeding(fixed: FixedPoint, n_inputs: int) -> int:
    return (len(fixed.rows) or len(fixed.listed.start) - 1) - n_inputs


def _rounded(values: Array, bits: int) -> Array:
    rounded: Array = (values + (1 << (bits - 1))) >> bits
    return rounded


def _fires(u: Array, numbers: Array) -> NDArray[np.bool_]:
    size = np.abs(u)
    index = np.minimum(size >> 12, 255)
    tail = SIGMOID[index] - ((SIGMOID[index] - SIGMOID[index + 1]) * (size & 4095) >> 12)
    tail = np.where(size >> 12 < 256, tail, 0)
    fires: NDArray[np.bool_] = numbers < np.where(u < 0, tail, 0xFFFFFFFF - tail)
    return fires


def _own(soma: Recursion, own: Array, spikes: Array, oldest: Array) -> Array:
    """(N, K, n_basis, n) traces of a recursive self-memory, given the newest and the oldest spikes."""
    if not own.shape[2]:
        return own
    decay, gain, leaving = (values[:, None] for values in soma)
    trace: Array = _rounded(decay * own, TAP_BITS) + gain * spikes[:, :, None] - leaving * oldest[:, :, None]
    return trace


class _Past:
    """Spikes of the most recent steps."""

    def __init__(self, shape: tuple[int, ...], duration: int) -> None:
        self._steps: deque[Array] = deque([np.zeros(shape, bool)] * duration, maxlen=duration)

    def ago(self, lag: int) -> Array:
        return self._steps[-lag]

    def add(self, spikes: Array) -> None:
        self._steps.append(spikes)


class _Drive:
    """Filtered sums of weights over the most recent steps: of inputs, shared by all compartments, or of neurons."""

    def __init__(self, fixed: FixedPoint, shape: tuple[int, int]) -> None:
        n_basis, duration = fixed.synapses.taps.shape
        self._fixed, self._shape = fixed, (*shape, n_basis, len(fixed.bias))
        self._q: deque[Array] = deque([np.zeros(self._shape, np.int64)] * duration, maxlen=duration)
        self._recursion = np.zeros(self._shape, np.int64)
        w = fixed.listed
        if not len(fixed.rows):  # dense, since integer sums do not depend on their order
            dense = np.zeros((len(w.start) - 1, *self._shape[2:]))
            source = np.repeat(np.arange(len(w.start) - 1), np.diff(w.start))
            dense[source, :, w.neuron] = w.weight
            self._rows = dense.reshape(len(dense), -1)
        else:
            self._rows = fixed.rows.astype(np.float64)  # exact, and faster with BLAS

    def filtered(self) -> Array:
        """(N, K, n) with ``fraction`` binary places."""
        fixed = self._fixed
        if fixed.synapses.recursive:
            filtered: Array = self._recursion.sum(axis=2)
            return filtered
        taps = fixed.synapses.taps
        total = sum((taps[:, lag - 1, None] * self._q[-lag]).sum(axis=2) for lag in range(1, taps.shape[1] + 1))
        return _rounded(np.asarray(total), TAP_BITS - fixed.fraction)

    def take_in(self, first: int, spikes: Array) -> None:
        """Spikes (N, K, n) of sources from ``first`` on."""
        fixed = self._fixed
        fresh = (spikes.astype(np.float64) @ self._rows[first : first + spikes.shape[-1]]).astype(np.int64)
        fresh = fresh.reshape(self._shape)
        if fixed.synapses.recursive:
            decay, gain, leaving = (values[:, None] for values in fixed.synapses.recursion)
            change = gain * fresh - leaving * self._q[0]
            self._recursion = _rounded(decay * self._recursion + change * (1 << fixed.fraction), TAP_BITS)
        self._q.append(fresh)
