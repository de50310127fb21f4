"""Warnings about a network that does not learn well, with advice.

Each function checks one thing and returns a message or None. None of them warns if there are too few examples to
distinguish a problem from chance, so that healthy runs have no warnings. The page "It does not learn" of the
documentation explains each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.training.evaluations import FEWEST_TO_CHOOSE

FEWEST = FEWEST_TO_CHOOSE
"""There are no warnings with fewer training or held-out examples."""
FEWEST_EPOCHS = 3
FEWEST_STEPS = 20
"""Minimum of the median recording. The default filters remember 2, 10 and 80 steps."""
FEWEST_LEARNED = 2_000
"""Number of steps before neurons are called silent or saturated."""
SILENT, SATURATED = 1e-3, 0.9
"""Spikes per step: neurons are silent below the first on average, and saturated above the second."""
DEVIATIONS = 2.0
"""Differences in accuracy up to this many standard deviations count as chance."""


class LearningWarning(UserWarning):
    """Training works, but the result will probably be poor; the message says what to change."""


def recordings_with_few_steps(lengths: NDArray[np.int64], bin_us: float | None) -> str | None:
    """Time bins are so wide that recordings have too few steps."""
    median = float(np.median(lengths))
    if bin_us is None or median >= FEWEST_STEPS:
        return None
    shorter = bin_us * median / 60
    return (
        f"the median recording has {median:g} steps of {bin_us / 1000:g} ms: too few to see what happens in it. Use "
        f"shorter bins, 40 to 80 per recording, here about {shorter / 1000:.2g} ms (gemsnn data import "
        "--bin-ms; bin_us in Python)"
    )


def few_steps_of_many_inputs(n: int, n_steps: int, n_inputs: int) -> str | None:
    """The axes of an array of n examples may have been swapped."""
    if n < FEWEST or n_steps >= FEWEST_STEPS or n_inputs < 2 * n_steps:
        return None
    return (
        f"X is read as {n_steps} steps of {n_inputs} inputs: time comes before neurons. If it is (n, neurons, time), "
        "pass X.transpose(0, 2, 1); if it is right, shorter time bins would show more of what happens"
    )


def no_better_than_chance(figures: Mapping[str, Any], commonest: float) -> str | None:
    """The accuracy is not significantly above ``commonest``, the fraction of the most common class."""
    n, accuracy = figures["examples"], figures["accuracy"]
    if n < FEWEST or accuracy > commonest + DEVIATIONS * _deviation(commonest, n):
        return None
    return (
        f"hardly better than chance: {accuracy:.0%} of {n} held-out examples are right, and the commonest class is "
        f"{commonest:.0%} of them. Check that labels belong to their examples; then try other learning rates "
        "(rule.learning_rate), and shorter or longer time bins"
    )


def still_improving(accuracies: Sequence[tuple[float, float]], n: int, epochs: int) -> str | None:
    """Accuracies of evaluations, (epoch, accuracy), rose significantly in the second half of a run."""
    halfway = [accuracy for epoch, accuracy in accuracies if 0.4 * epochs <= epoch <= 0.6 * epochs]
    if n < FEWEST or not halfway:  # of a run that was resumed, the first half may be unknown
        return None
    before, now = max(halfway), accuracies[-1][1]
    if now - before <= DEVIATIONS * _deviation(before, n):
        return None
    return (
        f"still improving: accuracy on held-out examples rose from {before:.0%} to {now:.0%} in the second half of the "
        f"run. Learn for longer, with {2 * epochs} epochs (--epochs; schedule={{'epochs': ...}} in Python)"
    )


def silent_neurons(rates: NDArray[np.float64]) -> str | None:
    """Hidden neurons hardly spike; ``rates`` are their spikes per step."""
    mean = float(rates.mean())
    if mean >= SILENT:
        return None
    return (
        f"the hidden neurons are nearly silent, with {mean:.1g} spikes per step each: nothing can be learned "
        "from them. Raise hidden_bias, or learn in smaller steps (rule.learning_rate)"
    )


def saturated_neurons(rates: NDArray[np.float64]) -> str | None:
    """Most hidden neurons almost always spike; ``rates`` are their spikes per step."""
    saturated = int((rates > SATURATED).sum())
    if 2 * saturated <= len(rates):
        return None
    return (
        f"{saturated} of {len(rates)} hidden neurons fire in nearly every step, whatever they see: lower hidden_bias, "
        "or learn in smaller steps (rule.learning_rate)"
    )


def _deviation(share: float, n: int) -> float:
    return math.sqrt(share * (1 - share) / n)


class Health:
    """Monitors a run and gives each warning once.

    Parameters
    ----------
    n_hidden
        Number of hidden neurons.
    lengths
        Number of steps of each training example.
    bin_us
        Width of a step, if the data are recordings.
    labels
        (n,) class indices of the held-out examples; None if they do not have one class each.
    """

    def __init__(
        self, n_hidden: int, lengths: NDArray[np.int64], bin_us: float | None, labels: NDArray[Any] | None
    ) -> None:
        self._lengths, self._bin_us = lengths, bin_us
        self._commonest: float | None = None
        if labels is not None and labels.ndim == 1 and len(labels):
            self._commonest = float(np.bincount(labels).max() / len(labels))
        self._fired, self._steps = np.zeros(n_hidden), 0
        self._accuracies: list[tuple[float, float]] = []
        self._given: set[str] = set()

    def saw(self, hidden: NDArray[np.bool_]) -> None:
        """Count the spikes (T, K, n_hidden) of hidden neurons while learning."""
        self._fired += hidden.sum(axis=(0, 1))
        self._steps += hidden.shape[0] * hidden.shape[1]

    def after(self, record: Mapping[str, Any], epochs: int, at_the_end: bool) -> Iterator[str]:
        """New warnings after an evaluation of a run with so many epochs; ``at_the_end``: of its planned last one."""
        found: list[tuple[str, str | None]] = []
        if len(self._lengths) >= FEWEST:
            found.append(("steps", recordings_with_few_steps(self._lengths, self._bin_us)))
            if len(self._fired) and self._steps >= FEWEST_LEARNED:
                rates = self._fired / self._steps
                found += [("silent", silent_neurons(rates)), ("saturated", saturated_neurons(rates))]
            figures = record["validation"]
            if figures is not None and self._commonest is not None and "accuracy" in figures:
                self._accuracies.append((record["epoch"], figures["accuracy"]))
                if at_the_end or record["epoch"] >= max(FEWEST_EPOCHS, epochs / 4):
                    found.append(("chance", no_better_than_chance(figures, self._commonest)))
                if at_the_end:
                    found.append(("improving", still_improving(self._accuracies, figures["examples"], epochs)))
        self._fired, self._steps = np.zeros_like(self._fired), 0
        for name, text in found:
            if text is not None and name not in self._given:
                self._given.add(name)
                yield text
