"""The page of the demonstration: a recording, its spikes, the answer and how sure; then whether to believe it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn import plot
from gemsnn.common.files import write_whole
from gemsnn.common.page import caption, escape, page, section
from gemsnn.common.words import counted
from gemsnn.experiments.demo import MARK, Answers, before_the_end, in_one_sentence
from gemsnn.experiments.reproduce import Finished
from gemsnn.experiments.verdicts import STYLE as VERDICTS_STYLE
from gemsnn.experiments.verdicts import introduction, verdicts
from gemsnn.plot.axes import VIOLET, two_colours
from gemsnn.plot.panels import Panel, in_page

FADING = 3  # steps over which an event fades in the film
CURVES = 4  # digits whose probabilities are drawn over time
SHOWN = 9  # recordings in a row of the gallery


def demo_page(answers: Answers, paper: Finished | None, commands: Sequence[tuple[str, str]]) -> str:
    """The whole page; ``commands`` are what to do next, each with what it does."""
    sections = [
        _the_answer(answers),
        section("others", "Other recordings", _gallery(answers)),
        section("belief", "Can it be believed?", _belief(answers)),
        section("early", "Before the end", _early(answers)),
        section("learning", "How it learned", _learning(answers)),
    ]
    if paper is not None:
        sections.append(
            section(
                "paper",
                "The paper behind it",
                introduction(paper.results)
                + verdicts(paper.claims)
                + f'<p>Figures, numbers and every other reading: <a href="{escape(_beside(paper))}">the report</a>. '
                "These networks are small, and learn by the paper's own rule; the classifier above learns by a rule of "
                "ours. <code>gemsnn reproduce --full</code> has the paper's sizes: what came of that is in the "
                "documentation, under results.</p>",
            )
        )
    sections.append(section("yours", "Now yours", _commands(commands)))
    names = {"others": "Other recordings", "belief": "Can it be believed?", "early": "Before the end"}
    names |= {"learning": "How it learned"} | ({} if paper is None else {"paper": "The paper"}) | {"yours": "Now yours"}
    links = "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in names.items())
    header = (
        '<p class="provenance"><strong>SIMULATED DATA</strong> <span>a simulated event camera watches moving MNIST '
        "digits; no camera saw them</span></p>"
        "<h1>It says what it sees, and how sure it is</h1>"
        f'<p class="lead">{escape(in_one_sentence(answers))}</p><nav>{links}</nav>'
    )
    return page("gemsnn: a demonstration", header, "\n".join(sections), VERDICTS_STYLE + _STYLE)


def write_page(folder: Path, answers: Answers, paper: Finished | None, commands: Sequence[tuple[str, str]]) -> Path:
    """Write the page into the demonstration's folder."""
    path = folder / MARK
    write_whole(path, demo_page(answers, paper, commands).encode())
    return path


def _beside(paper: Finished) -> str:
    return f"{paper.report.parent.name}/{paper.report.name}"


# ---- the recording that the page opens with --------------------------------------------------------------------------


def _the_answer(answers: Answers) -> str:
    i = answers.typical
    said, truth = answers.classes[answers.predicted[i]], answers.classes[answers.labels[i]]
    T = len(answers.films[i])
    drawings = [
        Panel(
            partial(plot.raster, answers.hidden, step_ms=answers.step_ms, ylabel="hidden neuron", colour=VIOLET),
            f"Spikes of the hidden neurons in response to a recording of a {said}",
            (5.2, 2.9),
        ),
        Panel(
            partial(plot.curves, _growing(answers, i), xlabel="time seen (ms)", ylabel="probability"),
            "Probability of each digit as the recording goes on",
            (5.2, 2.9),
        ),
    ]
    how = "rightly" if said == truth else f"wrongly: it was a {truth}"
    return (
        '<section id="answer" class="answer"><div class="seen">'
        f'{_film(answers.films[i])}<p class="caption">{T * answers.step_ms / 1000:g} s of what the camera sends: '
        "orange where it grows brighter, blue where darker.</p></div>"
        f'<div class="said"><p class="big">It is a <b>{escape(said)}</b></p>'
        f'<p class="sure">{100 * answers.confidence[i]:.1f} % sure, and {escape(how)}</p>'
        f"{_bars(answers.probabilities[i], answers.classes)}"
        '<p class="caption">A typical one: of the recordings that it named rightly, it was surer of half. It never saw '
        "this one while it learned.</p></div></section>"
        + in_page(drawings, "answer")
        + caption(
            "Left: a dot is a spike of a hidden neuron. The neurons are random: the same recording makes other spikes "
            "each time, and yet nearly the same answer. Right: what it would have answered earlier."
        )
    )


def _growing(answers: Answers, i: int) -> dict[str, plot.Curve]:
    """The probabilities of the few digits that it ever took the recording for, over time."""
    shares = answers.anytime.probabilities[i]
    time = answers.step_ms * np.arange(1, len(shares) + 1)
    likely = np.argsort(-shares.max(axis=0), kind="stable")[:CURVES]
    return {str(answers.classes[c]): plot.Curve(time, shares[:, c]) for c in sorted(likely)}


def _film(film: NDArray[np.bool_]) -> str:
    """All steps side by side as one picture, of which the page shows one at a time; events fade over a few steps."""
    faded = film.astype(np.float64)
    for lag in range(1, FADING):
        faded[lag:] = np.maximum(faded[lag:], (1 - lag / FADING) * film[:-lag])
    frames = two_colours(faded[:, 0], faded[:, 1])  # (T, height, width, 4)
    T, height, width, _ = frames.shape
    strip = frames.transpose(1, 0, 2, 3).reshape(height, T * width, 4)
    return (
        f'<div class="film" role="img" aria-label="The recording, played again and again" style="'
        f"background-image: url({_png(strip)}); background-size: {100 * T}% 100%; aspect-ratio: {width} / {height}; "
        f'animation-timing-function: steps({T}, jump-none)"></div>'
    )


def _bars(probabilities: NDArray[np.float64], classes: Sequence[Any]) -> str:
    best = int(probabilities.argmax())
    rows = "".join(
        f"<li{' class=best' if place == best else ''}><span>{escape(label)}</span>"
        f'<i style="--p: {100 * share:.2f}%"></i><span>{100 * share:.1f} %</span></li>'
        for place, (label, share) in enumerate(zip(classes, probabilities.tolist(), strict=True))
    )
    return f'<ul class="bars">{rows}</ul>'


def _png(image: NDArray[np.float64]) -> str:
    from matplotlib.image import imsave

    file = io.BytesIO()
    imsave(file, np.ascontiguousarray((255 * image).round(), dtype=np.uint8), format="png")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


# ---- the others ------------------------------------------------------------------------------------------------------


def _gallery(answers: Answers) -> str:
    """The first of the classes in turn, then those that it is least sure of, then its mistakes."""
    order = np.argsort(answers.confidence, kind="stable")
    C = len(answers.classes)
    each = [np.flatnonzero(answers.labels == c)[: max(1, SHOWN // C)] for c in range(C)]
    firsts = [int(of_one[k]) for k in range(max(map(len, each))) for of_one in each if k < len(of_one)]
    wrong = [int(i) for i in order[::-1] if not answers.right[i]]
    unsure = [int(i) for i in order[:SHOWN]]
    mistakes = counted(len(wrong), "mistake")
    told = (
        f"Its {mistakes}, the surest first" if len(wrong) <= 2 * SHOWN else f"The {2 * SHOWN} surest of its {mistakes}"
    )
    parts = [("The first of each digit in turn", firsts), ("What it is least sure of", unsure)]
    parts += [(told, wrong[: 2 * SHOWN])] if wrong else []
    return "".join(
        f'<h3>{title}</h3><div class="gallery">{"".join(_small_answer(answers, i) for i in places)}</div>'
        for title, places in parts
    )


def _small_answer(answers: Answers, i: int) -> str:
    said, truth = answers.classes[answers.predicted[i]], answers.classes[answers.labels[i]]
    second = int(np.argsort(answers.probabilities[i])[-2])
    runner_up = f"{answers.classes[second]}: {100 * answers.probabilities[i, second]:.0f} %"
    film = answers.films[i]
    start = len(film) // 4
    moment = film[start : start + max(1, len(film) // 20)].mean(axis=0)
    kind, note = ("yes", f"then {runner_up}") if said == truth else ("no", f"it was {truth}")
    return (
        f'<figure class="{kind}"><img alt="" src="{_png(two_colours(*np.minimum(moment * 1.5, 1)))}">'
        f"<figcaption><b>{escape(said)}</b> {100 * answers.confidence[i]:.0f} %<small>{escape(note)}</small>"
        "</figcaption></figure>"
    )


# ---- figures ---------------------------------------------------------------------------------------------------------


def _belief(answers: Answers) -> str:
    panels = [
        Panel(
            partial(plot.reliability, answers.reliability),
            "How often it is right against how sure it is, in bins of confidence",
            (4.2, 3.8),
        ),
        Panel(
            partial(plot.confusion, answers.labels, answers.predicted, classes=answers.classes),
            "Which digits are taken for which",
            (4.2, 3.8),
        ),
    ]
    table = answers.reliability
    return (
        "<p>Of the answers given with 80 % confidence, 80 % should be right: then it is <em>calibrated</em>, and its "
        "dots lie on the dotted line. The <em>expected calibration error</em> is the mean distance from it, weighted "
        f"by the number of answers: here {table.ece:.3f} (0 would be perfect; {table.n_bins} bins).</p>"
        + in_page(panels, "belief")
        + caption(
            "Left: answers by how sure it was of them; a bar is the share of them that is right, grey is how many "
            "there are. Right: how often each digit (row) was called which (column)."
        )
    )


def _early(answers: Answers) -> str:
    panel = Panel(
        partial(plot.anytime, answers.anytime, answers.labels, step_ms=answers.step_ms),
        "Accuracy and mean confidence as the recordings go on",
        (6.4, 3.1),
    )
    return (
        f"<p>An answer is there after every step. {escape(before_the_end(answers))}</p>"
        + in_page([panel], "early")
        + caption("Accuracy and mean confidence of all test recordings, the longer they are watched.")
    )


def _learning(answers: Answers) -> str:
    panel = Panel(
        partial(plot.learning_curves, answers.history, "accuracy", "validation", against="position"),
        "Validation accuracy against examples learned",
        (6.4, 3.1),
    )
    held_out = answers.history[-1]["validation"]["examples"]
    return (
        f"<p>{escape(answers.network)} It learned online, one step after the other, from "
        f"{answers.n_train - held_out} recordings; {held_out} more were held out to choose the best model.</p>"
        + in_page([panel], "learning")
        + caption("Accuracy on the recordings that were held out.")
    )


def _commands(commands: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<dt>{escape(what)}</dt><dd><pre>{escape(command)}</pre></dd>" for what, command in commands)
    return f"<dl>{rows}</dl>"


_STYLE = """
.provenance { margin: 0; padding: .5rem 1rem; border-radius: 10px; font-size: .9rem; background: var(--open-bg); }
.provenance strong { letter-spacing: .05em; color: var(--open); }
.lead { color: var(--ink); font-size: 1.08rem; }
.answer { display: grid; grid-template-columns: minmax(0, 21rem) minmax(0, 1fr); gap: 1.2rem 2.2rem; margin: 1.6rem 0; }
.film { width: 100%; background-color: var(--card); border: 1px solid var(--line); border-radius: 10px;
  image-rendering: pixelated; animation: film 4s infinite; }
@keyframes film { from { background-position: 0 0; } to { background-position: 100% 0; } }
@media (prefers-reduced-motion: reduce) { .film { animation: none; background-position: 30% 0; } }
.big { font-size: 2.2rem; line-height: 1.1; margin: .2rem 0 0; letter-spacing: -.01em; } .big b { color: #f0761b; }
.sure { font-size: 1.1rem; margin: .2rem 0 1rem; }
.bars { list-style: none; margin: 0; padding: 0; font-variant-numeric: tabular-nums; }
.bars li { display: grid; grid-template-columns: minmax(1.4rem, max-content) 1fr 4.4rem; gap: .7rem;
  align-items: center; font-size: .95rem; line-height: 1.45; color: var(--soft); }
.bars i { display: block; height: .8rem; border-radius: 3px;
  background: linear-gradient(90deg, #3b82f6 var(--p), var(--line) var(--p)); }
.bars .best { color: var(--ink); font-weight: 650; }
.bars .best i { background: linear-gradient(90deg, #f0761b var(--p), var(--line) var(--p)); }
.bars span:last-child { text-align: right; white-space: nowrap; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(6.2rem, 1fr)); gap: .6rem;
  margin: .5rem 0 1.2rem; }
.gallery figure { padding: .4rem; border-bottom: 4px solid var(--c); }
.gallery img { width: 100%; image-rendering: pixelated; display: block; }
.gallery figcaption { text-align: center; font-size: .9rem; line-height: 1.3; }
.gallery figcaption b { font-size: 1.15rem; } .gallery small { display: block; }
dl { margin: 0; } dt { font-weight: 600; margin-top: .8rem; } dd { margin: 0; } dd pre { margin: .3rem 0; }
@media (max-width: 640px) {
  .answer { grid-template-columns: minmax(0, 1fr); } .seen { max-width: 17rem; margin: 0 auto; }
}
"""
