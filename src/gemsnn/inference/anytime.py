"""Answers before the end: what each decoder would say after every time step, and when it is sure enough to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.common.described import described
from gemsnn.errors import ConfigError
from gemsnn.inference.decoders import Decoder
from gemsnn.inference.prediction import check, runs
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import whole_number


@described
class Decisions(NamedTuple):
    """Of N sequences, each answered at a time of its own."""

    classes: NDArray[np.int64]  #: (N,): index of the class
    confidence: NDArray[np.float64]  #: (N,): its probability when the answer was given
    steps: NDArray[np.int64]  #: (N,): time steps seen until then
    hidden_spikes: NDArray[np.float64]  #: (N,): spent until then, all compartments together


@described
class AnytimePrediction(NamedTuple):
    """Of N sequences, C classes, T time steps; entry t is the answer after t + 1 steps. One sequence has no axis N."""

    classes: NDArray[np.int64]  #: (N, T)
    probabilities: NDArray[np.float64]  #: (N, T, C)
    hidden_spikes: NDArray[np.float64]  #: (N, T): at each step, all compartments together

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
        if not 0 <= confidence <= 1:
            raise ConfigError(f"confidence must lie in [0, 1], got {confidence!r}")
        T = self.classes.shape[-1]
        if whole_number("min_steps", min_steps, 1) > T:
            raise ConfigError(f"min_steps is {min_steps}, but the sequences have {T} steps")
        sure = self.confidence >= confidence
        sure[..., : min_steps - 1] = False
        sure[..., -1] = True
        last = sure.argmax(axis=-1)

        def then(values: NDArray[Any]) -> NDArray[Any]:
            return np.take_along_axis(values, last[..., None], axis=-1)[..., 0]

        spent = self.hidden_spikes.cumsum(axis=-1)
        return Decisions(then(self.classes), then(self.confidence), last + 1, then(spent))


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
) -> Any:
    """What :func:`gemsnn.predict` would say after 1, 2, ..., T steps of the sequences.

    One run of the network gives all answers; the last one is that of :func:`gemsnn.predict`, whose arguments these are.

    Returns
    -------
    An :class:`AnytimePrediction`; for a list of sequences a list of them, each without the axis N.
    """
    checked = check(network, parameters, inputs, n_compartments, decoder, patterns, seed, threads, keys)
    answers: list[AnytimePrediction | None] = [None] * len(checked.sequences)
    for places, evidence in runs(network, parameters, checked, seed, threads):
        state = checked.decoder.start((len(places), checked.n_compartments, checked.n_classes))
        n, T = evidence.hidden_spikes.shape
        classes, probabilities = np.zeros((n, T), dtype=np.int64), np.zeros((n, T, checked.n_classes))
        for t, step in enumerate(evidence.steps):
            state = checked.decoder.update(state, step)
            classes[:, t], probabilities[:, t], _ = checked.decoder.answer(state)
        for place, *of_one in zip(places, classes, probabilities, evidence.hidden_spikes, strict=True):
            answers[place] = AnytimePrediction(*of_one)
    if checked.sequences.given == "list":
        return answers
    T = np.shape(checked.sequences.each)[1]
    empty = np.zeros((0, T), dtype=np.int64), np.zeros((0, T, checked.n_classes)), np.zeros((0, T))
    return AnytimePrediction(*(map(np.stack, zip(*answers, strict=True)) if answers else empty))
