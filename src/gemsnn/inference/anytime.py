"""Answers before the end: what each decoder would say after every time step, and when it is sure enough to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ConfigError
from gemsnn.inference.decoders import Decoder
from gemsnn.inference.evidence import Evidence, Fired
from gemsnn.inference.prediction import check, runs
from gemsnn.inference.stopping import Confident, at, stop_by
from gemsnn.inference.temperature import Temperature
from gemsnn.inference.usual import Usual
from gemsnn.model import Network, Parameters


class Decisions(NamedTuple):
    """Of N sequences, each answered at a time of its own."""

    classes: NDArray[np.int64]  #: (N,): index of the class
    confidence: NDArray[np.float64]  #: (N,): its probability when the answer was given
    steps: NDArray[np.int64]  #: (N,): time steps seen until then
    hidden_spikes: NDArray[np.float64]  #: (N,): spent until then, all compartments together


class AnytimePrediction(NamedTuple):
    """Of N sequences, C classes, T time steps; entry t is the answer after t + 1 steps. One sequence has no axis N."""

    classes: NDArray[np.int64]  #: (N, T)
    probabilities: NDArray[np.float64]  #: (N, T, C)
    hidden_spikes: NDArray[np.float64]  #: (N, T): at each step, all compartments together
    votes: NDArray[np.int64] | None = None  #: (N, C): at the end, how many compartments prefer each class
    input_spikes: NDArray[np.int64] | None = None  #: (N, T): seen so far
    usual: NDArray[np.float64] | None = None  #: (N, T): p-value at the latest checkpoint; NaN where it is not known

    @property
    def confidence(self) -> NDArray[np.float64]:
        """(N, T): the probability of the class that would be chosen."""
        return np.take_along_axis(self.probabilities, self.classes[..., None], axis=-1)[..., 0]

    def stop(self, confidence: float, min_steps: int = 1) -> Decisions:
        """Answer as soon as the confidence is reached, though not before ``min_steps``; else at the end.

        Examples
        --------
        >>> import numpy as np, gemsnn
        >>> network = gemsnn.Network.fully_connected(n_inputs=4, n_hidden=3, n_visible=2)
        >>> inputs = np.random.default_rng(0).integers(0, 2, (5, 20, 4))
        >>> anytime = gemsnn.predict_anytime(network, network.init(seed=0), inputs, n_compartments=5)
        >>> bool((anytime.stop(confidence=0.5).steps <= anytime.stop(confidence=0.9).steps).all())
        True
        """
        rule, T = Confident(confidence, min_steps), self.classes.shape[-1]
        if min_steps > T:
            raise ConfigError(f"min_steps is {min_steps}, but the sequences have {T} steps")
        last, _ = stop_by(rule, self.probabilities)
        spent = self.hidden_spikes.cumsum(axis=-1)
        return Decisions(at(self.classes, last), at(self.confidence, last), last + 1, at(spent, last))


def predict_anytime(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int = 1,
    *,
    decoder: str | Decoder = "per-step",
    patterns: ArrayLike | None = None,
    seed: int = 0,
    keys: Sequence[int] | None = None,
    threads: int = 1,
    engine: str = "compiled",
    temperature: Temperature | None = None,
    usual: Usual | None = None,
) -> Any:
    """What :func:`gemsnn.predict` would say after 1, 2, ..., T steps of the sequences.

    One run of the network gives all answers; the last one is that of :func:`gemsnn.predict`, whose arguments these are.

    Returns
    -------
    An :class:`AnytimePrediction`; for a list of sequences a list of them, each without the axis N.
    """
    checked = check(network, parameters, inputs, n_compartments, decoder, patterns, seed, threads, keys, engine)
    answers: list[Any] = [None] * len(checked.sequences)
    readout = Readout(checked.decoder, checked.n_compartments, temperature, usual)
    for places, spikes, evidence in runs(network, parameters, checked, seed, threads):
        (of_piece,) = read_out([readout], evidence, spikes, checked.n_classes)
        for place, answer in zip(places, of_piece, strict=True):
            answers[place] = answer
    if checked.sequences.given == "list":
        return answers
    T = np.shape(checked.sequences.each)[1]
    if not answers:
        C, none, nothing = checked.n_classes, np.zeros((0, T), dtype=np.int64), np.zeros((0, T))
        return AnytimePrediction(none, np.zeros((0, T, C)), nothing, np.zeros((0, C), np.int64), none, nothing)
    return AnytimePrediction(*map(np.stack, zip(*answers, strict=True)))


class Readout(NamedTuple):
    """A way to read out a run, and what is known of its answers."""

    decoder: Decoder
    n_compartments: int
    temperature: Temperature | None = None
    usual: Usual | None = None


def read_out(
    readouts: Sequence[Readout], evidence: Evidence, spikes: NDArray[Any], n_classes: int
) -> list[list[AnytimePrediction]]:
    """What each way of reading out says of each sequence, all from one run of as many compartments as any needs.

    ``spikes`` are the (N, T, n_inputs) inputs.
    """
    n, T = spikes.shape[:2]
    states = [one.decoder.start((n, one.n_compartments, n_classes)) for one in readouts]
    classes = [np.zeros((n, T), dtype=np.int64) for _ in readouts]
    probabilities = [np.zeros((n, T, n_classes)) for _ in readouts]
    votes: list[Any] = [None] * len(readouts)
    for t, step in enumerate(evidence.steps):
        for i, one in enumerate(readouts):
            states[i] = one.decoder.update(states[i], step[:, : one.n_compartments])
            classes[i][:, t], probabilities[i][:, t], votes[i] = one.decoder.answer(states[i])
    seen = np.count_nonzero(spikes, axis=2).cumsum(axis=1)
    found = []
    for one, chosen, raw, last in zip(readouts, classes, probabilities, votes, strict=True):
        fired = evidence.fired.first(one.n_compartments)
        p_values = np.full((n, T), np.nan) if one.usual is None else _usual(one.usual, fired, raw)
        p = raw if one.temperature is None else one.temperature(raw, np.arange(1, T + 1), seen)
        fields = chosen, p, fired.hidden_spikes, last, seen, p_values
        found.append([AnytimePrediction(*of_one) for of_one in zip(*fields, strict=True)])
    return found


# ---- inside


def _usual(usual: Usual, fired: Fired, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N, T) p-values from the decoder's own probabilities (N, T, C)."""
    n, T = probabilities.shape[:2]
    found = np.full((n, T), np.nan)
    counts = fired.counts(usual.checkpoints)
    for checkpoint, step in enumerate(usual.checkpoints):
        if step <= T:
            p = usual.p_value(checkpoint, counts[:, checkpoint], probabilities[:, step - 1])
            found[:, step - 1 :] = p[:, None]
    return found
