"""Metrics over training, and predictions over the time of a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ConfigError, DataError, ShapeError
from gemsnn.plot.axes import COLOURS, MARKERS, as_shares, finish, on

Record = Mapping[str, Any]
TITLES = {
    "accuracy": "accuracy",
    "exact_match": "all labels right",
    "log_likelihood": "log-likelihood (nats)",
    "ece": "ECE",
    "nll": "NLL (nats)",
    "brier": "Brier score",
    "van_rossum": "van Rossum distance",
    "hidden_spikes_per_step": "hidden spikes per step",
}
AGAINST = {"epoch": "epochs", "position": "examples learned", "time_samples": "processed time samples"}
SHARES = ("accuracy", "exact_match")
POSITIVE = ("ece", "nll", "brier", "van_rossum", "hidden_spikes_per_step")


class Curve(NamedTuple):
    """A line through (n,) points, and the limits of a shaded area around it."""

    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None


def curves(
    lines: Mapping[str, Curve],
    *,
    xlabel: str = "",
    ylabel: str = "",
    metric: str | None = None,
    axes: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw named lines, with their shaded areas.

    ``metric`` labels the vertical axis and limits it to the metric's range: an accuracy is at most 1.
    """
    axes, handles = on(axes), []
    for place, (label, line) in enumerate(lines.items()):
        colour, n = COLOURS[place % len(COLOURS)], len(np.atleast_1d(np.asarray(line.y)))
        dots: dict[str, Any] = {"marker": MARKERS[place % len(MARKERS)], "ms": 4} if n <= 40 else {}
        drawn = axes.plot(line.x, line.y, color=colour, label=label, **dots)
        handles += drawn if label else []
        if line.low is not None and line.high is not None:
            axes.fill_between(np.asarray(line.x), line.low, line.high, color=colour, alpha=0.22, lw=0)
    axes.set(xlabel=xlabel, ylabel=ylabel if metric is None else TITLES.get(metric, metric))
    limit(axes, metric)
    return finish(axes, title, handles)


def limit(axes: Axes, metric: str | None) -> None:
    """Limit the vertical axis to a metric's range, without clipping markers."""
    low, high = axes.get_ylim()
    if metric in SHARES:
        as_shares(axes)
    elif metric in POSITIVE:
        axes.set_ylim(max(low, -0.02 * high), high)
    elif metric == "log_likelihood":
        axes.set_ylim(low, min(high, -0.02 * low))


def learning_curves(
    histories: Sequence[Record] | Mapping[str, Sequence[Record]],
    metric: str | None = None,
    split: str | None = None,
    *,
    against: str = "epoch",
    axes: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a metric over training, for one run or several.

    Parameters
    ----------
    histories
        The evaluations of a run, from ``classifier.history_`` or ``RunDirectory.read_metrics()``; or of several runs,
        by name.
    metric
        ``"accuracy"``, ``"ece"``, ``"nll"``, ``"brier"``, ``"log_likelihood"``, ...; default: accuracy, or the
        log-likelihood if there is no accuracy.
    split
        ``"validation"``, ``"test"`` or ``"train"``; default: the first of these that has the metric.
    against
        ``"epoch"``, ``"position"`` (examples learned) or ``"time_samples"``.
    """
    if against not in AGAINST:
        raise ConfigError(f"against = {against!r}: must be one of {', '.join(AGAINST)}")
    runs = histories if isinstance(histories, Mapping) else {"": histories}
    metrics = ("accuracy", "log_likelihood") if metric is None else (metric,)
    splits = ("validation", "test", "train") if split is None else (split,)
    for one in metrics:
        for part in splits:
            points = {
                label: [(r[against], r[part][one]) for r in records if r.get(part) and one in r[part]]
                for label, records in runs.items()
            }
            lines = {label: Curve(*np.transpose(found)) for label, found in points.items() if found}
            if lines:
                axes = curves(lines, xlabel=AGAINST[against], metric=one, axes=axes, title=title)
                axes.set_ylabel(f"{part} {axes.get_ylabel()}")
                axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
                return axes
    known = sorted(
        {f"{part}: {key}" for records in runs.values() for record in records for part in ("validation", "test", "train")
         for key in record.get(part) or () if key in TITLES}
    )  # fmt: skip
    wanted = f"{' or '.join(metrics)} of {' or '.join(splits)}"
    raise DataError(f"no evaluation has {wanted}; available: {', '.join(known) or 'nothing'}")


def anytime(
    answers: Any,
    labels: ArrayLike | None = None,
    classes: Sequence[object] | None = None,
    *,
    step_ms: float | None = None,
    axes: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw predictions over time: the accuracy and confidence of many sequences, or the probabilities of one.

    Parameters
    ----------
    answers
        The result of :func:`gemsnn.predict_anytime` for N sequences, of equal length or not, or for one.
    labels
        (N,) true classes, to show the accuracy besides the mean confidence: indices, or elements of ``classes``.
    classes
        Names of the classes; for one sequence, of its lines.
    step_ms
        Duration of a step, to show time in ms.
    """
    each = answers if isinstance(answers, list) else None
    if each is None and np.ndim(answers.classes) == 1:
        if labels is not None:
            raise ShapeError("answers are of one sequence: draw it without labels, or several with them")
        p = np.asarray(answers.probabilities)
        names = list(range(p.shape[1])) if classes is None else list(classes)
        if len(names) != p.shape[1]:
            raise ShapeError(f"{len(names)} classes are named, but there are {p.shape[1]}")
        lines = {str(label): Curve(_time(len(p), step_ms), line) for label, line in zip(names, p.T, strict=True)}
        axes = curves(lines, xlabel=_time_name(step_ms), ylabel="probability", axes=axes, title=title)
        axes.set_ylim(0, 1)
        as_shares(axes)
        return axes
    chosen, confidence = _together(answers if each is None else each)
    lines = {"mean confidence": Curve(_time(chosen.shape[1], step_ms), confidence.mean(axis=0))}
    if labels is not None:
        truth = _indices(labels, classes)
        if truth.shape != chosen.shape[:1]:
            raise ShapeError(f"labels have shape {truth.shape}, but there are {len(chosen)} sequences")
        lines = {"accuracy": lines["mean confidence"]._replace(y=(chosen == truth[:, None]).mean(axis=0)), **lines}
    axes = curves(lines, xlabel=_time_name(step_ms), ylabel="share", axes=axes, title=title)
    as_shares(axes)
    return axes


def _together(answers: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(N, T) classes and confidences; shorter sequences repeat their last answer."""
    if not isinstance(answers, list):
        return answers.classes, answers.confidence
    if not answers:
        raise DataError("there are no answers to draw")
    T = max(len(one.classes) for one in answers)

    def padded(values: NDArray[Any]) -> NDArray[Any]:
        return np.pad(values, (0, T - len(values)), mode="edge")

    return np.stack([padded(one.classes) for one in answers]), np.stack([padded(one.confidence) for one in answers])


def _indices(labels: ArrayLike, classes: Sequence[object] | None) -> NDArray[Any]:
    given = np.asarray(labels)
    if classes is None:
        return given
    index = {label: i for i, label in enumerate(classes)}
    unknown = [label for label in given.tolist() if label not in index]
    if unknown:
        raise DataError(f"labels contain {unknown[0]!r}, which is not among the classes {list(classes)}")
    return np.array([index[label] for label in given.tolist()])


def _time(T: int, step_ms: float | None) -> NDArray[np.float64]:
    return np.arange(1, T + 1, dtype=np.float64) * (1.0 if step_ms is None else step_ms)


def _time_name(step_ms: float | None) -> str:
    return "steps seen" if step_ms is None else "time seen (ms)"
