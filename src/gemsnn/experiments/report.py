"""The report of a reproduction, as one HTML file."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from gemsnn.common.page import caption, escape, page, section, table
from gemsnn.common.words import counted, plus_minus, with_interval
from gemsnn.experiments import figures
from gemsnn.experiments.claims import Claim, Evidence
from gemsnn.experiments.protocol import DecodedBy, Protocol
from gemsnn.experiments.results import CHOICE_NAMES, CHOICES, Results
from gemsnn.plot.panels import in_page

MARKS = {"supported": ("yes", "✓"), "not supported": ("no", "✗"), "inconclusive": ("open", "?")}
SCALES = {"log_likelihood": (1, 2), "accuracy": (100, 1), "ece": (1, 3), "nll": (1, 3), "brier": (1, 3)}
"""Factor and number of digits with which a figure is shown."""


def report(results: Results, claims: Sequence[Claim]) -> str:
    """The whole page."""
    panels, protocol, about = figures.all_figures(results), results.protocol, results.about
    few, (low, high) = protocol.few_compartments, protocol.curves
    bars = f"Shaded: {100 * protocol.confidence:g} % intervals over seeds."
    sections = [
        section("verdicts", "Do the paper's claims hold?", introduction(results) + verdicts(claims)),
        section(
            "figure-a",
            "Figure A: performance and cost against K",
            in_page(panels["figure-a"], "figure-a")
            + caption(
                "The paper's Figure 3. First: test log-likelihood of the desired output (solid) and accuracy (dashed), "
                "Kᴵ = K, each run at its <em>best iteration on the test set</em>, as the paper chose. Second: reals "
                "broadcast from the central processor to the neurons (solid) and spikes of the hidden neurons "
                f"(dashed), per time step of training. {bars}"
            ),
        ),
        section(
            "figure-b",
            f"Figure B: over training, K = {low} and K = {high}",
            in_page(panels["figure-b"], "figure-b")
            + caption(
                f"The paper's Figure 4. On the test set; accuracy and ECE with Kᴵ = {few}. The axis of the "
                f"log-likelihood is logarithmic below -1. {bars}"
            )
            + in_page(panels["figure-b-likelihood"], "figure-bl")
            + caption("The same networks with the likelihood decoder, which is not in the paper."),
        ),
        section(
            "choice",
            "The choice of the iteration",
            "<p>The best iteration on the test set, as the paper chooses it, gives optimistic figures. The iteration "
            "chosen on held-out validation examples is unbiased. The last iteration is the third choice.</p>"
            + in_page(panels["choices"], "choices")
            + caption(f"Vote with Kᴵ = K. {bars}")
            + _numbers(results, DecodedBy.VOTE),
        ),
        section(
            "decoders",
            "Decoders",
            "<p><em>Vote</em> is the paper's majority rule, its confidence the SoftMax of the votes: with Kᴵ = 1 it is "
            f"always {_ceiling(1, results):.2f}, with {few} at most {_ceiling(few, results):.2f}, whatever was "
            "learned; so the ECE of networks with different Kᴵ should not be compared. <em>Likelihood</em> clamps the "
            "visible neurons to the desired pattern of each class and computes the model's posterior, from "
            f"{protocol.realisations} realisations.</p>"
            + in_page(panels["decoders"], "decoders")
            + caption(f"At the iteration chosen on validation with the same decoder. {bars}")
            + _numbers(results, DecodedBy.FEW)
            + _numbers(results, DecodedBy.LIKELIHOOD),
        ),
        section(
            "reliability",
            "Reliability",
            in_page(panels["reliability"], "reliability", small=True)
            + caption(
                f"Last iteration; the test predictions of all seeds together, in {protocol.n_bins} bins. A bar is the "
                "accuracy in its bin, the dot is at the bin's mean confidence, grey is the fraction of predictions; "
                "calibrated predictions lie on the dotted line. The ECE is the mean over seeds."
            ),
        ),
        section("protocol", "Protocol", _protocol(protocol)),
        section("making", "Commands and versions", _making(about, results)),
    ]
    notice = (
        "<p class=notice>A small network, few recordings and few seeds: most intervals are wide. "
        "<code>gemsnn reproduce --full</code> uses the paper's sizes.</p>"
    )
    header = (
        f"{_provenance(about['data'])}\n<h1>GEM-VLSNN, reproduced <small>({escape(protocol.name)})</small></h1>\n"
        "<p class=lead>Multi-sample online learning for spiking neural networks based on generalized expectation "
        "maximization (Jang &amp; Simeone, ICASSP 2022): its experiments, repeated. K in "
        f"{{{', '.join(map(str, results.compartments))}}}, {_seeds(results)}, {protocol.n_hidden} hidden neurons. "
        f"Intervals are {100 * protocol.confidence:g} % over seeds (Student's t).</p>\n"
        f"{notice if protocol.name.startswith('quick') else ''}\n{_NAVIGATION}"
    )
    title = f"gemsnn: reproduction of GEM-VLSNN ({protocol.name})"
    return page(title, header, "\n".join([_failures(results), *sections]), _STYLE)


# ---- verdicts --------------------------------------------------------------------------------------------------------


def introduction(results: Results) -> str:
    """An introduction for a reader who does not know the paper."""
    return (
        "<p>Every neuron can have several <em>compartments</em>: copies with the same weights and independent random "
        "spikes. During training, the copies that explain the desired output best have the largest weight in the "
        "update. <b>K</b> is the number of compartments. The paper (Jang &amp; Simeone, ICASSP 2022) makes claims "
        f"about their benefit and cost. To test them, {len(results.runs)} networks were trained: every K of "
        f"{', '.join(map(str, results.compartments))} with {_seeds(results)} (a seed determines everything random).</p>"
        f"<p>A pair in brackets is a <b>{100 * results.protocol.confidence:g} % interval</b>: in that many of 100 "
        "such experiments it holds the true value. <b>Supported</b>: the interval agrees with the claim. <b>Not "
        "supported</b>: it excludes a relevant effect, or shows the opposite. <b>Inconclusive</b>: it is too wide, and "
        "more seeds are needed. The rules were fixed before the runs.</p>"
    )


def verdicts(claims: Sequence[Claim]) -> str:
    """One line per claim, which unfolds to its evidence and the rule of the verdict."""
    counts = ", ".join(f"<b>{sum(claim.verdict == verdict for claim in claims)}</b> {verdict}" for verdict in MARKS)
    return f"<p>Of {counted(len(claims), 'claim')}: {counts}.</p>" + "".join(map(_card, claims))


def _card(claim: Claim) -> str:
    kind, mark = MARKS[claim.verdict]
    words = f"<p>In the paper's terms: {formula(claim.claim)}</p>" if claim.plain else ""
    return (
        f'<details class="claim {kind}"><summary><span class="mark" aria-hidden="true">{mark}</span>'
        f'<span class="words"><b>{formula(claim.plain or claim.claim)}</b>'
        f'<span class="effect">{formula(claim.evidence[0].effect)}: '
        f"<b>{escape(with_interval(claim.evidence[0].estimate))}</b></span></span>"
        f'<span class="tag">{claim.verdict}</span></summary>{words}'
        f"{formula_table(['evidence', 'effect', 'mean and interval', 'verdict'], map(_row, claim.evidence))}"
        f"<p>{escape(claim.source)}. {escape(claim.rule[0].upper() + claim.rule[1:])}.</p></details>"
    )


def _row(item: Evidence) -> list[str]:
    return [item.what, "; ".join(filter(None, [item.effect, item.also])), with_interval(item.estimate), item.verdict]


# ---- other parts -----------------------------------------------------------------------------------------------------


def formula(text: str) -> str:
    """Escaped text, with the exponents of the claims as superscripts."""
    return escape(text).replace("K^I", "Kᴵ").replace("K^a", "Kᵃ")


def formula_table(head: list[str], rows: Any) -> str:
    """A table of such text."""
    return table(head, list(rows), "settings").replace("K^I", "Kᴵ").replace("K^a", "Kᵃ")


def _seeds(results: Results) -> str:
    return counted(len({run.seed for run in results.runs}), "seed")


def _ceiling(votes: int, results: Results) -> float:
    """The confidence of a unanimous vote."""
    return math.exp(votes) / (math.exp(votes) + len(results.about["data"]["classes"]) - 1)


def _provenance(data: dict[str, Any]) -> str:
    kind, word = ("simulated", "SIMULATED DATA") if data["simulated"] else ("real", "REAL DATA")
    return (
        f'<p class="provenance {kind}"><strong>{word}</strong> {escape(data["description"])}: '
        f"{data['n_train']} training and {data['n_test']} test recordings of "
        f"{escape(', '.join(map(str, data['classes'])))}, T = {data['n_steps']}, {data['n_inputs']} inputs. "
        f"{escape(data['split'])}</p>"
    )


def _failures(results: Results) -> str:
    if not results.failed:
        return ""
    items = "".join(
        f"<li><strong>{escape(item['name'])}</strong><pre>{escape(item['error'])}</pre></li>" for item in results.failed
    )
    return (
        f'<div class="failed"><strong>{len(results.failed)} of the runs failed</strong>, and nothing below shows them:'
        f"<ul>{items}</ul></div>"
    )


def _numbers(results: Results, decoder: DecodedBy) -> str:
    rows = []
    for choice in CHOICES:
        for K in results.compartments:
            figures = (
                plus_minus(results.estimate(K, metric, choice, decoder), scale, digits)
                for metric, (scale, digits) in SCALES.items()
            )
            rows.append([CHOICE_NAMES[choice], str(K), *figures])
    head = ["iteration", "K", "log-likelihood", "accuracy, %", "ECE", "NLL", "Brier"]
    title = formula(results.protocol.name_of(decoder))
    return f"<details><summary>All numbers: {title}</summary>{table(head, rows)}</details>"


def _protocol(protocol: Protocol) -> str:
    rows = [
        [name, json.dumps(getattr(protocol, name)), field.description or ""]
        for name, field in Protocol.model_fields.items()
    ]
    return (
        "<p>Fixed before the runs. All other training settings are those of the preset "
        f"<code>paper</code>.</p>{formula_table(['field', 'value', 'meaning'], rows)}"
    )


def _making(about: dict[str, Any], results: Results) -> str:
    commands = "\n".join(about["commands"])
    versions = table(["with", "version"], [[name, str(value)] for name, value in about["versions"].items()], "settings")
    return (
        f"<pre>{escape(commands)}</pre>"
        f"<p>{escape(about['when'])}. Every (K, seed) is a run directory under <code>runs/</code>; every number of "
        f"this page is in <code>results.json</code>.</p>{versions}"
        "<details><summary>Data file</summary>"
        f"<pre>{escape(json.dumps(about['data'], indent=1))}</pre></details>"
        "<details><summary>Settings of the first run; the others differ in n_compartments and seed</summary>"
        f"<pre>{escape(json.dumps(results.runs[0].config, indent=1))}</pre></details>"
    )


_NAVIGATION = """<nav><a href="#verdicts">Verdicts</a><a href="#figure-a">Figure A</a><a href="#figure-b">Figure B</a>
<a href="#choice">Choice</a><a href="#decoders">Decoders</a><a href="#reliability">Reliability</a>
<a href="#protocol">Protocol</a><a href="#making">Versions</a></nav>"""

_STYLE = """
.yes { --c: var(--yes); --cb: var(--yes-bg); } .no { --c: var(--no); --cb: var(--no-bg); }
.open { --c: var(--open); --cb: var(--open-bg); }
.claim { background: var(--card); border: 1px solid var(--line); border-left: 5px solid var(--c); border-radius: 10px;
  margin: .5rem 0; padding: 0 1rem; }
.claim > summary { display: flex; flex-wrap: wrap; gap: .3rem .8rem; align-items: center; padding: .7rem 0;
  color: var(--ink); font-size: 1rem; list-style: none; }
.claim > summary::-webkit-details-marker { display: none; }
.claim .words { flex: 1; min-width: 12rem; } .claim .words > b { font-weight: 600; }
.claim .effect { display: block; color: var(--soft); font-size: .88rem; }
.claim > p { font-size: .92rem; margin: .7rem 0; max-width: 85ch; }
.mark { flex: none; width: 1.9rem; height: 1.9rem; border-radius: 50%; display: grid; place-items: center;
  font-weight: 700; }
.mark, .tag { background: var(--cb); color: var(--c); }
.tag { border-radius: 99px; padding: .05rem .65rem; font-size: .82rem; white-space: nowrap; }
.provenance { margin: 0; padding: .7rem 1rem; border-radius: 10px; font-size: .92rem; }
.provenance.simulated { background: var(--open-bg); } .provenance.real { background: var(--yes-bg); }
.failed { background: var(--no-bg); border-radius: 10px; padding: .8rem 1rem; margin-top: 1.5rem; }
"""
