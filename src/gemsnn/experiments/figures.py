"""The figures of a reproduction, as panels for files and for the report page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, FormatStrFormatter, LogLocator, NullLocator, SymmetricalLogLocator
from numpy.typing import NDArray

from gemsnn import plot
from gemsnn.experiments.protocol import DecodedBy
from gemsnn.experiments.results import CHOICE_NAMES, Choice, Results
from gemsnn.experiments.statistics import Estimate
from gemsnn.plot.axes import BLUE, GREEN, ORANGE, VIOLET, as_shares
from gemsnn.plot.curves import AGAINST, TITLES
from gemsnn.plot.panels import Panel

SMALL = (3.4, 3.3)  # inches

Value = Callable[[int], Estimate]
"""An estimate from the runs with K compartments."""


def all_figures(results: Results) -> dict[str, list[Panel]]:
    """The panels of each figure, by the figure's name."""
    curves = [curve(results, metric, DecodedBy.FEW) for metric in ("log_likelihood", "accuracy", "ece")]
    first, last = results.compartments[0], results.compartments[-1]
    return {
        "figure-a": [performance(results, "best_on_test"), costs(results)],
        "figure-b": curves,
        "choices": [choices(results, metric) for metric in ("log_likelihood", "accuracy", "ece")],
        "decoders": [decoders(results, metric) for metric in ("accuracy", "ece", "nll")],
        "figure-b-likelihood": [curve(results, metric, DecodedBy.LIKELIHOOD) for metric in ("accuracy", "ece")],
        "reliability": [reliability(results, K, decoder, "final") for K in (first, last) for decoder in DecodedBy],
    }


# ---- panels ----------------------------------------------------------------------------------------------------------


def performance(results: Results, choice: Choice) -> Panel:
    """Log-likelihood (solid) and accuracy (dashed) against K: the left of the paper's Figure 3."""
    metrics = ("log_likelihood", "accuracy")

    def draw(axes: Axes) -> None:
        values = [partial(results.estimate, metric=metric, choice=choice) for metric in metrics]
        other = _two(axes, results.compartments, values, [TITLES[metric] for metric in metrics], (BLUE, ORANGE))
        _scale(axes, results.compartments)
        as_shares(other)

    return Panel(draw, f"Test log-likelihood and accuracy against K, {CHOICE_NAMES[choice]}")


def costs(results: Results) -> Panel:
    """Broadcast load (solid) and hidden spikes (dashed) against K: the right of the paper's Figure 3."""

    def load(K: int) -> Estimate:
        return results.estimated([run.to_neurons for run in results.of(K)])

    def spikes(K: int) -> Estimate:
        return results.estimated([run.spikes_per_step for run in results.of(K)])

    def draw(axes: Axes) -> None:
        names = ("reals broadcast per step", "hidden spikes per step")
        other = _two(axes, results.compartments, (load, spikes), names, (GREEN, VIOLET))
        for each in (axes, other):
            each.set_ylim(bottom=0)

    return Panel(draw, "Broadcast load and hidden spikes per time step against K")


def curve(results: Results, metric: str, decoder: DecodedBy) -> Panel:
    """A test figure against processed time samples, for two K: one panel of the paper's Figure 4."""

    def draw(axes: Axes) -> None:
        of_K = {K: results.curve(K, metric, decoder) for K in results.protocol.curves if results.of(K)}
        lines = {f"K = {K}": _line(*zip(*points, strict=True)) for K, points in of_K.items()}
        plot.curves(lines, xlabel=AGAINST["time_samples"], metric=metric, axes=axes)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.xaxis.set_minor_locator(NullLocator())
        if metric == "log_likelihood":  # it starts in the hundreds; the differences that matter are near 0
            axes.set_yscale("symlog", linthresh=1)
            axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1, subs=[1, 2, 5]))
            axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            axes.set_ylim(top=0)

    return Panel(draw, f"Test {TITLES[metric]} against processed time samples")


def choices(results: Results, metric: str) -> Panel:
    """A test figure of the vote against K, for each choice of the iteration."""
    names: dict[str, Choice] = {
        "best on test": "best_on_test",
        "chosen on validation": "chosen_on_validation",
        "last": "final",
    }
    lines = {name: partial(results.estimate, metric=metric, choice=choice) for name, choice in names.items()}
    return _against_K(results, metric, lines, f"Test {TITLES[metric]} against K for each choice of the iteration")


def decoders(results: Results, metric: str) -> Panel:
    """A test figure against K for each decoder, at the iteration chosen on validation."""
    choice: Choice = "chosen_on_validation"
    lines = {
        _name(results, decoder): partial(results.estimate, metric=metric, choice=choice, decoder=decoder)
        for decoder in DecodedBy
    }
    return _against_K(results, metric, lines, f"Test {TITLES[metric]} against K for each decoder")


def reliability(results: Results, K: int, decoder: DecodedBy, choice: Choice) -> Panel:
    """Accuracy against confidence, for the test predictions of all seeds together."""

    def draw(axes: Axes) -> None:
        counts, confidence, accuracy = pooled_reliability(results, K, decoder, choice)
        ece = results.estimate(K, "ece", choice, decoder)
        table = {"counts": counts, "confidence": confidence, "accuracy": accuracy}
        plot.reliability(table, axes=axes, title=f"K = {K}, {_name(results, decoder)}: ECE {ece.mean:.3f}")

    return Panel(draw, f"Reliability diagram, K = {K}, {decoder}", SMALL)


def pooled_reliability(
    results: Results, K: int, decoder: DecodedBy, choice: Choice
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """(n_bins,) counts, mean confidence and accuracy over all seeds; 0 in empty bins."""
    tables = [run.figures(run.chosen(choice, decoder), decoder)["reliability"] for run in results.of(K)]
    counts = np.array([table["counts"] for table in tables])
    confidence, accuracy = (
        np.array([[value or 0.0 for value in table[name]] for table in tables]) for name in ("confidence", "accuracy")
    )
    filled = np.maximum(counts.sum(axis=0), 1)
    return counts.sum(axis=0), (counts * confidence).sum(axis=0) / filled, (counts * accuracy).sum(axis=0) / filled


# ---- drawing ---------------------------------------------------------------------------------------------------------


def _name(results: Results, decoder: DecodedBy) -> str:
    return results.protocol.name_of(decoder).replace("K^I", "Kᴵ").removesuffix(" decoder")


def _line(at: Sequence[float], estimates: Sequence[Estimate]) -> plot.Curve:
    """Means, with their intervals as shaded areas."""
    low = [e.mean if e.low is None else e.low for e in estimates]
    high = [e.mean if e.high is None else e.high for e in estimates]
    return plot.Curve(at, [e.mean for e in estimates], low, high)


def _against_K(results: Results, metric: str, values: Mapping[str, Value], about: str) -> Panel:
    Ks = results.compartments

    def draw(axes: Axes) -> None:
        plot.curves(
            {name: _line(Ks, [value(K) for K in Ks]) for name, value in values.items()}, metric=metric, axes=axes
        )
        _scale(axes, Ks)

    return Panel(draw, about)


def _scale(axes: Axes, Ks: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(Ks, [str(K) for K in Ks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("compartments K")


def _two(axes: Axes, Ks: Sequence[int], values: Sequence[Value], names: Sequence[str], colours: Sequence[str]) -> Axes:
    """Two figures against K: one solid, with its axis on the left; one dashed, with its axis on the right."""
    other = axes.twinx()
    other.spines["right"].set_visible(True)
    other.grid(False)
    for each, value, name, colour, style in zip((axes, other), values, names, colours, ("o-", "s--"), strict=True):
        line = _line(Ks, [value(K) for K in Ks])
        each.plot(line.x, line.y, style, color=colour, ms=5)
        each.fill_between(Ks, np.asarray(line.low), np.asarray(line.high), color=colour, alpha=0.2, lw=0)
        each.set_ylabel(name, color=colour)
        each.tick_params("y", colors=colour)
    axes.set_xticks(Ks, [str(K) for K in Ks])
    axes.set_xlabel("compartments K")
    return other
