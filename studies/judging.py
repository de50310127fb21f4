"""How answers are judged, whoever gives them: accuracy, calibration with and without a temperature, time to answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from gemsnn import metrics

N_BINS = 10
ONE_AT_A_TIME, IN_A_BATCH, REPEATS = 50, 200, 3  # recordings that the time to answer is measured on


def judged(
    labels: NDArray[np.int64],
    log_probabilities: NDArray[np.float64],
    held_out_labels: NDArray[np.int64],
    held_out: NDArray[np.float64],
    chosen: NDArray[np.int64] | None = None,
) -> dict[str, Any]:
    """Figures of a method on test recordings, as it stands and with a temperature fitted to held-out ones."""
    T = temperature(held_out_labels, held_out)
    plain = figures(labels, np.exp(log_probabilities), chosen)
    scaled = figures(labels, np.exp(at_temperature(log_probabilities, T)), chosen)
    return {**plain, "temperature": T, "scaled": {name: scaled[name] for name in ("ece", "nll", "brier")}}


def figures(
    labels: NDArray[np.int64], probabilities: NDArray[np.float64], chosen: NDArray[np.int64] | None = None
) -> dict[str, float]:
    """``chosen``: the classes that were answered, where they are not simply the most probable ones."""
    chosen = probabilities.argmax(axis=1) if chosen is None else chosen
    return {
        "accuracy": metrics.accuracy(labels, chosen),
        "ece": metrics.reliability(labels, probabilities, N_BINS, predicted=chosen).ece,
        "nll": metrics.negative_log_likelihood(labels, probabilities),
        "brier": metrics.brier_score(labels, probabilities),
    }


def temperature(labels: NDArray[np.int64], log_probabilities: NDArray[np.float64]) -> float:
    """What to divide log-probabilities by so that their negative log-likelihood is lowest."""

    def loss(log_T: float) -> float:
        scaled = at_temperature(log_probabilities, float(np.exp(log_T)))
        return -float(scaled[np.arange(len(labels)), labels].mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x))


def at_temperature(log_probabilities: NDArray[np.float64], T: float) -> NDArray[np.float64]:
    scaled: NDArray[np.float64] = log_softmax(log_probabilities / T, axis=1)
    return scaled


def logs(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of probabilities, of which some may be 0."""
    return np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))


def seconds_to_answer(answer: Callable[[NDArray[Any]], Any], recordings: NDArray[Any]) -> dict[str, float]:
    """Processor seconds for one recording: given one at a time, and as part of a batch. The fastest of a few tries."""
    few, batch = recordings[:ONE_AT_A_TIME], recordings[:IN_A_BATCH]
    answer(few[:1])  # whatever is done only once
    one, many = [], []
    for _ in range(REPEATS):
        begin = time.process_time()
        for n in range(len(few)):
            answer(few[n : n + 1])
        between = time.process_time()
        answer(batch)
        one.append((between - begin) / len(few))
        many.append((time.process_time() - between) / len(batch))
    return {"one": min(one), "batch": min(many)}
