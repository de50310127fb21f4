"""The report: one HTML file with everything inside, for laptop and phone, light and dark."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from gemsnn.common.page import caption, escape, page, section
from gemsnn.common.words import counted, plus_minus
from gemsnn.experiments import figures
from gemsnn.experiments.claims import Claim
from gemsnn.experiments.protocol import DecodedBy, Protocol
from gemsnn.experiments.results import CHOICE_NAMES, CHOICES, Results
from gemsnn.experiments.verdicts import STYLE, formula, introduction, small, verdicts
from gemsnn.plot.panels import in_page


def report(results: Results, claims: Sequence[Claim]) -> str:
    """The whole page."""
    panels = figures.all_figures(results)
    protocol, about = results.protocol, results.about
    few = protocol.few_compartments
    low, high = protocol.curves
    data = about["data"]
    seeds = len({run.seed for run in results.runs})
    sections = [
        section("verdicts", "Does the paper hold?", introduction(results) + verdicts(claims)),
        section(
            "figure-a",
            "Figure A: performance and cost against K",
            in_page(panels["figure-a"], "figure-a")
            + caption(
                "The paper's Figure 3. Left: test log-likelihood of the desired output (solid) and accuracy (dashed), "
                "K<sup>I</sup> = K, each run at its <em>best iteration on the test set</em>, as the paper chose. "
                "Right: reals broadcast from the central processor to the neurons (solid) and spikes of the hidden "
                "neurons (dashed), per time step, while learning. " + _bars(results)
            ),
        ),
        section(
            "figure-b",
            f"Figure B: over training, K = {low} and K = {high}",
            in_page(panels["figure-b"], "figure-b")
            + caption(
                f"The paper's Figure 4. On the test set; accuracy and ECE with K<sup>I</sup> = {few}. The axis of the "
                "log-likelihood is logarithmic below -1. " + _bars(results)
            )
            + in_page(panels["figure-b-likelihood"], "figure-bl")
            + caption("The same networks read out by the likelihood decoder, which the paper does not have."),
        ),
        section(
            "choice",
            "The choice of the iteration",
            "<p>Choosing the best iteration on the test set, as the paper does, flatters. Beside it: the iteration "
            "chosen on validation examples held out of the training set, which is the honest figure, and the last.</p>"
            + in_page(panels["choices"], "choices")
            + caption("Vote with K<sup>I</sup> = K. " + _bars(results))
            + _numbers(results, DecodedBy.VOTE),
        ),
        section(
            "decoders",
            "Decoders",
            "<p><em>Vote</em> is the paper's majority rule, its confidence the SoftMax of the votes: with "
            f"K<sup>I</sup> = 1 it is always {_ceiling(1, data):.2f}, with {few} at most {_ceiling(few, data):.2f}, "
            "whatever was learned; so the ECE of networks with different K<sup>I</sup> should not be compared. "
            "<em>Likelihood</em> clamps the visible neurons to each class's desired pattern and takes the model's own "
            f"posterior, from {protocol.realisations} realisations.</p>"
            + in_page(panels["decoders"], "decoders")
            + caption("Each at the iteration chosen on validation with that decoder. " + _bars(results))
            + _numbers(results, DecodedBy.FEW)
            + _numbers(results, DecodedBy.LIKELIHOOD),
        ),
        section(
            "reliability",
            "Reliability",
            in_page(panels["reliability"], "reliability", small=True)
            + caption(
                f"Last iteration; the test predictions of all seeds together, in {protocol.n_bins} bins. A bar is the "
                "accuracy in its bin, the dot stands at the bin's mean confidence, grey is the share of predictions; "
                "calibrated predictions lie on the dotted line. The ECE is the mean over seeds."
            ),
        ),
    ]
    notice = (
        ""
        if not protocol.name.startswith("quick")
        else "<p class=notice>A quick look: a small network, few recordings and few seeds, so most intervals are wide. "
        "<code>gemsnn reproduce --full</code> has the paper's sizes.</p>"
    )
    sections += [
        section("protocol", "Protocol", _protocol(protocol)),
        section("making", "How this page was made", _making(about, results)),
    ]
    header = (
        f"{_provenance(about)}\n"
        f'<h1>GEM-VLSNN, reproduced <span class="preset">{escape(protocol.name)}</span></h1>\n'
        f'<p class="lead">Multi-sample online learning for spiking neural networks based on generalized expectation '
        f"maximization (Jang &amp; Simeone, ICASSP 2022), its experiments run anew: K in "
        f"{{{', '.join(map(str, results.compartments))}}}, {counted(seeds, 'seed')}, "
        f"{protocol.n_hidden} hidden neurons. Intervals are {100 * protocol.confidence:g} % over seeds "
        f"(Student's t).</p>\n{notice}\n{_NAVIGATION}"
    )
    main = "\n".join([_failures(results), *sections])
    return page(f"gemsnn: reproduction of GEM-VLSNN ({protocol.name})", header, main, STYLE + _STYLE)


# ---- parts -----------------------------------------------------------------------------------------------------------


def _ceiling(votes: int, data: dict[str, Any]) -> float:
    """The confidence of a unanimous vote."""
    return math.exp(votes) / (math.exp(votes) + len(data["classes"]) - 1)


def _bars(results: Results) -> str:
    confidence = 100 * results.protocol.confidence
    return f"Bars and shades: {confidence:g} % intervals over seeds."


def _provenance(about: dict[str, Any]) -> str:
    data = about["data"]
    kind, word = ("simulated", "SIMULATED DATA") if data["simulated"] else ("real", "REAL DATA")
    return (
        f'<p class="provenance {kind}"><strong>{word}</strong> <span>{escape(data["description"])}: '
        f"{escape(data['n_train'])} training and {escape(data['n_test'])} test recordings of "
        f"{escape(', '.join(map(str, data['classes'])))}, T = {escape(data['n_steps'])}, {escape(data['n_inputs'])} "
        f"inputs. {escape(data['split'])}</span></p>"
    )


def _failures(results: Results) -> str:
    if not results.failed:
        return ""
    items = "".join(
        f"<li><strong>{escape(item['name'])}</strong><pre>{escape(item['error'])}</pre></li>" for item in results.failed
    )
    return (
        f'<div class="failed"><strong>{len(results.failed)} of the runs failed</strong> and are missing below:'
        f"<ul>{items}</ul></div>"
    )


def _numbers(results: Results, decoder: DecodedBy) -> str:
    metrics = {
        "log_likelihood": "log-likelihood",
        "accuracy": "accuracy, %",
        "ece": "ECE",
        "nll": "NLL",
        "brier": "Brier",
    }
    head = "".join(f"<th>{name}</th>" for name in ("iteration", "K", *metrics.values()))
    rows = []
    for choice in CHOICES:
        for place, K in enumerate(results.compartments):
            cells = []
            for metric in metrics:
                value = results.estimate(K, metric, choice, decoder)
                scale, digits = {"accuracy": (100, 1), "log_likelihood": (1, 2)}.get(metric, (1, 3))
                cells.append(f"<td>{small(plus_minus(value, scale, digits))}</td>")
            first = (
                f'<th scope="rowgroup" rowspan="{len(results.compartments)}">{CHOICE_NAMES[choice]}</th>'
                if place == 0
                else ""
            )
            rows.append(f'<tr{" class=top" if place == 0 else ""}>{first}<th scope="row">{K}</th>{"".join(cells)}</tr>')
    return (
        f"<details><summary>All numbers: {formula(results.protocol.name_of(decoder))}</summary>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        "</details>"
    )


def _protocol(protocol: Protocol) -> str:
    rows = "".join(
        f"<tr><th scope=row><code>{name}</code></th><td>{escape(_plain(getattr(protocol, name)))}</td>"
        f"<td>{formula(field.description or '')}</td></tr>"
        for name, field in Protocol.model_fields.items()
    )
    return (
        "<p>Fixed before the runs; the training settings that are not named here are those of the preset "
        "<code>paper</code>.</p>"
        f'<div class="scroll"><table class="settings"><thead><tr><th>field</th><th>value</th><th>meaning</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(_plain(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _making(about: dict[str, Any], results: Results) -> str:
    commands = "\n".join(about["commands"])
    versions = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in about["versions"].items()
    )
    config = results.runs[0].config if results.runs else {}
    return (
        f"<pre>{escape(commands)}</pre>"
        f"<p>{escape(about['when'])}. Every (K, seed) is a run directory under <code>runs/</code>; every number of "
        "this page is in <code>results.json</code>.</p>"
        f'<div class="scroll"><table class="settings">{versions}</table></div>'
        "<details><summary>Data file</summary>"
        f"<pre>{escape(json.dumps(about['data'], indent=1))}</pre></details>"
        "<details><summary>Settings of the first run; the others differ in n_compartments and seed</summary>"
        f"<pre>{escape(json.dumps(config, indent=1))}</pre></details>"
    )


_NAVIGATION = """<nav><a href="#verdicts">Verdicts</a><a href="#figure-a">Figure A</a><a href="#figure-b">Figure B</a>
<a href="#choice">Choice</a><a href="#decoders">Decoders</a><a href="#reliability">Reliability</a>
<a href="#protocol">Protocol</a><a href="#making">Making</a></nav>"""

_STYLE = """
.preset { font-size: .45em; vertical-align: middle; border: 1px solid var(--line); border-radius: 99px;
  padding: .2em .8em; color: var(--soft); font-weight: 500; letter-spacing: 0; white-space: nowrap; }
.provenance { margin: 0; padding: .7rem 1rem; border-radius: 10px; font-size: .92rem; display: flex; flex-wrap: wrap;
  gap: .2rem .8rem; align-items: baseline; }
.provenance strong { letter-spacing: .05em; white-space: nowrap; }
.provenance.simulated { background: var(--open-bg); } .provenance.simulated strong { color: var(--open); }
.provenance.real { background: var(--yes-bg); } .provenance.real strong { color: var(--yes); }
th[scope=rowgroup] { text-align: left; font-weight: 500; max-width: 14rem; }
tr.top > * { border-top: 2px solid var(--line); }
.failed { background: var(--no-bg); border-radius: 10px; padding: .8rem 1rem; margin-top: 1.5rem; }
"""
