"""The figures: panels that draw on given axes, put together into files, and one by one into the report page.

In the page a panel is inline SVG whose ink is ``currentColor``, so that it reads in light and dark alike.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    EngFormatter,
    FormatStrFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
    PercentFormatter,
    SymmetricalLogLocator,
)
from numpy.typing import NDArray

from gemsnn.common.files import write_whole
from gemsnn.common.words import printable
from gemsnn.experiments.example import Shown
from gemsnn.experiments.protocol import Reading
from gemsnn.experiments.results import CHOICE_NAMES, Choice, Results
from gemsnn.experiments.statistics import Estimate

INK = "#1f2933"
# Middle tones, readable on white and on near-black.
BLUE, ORANGE, GREEN, VIOLET = "#3b82f6", "#f0761b", "#17a673", "#a05be0"
TITLES = {"log_likelihood": "log-likelihood (nats)", "accuracy": "accuracy", "ece": "ECE", "nll": "NLL (nats)"}
ASIDE = (0.96, 1.0, 1.04)  # factors on K that keep the bars of three lines apart
PANEL = (4.2, 3.1)  # inches


class Panel(NamedTuple):
    """Something to draw, with what a reader who cannot see it is told."""

    draw: Callable[[Axes], None]
    about: str
    size: tuple[float, float] = PANEL


# ---- panels ----------------------------------------------------------------------------------------------------------


def performance(results: Results, choice: Choice) -> Panel:
    """Log-likelihood (solid) and accuracy (dashed) against K: the left of the paper's Figure 3."""

    def draw(axes: Axes) -> None:
        other = _twin(axes)
        for place, metric, colour, line, marker, aside in (
            (axes, "log_likelihood", BLUE, "-", "o", ASIDE[0]),
            (other, "accuracy", ORANGE, "--", "s", ASIDE[2]),
        ):
            value = partial(_estimate, results, metric, choice, Reading.VOTE)
            _against_K(place, results, value, colour, line, metric, marker, aside=aside)
        _name(axes, "log-likelihood (nats)", BLUE)
        _name(other, "accuracy", ORANGE)
        other.set_ylim(top=min(other.get_ylim()[1], 1.01))
        _percent(other)

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


def curve(results: Results, metric: str, reading: Reading) -> Panel:
    """A test figure against processed time samples, for two K: a part of the paper's Figure 4."""

    def draw(axes: Axes) -> None:
        for K, colour, marker in zip(results.protocol.curves, (ORANGE, BLUE), "so", strict=True):
            if results.of(K):
                points = results.curve(K, metric, reading)
                x = [at for at, _ in points]
                axes.plot(x, [e.mean for _, e in points], color=colour, marker=marker, ms=4, label=f"K = {K}")
                low, high = zip(*(_ends(e) for _, e in points), strict=True)
                axes.fill_between(x, low, high, color=colour, alpha=0.22, lw=0)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("processed time samples")
        if metric == "log_likelihood":  # it begins in the hundreds, and what matters happens near 0
            axes.set_yscale("symlog", linthresh=1)
            axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1, subs=[1, 2, 5]))
            axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        _finish(axes, metric)

    return Panel(draw, f"Test {TITLES[metric]} against processed time samples")


def choices(results: Results, metric: str) -> Panel:
    """A test figure of the vote against K, for each way to choose the iteration."""
    short: dict[Choice, str] = {
        "best_on_test": "best on test",
        "chosen_on_validation": "chosen on validation",
        "final": "last",
    }

    def draw(axes: Axes) -> None:
        styles = zip(short.items(), (ORANGE, BLUE, GREEN), "sod", ASIDE, strict=True)
        for (choice, name), colour, marker, aside in styles:
            _against_K(
                axes,
                results,
                partial(_estimate, results, metric, choice, Reading.VOTE),
                colour,
                "-",
                name,
                marker,
                aside=aside,
            )
        _finish(axes, metric)

    return Panel(draw, f"Test {TITLES[metric]} against K for each way to choose the iteration")


def decoders(results: Results, metric: str) -> Panel:
    """A test figure against K, for each way to read out, at the iteration chosen on validation."""
    few = results.protocol.few_compartments
    names = {
        Reading.VOTE: "vote, Kᴵ = K",
        Reading.FEW: f"vote, Kᴵ = {few}",
        Reading.LIKELIHOOD: str(Reading.LIKELIHOOD),
    }

    def draw(axes: Axes) -> None:
        styles = zip(names.items(), (ORANGE, VIOLET, BLUE), "sdo", ASIDE, strict=True)
        for (reading, name), colour, marker, aside in styles:
            _against_K(
                axes,
                results,
                partial(_estimate, results, metric, "chosen_on_validation", reading),
                colour,
                "-",
                name,
                marker,
                aside=aside,
            )
        _finish(axes, metric)

    return Panel(draw, f"Test {TITLES[metric]} against K for each decoder")


def reliability(results: Results, K: int, reading: Reading, choice: Choice) -> Panel:
    """Accuracy against confidence, bin by bin, the seeds' test predictions put together."""
    few = results.protocol.few_compartments
    names = {
        Reading.VOTE: f"vote, Kᴵ = {K}",
        Reading.FEW: f"vote, Kᴵ = {few}",
        Reading.LIKELIHOOD: str(Reading.LIKELIHOOD),
    }

    def draw(axes: Axes) -> None:
        counts, confidence, accuracy = pooled_reliability(results, K, reading, choice)
        n_bins = len(counts)
        edges = np.linspace(0, 1, n_bins + 1)
        axes.plot([0, 1], [0, 1], color=INK, lw=1, ls=":", alpha=0.7)
        share = counts / max(1, counts.sum())
        axes.bar(edges[:-1], share, width=1 / n_bins, align="edge", color=INK, alpha=0.12, lw=0, label="share")
        there = counts > 0
        axes.bar(
            edges[:-1][there], accuracy[there], width=1 / n_bins, align="edge", color=BLUE, alpha=0.55,
            edgecolor=BLUE, label="accuracy",
        )  # fmt: skip
        axes.plot(confidence[there], accuracy[there], "o", color=ORANGE, ms=4, label="at mean confidence")
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="accuracy")
        ece = results.estimate(K, "ece", choice, reading)
        axes.set_title(f"K = {K}, {names[reading]}: ECE {ece.mean:.3f}", fontsize=9)
        axes.legend(frameon=False, fontsize=7, loc="upper left")

    return Panel(draw, f"Reliability diagram, K = {K}, {reading}", (3.4, 3.1))


def pooled_reliability(
    results: Results, K: int, reading: Reading, choice: Choice
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """(n_bins,) counts, mean confidence and accuracy over all seeds; 0 in empty bins."""
    n_bins = results.protocol.n_bins
    counts = np.zeros(n_bins, np.int64)
    confidence, accuracy = np.zeros(n_bins), np.zeros(n_bins)
    for run in results.of(K):
        table = run.figures(run.chosen(choice, reading), reading)["reliability"]
        number = np.array(table["counts"])
        counts += number
        confidence += number * np.array([value or 0.0 for value in table["confidence"]])
        accuracy += number * np.array([value or 0.0 for value in table["accuracy"]])
    filled = np.maximum(counts, 1)
    return counts, confidence / filled, accuracy / filled


def input_picture(shown: Shown) -> Panel:
    """The example, both polarities over its whole length; or its spikes, where there is no sensor."""

    def draw(axes: Axes) -> None:
        if shown.picture is None:
            axes.imshow(_dots(shown.inputs.T, BLUE), aspect="auto", interpolation="none")
            axes.set(xlabel="time step", ylabel="input")
        else:
            axes.imshow(_two_colours(*shown.picture), interpolation="none")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        axes.set_title(f"input: {printable(shown.label)}", fontsize=9)

    return Panel(draw, f"Test example of class {printable(shown.label)}", (3.4, 3.1))


def hidden_raster(shown: Shown) -> Panel:
    """Spikes of the hidden neurons in the first compartment."""

    def draw(axes: Axes) -> None:
        axes.imshow(_dots(shown.hidden[:, 0].T, VIOLET), aspect="auto", interpolation="none")
        axes.set(xlabel="time step", ylabel="hidden neuron")
        axes.set_title(f"hidden spikes, compartment 1 of {shown.n_compartments}", fontsize=9)

    return Panel(draw, "Raster of the hidden spikes of one compartment", (3.4, 3.1))


def visible_raster(shown: Shown) -> Panel:
    """Spikes of the visible neurons in all compartments, one band per class."""

    def draw(axes: Axes) -> None:
        K, C = shown.n_compartments, len(shown.classes)
        bands = shown.visible.transpose(2, 1, 0).reshape(C * K, -1)  # class by class, compartments within
        colours = [(ORANGE, BLUE, GREEN, VIOLET)[c % 4] for c in range(C) for _ in range(K)]
        image = np.concatenate([_dots(row[None], colour) for row, colour in zip(bands, colours, strict=True)])
        axes.imshow(image, aspect="auto", interpolation="none")
        axes.set_yticks(K * (np.arange(C) + 0.5) - 0.5, [printable(c) for c in shown.classes])
        for c in range(1, C):
            axes.axhline(c * K - 0.5, color=INK, lw=0.8)
        axes.grid(False)
        axes.set(xlabel="time step", ylabel="class (one line per compartment)")
        axes.set_title(f"visible spikes, {K} compartments", fontsize=9)

    return Panel(draw, "Raster of the visible spikes of all compartments", (3.4, 3.1))


def _estimate(results: Results, metric: str, choice: Choice, reading: Reading, K: int) -> Estimate:
    return results.estimate(K, metric, choice, reading)


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
    axes.errorbar(
        [aside * K for K in Ks], [e.mean for e in estimates], np.array(reach).T, color=colour, ls=line, marker=marker,
        ms=5, capsize=3, label=label,
    )  # fmt: skip
    if log:
        axes.set_xscale("log")
    axes.set_xticks(Ks, [str(K) for K in Ks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("compartments K")


def _finish(axes: Axes, metric: str) -> None:
    """Name the axis, cut it at what the figure can be, and explain the lines."""
    axes.set_ylabel(TITLES[metric])
    low, high = axes.get_ylim()
    if metric == "accuracy":
        axes.set_ylim(max(low, 0), min(high, 1.01))
        _percent(axes)
    elif metric == "log_likelihood":
        axes.set_ylim(low, min(high, 0))
    else:
        axes.set_ylim(max(low, 0), high)
    axes.legend(frameon=False)


def _percent(axes: Axes) -> None:
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(PercentFormatter(1))


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


def _dots(spikes: NDArray[np.bool_], colour: str) -> NDArray[np.float64]:
    """(rows, T) spikes as RGBA: a colour where there is one, nothing elsewhere."""
    image = np.zeros((*spikes.shape, 4))
    image[spikes] = matplotlib.colors.to_rgba(colour)
    return image


def _two_colours(off: NDArray[np.float64], on: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two intensities as one RGBA picture that shines through where nothing happened."""
    total = np.maximum(off + on, 1e-9)[..., None]
    colours = [np.array(matplotlib.colors.to_rgb(colour)) for colour in (BLUE, ORANGE)]
    rgb = (off[..., None] * colours[0] + on[..., None] * colours[1]) / total
    return np.concatenate([rgb, np.maximum(off, on)[..., None]], axis=-1)


# ---- putting together ------------------------------------------------------------------------------------------------


def all_figures(results: Results, shown: Shown | None) -> dict[str, list[Panel]]:
    """The panels of each figure, by the figure's name."""
    curves = [curve(results, metric, Reading.FEW) for metric in ("log_likelihood", "accuracy", "ece")]
    first, last = results.compartments[0], results.compartments[-1]
    figures = {
        "figure-a": [performance(results, "best_on_test"), costs(results)],
        "figure-b": curves,
        "choices": [choices(results, metric) for metric in ("log_likelihood", "accuracy", "ece")],
        "decoders": [decoders(results, metric) for metric in ("accuracy", "ece", "nll")],
        "figure-b-likelihood": [curve(results, metric, Reading.LIKELIHOOD) for metric in ("accuracy", "ece")],
        "reliability": [
            reliability(results, K, reading, "final")
            for K in (first, last)
            for reading in (Reading.FEW, Reading.VOTE, Reading.LIKELIHOOD)
        ],
    }
    if shown is not None:
        figures["example"] = [input_picture(shown), hidden_raster(shown), visible_raster(shown)]
    return figures


def save(panels: Sequence[Panel], path: Path) -> None:
    """All panels side by side as ``path.svg`` and ``path.png``."""
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with _style():
        width = sum(panel.size[0] for panel in panels[:columns])
        figure = Figure(figsize=(width, rows * max(panel.size[1] for panel in panels)), layout="constrained")
        ratios = [panel.size[0] for panel in panels[:columns]]
        axes = figure.subplots(rows, columns, squeeze=False, width_ratios=ratios).ravel()
        for panel, place in zip(panels, axes, strict=False):
            panel.draw(place)
        for kind in ("svg", "png"):
            file = io.BytesIO()
            metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
            figure.savefig(file, format=kind, dpi=150, facecolor="white", metadata=metadata)
            write_whole(path.with_suffix(f".{kind}"), file.getvalue())


def inline(panel: Panel, name: str) -> str:
    """A panel as SVG to put into a page; ``name`` keeps its inner references apart from other panels'."""
    with _style(), matplotlib.rc_context({"svg.hashsalt": name}):
        figure = Figure(figsize=panel.size, layout="constrained")
        panel.draw(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, dpi=150, metadata={"Date": None})
    svg = re.sub(r"<metadata>.*?</metadata>", "", file.getvalue(), flags=re.DOTALL)
    svg = svg[svg.index("<svg") :]
    opening, rest = svg.split(">", 1)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    described = opening.replace("<svg", f'<svg role="img" aria-label="{escape(panel.about)}"', 1)
    # Only tags are changed, never the text between them, which may be a name from outside.
    return f"{described}>{re.sub(r'<[^>]*>', lambda tag: _tag_for_a_page(tag[0], name), rest)}".strip()


def _tag_for_a_page(tag: str, name: str) -> str:
    """A tag that takes its ink and font from the page; ids, counted anew in every figure, begin with ``name``."""
    tag = tag.replace(INK, "currentColor")
    tag = re.sub(r"(font: [^;\"]*?px) '[^;\"]*?sans-serif", r"\1 system-ui, sans-serif", tag)
    return re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", tag)


@contextmanager
def _style() -> Iterator[None]:
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "text.parse_math": False,  # a class may be called $x$
        "font.size": 9,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": INK,
        "grid.alpha": 0.13,
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.8,
        "legend.labelcolor": INK,
        "legend.fontsize": 8,
        "figure.max_open_warning": 0,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # A class may be called by letters that the font does not have.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield
