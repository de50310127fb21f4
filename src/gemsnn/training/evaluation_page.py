"""An evaluation as a page: confusion, calibration, figures per class, and the least certain recordings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn import plot
from gemsnn.common.page import caption, escape, page, section, table
from gemsnn.events.completion import whole_pictures
from gemsnn.inference import Prediction, sample
from gemsnn.plot.panels import Panel, in_page, svg
from gemsnn.training.model import Model

LEAST_CERTAIN = 9
MOMENT_US = 100_000  # of a recording are drawn, or a twentieth of it if that is longer
PATTERNS, SAMPLES = 3, 3  # examples shown, and samples of each
SQUARE, LOW = (3.4, 3.3), (3.4, 2.2)  # inches


class Row(NamedTuple):
    """A metric by name, as text."""

    name: str
    value: str


def evaluation_page(
    model: Model,
    examples: Any,
    figures: dict[str, Any],
    answers: Prediction | None,
    rows: Sequence[Row],
    about: dict[str, Any],
    *,
    data: Any = None,
) -> str:
    """The whole page.

    Parameters
    ----------
    examples
        The evaluated examples; if they have ``names`` and ``planes``, recordings are shown with these.
    figures, answers
        As returned by :func:`gemsnn.training.appraisal.appraise`.
    rows
        The metrics as the command prints them.
    about
        Paths of ``model`` and ``data``.
    data
        The prepared file of the examples, if any.
    """
    parts = [section("figures", "Figures", table(["figure", "value"], [list(row) for row in rows]))]
    labels = getattr(examples, "labels", None)
    if labels is None:
        lead = f"Spike patterns that the model produces for {figures['examples']} examples."
        parts.append(_patterns(model, examples, data))
    elif labels.ndim == 2:
        lead = f"{100 * figures['accuracy']:.1f} % of the answers to {figures['examples']} examples are right."
        parts += [_reliability(figures), _labels(model, figures)]
    else:
        assert answers is not None  # to examples of one class each
        lead = _sentence(figures)
        parts += [
            _confusion(model, labels, answers, figures),
            _classes(model, labels, answers),
            _least_certain(model, examples, answers),
        ]
    header = (
        f"<h1>{escape(about['model'])}</h1>"
        f'<p class="lead">{escape(lead)}</p>'
        f'<p class="lead">Evaluated on {escape(about["data"])}.</p>'
    )
    return page(f"gemsnn: {about['model']}", header, "\n".join(parts), _STYLE)


# ---- parts -----------------------------------------------------------------------------------------------------------


def _sentence(figures: dict[str, Any]) -> str:
    table_, n = figures["reliability"], figures["examples"]
    sure = sum(count * (mean or 0.0) for count, mean in zip(table_["counts"], table_["confidence"], strict=True)) / n
    return (
        f"{100 * figures['accuracy']:.1f} % of {n} recordings are classified correctly, at a mean confidence of "
        f"{100 * sure:.1f} %. Confidence and accuracy are {100 * figures['ece']:.1f} points apart on average "
        f"(expected calibration error, {figures['n_bins']} bins)."
    )


def _confusion(model: Model, labels: NDArray[np.int64], found: Prediction, figures: dict[str, Any]) -> str:
    C = len(model.classes)
    side = min(6.5, max(3.4, 1.6 + 0.4 * C))
    panels = [
        Panel(
            partial(plot.confusion, labels, found.classes, model.classes),
            "How often each class was mistaken for each other",
            (side, side),
        ),
        _reliability_panel(figures),
    ]
    text = (
        "First: rows are true classes, columns are answers; numbers count recordings, colours are fractions of a row. "
        "Second: accuracy of the answers with a given confidence; calibrated answers lie on the dotted line."
    )
    return section("confusion", "Confusion and calibration", in_page(panels, "confusion") + caption(text))


def _reliability(figures: dict[str, Any]) -> str:
    return section("reliability", "Calibration", in_page([_reliability_panel(figures)], "reliability"))


def _reliability_panel(figures: dict[str, Any]) -> Panel:
    return Panel(partial(plot.reliability, figures["reliability"]), "Accuracy against confidence", SQUARE)


def _classes(model: Model, labels: NDArray[np.int64], found: Prediction) -> str:
    head = ["class", "recordings", "recall, %", "precision, %", "mean confidence, %", "NLL", "most often mistaken for"]
    rows = []
    for c, label in enumerate(model.classes):
        true, predicted = labels == c, found.classes == c
        wrong = np.bincount(found.classes[true & ~predicted], minlength=len(model.classes))
        of_truth = np.maximum(found.probabilities[true, c], np.finfo(np.float64).tiny)
        rows.append(
            [
                str(label),
                str(true.sum()),
                _percent(found.classes[true] == c),
                _percent(labels[predicted] == c),
                _percent(found.confidence[true]),
                f"{-np.log(of_truth).mean():.3f}" if true.any() else "-",
                f"{model.classes[int(wrong.argmax())]} ({wrong.max()})" if wrong.any() else "-",
            ]
        )
    text = (
        "Recall: fraction of the recordings of a class that are classified correctly. Precision: fraction of the "
        "answers with a class that are correct."
    )
    return section("classes", "Classes", table(head, rows) + caption(text))


def _percent(values: NDArray[Any]) -> str:
    return f"{100 * values.mean():.1f}" if len(values) else "-"


def _labels(model: Model, figures: dict[str, Any]) -> str:
    each = figures["per_label"]
    rows = [
        [str(label), f"{100 * each['accuracy'][i]:.1f}", f"{each['nll'][i]:.3f}", f"{each['brier'][i]:.3f}"]
        for i, label in enumerate(model.classes)
    ]
    return section("labels", "Labels", table(["label", "accuracy, %", "NLL", "Brier score"], rows))


def _least_certain(model: Model, examples: Any, found: Prediction) -> str:
    order = np.argsort(found.confidence, kind="stable")[:LEAST_CERTAIN]
    cards = []
    for place, index in enumerate(order.tolist()):
        truth = model.classes[int(examples.labels[index])]
        answer, sure = model.classes[int(found.classes[index])], found.confidence[index]
        drawn = _example(model, examples, index)
        bars = Panel(
            partial(plot.probabilities, found.probabilities[index], model.classes, truth=truth),
            f"Probabilities: {answer} with {100 * sure:.0f} %",
            (3.4, max(1.4, 0.6 + 0.26 * len(model.classes))),
        )
        right = "right" if truth == answer else "wrong"
        names = getattr(examples, "names", None)
        name = f"example {index}" if names is None else f"{index}: {names[index]}"
        cards.append(
            f'<figure class="card">{svg(drawn, f"least-{place}-picture")}{svg(bars, f"least-{place}-bars")}'
            f'<figcaption><b class="{right}">{escape(answer)}, {100 * sure:.0f} % sure: {right}</b> '
            f"{'' if right == 'right' else f'It is {escape(truth)}. '}<small>{escape(name)}</small></figcaption>"
            "</figure>"
        )
    text = "The answers with the lowest confidence. Orange: brighter, blue: darker, in a part of the recording."
    return section(
        "least", "Least certain recordings", f'<div class="panels small">{"".join(cards)}</div>' + caption(text)
    )


def _example(model: Model, examples: Any, index: int) -> Panel:
    """A picture if there is a grid, otherwise a raster plot."""
    planes = examples.planes(index) if hasattr(examples, "planes") else None
    about = f"Example {index}"
    if planes is None:
        inputs = examples.load(index)[0].to_array(model.network.n_inputs)
        return Panel(partial(plot.raster, inputs, ylabel="input"), about, LOW)
    if model.preprocessing is not None:
        planes = model.preprocessing.upright(planes)
    T, steps = len(planes), max(1, len(planes) // 20)
    if model.preprocessing is not None:  # a shape needs the events of some time, however short the steps
        steps = max(steps, -(-MOMENT_US // model.preprocessing.width_us))
    moment = planes[T // 4 : T // 4 + steps].sum(axis=0)
    return Panel(partial(plot.picture, moment if len(moment) == 2 else moment.sum(axis=0)), about, LOW)


def _patterns(model: Model, examples: Any, data: Any) -> str:
    """Desired spikes and samples of the model for a few examples: pictures if there is a grid, otherwise rasters."""
    parts = ""
    for index in np.unique(np.linspace(0, len(examples) - 1, PATTERNS).astype(int)).tolist():
        inputs, target = examples.load(index)
        given = inputs.to_array(model.network.n_inputs)
        spikes = sample(model.network, model.parameters, given, SAMPLES, model.prediction_seed, example=None)
        samples = spikes[..., model.network.n_hidden :].swapaxes(0, 1)
        desired = target.to_array(model.network.n_visible)
        shown = {"desired": desired} | {f"sample {i + 1}": one for i, one in enumerate(samples)}
        panels = []
        for name, pattern in shown.items():
            picture = whole_pictures(data, given, pattern)
            drawn = (
                partial(plot.raster, pattern, title=name)
                if picture is None
                else partial(plot.picture, picture.sum(axis=0), title=name)
            )
            panels.append(Panel(drawn, f"{examples.names[index]}, {name}", LOW))
        parts += f"<h3>{escape(examples.names[index])}</h3>" + in_page(panels, f"pattern-{index}", small=True)
    text = "Pictures: blue is the input, orange is desired or produced by the model, summed over the recording."
    return section("patterns", "Desired and produced spikes", parts + caption(text))


_STYLE = """
#figures td { white-space: normal; } #figures th { overflow-wrap: anywhere; }
.card { align-content: start; } .card svg { max-height: 240px; }
figcaption { justify-self: stretch; padding: .2rem .4rem; overflow-wrap: anywhere; font-size: .92rem; }
.right { color: var(--yes); } .wrong { color: var(--no); }
"""
