r"""Sets of classes that contain the true class with a guaranteed probability, at whatever time a recording is stopped.

Conformal prediction at n checkpoints. The score of a class c after t steps is :math:`-\log p_t(c)`. At each checkpoint
the threshold is the k-th smallest of the scores of the true classes of m held-out recordings. A class stays in the set
as long as its score exceeds no threshold of the checkpoints passed so far. A recording that ends before a checkpoint is
represented there by its last answer.

The rank k is the smallest with this property: *a new recording that is exchangeable with the m has its true class in
the set at all times with probability at least* :math:`1 - \alpha`, and therefore at the time chosen by any stopping
rule. The guarantee is marginal over recordings and draws of the m; it does not hold for each class separately.

:math:`k = \lceil (1 - \alpha / n)(m + 1) \rceil` has it, because at most :math:`\alpha / n` are lost at each checkpoint
(SpikeCP, arXiv 2305.11322). But the same recordings tend to be difficult at all checkpoints, and their ranks show how
strongly (as in Max-Rank, arXiv 2311.10900). Let :math:`R_{ij}` be the rank of recording i at checkpoint j among the m,
and :math:`a = \lfloor \alpha (m + 1) \rfloor`. Suppose that a new recording is lost at checkpoint j: its rank there is
greater than k. Among all m + 1, an old one has a rank greater than k only if :math:`R_{ij} > k` or, since the new one
may precede it elsewhere, :math:`R_{ij'} \ge k` for another checkpoint j'. If for every j at most a - 1 of the m do,
then the new one is among the a of m + 1 with the greatest worst rank, which has probability at most a / (m + 1). Such a
k is never greater than the one above, and equal to it for one checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError, DataError, ShapeError
from gemsnn.inference.prediction import AnytimeAnswers, AnytimePrediction, answers_of_each
from gemsnn.inference.stopping import Verdict, at, stop_by
from gemsnn.model.checks import number, whole_number

ALPHA = 0.1
CHECKPOINTS = 10


class SetDecisions(NamedTuple):
    """Of N sequences and C classes, each stopped at a time of its own."""

    members: NDArray[np.bool_]  #: (N, C): which classes are in the set; none if no class conforms
    classes: NDArray[np.int64]  #: (N,): index of the most probable class at that time
    steps: NDArray[np.int64]  #: (N,): time steps seen until then
    hidden_spikes: NDArray[np.float64]  #: (N,): number until then, summed over compartments

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(N,): number of classes in each set."""
        counts: NDArray[np.int64] = self.members.sum(axis=-1)
        return counts


@dataclass(frozen=True)
class Guarantee:
    """Thresholds that turn answers into sets of classes; made by :func:`gemsnn.inference.calibrate`.

    Attributes
    ----------
    alpha
        Fraction of recordings whose set may miss the true class.
    checkpoints
        (n,) numbers of time steps after which classes may leave the set.
    thresholds
        (n,) thresholds of the score -log p: a class with a greater score leaves the set.
    n_recordings
        m, the number of recordings that it was calibrated on.

    Examples
    --------
    >>> import numpy as np, gemsnn
    >>> network = gemsnn.Network.fully_connected(n_inputs=4, n_hidden=3, n_visible=2)
    >>> inputs, labels = np.random.default_rng(0).integers(0, 2, (60, 20, 4)), [0, 1] * 30
    >>> answers = gemsnn.predict_anytime(network, network.init(seed=0), inputs, n_compartments=5)
    >>> guarantee = gemsnn.inference.calibrate(answers, labels, alpha=0.2, checkpoints=5)
    >>> guarantee.checkpoints
    (4, 8, 12, 16, 20)
    >>> guarantee.stop(answers).members.shape
    (60, 2)
    """

    alpha: float
    checkpoints: tuple[int, ...]
    thresholds: tuple[float, ...]
    n_recordings: int

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)
        object.__setattr__(self, "checkpoints", checkpoints_of(self.checkpoints))
        object.__setattr__(self, "thresholds", tuple(number("thresholds", value) for value in self.thresholds))
        whole_number("n_recordings", self.n_recordings, 1)
        if len(self.thresholds) != len(self.checkpoints):
            raise ConfigError(
                f"{len(self.checkpoints)} checkpoints need as many thresholds, not {len(self.thresholds)}"
            )

    def allows(self, step: int, probabilities: NDArray[np.float64], *, ended: bool = False) -> NDArray[np.bool_]:
        """(..., C): which classes may stay in the set after this step; all if it is no checkpoint.

        With ``ended``, the recording is over, and the remaining checkpoints apply as well. For a stream, start with all
        classes and keep the allowed ones after every step.
        """
        limits = [
            threshold
            for steps, threshold in zip(self.checkpoints, self.thresholds, strict=True)
            if steps == step or (ended and steps > step)
        ]
        allowed: NDArray[np.bool_] = scores(probabilities) <= min(limits, default=math.inf)
        return allowed

    def sets(self, answers: AnytimePrediction) -> NDArray[np.bool_]:
        """(N, T, C): the set after every step; it never grows."""
        T = answers.probabilities.shape[-2]
        members = np.ones(answers.probabilities.shape, dtype=np.bool_)
        for step in sorted({min(checkpoint, T) for checkpoint in self.checkpoints}):
            allowed = self.allows(step, answers.probabilities[..., step - 1, :], ended=step == T)
            members[..., step - 1 :, :] &= allowed[..., None, :]
        return members

    def stop(self, answers: AnytimeAnswers, size: int = 1) -> SetDecisions:
        """Stop as soon as the set has at most ``size`` classes, otherwise at the end."""
        rule = SmallSet(self, size)
        if not isinstance(answers, AnytimePrediction):
            each = [self.stop(one, size) for one in answers]
            if not each:
                raise DataError("there are no answers to stop")
            return SetDecisions(*map(np.stack, zip(*each, strict=True)))
        last, members = stop_by(rule, answers.probabilities)
        assert members is not None  # this rule always gives a set
        spent = answers.hidden_spikes.cumsum(axis=-1)
        return SetDecisions(members, at(answers.classes, last), last + 1, at(spent, last))


@dataclass(frozen=True)
class SmallSet:
    """Stopping rule: stop as soon as the set of a guarantee has at most ``size`` classes."""

    guarantee: Guarantee
    size: int = 1

    def __post_init__(self) -> None:
        whole_number("size", self.size, 1)

    def start(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        return np.ones(shape, dtype=np.bool_)

    def update(
        self, state: NDArray[np.bool_], step: int, probabilities: NDArray[np.float64], ended: bool = False
    ) -> tuple[NDArray[np.bool_], Verdict]:
        if ended or step in self.guarantee.checkpoints:
            state = state & self.guarantee.allows(step, probabilities, ended=ended)
        return state, Verdict(state.sum(axis=-1) <= self.size, state)


def calibrate(
    answers: AnytimeAnswers, labels: ArrayLike, alpha: float = ALPHA, checkpoints: int | Sequence[int] = CHECKPOINTS
) -> Guarantee:
    """Compute thresholds from the answers to held-out recordings, neither used for training nor for model selection.

    Parameters
    ----------
    answers
        As returned by :func:`gemsnn.predict_anytime`.
    labels
        (m,) indices of the true classes.
    alpha
        Fraction of recordings whose set may miss the true class.
    checkpoints
        Numbers of time steps after which classes may leave the set; or the maximum number of such times, evenly spaced
        over the longest recording (fewer with few recordings). More checkpoints can stop sooner, but each has a
        stricter threshold.

    Raises
    ------
    DataError
        With too few recordings: n checkpoints need n / alpha - 1. This depends on sizes only, because a check that
        depended on the scores would invalidate the guarantee.
    """
    _check_alpha(alpha)
    each = [one.probabilities for one in answers_of_each(answers)]
    m, C = len(each), each[0].shape[-1] if each else 0
    steps = checkpoints_of(affordable(checkpoints, alpha, m), max(map(len, each), default=1))
    true = np.asarray(labels)
    if true.shape != (m,):
        raise ShapeError(f"labels have shape {true.shape}, but there are {m} recordings")
    if m and (true.dtype.kind not in "iu" or true.min() < 0 or true.max() >= C):
        raise DataError(f"labels must be class indices from 0 to {C - 1}")
    _check_count(alpha, len(steps), m)
    found = scores(
        np.array([one[np.minimum(steps, len(one)) - 1, y] for one, y in zip(each, true, strict=True)])
    )  # fmt: skip
    ordered = np.sort(found, axis=0)
    rank = _rank(ordered, found, alpha)
    return Guarantee(float(alpha), steps, tuple(ordered[rank - 1].tolist()), m)


def recordings_needed(alpha: float, n_checkpoints: int) -> int:
    """Number of recordings needed for calibration; with fewer, every set may have to contain every class.

    Examples
    --------
    >>> recordings_needed(0.1, 10)
    99
    """
    return math.ceil(n_checkpoints / _exact(alpha)) - 1


def affordable(checkpoints: int | Sequence[int], alpha: float, n_recordings: int) -> int | Sequence[int]:
    """A number of checkpoints, reduced to what the number of recordings allows; given times stay as they are."""
    if not isinstance(checkpoints, int | np.integer) or isinstance(checkpoints, bool):
        return checkpoints
    _check_alpha(alpha)
    return min(checkpoints, max(1, math.floor(_exact(alpha) * (n_recordings + 1))))


def checkpoints_of(checkpoints: int | Sequence[int], n_steps: int | None = None) -> tuple[int, ...]:
    """Checkpoints as increasing numbers of steps; a number of them is spread evenly, the last at ``n_steps``."""
    if isinstance(checkpoints, int | np.integer) and n_steps is not None:
        n = min(whole_number("checkpoints", checkpoints, 1), n_steps)
        return tuple(-(-n_steps * (i + 1) // n) for i in range(n))
    if isinstance(checkpoints, str) or not isinstance(checkpoints, Sequence) or not len(checkpoints):
        raise ConfigError(f"checkpoints must be a number of them, or a list of time steps, got {checkpoints!r}")
    steps = tuple(whole_number("each of the checkpoints", step, 1) for step in checkpoints)
    if any(later <= earlier for earlier, later in pairwise(steps)):
        raise ConfigError(f"checkpoints must increase, got {', '.join(map(str, steps))}")
    return steps


def scores(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Nonconformity: -log p, finite."""
    found: NDArray[np.float64] = -np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    return found


# ---- inside


def _rank(ordered: NDArray[np.float64], found: NDArray[np.float64], alpha: float) -> int:
    """k, counted from 1, from scores (m, n), sorted and unsorted; at most m if there are enough recordings."""
    m, n = found.shape
    ranks = np.column_stack([np.searchsorted(ordered[:, j], found[:, j]) + 1 for j in range(n)])
    allowed = math.floor(_exact(alpha) * (m + 1))
    worst = []
    for j in range(n):
        elsewhere = np.delete(ranks, j, axis=1).max(axis=1, initial=0) + 1
        worst.append(np.sort(np.maximum(ranks[:, j], elsewhere))[m - allowed])
    return int(max(worst))


def _check_count(alpha: float, n: int, m: int) -> None:
    needed = recordings_needed(alpha, n)
    if m < needed:
        of, fewer = (f" with {n} checkpoints", ", fewer checkpoints") if n > 1 else ("", "")
        raise DataError(
            f"alpha = {alpha:g}{of} needs at least {shown(needed)} recordings to calibrate on, but there are {m}: take "
            f"more recordings{fewer}, or a larger alpha"
        )


def _exact(alpha: float) -> Fraction:
    """The decimal as written: 0.1 is exactly a tenth, so that no recording is lost to rounding."""
    return Fraction(repr(float(alpha)))


def _check_alpha(alpha: float) -> None:
    if not 0 < number("alpha", alpha) < 1:
        raise ConfigError(f"alpha must lie between 0 and 1, got {alpha!r}")
