"""The figures of a reproduction: panels that draw on given axes, for files and for the report page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, FormatStrFormatter, LogLocator, NullLocator, SymmetricalLogLocator
from numpy.typing import NDArray

from gemsnn import plot
from gemsnn.experiments.protocol import DecodedBy
from gemsnn.experiments.results import CHOICE_NAMES, Choice, Results
from gemsnn.experiments.statistics import Estimate
from gemsnn.plot.axes import BLUE, GREEN, ORANGE, VIOLET, as_shares, finish
from gemsnn.plot.curves import AGAINST, TITLES, limit
from gemsnn.plot.panels import Panel

ASIDE = (0.96, 1.0, 1.04)  # factors on K that keep the bars of three lines apart
SMALL = (3.4, 3.3)  # inches


# ---- panels ----------------------------------------------------------------------------------------------------------


def performance(results: Results, choice: Choice) -> Panel:
    """Log-likelihood (solid) and accuracy (dashed) against K: the left of the paper's Figure 3."""

    def draw(axes: Axes) -> None:
        other = _twin(axes)
        for place, metric, colour, line, marker, aside in (
            (axes, "log_likelihood", BLUE, "-", "o", ASIDE[0]),
            (other, "accuracy", ORANGE, "--", "s", ASIDE[2]),
        ):
            value = partial(_estimate, results, metric, choice, DecodedBy.VOTE)
            _against_K(place, results, value, colour, line, metric, marker, aside=aside)
        _name(axes, "log-likelihood (nats)", BLUE)
        _name(other, "accuracy", ORANGE)
        as_shares(other)

    return Panel(draw, f"Test log-likelihood and accuracy against K, {CHOICE_NAMES[choice]}")


def costs(results: Results) -> Panel:
    """Broadcast load (solid) and hidden spikes (dashed) against K: the right of the paper's Figure 3."""

    def draw(axes: Axes) -> None:
        other = _twin(axes)

        def load(K: int) -> Estimate:
            return results.estimated([run.to_neurons for run in results.of(K)])

        def spikes(K: int) -> Estimate:
            return results.estimated([run.spikes_per_step for run in results.of(K)])

        _against_K(axes, results, load, GREEN, "-", "broadcast load", log=False)
        _against_K(other, results, spikes, VIOLET, "--", "hidden spikes", "s", log=False)
        _name(axes, "reals broadcast per step", GREEN)
        _name(other, "hidden spikes per step", VIOLET)
        for each in (axes, other):
            each.set_ylim(bottom=0)

    return Panel(draw, "Broadcast load and hidden spikes per time step against K")


def curve(results: Results, metric: str, decoder: DecodedBy) -> Panel:
    """A test figure against processed time samples, for two K: a part of the paper's Figure 4."""

    def draw(axes: Axes) -> None:
        lines = {}
        for K in results.protocol.curves:
            if results.of(K):
                at, estimates = zip(*results.curve(K, metric, decoder), strict=True)
                low, high = zip(*map(_ends, estimates), strict=True)
                lines[f"K = {K}"] = plot.Curve(at, [e.mean for e in estimates], low, high)
        plot.curves(lines, xlabel=AGAINST["time_samples"], metric=metric, axes=axes)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.xaxis.set_minor_locator(NullLocator())
        if metric == "log_likelihood":  # it begins in the hundreds, and what matters happens near 0
            axes.set_yscale("symlog", linthresh=1)
            axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1, subs=[1, 2, 5]))
            axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            axes.set_ylim(top=0)

    return Panel(draw, f"Test {TITLES[metric]} against processed time samples")


Line = tuple[str, Choice, DecodedBy]


def choices(results: Results, metric: str) -> Panel:
    """A test figure of the vote against K, for each way to choose the iteration."""
    short: dict[str, Choice] = {
        "best on test": "best_on_test",
        "chosen on validation": "chosen_on_validation",
        "last": "final",
    }
    lines = [(name, choice, DecodedBy.VOTE) for name, choice in short.items()]
    about = f"Test {TITLES[metric]} against K for each way to choose the iteration"
    return _lines_against_K(results, metric, lines, (ORANGE, BLUE, GREEN), about)


def decoders(results: Results, metric: str) -> Panel:
    """A test figure against K, for each way to read out, at the iteration chosen on validation."""
    names = {
        "vote, Kᴵ = K": DecodedBy.VOTE,
        f"vote, Kᴵ = {results.protocol.few_compartments}": DecodedBy.FEW,
        str(DecodedBy.LIKELIHOOD): DecodedBy.LIKELIHOOD,
    }
    lines: list[Line] = [(name, "chosen_on_validation", decoder) for name, decoder in names.items()]
    about = f"Test {TITLES[metric]} against K for each decoder"
    return _lines_against_K(results, metric, lines, (ORANGE, VIOLET, BLUE), about)


def _lines_against_K(results: Results, metric: str, lines: Sequence[Line], colours: Sequence[str], about: str) -> Panel:
    def draw(axes: Axes) -> None:
        for (name, choice, decoder), colour, marker, aside in zip(lines, colours, "sod", ASIDE, strict=True):
            value = partial(_estimate, results, metric, choice, decoder)
            _against_K(axes, results, value, colour, "-", name, marker, aside=aside)
        _finish(axes, metric)

    return Panel(draw, about)


def reliability(results: Results, K: int, decoder: DecodedBy, choice: Choice) -> Panel:
    """Accuracy against confidence, bin by bin, the seeds' test predictions put together."""
    few = results.protocol.few_compartments
    names = {
        DecodedBy.VOTE: f"vote, Kᴵ = {K}",
        DecodedBy.FEW: f"vote, Kᴵ = {few}",
        DecodedBy.LIKELIHOOD: str(DecodedBy.LIKELIHOOD),
    }

    def draw(axes: Axes) -> None:
        counts, confidence, accuracy = pooled_reliability(results, K, decoder, choice)
        ece = results.estimate(K, "ece", choice, decoder)
        table = {"counts": counts, "confidence": confidence, "accuracy": accuracy}
        plot.reliability(table, axes=axes, title=f"K = {K}, {names[decoder]}: ECE {ece.mean:.3f}")

    return Panel(draw, f"Reliability diagram, K = {K}, {decoder}", SMALL)


def pooled_reliability(
    results: Results, K: int, decoder: DecodedBy, choice: Choice
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """(n_bins,) counts, mean confidence and accuracy over all seeds; 0 in empty bins."""
    n_bins = results.protocol.n_bins
    counts = np.zeros(n_bins, np.int64)
    confidence, accuracy = np.zeros(n_bins), np.zeros(n_bins)
    for run in results.of(K):
        table = run.figures(run.chosen(choice, decoder), decoder)["reliability"]
        number = np.array(table["counts"])
        counts += number
        confidence += number * np.array([value or 0.0 for value in table["confidence"]])
        accuracy += number * np.array([value or 0.0 for value in table["accuracy"]])
    filled = np.maximum(counts, 1)
    return counts, confidence / filled, accuracy / filled


def _estimate(results: Results, metric: str, choice: Choice, decoder: DecodedBy, K: int) -> Estimate:
    return results.estimate(K, metric, choice, decoder)


def _against_K(
    axes: Axes,
    results: Results,
    value: Callable[[int], Estimate],
    colour: str,
    line: str,
    label: str,
    marker: str = "o",
    *,
    log: bool = True,
    aside: float = 1.0,
) -> None:
    Ks = results.compartments
    estimates = [value(K) for K in Ks]
    reach = [(e.mean - low, high - e.mean) for e in estimates for low, high in [_ends(e)]]
    at, means = [aside * K for K in Ks], [e.mean for e in estimates]
    axes.plot(at, means, color=colour, ls=line, marker=marker, ms=5, label=label)
    # Pale and thin: with few seeds intervals are wide, and the means are what is looked for.
    axes.errorbar(at, means, np.array(reach).T, color=colour, fmt="none", elinewidth=1, capsize=2, alpha=0.55)
    if log:
        axes.set_xscale("log")
    axes.set_xticks(Ks, [str(K) for K in Ks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("compartments K")


def _finish(axes: Axes, metric: str) -> None:
    """Name the axis, cut it at what the figure can be, and explain the lines."""
    axes.set_ylabel(TITLES[metric])
    limit(axes, metric)
    finish(axes)


def _ends(value: Estimate) -> tuple[float, float]:
    return (value.mean if value.low is None else value.low, value.mean if value.high is None else value.high)


def _twin(axes: Axes) -> Axes:
    other = axes.twinx()
    other.spines["right"].set_visible(True)
    other.grid(False)
    return other


def _name(axes: Axes, text: str, colour: str) -> None:
    axes.set_ylabel(text, color=colour)
    axes.tick_params("y", colors=colour)


# ---- putting together ------------------------------------------------------------------------------------------------


def all_figures(results: Results) -> dict[str, list[Panel]]:
    """The panels of each figure, by the figure's name."""
    curves = [curve(results, metric, DecodedBy.FEW) for metric in ("log_likelihood", "accuracy", "ece")]
    first, last = results.compartments[0], results.compartments[-1]
    figures = {
        "figure-a": [performance(results, "best_on_test"), costs(results)],
        "figure-b": curves,
        "choices": [choices(results, metric) for metric in ("log_likelihood", "accuracy", "ece")],
        "decoders": [decoders(results, metric) for metric in ("accuracy", "ece", "nll")],
        "figure-b-likelihood": [curve(results, metric, DecodedBy.LIKELIHOOD) for metric in ("accuracy", "ece")],
        "reliability": [
            reliability(results, K, decoder, "final")
            for K in (first, last)
            for decoder in (DecodedBy.FEW, DecodedBy.VOTE, DecodedBy.LIKELIHOOD)
        ],
    }
    return figures
