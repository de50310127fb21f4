r"""Sets of classes that hold the true one with a promised probability, whenever a recording is stopped.

Conformal prediction at n checkpoints. The score of a class c after t steps is :math:`-\log p_t(c)`. At each checkpoint
the threshold is the k-th smallest of the scores that m held-out recordings gave their true classes. A class stays in
the set as long as its score is no greater than the threshold of any checkpoint passed so far. A recording that ends
before a checkpoint has its last answer there.

The rank k is the smallest for which this holds: *a new recording that could as well have been one of the m has its true
class in the set at all times with probability* :math:`1 - \alpha` *at least*, and therefore at the time that any rule
chooses. It holds on average over recordings and over draws of the m, not for each class on its own.

With :math:`k = \lceil (1 - \alpha / n)(m + 1) \rceil` it holds because no more than :math:`\alpha / n` are lost at each
checkpoint (SpikeCP, arXiv 2305.11322). But the same recordings tend to be the hard ones at all checkpoints, and ranks
tell how much so (as in Max-Rank, arXiv 2311.10900). Let :math:`R_{ij}` be the rank of recording i at checkpoint j among
the m, and :math:`a = \lfloor \alpha (m + 1) \rfloor`. Suppose that a new recording is lost at checkpoint j: its rank is
greater than k there. Among all m + 1 an old one has a rank greater than k only if :math:`R_{ij} > k` or, as the new one
may have come before it elsewhere, :math:`R_{ij'} \ge k` for another checkpoint j'. If for every j these are no more
than a - 1 of the m, then the new one is among the a of m + 1 whose worst rank is greatest, which has probability
a / (m + 1) at most. Such a k is never greater than the one above, and with one checkpoint it is the same.
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
from gemsnn.inference.anytime import AnytimePrediction
from gemsnn.inference.stopping import Verdict, at, stop_by
from gemsnn.model.checks import number, whole_number

Answers = AnytimePrediction | Sequence[AnytimePrediction]
"""Of N sequences together, or of one each, which may then differ in length."""

ALPHA = 0.1
CHECKPOINTS = 10


class SetDecisions(NamedTuple):
    """Of N sequences and C classes, each stopped at a time of its own."""

    members: NDArray[np.bool_]  #: (N, C): which classes are in the set; none, if no class fits as it should
    classes: NDArray[np.int64]  #: (N,): index of the most probable class then
    steps: NDArray[np.int64]  #: (N,): time steps seen until then
    hidden_spikes: NDArray[np.float64]  #: (N,): spent until then, all compartments together

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(N,): classes in each set."""
        counts: NDArray[np.int64] = self.members.sum(axis=-1)
        return counts


@dataclass(frozen=True)
class Guarantee:
    """What :func:`gemsnn.inference.calibrate` found: with it, answers become sets of classes.

    Attributes
    ----------
    alpha
        Share of recordings whose set may miss the true class.
    checkpoints
        (n,) numbers of time steps after which classes may leave the set.
    thresholds
        (n,) of the score -log p: a class whose score is greater leaves.
    n_recordings
        m, on which it was calibrated.

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
        """(..., C): which classes may stay after this step, by the checkpoints that fall on it; all if none does.

        With ``ended``, the recording is over, and the checkpoints still to come are answered too. To follow a stream,
        begin with all classes, and keep after every step those that it allows.
        """
        limits = [
            threshold
            for steps, threshold in zip(self.checkpoints, self.thresholds, strict=True)
            if steps == step or (ended and steps > step)
        ]
        allowed: NDArray[np.bool_] = scores(probabilities) <= min(limits, default=math.inf)
        return allowed

    def sets(self, answers: AnytimePrediction) -> NDArray[np.bool_]:
        """(N, T, C): the set after every step; it only ever shrinks."""
        T = answers.probabilities.shape[-2]
        members = np.ones(answers.probabilities.shape, dtype=np.bool_)
        for step in sorted({min(checkpoint, T) for checkpoint in self.checkpoints}):
            allowed = self.allows(step, answers.probabilities[..., step - 1, :], ended=step == T)
            members[..., step - 1 :, :] &= allowed[..., None, :]
        return members

    def stop(self, answers: Answers, size: int = 1) -> SetDecisions:
        """Stop as soon as the set has no more than ``size`` classes; else at the end."""
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
    """Stop as soon as the set of a guarantee has no more than ``size`` classes."""

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
    answers: Answers, labels: ArrayLike, alpha: float = ALPHA, checkpoints: int | Sequence[int] = CHECKPOINTS
) -> Guarantee:
    """Thresholds from the answers to held-out recordings: none that the network learned from, or was chosen by.

    Parameters
    ----------
    answers
        Of :func:`gemsnn.predict_anytime`.
    labels
        (m,) indices of the true classes.
    alpha
        Share of recordings whose set may miss the true class.
    checkpoints
        After which numbers of time steps classes may leave the set; or how many such times, evenly spaced over the
        longest recording, at most: with few recordings there are fewer. More of them can stop sooner, but each then has
        to be more careful.

    Raises
    ------
    DataError
        With too few recordings: n checkpoints need n / alpha - 1. That is decided before anything is looked at: a
        calibration that refused some recordings by what they show would promise too much of the others.
    """
    _check_alpha(alpha)
    together = isinstance(answers, AnytimePrediction)
    each = list(answers.probabilities) if together else [one.probabilities for one in answers]  # type: ignore[union-attr]
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
    """How many recordings to calibrate on are needed; with fewer, every set may have to hold every class.

    Examples
    --------
    >>> recordings_needed(0.1, 10)
    99
    """
    return math.ceil(n_checkpoints / _exact(alpha)) - 1


def affordable(checkpoints: int | Sequence[int], alpha: float, n_recordings: int) -> int | Sequence[int]:
    """Of checkpoints that are only counted, as many as so many recordings allow; one at least."""
    if not isinstance(checkpoints, int | np.integer) or isinstance(checkpoints, bool):
        return checkpoints
    _check_alpha(alpha)
    return min(checkpoints, max(1, math.floor(_exact(alpha) * (n_recordings + 1))))


def checkpoints_of(checkpoints: int | Sequence[int], n_steps: int | None = None) -> tuple[int, ...]:
    """Checkpoints as increasing numbers of steps; of a number of them, evenly spaced, the last at ``n_steps``."""
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
    """-log p, finite: how badly a class fits."""
    found: NDArray[np.float64] = -np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    return found


# ---- inside


def _rank(ordered: NDArray[np.float64], found: NDArray[np.float64], alpha: float) -> int:
    """k, counted from 1, from scores (m, n), sorted and not; at most m, where there are enough recordings."""
    m, n = found.shape
    ranks = np.column_stack([np.searchsorted(ordered[:, j], found[:, j]) + 1 for j in range(n)])
    allowed = math.floor(_exact(alpha) * (m + 1))
    worst = []
    for j in range(n):
        elsewhere = np.delete(ranks, j, axis=1).max(axis=1, initial=0) + 1
        worst.append(np.sort(np.maximum(ranks[:, j], elsewhere))[m - allowed])
    return int(max(worst))


def _check_count(alpha: float, n: int, m: int) -> None:
    """By sizes alone."""
    needed = recordings_needed(alpha, n)
    if m < needed:
        of, fewer = (f" with {n} checkpoints", ", fewer checkpoints") if n > 1 else ("", "")
        raise DataError(
            f"alpha = {alpha:g}{of} needs at least {shown(needed)} recordings to calibrate on, but there are {m}: take "
            f"more recordings{fewer}, or a larger alpha"
        )


def _exact(alpha: float) -> Fraction:
    """As it was written: 0.1 is a tenth, so that no recording is lost to rounding."""
    return Fraction(repr(float(alpha)))


def _check_alpha(alpha: float) -> None:
    if not 0 < number("alpha", alpha) < 1:
        raise ConfigError(f"alpha must lie between 0 and 1, got {alpha!r}")
