"""Classes with their probabilities: after every time step of a sequence, and at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.engine import engine_named
from gemsnn.errors import ConfigError, ShapeError
from gemsnn.inference.decoders import Decoder, as_decoder
from gemsnn.inference.evidence import Evidence, Fired, run_for
from gemsnn.inference.sequences import Sequences
from gemsnn.inference.stopping import Confident, at, stop_by
from gemsnn.inference.temperature import Temperature
from gemsnn.inference.usual import Usual
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import spike_array, whole_number


class Prediction(NamedTuple):
    """Of N sequences and C classes."""

    classes: NDArray[np.int64]  #: (N,): index of the class
    probabilities: NDArray[np.float64]  #: (N, C)
    votes: NDArray[np.int64]  #: (N, C): how many compartments prefer each class
    hidden_spikes_per_step: NDArray[np.float64]  #: (N,): summed over compartments
    usual: NDArray[np.float64]  #: (N,): p-value (:mod:`gemsnn.inference.usual`); NaN if not known

    @property
    def confidence(self) -> NDArray[np.float64]:
        """(N,): the probability of the chosen class."""
        return self.probabilities[np.arange(len(self.classes)), self.classes]


class Decisions(NamedTuple):
    """Of N sequences, each answered at a time of its own."""

    classes: NDArray[np.int64]  #: (N,): index of the class
    confidence: NDArray[np.float64]  #: (N,): its probability when the answer was given
    steps: NDArray[np.int64]  #: (N,): time steps seen until then
    hidden_spikes: NDArray[np.float64]  #: (N,): number until then, summed over compartments


class AnytimePrediction(NamedTuple):
    """Of N sequences, C classes, T time steps; entry t is the answer after t + 1 steps. One sequence has no axis N."""

    classes: NDArray[np.int64]  #: (N, T)
    probabilities: NDArray[np.float64]  #: (N, T, C)
    hidden_spikes: NDArray[np.float64]  #: (N, T): at each step, summed over compartments
    votes: NDArray[np.int64] | None = None  #: (N, C): how many compartments prefer each class at the end
    input_spikes: NDArray[np.int64] | None = None  #: (N, T): cumulative
    usual: NDArray[np.float64] | None = None  #: (N, T): p-value at the latest checkpoint; NaN if not known

    @property
    def confidence(self) -> NDArray[np.float64]:
        """(N, T): the probability of the class that would be chosen."""
        return at(self.probabilities, self.classes)

    def stop(self, confidence: float, min_steps: int = 1) -> Decisions:
        """Answer as soon as the confidence is reached, but not before ``min_steps``; otherwise at the end.

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


AnytimeAnswers = AnytimePrediction | Sequence[AnytimePrediction]
"""Of N sequences together, or one per sequence if their lengths differ."""


def answers_of_each(answers: AnytimeAnswers) -> list[AnytimePrediction]:
    """One per sequence, without the axis N."""
    if not isinstance(answers, AnytimePrediction):
        return list(answers)
    fields: list[Any] = [[None] * len(answers.classes) if field is None else field for field in answers]
    return [AnytimePrediction(*of_one) for of_one in zip(*fields, strict=True)]


def predict(
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
) -> Prediction:
    """Classify sequences.

    Parameters
    ----------
    inputs
        (N, T, n_inputs), or a list of (T_i, n_inputs), whose lengths may differ.
    n_compartments
        Compartments that run.
    decoder
        ``"per-step"``, whose probabilities are the best calibrated; ``"likelihood"``; ``"vote"``, as in the paper; or a
        :class:`gemsnn.inference.Decoder` of your own.
    patterns
        (C, T, n_visible): desired output of each class. Default: :func:`gemsnn.inference.class_patterns`. Decoders of
        freely running neurons, such as ``"vote"``, read neuron c as class c and ignore it.
    seed
        Together with the sequence itself, it determines the random draws: the same sequence always gets the same
        answer, bit for bit, whatever other sequences are classified with it.
    keys
        N whole numbers: keys of the draws, in place of those derived from the sequences
        (:func:`gemsnn.inference.recording_key`), for example to reproduce the answers of a live stream.
    engine
        ``"compiled"``, or ``"reference"``: float64 NumPy, slow.
    temperature
        Calibrates the decoder's probabilities (:func:`gemsnn.inference.fit_temperature`).
    usual
        Computes how usual each sequence is (:func:`gemsnn.inference.fit_usual`).
    """
    checked = check(network, parameters, inputs, n_compartments, decoder, patterns, seed, threads, keys, engine)
    return at_the_end(_answers(network, parameters, checked, seed, threads, temperature, usual), checked.n_classes)


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
    """What :func:`predict`, which takes the same arguments, would answer after 1, 2, ..., T steps of the sequences.

    One run of the network gives all answers; the last one is that of :func:`predict`.

    Returns
    -------
    An :class:`AnytimePrediction`; for a list of sequences a list of them, each without the axis N.
    """
    checked = check(network, parameters, inputs, n_compartments, decoder, patterns, seed, threads, keys, engine)
    answers = _answers(network, parameters, checked, seed, threads, temperature, usual)
    if checked.sequences.given == "list":
        return answers
    if not answers:
        T, C = np.shape(checked.sequences.each)[1], checked.n_classes
        none, nothing = np.zeros((0, T), dtype=np.int64), np.zeros((0, T))
        return AnytimePrediction(none, np.zeros((0, T, C)), nothing, np.zeros((0, C), np.int64), none, nothing)
    return AnytimePrediction(*map(np.stack, zip(*answers, strict=True)))


def at_the_end(answers: Sequence[AnytimePrediction], n_classes: int) -> Prediction:
    """The last answer to each of N sequences."""
    N, C = len(answers), n_classes
    found = Prediction(np.zeros(N, np.int64), np.zeros((N, C)), np.zeros((N, C), np.int64), np.zeros(N), np.zeros(N))
    for n, (classes, probabilities, hidden_spikes, votes, _, usual) in enumerate(answers):
        last = classes[-1], probabilities[-1], votes, hidden_spikes.mean(), np.nan if usual is None else usual[-1]
        for values, value in zip(found, last, strict=True):
            values[n] = value
    return found


class Readout(NamedTuple):
    """A way to read out a run of the network, and how its probabilities are calibrated."""

    decoder: Decoder
    n_compartments: int
    temperature: Temperature | None = None
    usual: Usual | None = None


def read_out(
    readouts: Sequence[Readout], evidence: Evidence, spikes: NDArray[Any], n_classes: int
) -> list[list[AnytimePrediction]]:
    """The answers of each readout to each of N sequences, from one run with the most compartments that any one needs.

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


class Checked(NamedTuple):
    """Validated arguments of :func:`predict`."""

    decoder: Decoder
    n_compartments: int
    sequences: Sequences
    patterns: NDArray[np.uint8] | None
    n_classes: int
    keys: list[int] | None
    engine: str


def check(
    network: Network,
    parameters: Parameters,
    inputs: ArrayLike,
    n_compartments: int,
    decoder: str | Decoder,
    patterns: ArrayLike | None,
    seed: int,
    threads: int,
    keys: Sequence[int] | None = None,
    engine: str = "compiled",
) -> Checked:
    engine_named(engine)
    network.check_parameters(parameters)
    decoder = as_decoder(decoder)
    K = whole_number("n_compartments", n_compartments, 1)
    whole_number("seed", seed, 0)
    whole_number("threads", threads, 1)
    sequences = Sequences(inputs, network.n_inputs)
    if keys is not None:
        keys = [whole_number(f"keys[{n}]", key, 0) for n, key in enumerate(keys)]
        if len(keys) != len(sequences):
            raise ShapeError(f"keys must hold one key for each of the {len(sequences)} sequences, got {len(keys)}")
    if decoder.free or patterns is None:
        if not decoder.free:
            network.circuits.check_targets("class_patterns", np.eye(network.n_visible, dtype=np.uint8))
        return Checked(decoder, K, sequences, None, network.n_visible, keys, engine)
    for T in sorted({len(one) for one in sequences.each}):
        desired = spike_array("patterns", patterns, {"C": None, "T": T, "n_visible": network.n_visible})
    if not desired.size:
        raise ShapeError(f"patterns has shape {desired.shape}; the desired spikes of at least one class are needed")
    network.circuits.check_targets("patterns", desired)
    return Checked(decoder, K, sequences, desired, len(desired), keys, engine)


# ---- inside


def _answers(
    network: Network,
    parameters: Parameters,
    checked: Checked,
    seed: int,
    threads: int,
    temperature: Temperature | None,
    usual: Usual | None,
) -> list[AnytimePrediction]:
    decoder, K, given = checked.decoder, checked.n_compartments, checked.keys
    running = engine_named(checked.engine).running(network, parameters)
    answers: list[Any] = [None] * len(checked.sequences)
    for indices, spikes in checked.sequences.pieces(K, network.n_neurons):
        keys = checked.sequences.keys(indices, None) if given is None else [given[n] for n in indices]
        evidence = run_for(decoder, network, parameters, spikes, K, checked.patterns, seed, keys, threads, running)
        (found,) = read_out([Readout(decoder, K, temperature, usual)], evidence, spikes, checked.n_classes)
        for index, answer in zip(indices, found, strict=True):
            answers[index] = answer
    return answers


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
