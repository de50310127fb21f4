r"""Fitting a temperature (:mod:`gemsnn.inference.temperature`) to held-out recordings.

f minimises the negative log-likelihood of the true classes of held-out recordings, averaged over twelve points in time
of each, and of thinned copies of them, each with a quarter of the weight, plus a Gaussian prior on its 36 values: f = 0
(the decoder's own probabilities) with a standard deviation of 0.5 at t = T and s = s_t, and differences between
neighbours with one of 1.7 along time and 1 along spikes. A fit to few recordings therefore stays close to f = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from gemsnn.errors import DataError, ShapeError
from gemsnn.inference.prediction import AnytimeAnswers, AnytimePrediction, answers_of_each
from gemsnn.inference.temperature import MEDIANS, OCTAVES, STEEPEST, Temperature, corners_of, logarithm, seen
from gemsnn.model.votes import softmax

FRACTIONS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Points in time, as fractions of each recording, whose answers are fitted."""
THINNED_WEIGHT = 0.25
LEVEL, ALONG_TIME, ALONG_SPIKES = 0.5, 1.7, 1.0  # standard deviations of the prior


def fit_temperature(answers: AnytimeAnswers, labels: ArrayLike, thinned: Sequence[AnytimeAnswers] = ()) -> Temperature:
    """Fit to the answers to held-out recordings, which the network was not trained on.

    Parameters
    ----------
    answers
        Of :func:`gemsnn.predict_anytime`, without a temperature.
    labels
        (N,) indices of the true classes.
    thinned
        Answers to thinned copies of all N recordings; one entry per copy.

    Examples
    --------
    >>> import numpy as np, gemsnn
    >>> network = gemsnn.Network.fully_connected(n_inputs=4, n_hidden=3, n_visible=2)
    >>> inputs, labels = np.random.default_rng(0).integers(0, 2, (60, 20, 4)), [0, 1] * 30
    >>> answers = gemsnn.predict_anytime(network, network.init(seed=0), inputs)
    >>> gemsnn.inference.fit_temperature(answers, labels).n_recordings
    60
    """
    each = answers_of_each(answers)
    true = np.asarray(labels)
    if not each or true.shape != (len(each),) or any(len(answers_of_each(copies)) != len(each) for copies in thinned):
        raise ShapeError(f"labels have shape {true.shape}, but one is needed for each of the {len(each)} recordings")
    C = each[0].probabilities.shape[-1]
    if true.dtype.kind not in "iu" or true.min() < 0 or true.max() >= C:
        raise DataError(f"labels must be class indices from 0 to {C - 1}")
    n_steps = max(len(one.classes) for one in each)
    medians = _median_spikes(each, n_steps)
    tables = [(_table(each), 1.0), *((_table(answers_of_each(copies)), THINNED_WEIGHT) for copies in thinned)]
    parts = []
    for (logs, steps, spikes), weight in tables:
        corners, weights = corners_of(steps, spikes, n_steps, medians)
        design = np.zeros((len(steps), OCTAVES * OCTAVES))
        np.put_along_axis(design, corners, weights, axis=1)
        truth, each_weight = np.repeat(true, len(FRACTIONS)), np.full(len(steps), weight / len(FRACTIONS))
        parts.append((design, seen(spikes), logs, truth, each_weight))
    found = _fitted(*map(np.concatenate, zip(*parts, strict=True)))
    return Temperature(n_steps, tuple(medians), tuple(map(tuple, found.reshape(OCTAVES, OCTAVES))), len(each))


def spikes_left_out(spikes: NDArray[Any], random: np.random.Generator) -> NDArray[np.uint8]:
    """A thinned copy of (T, n_inputs) spikes; the fraction kept is drawn log-uniformly from 0.5 % to 70 %."""
    share = np.exp(random.uniform(np.log(0.005), np.log(0.7)))
    copy: NDArray[np.uint8] = np.zeros(spikes.shape, np.uint8)
    there = np.nonzero(spikes)
    stays = random.random(len(there[0])) < share
    copy[tuple(axis[stays] for axis in there)] = 1
    return copy


# ---- inside


def _table(each: list[AnytimePrediction]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """At the FRACTIONS of each recording: log-probabilities (n, C), steps (n,) and input spikes so far (n,)."""
    steps = np.array([[max(1, round(fraction * len(one.classes))) for fraction in FRACTIONS] for one in each])
    logs = np.concatenate([logarithm(one.probabilities[t - 1]) for one, t in zip(each, steps, strict=True)])
    spikes = np.concatenate([_input_spikes(one)[t - 1] for one, t in zip(each, steps, strict=True)])
    return logs, steps.ravel(), spikes.astype(float)


def _median_spikes(each: list[AnytimePrediction], n_steps: int) -> NDArray[np.float64]:
    medians = np.zeros(MEDIANS)
    for i in range(MEDIANS):
        t = max(1, round((i + 1) / MEDIANS * n_steps))
        medians[i] = np.median([_input_spikes(one)[t - 1] for one in each if len(one.classes) >= t])
    return np.maximum.accumulate(medians)


def _input_spikes(answer: AnytimePrediction) -> NDArray[np.int64]:
    if answer.input_spikes is None:
        raise DataError("the answers have no input_spikes: compute them with predict_anytime")
    return answer.input_spikes


def _fitted(
    design: NDArray[np.float64],
    factor: NDArray[np.float64],
    logs: NDArray[np.float64],
    truth: NDArray[np.intp],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(36,): f at its knots, fitted to n answers (n, C)."""
    precision, rows = _prior(), np.arange(len(truth))
    right = logs[rows, truth]

    def loss(f: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        power = factor * np.exp(np.clip(design @ f, -STEEPEST, STEEPEST))
        probabilities = softmax(power[:, None] * logs)
        misfit = -np.log(np.maximum(probabilities[rows, truth], np.finfo(float).tiny))
        slope = power * ((probabilities * logs).sum(axis=1) - right)
        return float(weights @ misfit + f @ precision @ f / 2), design.T @ (weights * slope) + precision @ f

    start = np.zeros(OCTAVES * OCTAVES)
    bounds = [(-STEEPEST, STEEPEST)] * len(start)
    found: NDArray[np.float64] = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found


def _prior() -> NDArray[np.float64]:
    """(36, 36): inverse covariance of the prior of f."""
    one, step = np.eye(OCTAVES), np.diff(np.eye(OCTAVES), axis=0)
    along_time, along_spikes = np.kron(step, one) / ALONG_TIME, np.kron(one, step) / ALONG_SPIKES
    level = np.zeros((1, OCTAVES * OCTAVES))
    level[0, -1] = 1 / LEVEL
    together = np.concatenate([along_time, along_spikes, level])
    found: NDArray[np.float64] = together.T @ together
    return found
